"""One sentence at a time: tokens to labels, to spans with probabilities, to explanations, and many in a row.

    python -m bench.sentence [--quick]

Words of Spanish CoNLL-2002, a recipe of 23 templates, 9 labels. The model is trained once by crfkit and
exported, so that python-crfsuite tags with the same weights; its features are made by Python, each view of a
token once for a sentence, and all labels must be the same. "One sentence" has 25 tokens and comes again and
again, as in a notebook; "the text" are all sentences of testa, from a model that has just been opened (which
is a row of its own), and once more: microseconds for 25 tokens. Seconds are those of the processor, on one
thread.

Writes sentence.json and sentence.md to bench/results. Needs CRFKIT_DATA, for the peer `pip install
python-crfsuite`.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

import crfkit
from bench.measure import RESULTS, Timing, interleaved, machine, plain, write
from crfkit import ChainCRF
from crfkit.models import SequenceModel, Tagger
from crfkit.models.files import write_model

FOLDER = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "conll2002"
MODELS = Path(__file__).parents[1] / "build" / "bench"  # make clean forgets them
OURS, THEIRS = MODELS / "sentence.crf", MODELS / "sentence.crfsuite"
PEER = importlib.util.find_spec("pycrfsuite") is not None
RECIPE = """
bias
word[-2..2]
word[-1] & word[0]
word[0] & word[1]
lower(word)[-1..1]
shape(word)[-1..1]
shape(word)[-1] & shape(word)[0]
shape(word)[0] & shape(word)[1]
prefix(word, 2)[0]
prefix(word, 3)[0]
prefix(word, 4)[0]
suffix(word, 2)[0]
suffix(word, 3)[0]
suffix(word, 4)[0]
length(word)[0]
"""
TEXT = """
El presidente de la Junta de Extremadura , Juan Carlos Rodríguez Ibarra , dijo hoy en Madrid que España y
Telefónica firmarán el acuerdo .
"""
SENTENCE = TEXT.split()
SIZE = 25  # tokens that times are of

Words = list[str]


def sentences(part: str) -> list[tuple[Words, list[str]]]:
    """Return the words and tags of each sentence."""
    with gzip.open(FOLDER / f"esp.{part}.gz", "rt", encoding="utf-8") as file:
        blocks = [[line.split() for line in one.splitlines()] for one in file.read().strip().split("\n\n")]
    return [([row[0] for row in rows], [row[-1] for row in rows]) for rows in blocks]


def make_model(console: Console) -> None:
    """Train and export, unless that was done before."""
    if OURS.exists() and THEIRS.exists():
        return
    console.print("training the model, once")
    X, y = zip(*sentences("train"), strict=True)
    crf = ChainCRF(features=RECIPE, max_iterations=60).fit([*X], [*y])
    MODELS.mkdir(parents=True, exist_ok=True)
    crf.model_.save(OURS)
    write_model(crf.model_, THEIRS, "crfsuite")


# ---- the peer -------------------------------------------------------------------------------------------

_AGAIN = re.compile("|".join(f"(?<={kind}){kind}+" for kind in "AaDX"))


def _shape(word: str) -> str:
    kinds = ["D" if c.isdigit() else "A" if c.isupper() else "a" if c.islower() else "X" for c in word]
    return _AGAIN.sub("+", "".join(kinds))


def features(words: Words) -> list[list[str]]:
    """Make what the recipe makes, as a careful program does."""
    front, back = ["_B-2", "_B-1"], ["_B+1", "_B+2"]
    word = front + words + back
    lower = front + [w.lower() for w in words] + back
    shape = front + [_shape(w) for w in words] + back
    made = []
    for t in range(2, len(words) + 2):
        w = word[t]
        item = [
            "bias",
            f"word[-2]={word[t - 2]}",
            f"word[-1]={word[t - 1]}",
            f"word[0]={w}",
            f"word[1]={word[t + 1]}",
            f"word[2]={word[t + 2]}",
            f"word[-1]&word[0]={word[t - 1]}|{w}",
            f"word[0]&word[1]={w}|{word[t + 1]}",
            f"lower(word)[-1]={lower[t - 1]}",
            f"lower(word)[0]={lower[t]}",
            f"lower(word)[1]={lower[t + 1]}",
            f"shape(word)[-1]={shape[t - 1]}",
            f"shape(word)[0]={shape[t]}",
            f"shape(word)[1]={shape[t + 1]}",
            f"shape(word)[-1]&shape(word)[0]={shape[t - 1]}|{shape[t]}",
            f"shape(word)[0]&shape(word)[1]={shape[t]}|{shape[t + 1]}",
        ]
        for n in (2, 3, 4):
            if len(w) > n:
                item += [f"prefix(word, {n})[0]={w[:n]}", f"suffix(word, {n})[0]={w[-n:]}"]
        item.append(f"length(word)[0]={min(len(w), 9)}")
        made.append(item)
    return made


def opened_peer() -> Any:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(THEIRS))
    return tagger


# ---- what is timed --------------------------------------------------------------------------------------


def calls() -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    """Return what is timed in turn, and how many tokens each call has."""
    model = SequenceModel.load(OURS)
    tagger = Tagger(model)
    text = [words for words, _ in sentences("testa")]
    tokens = sum(map(len, text))
    expected = model.predict(model.dataset(text))  # the way of arrays
    assert [tagger.tag(words) for words in text] == expected == model.predict(text)
    one: dict[str, Callable[[], object]] = {
        "one sentence|Tagger.tag": lambda: tagger.tag(SENTENCE),
        "one sentence|Tagger.predict_proba": lambda: tagger.predict_proba(SENTENCE),
        "one sentence|Tagger.predict_spans": lambda: tagger.predict_spans(SENTENCE),
        "one sentence|Model.predict": lambda: model.predict([SENTENCE]),
        "one sentence|Model.predict_spans": lambda: model.predict_spans([SENTENCE]),
        "one sentence|Model.explain, one position": lambda: model.explain(SENTENCE, at=8),
        "one sentence|Model.explain": lambda: model.explain(SENTENCE),
    }
    fresh: Callable[[], Tagger] = lambda: Tagger(crfkit.load(OURS))  # noqa: E731
    whole: dict[str, Callable[[], object]] = {
        "opening, and one sentence|Tagger.predict_spans": lambda: fresh().predict_spans(SENTENCE),
        "opening, and the text|Tagger.predict_spans": lambda: [
            made.predict_spans(words) for made in (fresh(),) for words in text
        ],
        "the text, again|Tagger.tag": lambda: [tagger.tag(words) for words in text],
        "the text, again|Tagger.predict_spans": lambda: [tagger.predict_spans(words) for words in text],
        "the text, again|Model.predict": lambda: model.predict(text, threads=1),
        "the text, again|Model.predict_spans": lambda: model.predict_spans(text, threads=1),
    }
    if PEER:
        peer = opened_peer()
        assert [peer.tag(features(words)) for words in text] == expected
        ready = features(SENTENCE)
        one["one sentence|python-crfsuite, Python features"] = lambda: peer.tag(features(SENTENCE))
        one["one sentence|python-crfsuite, features ready"] = lambda: peer.tag(ready)
        whole["the text, again|python-crfsuite, Python features"] = lambda: [
            peer.tag(features(words)) for words in text
        ]
    counts = dict.fromkeys(one, SIZE) | dict.fromkeys(whole, tokens)
    counts["opening, and one sentence|Tagger.predict_spans"] = SIZE
    return dict(sorted({**one, **whole}.items())), counts


def table(timings: dict[str, Timing], tokens: dict[str, int]) -> str:
    """All results as Markdown."""
    about = machine()
    lines = [f"{about['processor']}, {about['cores']} cores, commit {about['commit']}, {about['date']}."]
    lines += [
        "",
        "| what | who | us for 25 tokens | spread | python-crfsuite takes |",
        "| --- | --- | --: | --: | --: |",
    ]
    each = {name: 1e6 * SIZE * timing.median / tokens[name] for name, timing in timings.items()}
    for name, us in each.items():
        what, who = name.split("|")
        peer = each.get(
            f"{what.replace('opening, and the text', 'the text, again')}|python-crfsuite, Python features"
        )
        times = "" if peer is None or who.startswith("python") else f"{peer / us:.1f}x"
        lines.append(f"| {what} | {who} | {us:.1f} | {100 * timings[name].spread:.0f} % | {times} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of nine")
    options = parser.parse_args()
    console = Console(stderr=True)
    if not FOLDER.exists():
        console.print(f"{FOLDER} is not there: set CRFKIT_DATA to the folder of the corpora")
        raise SystemExit(2)
    if not PEER:
        console.print("nothing to compare with: pip install python-crfsuite")
    make_model(console)
    made, tokens = calls()
    timings = interleaved(made, 3 if options.quick else 9, clock=time.process_time)
    text = table(timings, tokens)
    (RESULTS / "sentence.md").write_text(text, encoding="utf-8")
    print(text)
    rows = [{"what": name, "tokens": tokens[name], **plain(timing)} for name, timing in timings.items()]
    console.print(f"written to {write('sentence', rows)} and {RESULTS / 'sentence.md'}")


if __name__ == "__main__":
    main()
