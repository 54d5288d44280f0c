"""Corpora of `bench.train` and `bench.grid`: where they lie, their features, what CRFsuite reaches on them.

Features (`bench.corpus_features`) are made in Python, one sentence at a time, so that crfkit and
python-crfsuite are given the same ones and neither pays for keeping them. Only `conll2000all` has CRF++'s
template, made natively.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, tee
from pathlib import Path
from typing import IO, TypeVar

import crfkit
from bench import generated
from bench.corpus_features import (
    Items,
    Rows,
    addresses,
    chunking,
    entities,
    fields,
    letters,
    names,
    tagging,
    tutorial,
)
from bench.features import CHUNKING
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.metrics import span_scores, token_scores
from crfkit.optimize.problem import Penalty

T = TypeVar("T")
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
    test: str  # empty: none
    items: Callable[[Rows], Items] | None  # None: CRF++'s chunking template, and all pairs of labels
    metric: str  # "F1" of segments or "accuracy" of tokens
    l2: float = 2.0  # CRFsuite's c2 = 1
    l1: float = 0.0  # CRFsuite's c1
    chosen: Choice = everything  # sentences of the file that are for training
    tested: Choice = everything
    peer: Peer | None = None
    target: float | None = None  # objective to reach where there is no peer
    peer_iterations: int | None = None  # CRFsuite gets no further in any reasonable time
    columns: tuple[int, ...] | None = None  # of the file that are taken, the label last; None: all
    turned: Callable[[Rows], Rows] | None = None  # makes the rows of others, after the choice of columns
    made: Callable[[], Iterator[tuple[Items, list[str]]]] | None = None  # features and labels without rows
    most: int | None = None  # sentences that are taken for training, of 40 tokens on average at most

    @property
    def all_pairs(self) -> bool:
        """Whether all pairs have weights, of attributes and labels and of labels; else observed ones."""
        return self.items is None and self.made is None

    @property
    def penalty(self) -> Penalty:
        """The penalty of the weights."""
        return Penalty(l1=self.l1, l2=self.l2)

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
        return [
            folder() / name for name in (self.train, self.test) if name and not (folder() / name).exists()
        ]

    def sentences(self, test: bool = False) -> Iterator[Rows]:
        """Yield the rows of the sentences, reading as they are asked for."""
        path, wanted = (self.test, self.tested) if test else (self.train, self.chosen)
        with _opened(folder() / path) as file:
            taken = (rows for n, rows in enumerate(_sentences(file)) if wanted(n))
            for rows in taken if test else self._first(taken, len):
                if self.columns is not None:
                    rows = [[row[c] for c in self.columns] for row in rows]
                yield rows if self.turned is None else self.turned(rows)

    def _first(self, sentences: Iterator[T], tokens: Callable[[T], int]) -> Iterator[T]:
        """Yield the sentences that `most` allows."""
        seen = 0
        for sentence in islice(sentences, self.most):
            seen += tokens(sentence)
            if self.most is not None and seen > 40 * self.most:
                break
            yield sentence

    def featured(self, test: bool = False) -> tuple[Iterator[Items], Iterator[list[str]]]:
        """Return features and labels; whoever takes them in turn holds one sentence at a time."""
        if self.made is not None:
            pairs, again = tee(self._first(self.made(), lambda pair: len(pair[1])))
            return (items for items, _ in pairs), (labels for _, labels in again)
        assert self.items is not None
        first, second = tee(self.sentences(test))
        return map(self.items, first), ([row[-1] for row in rows] for rows in second)

    def as_dicts(self) -> Corpus:
        """Return the corpus with the features of sklearn-crfsuite's tutorial: dicts with booleans."""
        assert self.items is not None, f"{self.name} has no words"
        return self if self.items is addresses else replace(self, items=tutorial)

    def listed(self) -> tuple[list[Items], list[list[str]]]:
        """Return features and labels, all at once, as users have them."""
        items, labels = self.featured()
        return [*items], [*labels]

    def datasets(self) -> tuple[Dataset, Callable[[], Dataset]]:
        """Return the training data, and how to make the test data with the same ids."""
        if self.all_pairs:
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
            return span_scores(gold, predicted).f1
        return token_scores(gold, predicted).accuracy


