"""Raw text: tokenizers, one sentence, and many, beside spaCy's blank tokenizer with python-crfsuite.

    python -m bench.text [--quick] [--quality]

Spanish CoNLL-2002, words only, as text and spans: tokens are joined as people write them, without a blank
before a full stop. The model is trained once and exported, so that both sides label with
the same weights; on the same tokens their labels must be the same. The peer makes a blank pipe of spaCy, its
features in Python, labels, and spans of characters without probabilities; crfkit's have them. Seconds are
those of the processor, on one thread. --quality trains and prints the F1 of spans on testa.

Writes text.json to bench/results. Needs the corpora (CRFKIT_DATA), for the peer spaCy and python-crfsuite.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

import crfkit
from bench.measure import RESULTS, interleaved, machine, plain, write
from crfkit import ChainCRF, Doc
from crfkit.models import SequenceModel
from crfkit.models.files import write_model
from crfkit.tags import spans
from crfkit.text import Blanks, Characters, Pattern, Words

MODELS = Path(__file__).parents[1] / "build" / "bench"  # make clean forgets them
OURS, THEIRS = MODELS / "text.crf", MODELS / "text.crfsuite"
PEER = all(importlib.util.find_spec(name) for name in ("spacy", "pycrfsuite"))
#: Words, their shapes and affixes: both sides have it.
RECIPE = """
bias
word[-2..2]; word[-1] & word[0]; word[0] & word[1]
lower(word)[0]; shape(word)[-1..1]
prefix(word, 2)[0]; prefix(word, 3)[0]; prefix(word, 4)[0]
suffix(word, 2)[0]; suffix(word, 3)[0]; suffix(word, 4)[0]
"""
_NO_BLANK_BEFORE = frozenset(".,;:)?!%")
_NO_BLANK_BEHIND = frozenset("(¿¡")

Answer = list[tuple[int, int, str]]


def corpus(part: str) -> Path:
    """Return a part of the Spanish corpus."""
    return Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / f"conll2002/esp.{part}.gz"


def documents(rows: Iterator[Any]) -> Iterator[Doc]:
    """Yield the sentences of columns as text with spans.

    Examples
    --------
    >>> [doc] = documents(iter([[("(", "O"), ("Madrid", "B-LOC"), (")", "O"), (".", "O")]]))
    >>> doc.text, doc.spans[0].text
    ('(Madrid).', 'Madrid')
    """
    for sentence in rows:
        text, before, places = "", "(", []
        for word, *_ in sentence:
            glued = not text or word in _NO_BLANK_BEFORE or before in _NO_BLANK_BEHIND
            text += "" if glued else " "
            places.append((len(text), len(text) + len(word)))
            text, before = text + word, word
        found = spans([row[-1] for row in sentence])
        yield Doc(text, spans=[(places[a][0], places[b - 1][1], label) for a, b, label in found])


def learned(**options: Any) -> ChainCRF:
    """Return an estimator trained on text and spans by the stock recipe."""
    return ChainCRF(tokenizer="words", **options).fit(
        [*documents(iter(crfkit.read(corpus("train"), "columns")))]
    )


# ---- the peer -------------------------------------------------------------------------------------------


def shape(word: str) -> str:
    """Return A for capitals, a for small letters, D for digits, X for others; runs with a plus."""
    made = ""
    for letter in word:
        kind = "A" if letter.isupper() else "a" if letter.islower() else "D" if letter.isdigit() else "X"
        if made.rstrip("+")[-1:] != kind:
            made += kind
        elif not made.endswith("+"):
            made += "+"
    return made


def features(words: list[str]) -> list[list[str]]:
    """Return the attributes of `RECIPE`, as programs in Python make them."""
    T = len(words)
    wide = ["_B-2", "_B-1", *words, "_B+1", "_B+2"]
    shapes = ["_B-1", *map(shape, words), "_B+1"]
    made = []
    for i, word in enumerate(words):
        item = ["bias"]
        item += [f"word[{o}]={wide[i + 2 + o]}" for o in (-2, -1, 0, 1, 2)]
        item += [f"word[-1]&word[0]={wide[i + 1]}|{word}", f"word[0]&word[1]={word}|{wide[i + 3]}"]
        item.append(f"lower(word)[0]={word.lower()}")
        item += [f"shape(word)[{o}]={shapes[i + 1 + o]}" for o in (-1, 0, 1)]
        item += [f"prefix(word, {n})[0]={word[:n]}" for n in (2, 3, 4) if len(word) > n]
        item += [f"suffix(word, {n})[0]={word[-n:]}" for n in (2, 3, 4) if len(word) > n]
        made.append(item)
    assert len(made) == T
    return made


def peer() -> Callable[[str], Answer]:
    """Return a function from a text to spans, by spaCy's tokenizer and python-crfsuite."""
    import pycrfsuite
    import spacy

    nlp = spacy.blank("es")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(THEIRS))

    def answer(text: str) -> Answer:
        tokens = [token for token in nlp.make_doc(text) if not token.is_space]
        tags = tagger.tag(features([token.text for token in tokens]))
        return [(tokens[a].idx, tokens[b - 1].idx + len(tokens[b - 1]), label) for a, b, label in spans(tags)]

    return answer


