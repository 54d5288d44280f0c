"""The chunkers of the experiment np-chunking: labels are pairs of chunk tags, features those of Table 1.

The label of a word is the chunk tag (B, I or O) of the word before and its own, as Sha & Pereira (2003) have
it: OI is impossible, a label begins with what the one before ends with, and the first one with O.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from crfkit._safe.cached import once
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.data.reading import read
from crfkit.features import Extractor, Recipe
from crfkit.metrics import span_scores
from crfkit.models.model import SequenceModel
from crfkit.objectives import Likelihood, Local
from crfkit.optimize import AveragedPerceptron
from crfkit.papers.curves import until
from crfkit.structures import Chain
from crfkit.structures.constraints import START, Forbid
from crfkit.training.stop import Stop
from crfkit.training.train import train

Sentence = list[tuple[str, str, str]]  # word, part of speech, chunk tag

#: Words and parts of speech within two words, and their conjunctions (Table 1).
FEATURES = Recipe.parse("""
bias
word[-2..2]; word[-1] & word[0]; word[0] & word[1]
pos[-2..2]; pos[-2] & pos[-1]; pos[-1] & pos[0]; pos[0] & pos[1]; pos[1] & pos[2]
pos[-2] & pos[-1] & pos[0]; pos[-1] & pos[0] & pos[1]; pos[0] & pos[1] & pos[2]
""")
#: A label begins with what the one before ends with, and the first one with O.
PAIRS = (Forbid(START, re.compile("[BI].")), Forbid(pair=re.compile(r".(.),(?!\1)..")))
#: What is trained, and the F1 of Table 2.
MODELS = {
    "CRF, complete features": 94.4,
    "CRF, supported features": None,
    "averaged perceptron": 94.1,
    "MEMM": 93.7,
}
#: Training methods of Figures 2 and 3, and the optimizer of each.
METHODS = {
    "preconditioned CG": "pcg",
    "mixed CG": "mixed-cg",
    "plain CG": "cg",
    "L-BFGS": "lbfgs",
    "GIS": "gis",
    "averaged perceptron": "perceptron",
    "the default of crfkit": "auto",
}
PENALTIES = (2.0, 1.0, 0.5)  # l2 to choose from: 1 / sigma^2


@dataclass(frozen=True)
class Corpus:
    """Sentences to train on and to test on, and the same as data with pairs as labels."""

    sentences: Sequence[Sentence]
    test: Sequence[Sentence]
    threads: int | None = None

    @classmethod
    def read(cls, train: Path, test: Path, threads: int | None) -> Corpus:
        """Read the files of CoNLL-2000; chunks other than noun phrases are outside."""
        return cls(_sentences(train), _sentences(test), threads)

    @once
    def held_out(self) -> Corpus:
        """The training sentences only: the last tenth is what is tested on."""
        cut = len(self.sentences) * 9 // 10
        return Corpus(self.sentences[:cut], self.sentences[cut:], self.threads)

    @once
    def data(self) -> tuple[Dataset, Dataset]:
        """Training and test data."""
        extract = Extractor(FEATURES, label="pair")
        train = extract(_columns(self.sentences), self.threads)
        return train, extract.freeze()(_columns(self.test), self.threads)

    @property
    def gold(self) -> list[list[str]]:
        """The chunk tags of the test sentences."""
        return [[tag for _, _, tag in sentence] for sentence in self.test]

    def f1(self, found: Iterable[Sequence[str]]) -> float:
        """Return the F1 of noun phrases in percent, given a chunk tag for each word."""
        return 100.0 * span_scores(self.gold, [*found]).overall.f1


def learned(
    name: str, corpus: Corpus, *, l2: float = 1.0, passes: int = 30, seed: int = 0
) -> tuple[SequenceModel, list[list[str]]]:
    """Train one of `MODELS`; return it with the chunk tags of the test sentences."""
    data, test = corpus.data
    options: dict[str, Any] = {"structure": Chain(constraints=PAIRS), "objective": Likelihood(l2=l2)}
    if name == "MEMM":
        options = {"structure": "local-chain", "objective": Local(l2=l2)}
    elif name == "averaged perceptron":
        optimizer = AveragedPerceptron(max_passes=passes, seed=seed)
        options = {"structure": Chain(constraints=PAIRS), "objective": "perceptron", "optimizer": optimizer}
    features = "all" if name == "CRF, complete features" else "observed"
    model = train(
        data, selection=features, random_state=seed, n_jobs=corpus.threads, progress=False, **options
    )
    return model, tags(model.predict(test, threads=corpus.threads))


def followed(method: str, corpus: Corpus, passes: int, seed: int = 0) -> SequenceModel:
    """Train on the supported features with one of `METHODS` for `passes` passes; test scores are recorded.

    The scores are for the curves alone: the model is not to be used, since it has the weights with the best.
    """
    data, test = corpus.data
    optimizer = METHODS[method]
    steps = 1 if optimizer in ("perceptron", "auto") else 3
    return train(
        data,
        test,
        structure=Chain(constraints=PAIRS),
        objective=Likelihood(l2=1.0) if optimizer != "perceptron" else "perceptron",
        optimizer=optimizer,
        metric=_f1_of_pairs,
        stop=Stop(patience=None, dev_every=steps, tolerance=1e-4 if optimizer == "auto" else 0.0),
        listeners=[until(passes)],
        random_state=seed,
        n_jobs=corpus.threads,
        progress=False,
    )


def tags(found: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return chunk tags of pairs.

    Examples
    --------
    >>> tags([["OB", "BI", "IO"]])
    [['B-NP', 'I-NP', 'O']]
    """
    whole = {"B": "B-NP", "I": "I-NP", "O": "O"}
    return [[whole[pair[1]] for pair in sequence] for sequence in found]


def generated(n: int, seed: int) -> list[Sentence]:
    """Return sentences made up at random; phrases may follow each other without a word between them.

    Examples
    --------
    >>> [tag for _, _, tag in generated(1, 0)[0]][:3]
    ['O', 'B-NP', 'I-NP']
    """
    draw = random.Random(seed)
    words = {pos: [f"{pos.lower()}{i}" for i in range(12)] for pos in ("DT", "JJ", "NN", "VB", "IN")}

    def phrase() -> Sentence:
        kinds = ["DT"] * draw.randint(0, 1) + ["JJ"] * draw.randint(0, 2) + ["NN"] * draw.randint(1, 2)
        return [(draw.choice(words[k]), k, "I-NP" if i else "B-NP") for i, k in enumerate(kinds)]

    made = []
    for _ in range(n):
        sentence: Sentence = []
        for _ in range(draw.randint(1, 4)):
            other = draw.choice(["VB", "IN"])
            if draw.random() < 0.8:
                sentence.append((draw.choice(words[other]), other, "O"))
            sentence += phrase()
        made.append(sentence)
    return made


def _f1_of_pairs(gold: Any, found: Any) -> float:
    return float(span_scores(tags(gold), tags(found)).overall.f1)


def _sentences(path: Path) -> list[Sentence]:
    columns = read(path)
    assert isinstance(columns, Columns)
    return [
        [(word, pos, tag if tag.endswith("-NP") else "O") for word, pos, tag in sentence]
        for sentence in columns
    ]


def _columns(sentences: Sequence[Sentence]) -> Columns:
    rows = []
    for sentence in sentences:
        ends = ["O", *(tag[0] for _, _, tag in sentence)]
        pairs = [before + now for before, now in pairwise(ends)]
        rows.append([(word, pos, pair) for (word, pos, _), pair in zip(sentence, pairs, strict=True)])
    return Columns.from_rows(rows, names=["word", "pos", "pair"])
