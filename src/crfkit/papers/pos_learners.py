"""The taggers of the experiment pos, and the sentences that they are trained and tested on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.estimators import HMM
from crfkit.features import Extractor, Recipe
from crfkit.linear.features import FeatureSelection
from crfkit.models.model import SequenceModel
from crfkit.objectives import Likelihood, Local
from crfkit.training.learners.generative import Smoothing
from crfkit.training.train import train

Sentence = tuple[tuple[str, str], ...]  # word and tag

SUFFIXES = ("ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies")
WORDS = "word[0]"
#: A number or an upper case letter at the beginning, a hyphen, and suffixes.
SPELLING = "; ".join(
    [WORDS, *(f'is(word, "{one}")[0]' for one in ("^[0-9]", "^[A-Z]", "-", *(f"{end}$" for end in SUFFIXES)))]
)
#: The class of a word that is new or rare: its shape and its last two characters.
CLASSES = "word[0]; shape(word)[0] & suffix(word, 2)[0]"
PENALTIES = (1.0, 0.1, 0.01)  # l2 to choose from
#: Of the HMM: what is added to the counts of words, and from how many on a word is known.
SMOOTHINGS = tuple(product((1.0, 0.1, 0.01), (1, 2)))


@dataclass(frozen=True, eq=False)
class Half:
    """Sentences to train on, and others to test on."""

    train: Sequence[Sentence]
    test: Sequence[Sentence]

    @property
    def tuning(self) -> Half:
        """The training sentences only: the last tenth is what is tested on."""
        cut = len(self.train) * 9 // 10
        return Half(self.train[:cut], self.train[cut:])

    def errors(self, found: Sequence[Sequence[str]]) -> tuple[float, float]:
        """Return the share of wrong tags in percent: of all words, and of those that are new."""
        known = {word for sentence in self.train for word, _ in sentence}
        new = np.array([word not in known for sentence in self.test for word, _ in sentence])
        wrong = np.array(
            [
                tag != other
                for sentence, tags in zip(self.test, found, strict=True)
                for (_, tag), other in zip(sentence, tags, strict=True)
            ]
        )
        return 100.0 * float(wrong.mean()), 100.0 * float(wrong[new].mean()) if new.any() else 0.0

    @property
    def new(self) -> float:
        """The share of test words that are new, in percent."""
        known = {word for sentence in self.train for word, _ in sentence}
        return 100.0 * float(np.mean([word not in known for sentence in self.test for word, _ in sentence]))


def tagged(name: str, half: Half, option: Any, threads: int | None) -> list[list[str]]:
    """Train a model with an l2, or the HMM with a smoothing; return the tags of the test sentences."""
    if name.startswith("HMM"):
        emission, least = option
        recipe = CLASSES if name == "HMM+" else WORDS
        hmm = HMM(smoothing=Smoothing(emission=emission), min_count=least, features=recipe, n_jobs=threads)
        hmm.fit(_words(half.train), [[tag for _, tag in one] for one in half.train])
        return hmm.predict(_words(half.test))
    data, test = data_of(name, half, threads)
    return model_of(name, data, option, threads).predict(test, threads=threads)


@lru_cache(maxsize=2)
def data_of(name: str, half: Half, threads: int | None) -> tuple[Dataset, Dataset]:
    """Return training and test data with the features of a model."""
    recipe = Recipe.parse(SPELLING if name.endswith("+") else WORDS)
    extract = Extractor(recipe, label="tag")
    train = extract(_columns(half.train), threads)
    return train, extract.freeze()(_columns(half.test), threads)


def model_of(name: str, data: Dataset, l2: float, threads: int | None, **options: Any) -> SequenceModel:
    """Train a MEMM or a CRF with weights for the pairs that the data show."""
    local = name.startswith("MEMM")
    return train(
        data,
        structure="local-chain" if local else "chain",
        objective=Local(l2=l2) if local else Likelihood(l2=l2),
        selection=FeatureSelection(transitions="observed"),
        n_jobs=threads,
        progress=False,
        **options,
    )


def generated(n: int, seed: int) -> list[Sentence]:
    """Return sentences made up at random, whose words are mostly spelled as their tags ask for.

    Examples
    --------
    >>> {tag for sentence in generated(20, 0) for _, tag in sentence} == {
    ...     "CD",
    ...     "NNP",
    ...     "NNS",
    ...     "RB",
    ...     "VBD",
    ...     "VBG",
    ... }
    True
    """
    draw = random.Random(seed)
    ends = {"NNS": "s", "VBG": "ing", "VBD": "ed", "RB": "ly", "NNP": "", "CD": ""}
    follow = {tag: draw.sample([*ends], 3) for tag in ends}

    def word(tag: str) -> str:
        if tag == "CD":
            return str(draw.randint(1, 300))
        stem = "".join(draw.choice(["ba", "ko", "lu", "mi", "ren", "sta"]) for _ in range(draw.randint(1, 2)))
        return stem.title() if tag == "NNP" else stem + (ends[tag] if draw.random() < 0.8 else "")

    made = []
    for _ in range(n):
        tags = [draw.choice([*ends])]
        while len(tags) < draw.randint(4, 9):
            tags.append(draw.choice(follow[tags[-1]]))
        made.append(tuple((word(tag), tag) for tag in tags))
    return made


def _words(sentences: Sequence[Sentence]) -> Columns:
    return Columns.from_rows([[(word,) for word, _ in one] for one in sentences], names=["word"])


def _columns(sentences: Sequence[Sentence]) -> Columns:
    return Columns.from_rows(sentences, names=["word", "tag"])