def same_labels(model: SequenceModel, texts: list[str]) -> bool:
    """Return whether both sides give the same labels to the same tokens."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(THEIRS))
    words = [[text[a:b] for a, b in Words()(text).tolist()] for text in texts]
    return [tagger.tag(features(one)) for one in words] == [*model.predict(words)]


# ---- what is measured -----------------------------------------------------------------------------------


def measured(model: SequenceModel, texts: list[str], repetitions: int) -> list[dict[str, Any]]:
    """Time tokenizers, one sentence and many; a row for each."""
    whole = "\n".join(texts)
    one = next(text for text in texts if len(Words()(text)) == 25)
    tokens = [one[a:b] for a, b in Words()(one).tolist()]
    tagger = crfkit.models.Tagger(model)
    calls: dict[str, Callable[[], object]] = {
        f"tokenizer {tokenizer.kind}": partial(tokenizer, whole)
        for tokenizer in (Words(), Blanks(), Characters(), Pattern(r"\w+|[^\w\s]"))
    }
    calls["one sentence|text to spans"] = partial(model, one)
    calls["one sentence|its tokens to spans"] = partial(tagger.predict_spans, tokens)
    calls["one sentence|tokenizer"] = partial(Words(), one)
    calls["many|pipe"] = lambda: [*model.pipe(texts, threads=1)]
    if PEER:
        other = peer()
        calls["one sentence|peer"] = partial(other, one)
        calls["many|peer"] = lambda: [other(text) for text in texts]
    for call in calls.values():  # what is made once
        call()
    timed = interleaved(calls, repetitions, clock=time.process_time)
    return [
        {"what": what, "characters": len(whole), "texts": len(texts), **plain(t)} for what, t in timed.items()
    ]


def told(rows: list[dict[str, Any]]) -> list[str]:
    """Return the rows as lines for people.

    Examples
    --------
    >>> told([{"what": "tokenizer words", "characters": 10**6, "texts": 5, "median": 0.02}])
    ['tokenizer words                 50.0 M characters/s']
    """
    lines = []
    for row in rows:
        what, median = row["what"], row["median"]
        if what.startswith("tokenizer"):
            shown = f"{row['characters'] / median / 1e6:.1f} M characters/s"
        elif what.startswith("one"):
            shown = f"{median * 1e6:.1f} us"
        else:
            shown = f"{row['texts'] / median:,.0f} sentences/s"
        lines.append(f"{what:<32}{shown}")
    return lines


def quality(console: Console) -> None:
    """Print the F1 of spans that the stock recipe reaches from text and spans."""
    begun = time.process_time()
    crf: Any = learned(features="ner")
    seconds = time.process_time() - begun
    console.print(str(crf.training_.alignment))
    dev = [*documents(iter(crfkit.read(corpus("testa"), "columns")))]
    found: list[Doc] = crf.predict(dev)
    right = sum(
        len({s[:3] for s in a.spans} & {s[:3] for s in b.spans}) for a, b in zip(dev, found, strict=True)
    )
    total = sum(len(doc.spans) for doc in dev) + sum(len(doc.spans) for doc in found)
    console.print(
        f"F1 on testa {200 * right / total:.2f}, of characters; {100 * crf.score(dev):.2f}, of tokens"
    )
    console.print(f"{seconds:.1f} s of the processor to train")


def main() -> None:
    parser = argparse.ArgumentParser(description="Raw text.")
    parser.add_argument("--quick", action="store_true", help="fewer texts and rounds; writes nothing")
    parser.add_argument("--quality", action="store_true", help="train, and print the F1 of spans")
    given = parser.parse_args()
    console = Console(highlight=False)
    if given.quality:
        quality(console)
        return
    if not (OURS.exists() and THEIRS.exists()):
        console.print("training the model, once")
        MODELS.mkdir(parents=True, exist_ok=True)
        model = learned(features=RECIPE).model_
        model.save(OURS)
        write_model(model, THEIRS, "crfsuite")
    model = crfkit.load(OURS)
    assert isinstance(model, SequenceModel)
    docs = documents(iter(crfkit.read(corpus("testa"), "columns")))
    texts = [doc.text for doc in docs][: 300 if given.quick else None]
    if PEER:
        console.print(
            f"labels of both on the same tokens are {'the same' if same_labels(model, texts) else 'OTHERS'}"
        )
    else:
        console.print("spaCy and python-crfsuite are not installed: nothing to compare with")
    rows = measured(model, texts, 3 if given.quick else 7)
    console.print("\n".join(told(rows)))
    if not given.quick:
        path = write("text", [{"machine": machine()["commit"], **row} for row in rows])
        console.print(f"wrote {path.relative_to(RESULTS.parent.parent)}")


if __name__ == "__main__":
    main()