def halves() -> tuple[list[str], list[str]]:
    """Return the corpora that settings are chosen on, and those that figures are reported on.

    Every other name of those that have dicts, by the alphabet; hundreds of labels are left out.
    """
    names = sorted(name for name, corpus in CORPORA.items() if corpus.items and "brown" not in name)
    return names[::2], names[1::2]


def folder() -> Path:
    return Path(os.environ.get("CRFKIT_DATA", "../shared/data"))


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


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
    columns = crfkit.read(path, format="columns")
    assert isinstance(columns, Columns)
    return columns


# ---- corpora --------------------------------------------------------------------------------------------

_NEWS, _BROWN = "ptb/wsj_sample.txt.gz", "brown/brown.txt.gz"


def _tenth(n: int) -> bool:
    return n % 10 == 9


@cache
def first_of_labels() -> frozenset[int]:
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
            chosen=lambda n: n % 50 == 0 or n in first_of_labels(),
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
        Corpus(
            "conll2002ned",
            "CoNLL-2002 Dutch NER",
            "conll2002/ned.train.gz",
            "conll2002/ned.testb.gz",
            entities,
            "F1",
        ),
        Corpus(
            "ud",
            "UD English EWT, universal tags",
            "ud/en_ewt.train.txt.gz",
            "ud/en_ewt.test.txt.gz",
            tagging,
            "accuracy",
            columns=(0, 1),
        ),
        Corpus("bc2gm", "BioCreative II genes", "bc2gm/train.txt.gz", "bc2gm/test.txt.gz", names, "F1"),
        Corpus("seminars", "Seminar announcements", "seminars/columns.txt.gz", "", fields, "F1"),
        Corpus(
            "skillspan",
            "SkillSpan, skills in job adverts (house)",
            "skillspan/house_train.txt",
            "skillspan/house_test.txt",
            names,
            "F1",
            columns=(0, 1),
        ),
        Corpus(
            "tech",
            "SkillSpan, skills in job adverts (tech)",
            "skillspan/tech_train.txt",
            "skillspan/tech_test.txt",
            names,
            "F1",
            columns=(0, 1),
        ),
        Corpus("enron", "Entities in e-mail", "email_enron/train.txt", "email_enron/test.txt", names, "F1"),
        Corpus("people", "Names of people, parsed", "probablepeople/person_train.txt", "", names, "accuracy"),
        Corpus("references", "Cora, references", "citations/cora_references.columns.txt", "", names, "F1"),
        Corpus("headers", "Cora, headers", "citations/cora_headers.columns.txt.gz", "", names, "F1"),
        Corpus(
            "words",
            "Words found in letters, UD English EWT",
            "ud/en_ewt.train.txt.gz",
            "ud/en_ewt.test.txt.gz",
            names,
            "F1",
            columns=(0,),
            turned=letters,
        ),
        Corpus(
            "usaddress",
            "US addresses, nested dicts",
            "usaddress/labeled_train.txt",
            "usaddress/labeled_test.txt",
            addresses,
            "accuracy",
        ),
        Corpus(
            "ocr",
            "Handwritten words, pixels and real-valued features",
            "ocr/ocr_letters.npz",
            "",
            None,
            "accuracy",
            made=lambda: generated.letters(folder() / "ocr/ocr_letters.npz"),
        ),
        Corpus("random60", "Random sequences of 60", "", "", None, "accuracy", made=generated.random60),
        Corpus(
            "scales",
            "Random real values of scales 1e-3 to 1e3",
            "",
            "",
            None,
            "accuracy",
            made=generated.scales,
        ),
    )
}
