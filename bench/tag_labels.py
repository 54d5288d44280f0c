"""Tagging by number of labels: 9, 23 and 472, beside python-crfsuite with the same weights.

    python -m bench.tag_labels [--data conll2002,conll2000,brown472] [--sentences 300]

Models are trained by a few passes of the averaged perceptron and exported, so that both sides have the same
weights; their labels must be the same. Sentences are given as ready features to the drop-in Tagger, one at a
time, and as rows of ids to `Model.predict`, all at once; on one thread, in seconds of the processor. Needs
the corpora (CRFKIT_DATA) and `pip install python-crfsuite`. Writes bench/results/tag_labels.json.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pycrfsuite
from rich.console import Console

import crfkit.compat.pycrfsuite as face
from bench.corpora import CORPORA, Corpus
from bench.measure import interleaved, plain, write
from crfkit import FeatureSelection, train
from crfkit.features import ItemExtractor
from crfkit.models.files import write_model
from crfkit.optimize import AveragedPerceptron

PASSES = 3


def measured(corpus: Corpus, sentences: int) -> list[dict[str, Any]]:
    """Return the seconds of each way to tag some test sentences."""
    data, _ = corpus.datasets()
    observed = FeatureSelection("observed", transitions="observed")  # as CRFsuite has them
    model = train(data, selection=observed, optimizer=AveragedPerceptron(max_passes=PASSES))
    items = list(islice(corpus.featured(test=True)[0], sentences))
    batch = ItemExtractor(attributes=model.attributes, labels=model.names.labels).freeze()(items)
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "m.crfsuite")
        write_model(model, path, "crfsuite")
        theirs, ours = pycrfsuite.Tagger(), face.Tagger()
        theirs.open(path)
        ours.open(path)
        expected = [theirs.tag(x) for x in items]
        assert [ours.tag(x) for x in items] == model.predict(batch, threads=1) == expected
        calls: dict[str, Callable[[], object]] = {
            "python-crfsuite": lambda: [theirs.tag(x) for x in items],
            "drop-in Tagger": lambda: [ours.tag(x) for x in items],
            "Model.predict": lambda: model.predict(batch, threads=1),
        }
        timings = interleaved(calls, repetitions=5, at_most=30.0, clock=time.process_time)
        theirs.close()
    tokens = sum(map(len, items))
    peer = timings["python-crfsuite"].median
    return [
        {
            "corpus": corpus.name,
            "labels": len(model.names.labels),
            "who": who,
            "us_token": timing.median / tokens * 1e6,
            "ratio": peer / timing.median,
            **plain(timing),
        }
        for who, timing in timings.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="conll2002,conll2000,brown472")
    parser.add_argument("--sentences", type=int, default=300)
    given = parser.parse_args()
    console, rows = Console(), list[dict[str, Any]]()
    for name in given.data.split(","):
        for row in measured(CORPORA[name], given.sentences):
            rows.append(row)
            console.print(
                f"{row['corpus']}, {row['labels']} labels, {row['who']}: "
                f"{row['us_token']:.2f} us a token, {row['ratio']:.1f}x"
            )
    console.print(f"written to {write('tag_labels', rows)}")


if __name__ == "__main__":
    main()
