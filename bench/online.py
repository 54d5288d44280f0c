"""The perceptron and its variants by name: processor time of a pass and what each learns in some passes.

    python -m bench.online [--data conll2000] [--methods mira,pa] [--passes 10] [--votes 100]

All learn from the same features, on one thread. The voted perceptron makes the passes of the averaged one and
keeps vectors; its seconds of a tagging are those of all votes. Writes bench/results/online.json. Needs a
corpus (CRFKIT_DATA).
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

from bench import measure
from bench.corpora import CORPORA, Corpus
from bench.runs import chosen
from crfkit import train
from crfkit.estimators.classic import VotedPerceptron
from crfkit.training.choose import by_name
from crfkit.training.events import Event, Progress

METHODS = ["perceptron", "perceptron-plain", "pa", "arow", "mira", "mira-kbest", "mira-crfpp", "voted"]


def measured(corpus: Corpus, name: str, passes: int, votes: int) -> dict[str, Any]:
    """Return the median seconds of a pass, those of tagging the test sentences, and the score."""
    data, test = corpus.datasets()
    marks: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            marks.append(time.process_time())

    row: dict[str, Any] = {"corpus": corpus.name, "method": name}
    judge: Any
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten passes need not be enough
        begun = time.process_time()
        if name == "voted":
            judge = VotedPerceptron(votes=votes, max_passes=passes, n_jobs=1).fit(data)
            row["pass"] = (time.process_time() - begun) / judge.n_iter_
            row["voters"], row["weights"] = judge.voters_.shape
        else:
            optimizer = replace(by_name(name), max_passes=passes)  # type: ignore[type-var]
            judge = train(data, optimizer=optimizer, listeners=[listen], n_jobs=1, progress=False)
            row["pass"] = statistics.median(b - a for a, b in pairwise(marks))
    row["passes"] = judge.n_iter_ if name == "voted" else len(marks)
    given = test()
    begun = time.process_time()
    found = judge.predict(given)
    row["tagging"], row["score"] = time.process_time() - begun, corpus.score(found)
    return row


def text(row: dict[str, Any]) -> str:
    """Return a row in words."""
    return (
        f"{row['corpus']} {row['method']}: {1e3 * row['pass']:.0f} ms a pass, {row['passes']} passes, "
        f"tagging {row['tagging']:.2f} s, score {row['score']:.4f}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--data", default="conll2000", choices=[c.name for c in CORPORA.values() if c.items and c.test]
    )
    parser.add_argument("--methods", default="all", help=f"all, or some of {','.join(METHODS)}")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--votes", type=int, default=100)
    options = parser.parse_args(arguments)
    corpus, methods = CORPORA[options.data], chosen(options.methods, METHODS, "method")
    if corpus.missing:
        print(f"{corpus.missing[0]} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    rows = []
    for method in methods:
        rows.append(measured(corpus, method, options.passes, options.votes))
        print(text(rows[-1]), flush=True)
    print("written to", measure.write("online", rows))


if __name__ == "__main__":
    main()
