"""Items that are wrong, objects that raise or change under the walk, references and memory."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from crfkit.features.items import ItemExtractor
from tests.cases.items import entries

# ---- mistakes


ok = [["a"]]
BAD: list[tuple[Any, type[Exception], str]] = [
    (["abc"], ValueError, "sequence 0: a plain string is not a sequence of items"),
    ([ok, b"abc"], ValueError, "sequence 1: a plain string is not a sequence"),
    (
        [ok, [["a"], "abc"]],
        ValueError,
        "sequence 1, position 1: the item is a plain string; put it in a list",
    ),
    ([[bytearray(b"abc")]], ValueError, "sequence 0, position 0: the item is a plain string"),
    ([{"a": 1}], TypeError, "sequence 0: a dict is not a sequence"),
    ([None], TypeError, "sequence 0: the sequence is None; expected an iterable of items"),
    ([3], TypeError, "sequence 0: the sequence is of type int"),
    ([[["a"], None]], TypeError, "sequence 0, position 1: the item is None; expected a dict, or an iterable"),
    ([[1.5]], TypeError, "sequence 0, position 0: the item is of type float"),
    ([[["a", 1]]], TypeError, "sequence 0, position 0: the name of an attribute is of type int"),
    ([[["a", None]]], TypeError, "sequence 0, position 0: the name of an attribute is None"),
    ([[[["a"]]]], TypeError, "sequence 0, position 0: the name of an attribute is of type list"),
    ([[[{"a": 1}]]], TypeError, "the name of an attribute is of type dict"),
    ([[{1: 2.0}]], TypeError, "sequence 0, position 0: the name of an attribute is of type int"),
    ([[{None: "v"}]], TypeError, "the name of an attribute is None"),
    ([[{"k": {1: 2}}]], TypeError, "attribute 'k': the name of an attribute is of type int"),
    ([[{"k": None}]], TypeError, "position 0, attribute 'k': the value is None, expected a number"),
    ([[{"k": {"l": object()}}]], TypeError, "attribute 'k:l': the value is of type object"),
    ([[{"k": iter("ab")}]], TypeError, "attribute 'k': the value is of type str_"),
    ([[{"k": 1j}]], TypeError, "attribute 'k': the value is of type complex"),
    ([[{"k": np.zeros(1)}]], TypeError, "attribute 'k': the value is of type ndarray"),
    ([[{"k": ["a", 3]}]], TypeError, "attribute 'k': the value is of type int, expected a string"),
    ([[{"k": [["a"]]}]], TypeError, "attribute 'k': the value is of type list, expected a string"),
    ([[{"k": float("nan")}]], ValueError, "attribute 'k': the value is nan; values must be finite"),
    ([[{"k": {"l": float("-inf")}}]], ValueError, "attribute 'k:l': the value is infinite"),
    ([[{"k": np.float32("inf")}]], ValueError, "attribute 'k': the value is infinite"),
    ([[{"k": 10**400}]], ValueError, "attribute 'k': the value is an int too large"),
    ([[["\ud800"]]], ValueError, "position 0: the name of an attribute holds a lone surrogate"),
    ([[{"k": "\udcff"}]], ValueError, "attribute 'k': the value holds a lone surrogate"),
    ([[{"\udcff": 1}]], ValueError, "the name of an attribute holds a lone surrogate"),
    ([[[b"\xff"]]], ValueError, "the name of an attribute is bytes that are not UTF-8"),
    ([[{"k": b"\xed\xa0\x80"}]], ValueError, "attribute 'k': the value is bytes that are not UTF-8"),
    ("abc", ValueError, "X is a plain string"),
    (np.zeros((2, 3)), ValueError, "X is one matrix"),
    (scipy.sparse.eye_array(2), ValueError, "X is one matrix"),
    (
        [np.zeros((2, 3), int)],
        TypeError,
        r"sequence 0 is an array of int64 of shape \(2, 3\); expected floats",
    ),
    ([np.zeros(3)], TypeError, r"sequence 0 is an array of float64 of shape \(3,\)"),
    ([np.zeros((1, 2)), np.zeros((1, 3))], ValueError, "sequence 1: 3 dense features, expected 2"),
    ([np.zeros((1, 2)), ok], ValueError, "sequence 1 has no dense features"),
    ([ok, np.zeros((1, 2))], ValueError, "sequence 1 has dense features, unlike"),
    ([ok, ok, (ok, np.zeros((1, 2)))], ValueError, "sequence 2 has dense features, unlike"),
    ([(ok, np.zeros((2, 2)))], ValueError, "sequence 0: 1 items and 2 rows of dense features"),
    ([(ok, np.zeros((1, 2), int))], TypeError, "sequence 0: the dense features are int64"),
    ([np.array([[0, np.nan]])], ValueError, "sequence 0, position 0: dense feature 1 is nan"),
    ([scipy.sparse.eye_array(2), scipy.sparse.eye_array(3)], ValueError, "sequence 1: 3 columns, expected 2"),
    ([ok, scipy.sparse.eye_array(2)], ValueError, "sequence 1 is a sparse matrix .* attributes are names"),
    ([scipy.sparse.eye_array(2), ok], ValueError, "sequence 1 has items, but those before"),
    ([scipy.sparse.csr_array([[0, np.inf]])], ValueError, "position 0, attribute '1': the value is inf"),
    ([scipy.sparse.csr_array([[1j]])], TypeError, "sequence 0 is a sparse matrix of complex128"),
]


@pytest.mark.parametrize(("X", "error", "message"), BAD)
def test_mistakes_are_named(X: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ItemExtractor()(X)


LABELS: list[tuple[Any, type[Exception], str]] = [
    ([["N"], ["N"]], ValueError, "sequence 1: 2 items and 1 labels"),
    ([["N"], ["N", "V", "N"]], ValueError, "sequence 1: 2 items and 3 labels"),
    ([["N"]], ValueError, "y has 1 sequence, X has more"),
    ([["N"], ["N", "V"], []], ValueError, "X has 2 sequences, y has more"),
    ([["N"], "NV"], ValueError, "sequence 1: the labels are a plain string"),
    ("NV", ValueError, "y is a plain string"),
    ([["N"], {"N": 1, "V": 2}], TypeError, "sequence 1: the labels are a dict"),
    ([["N"], ["N", 1]], TypeError, "sequence 1, position 1: the label is of type int, expected a string"),
    ([["N"], ["N", None]], TypeError, "sequence 1, position 1: the label is None"),
    ([["N"], None], TypeError, "sequence 1: the label sequence is None"),
    ([["N"], ["N", "\ud800"]], ValueError, "sequence 1, position 1: the label holds a lone surrogate"),
]


@pytest.mark.parametrize(("y", "error", "message"), LABELS)
def test_mistakes_in_labels_are_named(y: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ItemExtractor()([[["a"]], [["a"], ["b"]]], y=y)


@pytest.mark.parametrize("weight", [[1.0], [1, 2, 3], [[1.0], [2.0]], [1, np.nan]])
def test_mistakes_in_weights(weight: Any) -> None:
    with pytest.raises(ValueError, match="weight"):
        ItemExtractor()([[["a"]], [["a"], ["b"]]], weight=weight)


class Raises:
    """Raises where it is asked to."""

    def __init__(self, act: Any = None) -> None:
        self.act = act

    def __float__(self) -> float:
        if self.act is None:
            raise ZeroDivisionError("of the user")
        self.act()
        return 2.0

    def __iter__(self) -> Iterator[str]:
        yield "a"
        raise ZeroDivisionError("of the user")


class RaisingMapping(Mapping[str, float]):
    def __getitem__(self, key: str) -> float:
        raise ZeroDivisionError("of the user")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


def test_exceptions_of_user_objects_come_through() -> None:
    def sequence() -> Iterator[list[str]]:
        yield ["b"]
        raise ZeroDivisionError("of the user")

    extract = ItemExtractor()
    X: list[Any] = [[{"k": Raises()}], [Raises()], sequence(), [RaisingMapping()], [{"k": RaisingMapping()}]]
    for bad in X:
        with pytest.raises(ZeroDivisionError, match="of the user"):
            extract([[["before"]], bad])
    with pytest.raises(ZeroDivisionError, match="of the user"):
        extract([ok], y=[Raises()])
    # The alphabet is whole, and goes on.
    names = extract.attributes.strings()
    assert [extract.attributes.find(name) for name in names] == list(range(len(names)))
    assert entries(extract([[["after", "before"]]])) == [[[("after", 1), ("before", 1)]]]


def test_objects_that_change_under_the_walk() -> None:
    item: dict[str, Any] = {}
    item.update(k=Raises(lambda: item.clear()), l="v" * 100)
    with pytest.raises(RuntimeError, match="a dict changed size"):
        ItemExtractor()([[item]])
    sequence: list[Any] = []
    sequence.extend([{"k": Raises(lambda: sequence.clear()), "l": "v"}, ["never seen"]])
    assert entries(ItemExtractor()([sequence])) == [[[("k", 2), ("l:v", 1)]]]
    extract = ItemExtractor()
    inner = extract([[{"outer": Raises(lambda: extract([[["inner"]]])), "last": 1}]])
    assert inner.attributes.strings() == ["inner", "outer", "last"]
    freezing = ItemExtractor()
    frozen = freezing([[{"k": Raises(lambda: freezing.freeze())}]])
    assert entries(frozen) == [[[("k", 2)]]]
    assert freezing.attributes.strings() == []


def test_endless_nesting_is_an_error() -> None:
    endless: dict[str, Any] = {}
    endless["k"] = endless
    extract = ItemExtractor()
    with pytest.raises(RecursionError):
        extract([[endless]])
    assert entries(extract([[["a"]]])) == [[[("a", 1)]]]


# ---- references and memory


def test_reference_counts_stay() -> None:
    name, key, value, number = "na" + "me" * 3, "ke" + "y" * 3, "val" + "u" * 3, 12345.5
    item = {key: value, name: number}
    listed = [name, value]
    X = [[item, listed, MappingProxyType(item), {key: listed}, {name}]]
    watched = [name, key, value, number, item, listed, X[0]]
    extract = ItemExtractor()
    extract(X, y=[["N"] * 5])
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(100):
        extract(X, y=[["N"] * 5])
    item[key] = None
    for _ in range(100):
        with pytest.raises(TypeError):
            extract(X)
    item[key] = value
    gc.collect()
    assert [sys.getrefcount(x) for x in watched] == before


def test_memory_stays() -> None:
    X: list[Any] = [[["a", "é", {"k": 1}], ["b"]], [{"k": {"l": ["v"]}, "m": np.float32(2)}, (b"x",)]]
    good = [[["a", "é"]], X[1]]
    extract = ItemExtractor()

    def round_() -> None:
        extract(good, y=[["N"], ["N", "V"]])
        with pytest.raises(TypeError):
            extract(X)
        hashed = ItemExtractor(hashed=64)
        hashed(good)
        hashed.freeze()

    for _ in range(20):
        round_()
    gc.collect()
    tracemalloc.start()
    ours = [tracemalloc.Filter(True, __file__), tracemalloc.Filter(True, "*/crfkit/*")]

    def held() -> int:  # other threads of this process may allocate too
        gc.collect()
        traces = tracemalloc.take_snapshot().filter_traces(ours)
        return sum(each.size for each in traces.statistics("filename"))

    try:
        round_()
        before = held()
        for _ in range(100):
            round_()
        assert held() - before < 20_000
    finally:
        tracemalloc.stop()
