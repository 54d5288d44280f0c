"""Items whose own code changes them while they are read: an error or an answer, never a crash."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit.compat import pycrfsuite
from crfkit.features import ItemExtractor
from tests.cases.estimators import X, fitted

ODD: list[Any] = [
    True,
    None,
    float("nan"),
    10**400,
    b"\xff",
    "\ud800",
    memoryview(b"abc"),
    np.float32(2),
    np.array([1, 2]),
    np.array(3.0),
    np.array([None]),
    bytearray(b"x"),
    object(),
]


class Number(float):
    act: Callable[[], None]

    def __float__(self) -> float:
        self.act()
        return 1.0


class Count(int):
    act: Callable[[], None]

    def __index__(self) -> int:
        self.act()
        return 1


class Word(str):
    act: Callable[[], None]

    def __eq__(self, _: object) -> bool:
        self.act()
        return True

    def __hash__(self) -> int:
        return 1


class Row(list[Any]):
    act: Callable[[], None]

    def __len__(self) -> int:
        return 10**12

    def __iter__(self) -> Any:
        self.act()
        return list.__iter__(self)


class Table(dict[str, Any]):
    act: Callable[[], None]

    def items(self) -> Any:
        self.act()
        return dict.items(self)


class Loose:
    act: Callable[[], None]

    def __float__(self) -> float:
        self.act()
        return 1.5

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __getitem__(self, _: int) -> Any:
        self.act()
        raise IndexError


class Hostile:
    """A maker of items; their methods clear, grow, collect, raise, or ask the tagger meanwhile."""

    def __init__(self, seed: int, tagger: crfkit.models.Tagger) -> None:
        self.draw = random.Random(seed)
        self.boxes: list[Any] = []
        self.tagger = tagger
        self.calls = 0

    def act(self) -> None:
        self.calls += 1
        if not self.boxes:
            return
        box, what = self.draw.choice(self.boxes), self.draw.randrange(6)
        if what == 0:
            box.clear()
        elif what == 1 and isinstance(box, list):
            box.extend(["new"] * 50)
        elif what == 1:
            dict.update(box, {f"n{i}": 1.0 for i in range(50)})
        elif what == 2:
            gc.collect(0)
        elif what == 3:
            raise KeyError("changed")
        elif what == 4:
            self.tagger.tag(X[0])

    def value(self, depth: int = 0) -> Any:
        inner = [] if depth > 3 else [self.value(depth + 1) for _ in range(self.draw.randrange(4))]
        named = {f"k{i}": one for i, one in enumerate(inner)}
        made: Any = self.draw.choice(
            [Number(1), Count(3), Word("s"), Row(inner), Table(named), Loose()]
            + [named, inner, iter(inner), tuple(inner)]
            + [f"plain{self.draw.randrange(50)}"] * 4
            + [self.draw.choice(ODD)]
        )
        if isinstance(made, Number | Count | Word | Row | Table | Loose):
            made.act = self.act
        if isinstance(made, list | dict):
            self.boxes.append(made)
        return made

    def sequence(self) -> list[Any]:
        made = [self.value() for _ in range(self.draw.randrange(6))]
        self.boxes.append(made)
        return made


@pytest.fixture(scope="module")
def estimator() -> crfkit.ChainCRF:
    return fitted()


@pytest.mark.parametrize(
    "read",
    [
        lambda estimator, tagger, s: tagger.tag(s),
        lambda estimator, tagger, s: estimator.predict([s]),
        lambda estimator, tagger, s: ItemExtractor()([s, s]),
        lambda estimator, tagger, s: ItemExtractor(hashed=64)([s]),
        lambda estimator, tagger, s: pycrfsuite.ItemSequence(s),
    ],
    ids=["tag", "predict", "extract", "hashed", "ItemSequence"],
)
def test_items_that_change_while_they_are_read(read: Callable[..., Any], estimator: crfkit.ChainCRF) -> None:
    tagger = crfkit.models.Tagger(estimator.model_)
    before, calls, answered = tagger.tag(X[0]), 0, 0
    for seed in range(150):
        hostile = Hostile(seed, tagger)
        try:
            read(estimator, tagger, hostile.sequence())
            answered += 1
        except (ValueError, TypeError, KeyError, RuntimeError, IndexError):
            pass
        calls += hostile.calls
    assert calls > 20
    assert answered > 5
    assert tagger.tag(X[0]) == before
