"""Corpora of `bench.train`: where they lie, their features as strings, what CRFsuite reaches on them.

Features are lists of strings made in Python, one sentence at a time, so that crfkit and python-crfsuite are
given the same ones and neither pays for keeping them. Only `conll2000all` has CRF++'s template, made
natively.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import tee
from pathlib import Path

from bench.features import CHUNKING
from crfkit import data
from crfkit.batch import Dataset
from crfkit.features import Extractor, ItemExtractor
from crfkit.formats.columns import Columns
from crfkit.layout import Layout
from crfkit.metrics import segment_scores, token_scores

Rows = list[list[str]]  # one sentence: the columns of each token, the label last
Items = list[list[str]]  # its features, token by token
Choice = Callable[[int], bool]  # of sentences, by number


def everything(n: int) -> bool:
    return True


@dataclass(frozen=True)
class Peer:
    """CRFsuite 0.12 (python-crfsuite 0.9.12) run to its own end, c2 = 1; deterministic."""

    objective: float
    evaluations: int


@dataclass(frozen=True)
class Corpus:
    """Training and test sentences, features, and what is known about the optimum."""

    name: str
    title: str
    train: str  # files below the folder of the corpora
    test: str
    items: Callable[[Rows], Items] | None  # None: CRF++'s chunking template, and all pairs of labels
    metric: str  # "F1" of segments or "accuracy" of tokens
    l2: float = 2.0  # CRFsuite's c2 = 1
    chosen: Choice = everything  # sentences of the file that are for training
    tested: Choice = everything
    peer: Peer | None = None
    target: float | None = None  # objective to reach where there is no peer
    peer_iterations: int | None = None  # CRFsuite gets no further in any reasonable time

    @property
    def all_pairs(self) -> bool:
        """Whether all pairs have weights, of attributes and labels and of labels; else observed ones."""
        return self.items is None

    @property
    def reference(self) -> float | None:
        """The objective to reach."""
        return self.target if self.peer is None else self.peer.objective

    @property
    def reference_of(self) -> str:
        """Whose that is."""
        return "Wapiti" if self.peer is None else "CRFsuite"

    @property
    def missing(self) -> list[Path]:
        """Files that are not there."""
        return [path for path in (folder() / self.train, folder() / self.test) if not path.exists()]

    def sentences(self, test: bool = False) -> Iterator[Rows]:
        """Yield the rows of the sentences, reading as they are asked for."""
        path, wanted = (self.test, self.tested) if test else (self.train, self.chosen)
        with gzip.open(folder() / path, "rt", encoding="utf-8") as file:
            yield from (rows for n, rows in enumerate(_sentences(file)) if wanted(n))

    def featured(self, test: bool = False) -> tuple[Iterator[Items], Iterator[list[str]]]:
        """Return features and labels; whoever takes them in turn holds one sentence at a time."""
        assert self.items is not None
        first, second = tee(self.sentences(test))
        return map(self.items, first), ([row[-1] for row in rows] for rows in second)

    def datasets(self) -> tuple[Dataset, Callable[[], Dataset]]:
        """Return the training data, and how to make the test data with the same ids."""
        if self.items is None:
            native = Extractor(CHUNKING)
            made = native(_columns(folder() / self.train))
            return made, lambda: native.freeze()(_columns(folder() / self.test))
        extract = ItemExtractor()
        made = extract(*self.featured())
        return made, lambda: extract.freeze()(*self.featured(test=True))

    def layout(self, dataset: Dataset, threads: int | None = None) -> Layout:
        """Return the weights: those that CRFsuite has by default, or all."""
        L = len(dataset.labels)
        if self.all_pairs:
            return Layout.all_pairs(dataset.batch, L, threads=threads)
        return Layout.observed(dataset.batch, L, transitions="observed", threads=threads)

    def score(self, predicted: list[list[str]]) -> float:
        """Return the metric of labels for the test sentences."""
        gold = [[row[-1] for row in rows] for rows in self.sentences(test=True)]
        if self.metric == "F1":
            return segment_scores(gold, predicted).f1
        return token_scores(gold, predicted).accuracy


def folder() -> Path:
    return Path(os.environ.get("CRFKIT_DATA", "../shared/data"))


def _sentences(lines: Iterator[str]) -> Iterator[Rows]:
    rows: Rows = []
    for line in lines:
        if fields := line.split():
            rows.append(fields)
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows


def _columns(path: Path) -> Columns:
    columns = data.read(path, format="columns")
    assert isinstance(columns, Columns)
    return columns


# ---- features -------------------------------------------------------------------------------------------

Fields = tuple[tuple[int, int], ...]  # (column, offset) of each part


def _grams(column: int, n: int, reach: int = 2) -> list[Fields]:
    """All n-grams of a column that lie within so many tokens of the current one."""
    return [tuple((column, o + i) for i in range(n)) for o in range(-reach, reach + 2 - n)]


# The templates of CRFsuite's example for chunking: fields beyond the sentence leave the feature out.
_PAIRS: list[Fields] = [((0, -1), (0, 0)), ((0, 0), (0, 1))]
_CHUNKING = [*_grams(0, 1), *_PAIRS, *_grams(1, 1), *_grams(1, 2), *_grams(1, 3)]
_TAGGING = [*_grams(0, 1), *_PAIRS]
_ENTITIES = [*_grams(0, 1), *_PAIRS, *_grams(1, 1), *_grams(1, 2, reach=1)]


@lru_cache
def _name(template: Fields) -> str:
    return "|".join(f"{'w' if c == 0 else 'pos'}[{o}]" for c, o in template) + "="


def _joined(rows: Rows, templates: list[Fields]) -> Items:
    T = len(rows)
    items: Items = [[] for _ in rows]
    for template in templates:  # offsets rise, so the first and the last say what lies outside
        name = _name(template)
        for t in range(max(0, -template[0][1]), min(T, T - template[-1][1])):
            items[t].append(name + "|".join([rows[t + o][c] for c, o in template]))
    items[0].append("__BOS__")
    items[-1].append("__EOS__")
    return items


@lru_cache(maxsize=1 << 16)
def _spelling(word: str) -> tuple[str, ...]:
    """Affixes, shape and marks of one word."""
    shape = re.sub(r"(.)\1+", r"\1", re.sub(r"\d", "0", re.sub(r"[^\W\d_]", _case, word)))
    made = [f"shape={shape}", f"lower={word.lower()}"]
    made += [f"pre{n}={word[:n]}" for n in (1, 2, 3) if len(word) > n]
    made += [f"suf{n}={word[-n:]}" for n in (1, 2, 3, 4) if len(word) > n]
    marks = {
        "capital": word[0].isupper(),
        "capitals": word.isupper() and len(word) > 1,
        "digit": any(c.isdigit() for c in word),
        "hyphen": "-" in word,
    }
    return (*made, *(mark for mark, there in marks.items() if there))


def _case(letter: re.Match[str]) -> str:
    return "X" if letter[0].isupper() else "x"


def chunking(rows: Rows) -> Items:
    return _joined(rows, _CHUNKING)


def tagging(rows: Rows) -> Items:
    return [[*item, *_spelling(row[0])] for item, row in zip(_joined(rows, _TAGGING), rows, strict=True)]


def entities(rows: Rows) -> Items:
    T = len(rows)
    items = [[*item, *_spelling(row[0])] for item, row in zip(_joined(rows, _ENTITIES), rows, strict=True)]
    for t, item in enumerate(items):
        for o in (-1, 1):
            if 0 <= t + o < T:
                item += [f"[{o}]{part}" for part in _spelling(rows[t + o][0]) if part.startswith(("s", "c"))]
    return items


# ---- corpora --------------------------------------------------------------------------------------------

_NEWS, _BROWN = "ptb/wsj_sample.txt.gz", "brown/brown.txt.gz"


def _tenth(n: int) -> bool:
    return n % 10 == 9


@cache
def _first_of_labels() -> frozenset[int]:
    """Return the sentences of the Brown corpus that show a label for the first time."""
    shown: set[str] = set()
    first: set[int] = set()
    with gzip.open(folder() / _BROWN, "rt", encoding="utf-8") as file:
        for n, rows in enumerate(_sentences(file)):
            new = {row[-1] for row in rows} - shown
            if new:
                first.add(n)
                shown |= new
    return frozenset(first)


CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            "conll2000",
            "CoNLL-2000 chunking",
            "conll2000/train.txt.gz",
            "conll2000/test.txt.gz",
            chunking,
            "F1",
            peer=Peer(13139.355934, 178),
        ),
        Corpus(
            "conll2000all",
            "CoNLL-2000 chunking, CRF++'s template, all pairs",
            "conll2000/train.txt.gz",
            "conll2000/test.txt.gz",
            None,
            "F1",
            l2=1.0,
            target=8263.0,  # where Wapiti stops
        ),
        Corpus(
            "ptb",
            "Penn Treebank POS (NLTK's sample)",
            _NEWS,
            _NEWS,
            tagging,
            "accuracy",
            chosen=lambda n: not _tenth(n),
            tested=_tenth,
            peer=Peer(10640.020065, 115),
        ),
        Corpus(
            "brown10",
            "Brown POS, a tenth",
            _BROWN,
            _BROWN,
            tagging,
            "accuracy",
            chosen=lambda n: n % 10 == 0,
            tested=_tenth,
            peer_iterations=2,
        ),
        Corpus(
            "brown472",
            "Brown POS, every 50th sentence and one of each label",
            _BROWN,
            _BROWN,
            tagging,
            "accuracy",
            chosen=lambda n: n % 50 == 0 or n in _first_of_labels(),
            tested=_tenth,
            peer_iterations=1,
        ),
        Corpus(
            "brown",
            "Brown POS",
            _BROWN,
            _BROWN,
            tagging,
            "accuracy",
            chosen=lambda n: not _tenth(n),
            tested=_tenth,
            peer_iterations=0,
        ),
        Corpus(
            "conll2002",
            "CoNLL-2002 Spanish NER",
            "conll2002/esp.train.gz",
            "conll2002/esp.testb.gz",
            entities,
            "F1",
            peer=Peer(6710.533477, 268),
        ),
    )
}
