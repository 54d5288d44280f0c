"""Items: Python features to attributes, against the rules, a plain reference and python-crfsuite."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter, OrderedDict, UserDict, deque
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.alphabet import Alphabet
from crfkit.batch import Dataset
from crfkit.features.items import ItemExtractor

Entries = list[tuple[str, float]]


def entries(dataset: Dataset) -> list[list[Entries]]:
    """Names and values of every position of every sequence, as lists."""
    b = dataset.batch
    names = dataset.attributes.strings()
    value = np.ones(len(b.attr)) if b.value is None else b.value
    rows = [
        [(names[a], v) for a, v in zip(b.attr[i:j].tolist(), value[i:j].tolist(), strict=True)]
        for i, j in zip(b.attr_ptr[:-1], b.attr_ptr[1:], strict=True)
    ]
    return [rows[i:j] for i, j in zip(b.seq_ptr[:-1], b.seq_ptr[1:], strict=True)]


def one(item: Any) -> Entries:
    """Entries of a single item."""
    return entries(ItemExtractor()([[item]]))[0][0]


# ---- the rules


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ([], []),
        ({}, []),
        (["a", b"b", "a"], [("a", 1), ("b", 1), ("a", 1)]),
        (("a", "é"), [("a", 1), ("é", 1)]),
        ({"a"}, [("a", 1)]),
        (frozenset(["a"]), [("a", 1)]),
        (deque(["a", "b"]), [("a", 1), ("b", 1)]),
        ({"a": 1}.keys(), [("a", 1)]),
        (np.array(["a", "b"]), [("a", 1), ("b", 1)]),
        (np.array(["a", b"b"], dtype=object), [("a", 1), ("b", 1)]),
        (["", "a\0b"], [("", 1), ("a\0b", 1)]),
        ({"k": 2}, [("k", 2)]),
        ({"k": 0.5, "l": -1.5, "m": 0, "n": -0.0}, [("k", 0.5), ("l", -1.5), ("m", 0), ("n", 0)]),
        ({"k": True, "l": False}, [("k", 1), ("l", 0)]),
        ({b"k": 2.0}, [("k", 2)]),
        (
            {"f": np.float32(0.5), "g": np.float64(0.25), "i": np.int16(-3), "b": np.bool_(True)},
            [("f", 0.5), ("g", 0.25), ("i", -3), ("b", 1)],
        ),
        ({"a": np.array(3.0), "d": Decimal("0.5"), "f": Fraction(1, 4)}, [("a", 3), ("d", 0.5), ("f", 0.25)]),
        ({"k": "v", "l": b"w", "m": np.str_("x"), "n": ""}, [("k:v", 1), ("l:w", 1), ("m:x", 1), ("n:", 1)]),
        ({"k": ["v", b"w", "v"]}, [("k:v", 1), ("k:w", 1), ("k:v", 1)]),
        ({"k": ("v",), "l": {"w"}, "m": frozenset(["x"])}, [("k:v", 1), ("l:w", 1), ("m:x", 1)]),
        ({"k": {}, "l": [], "m": ()}, []),
        ({"k": {"a": 2, "b": "v", "c": ["w"]}, "l": 3}, [("k:a", 2), ("k:b:v", 1), ("k:c:w", 1), ("l", 3)]),
        ({"a": {"b": {"c": {"d": True}}}}, [("a:b:c:d", 1)]),
        ({"": {"": 2, "x": "y"}}, [(":", 2), (":x:y", 1)]),
        ({"": ["x"]}, [(":x", 1)]),
        (OrderedDict(k=2, l="v"), [("k", 2), ("l:v", 1)]),
        (Counter("aab"), [("a", 2), ("b", 1)]),
        (MappingProxyType({"k": 2, "l": ["v"]}), [("k", 2), ("l:v", 1)]),
        (UserDict({"k": {"a": 2}}), [("k:a", 2)]),
        ({"k": MappingProxyType({"a": 2})}, [("k:a", 2)]),
        (iter(["a", "b"]), [("a", 1), ("b", 1)]),
    ],
)
def test_names_and_values(item: Any, expected: Entries) -> None:
    assert one(item) == expected


def test_sequences_are_any_iterables() -> None:
    X: tuple[Any, ...] = (
        [["a"], ["b"]],
        (["a"], {"b": 2.0}),
        ({"a": t} for t in range(2)),
        [],
        deque([["c"]]),
    )
    assert entries(ItemExtractor()(iter(X))) == [
        [[("a", 1)], [("b", 1)]],
        [[("a", 1)], [("b", 2)]],
        [[("a", 0)], [("a", 1)]],
        [],
        [[("c", 1)]],
    ]


def test_ids_are_given_in_order_of_appearance() -> None:
    extract = ItemExtractor()
    first = extract([[["b", "a"]]])
    second = extract([[["c", "a"]]])
    assert first.attributes is second.attributes
    assert extract.attributes.strings() == ["b", "a", "c"]
    assert second.batch.attr.tolist() == [2, 1]
    assert extract.size == 3
    assert extract.collisions == 0


def test_value_is_absent_when_all_are_one() -> None:
    assert ItemExtractor()([[["a"], {"b": 1, "c": True, "d": "v", "e": 1.0}]]).batch.value is None
    batch = ItemExtractor()([[["a"], {"b": 1, "c": 0.5}, ["a"]]]).batch
    assert batch.value is not None
    assert batch.value.tolist() == [1, 1, 0.5, 1]
    frozen = ItemExtractor(attributes=Alphabet(["a"]).freeze())
    assert frozen([[{"b": 0.5, "a": 1}]]).batch.value is None  # the half belongs to an unknown name


def test_nothing_at_all() -> None:
    dataset = ItemExtractor()([], y=[], weight=[])
    assert (dataset.batch.sequences, dataset.batch.positions, len(dataset)) == (0, 0, 0)
    assert dataset.batch.label is not None
    assert dataset.batch.label.tolist() == []
    assert ItemExtractor()([[], []]).batch.seq_ptr.tolist() == [0, 0, 0]


def test_long_lists_and_long_names() -> None:
    names = [f"name {i} " + "x" * (i % 97) for i in range(1000)]
    assert one(names) == [(name, 1) for name in names]
    assert one(dict.fromkeys(names, 2)) == [(name, 2) for name in names]


# ---- labels, weights, freezing


def test_labels_and_weights() -> None:
    tags: list[Any] = [["N", b"V"], ("N",)]
    dataset = ItemExtractor()([[["a"], ["b"]], [["a"]]], y=iter(tags), weight=[1, 0.5])
    batch = dataset.batch
    assert dataset.labels.strings() == ["N", "V"]
    assert batch.label is not None
    assert batch.label.tolist() == [0, 1, 0]
    assert batch.weight is not None
    assert batch.weight.tolist() == [1, 0.5]
    assert ItemExtractor()([[["a"]]], y=[np.array(["N"])]).labels.strings() == ["N"]


def test_frozen() -> None:
    extract = ItemExtractor()
    grown = extract([[["a", "b"]]], y=[["N"]])
    assert extract.freeze() is extract.freeze()
    dataset = extract([[["c", "a", "c"], {"b": 2, "k": {"a": 3}}]], y=[["V", "N"]])
    assert entries(dataset) == [[[("a", 1)], [("b", 2)]]]
    assert dataset.batch.label is not None
    assert dataset.batch.label.tolist() == [-1, 0]
    assert grown.attributes.strings() == dataset.attributes.strings() == ["a", "b"]
    with pytest.raises(ValueError, match="the value is nan"):
        extract([[{"unknown": float("nan")}]])


def test_alphabets_of_a_model() -> None:
    extract = ItemExtractor(attributes=Alphabet(["a", "b"]).freeze(), labels=Alphabet(["N"]).freeze())
    assert extract.frozen
    assert extract([[["b", "c"]]]).batch.attr.tolist() == [1]
    with pytest.raises(ValueError, match="not both"):
        ItemExtractor(hashed=4, attributes=Alphabet())


# ---- matrices


def test_dense() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    batch = ItemExtractor()([rows[:1], rows[1:], rows[:0]], y=[["a"], ["a", "b"], []]).batch
    assert batch.dense is not None
    assert batch.dense.tolist() == rows.tolist()
    assert batch.seq_ptr.tolist() == [0, 1, 3, 3]
    assert batch.attr_ptr.tolist() == [0, 0, 0, 0]
    both = ItemExtractor()([([["a"], {"b": 2}], rows[:2]), (({"c": "d"},), rows[2:])])
    assert entries(both) == [[[("a", 1)], [("b", 2)]], [[("c:d", 1)]]]
    assert both.batch.dense is not None
    assert both.batch.dense.tolist() == rows.tolist()


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array])
def test_sparse(kind: Any) -> None:
    matrix = np.array([[0, 2.0, 0], [1, 0, -3]])
    extract = ItemExtractor()
    dataset = extract([kind(matrix), kind(matrix[:1])])
    assert entries(dataset) == [[[("1", 2)], [("0", 1), ("2", -3)]], [[("1", 2)]]]
    assert dataset.attributes.strings() == ["0", "1", "2"]
    assert extract.freeze()([(kind(matrix), matrix)]).batch.attr.tolist() == [1, 0, 2]
    loaded = ItemExtractor(attributes=Alphabet(["0", "1", "2"]).freeze())
    assert loaded([kind(matrix)]).batch.attr.tolist() == [1, 0, 2]
    hashed = ItemExtractor(hashed=3)([kind(matrix)])
    assert hashed.batch.attr.tolist() == [1, 0, 2]
    assert ItemExtractor()([kind(matrix != 0)]).batch.value is None


def test_stored_zeros_of_sparse_matrices_are_kept() -> None:
    matrix = scipy.sparse.csr_array((np.array([0.0, 1.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert entries(ItemExtractor()([matrix])) == [[[("1", 0), ("1", 1)]]]


# ---- hashing


def test_hashed() -> None:
    extract = ItemExtractor(hashed=2**20)
    X = [[["a", "b", b"a"], {"a": 2.0, "k": "v"}], [["k:v"]]]
    batch = extract(X).batch
    a, b, again, valued, kv, last = batch.attr.tolist()
    assert a == again == valued
    assert kv == last
    assert len({a, b, kv}) == 3
    assert batch.value is not None
    assert batch.value.tolist() == [1, 1, 1, 2, 1, 1]
    assert extract.collisions == 0
    assert extract.size == 2**20
    assert len(extract.attributes) == 0
    frozen = extract.freeze()(X).batch
    assert frozen.attr.tolist() == batch.attr.tolist()


def test_collisions_count_distinct_strings() -> None:
    extract = ItemExtractor(hashed=100)
    names = [f"n{i}" for i in range(1000)]
    ids = extract([[names, names]]).batch.attr[:1000]
    used = len(set(ids.tolist()))
    assert extract.collisions == 1000 - used
    assert used > 95  # spread: 1000 strings leave hardly any of 100 ids unused
    extract.freeze()([[["something else"]]])
    assert extract.collisions == 1000 - used
    one_id = ItemExtractor(hashed=1)
    assert one_id([[["a", "b"]]]).batch.attr.tolist() == [0, 0]
    assert one_id.collisions == 1


def test_hashes_never_change() -> None:
    assert ItemExtractor(hashed=2**20)([[["a", "w[0]=dog", ""]]]).batch.attr.tolist() == [
        200624,
        738912,
        844025,
    ]


def test_integers_are_ids_where_names_are_hashed() -> None:
    extract = ItemExtractor(hashed=10)
    ids = np.array([[1, 2], [9, 0]], dtype=np.uint8)
    dataset = extract([ids, [[1, np.int64(2)], np.array([9, 0])], [(3,), []], [[7, "a"]]])
    assert dataset.batch.attr[:9].tolist() == [1, 2, 9, 0, 1, 2, 9, 0, 3]
    assert dataset.batch.attr_ptr.tolist() == [0, 2, 4, 6, 8, 9, 9, 11]
    for bad in ([[[1, 10]]], [[[-1]]], [[[2**70]]], [np.array([[1, 10]])], [np.array([[-1]])]):
        with pytest.raises(
            ValueError, match=r"sequence 0, position 0: the attribute id -?\d+ is outside 0..9"
        ):
            extract(bad)
    for wrong in ([[[True]]], [[[1.5]]], [np.array([1, 2])], [[{3: 1.0}]], [[{"k": [3]}]]):
        with pytest.raises(TypeError, match="sequence 0"):
            extract(wrong)
    for size in (0, -1, 2**31):
        with pytest.raises(ValueError, match="hashed must lie between"):
            ItemExtractor(hashed=size)


# ---- mistakes

ok = [["a"]]
BAD: list[tuple[Any, type[Exception], str]] = [
    (["abc"], ValueError, "sequence 0: a plain string is no sequence of items"),
    ([ok, b"abc"], ValueError, "sequence 1: a plain string is no sequence"),
    (
        [ok, [["a"], "abc"]],
        ValueError,
        "sequence 1, position 1: the item is a plain string; put it in a list",
    ),
    ([[bytearray(b"abc")]], ValueError, "sequence 0, position 0: the item is a plain string"),
    ([{"a": 1}], TypeError, "sequence 0: a dict is no sequence"),
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
    ([[[b"\xff"]]], ValueError, "the name of an attribute is bytes that are no UTF-8"),
    ([[{"k": b"\xed\xa0\x80"}]], ValueError, "attribute 'k': the value is bytes that are no UTF-8"),
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
    ([["N"]], ValueError, "y has 1 sequences, X has more"),
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
    try:
        round_()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            round_()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


# ---- against a plain implementation


def reference(item: Any, prefix: str = "") -> Entries:
    """Say the rules once more, in plain Python."""

    def text(x: str | bytes) -> str:
        return x.decode() if isinstance(x, bytes) else x

    if not isinstance(item, Mapping):
        return [(prefix + text(x), 1.0) for x in item]
    made: Entries = []
    for key, value in item.items():
        name = prefix + text(key)
        if isinstance(value, str | bytes):
            made.append((f"{name}:{text(value)}", 1.0))
        elif isinstance(value, Mapping | list | tuple | set | frozenset):
            made += reference(value, name + ":")
        else:
            made.append((name, float(value)))
    return made


def strategy(text: st.SearchStrategy[str], peer: bool) -> st.SearchStrategy[Any]:
    strings = text | text.map(str.encode)
    numbers = (
        st.floats(allow_nan=False, allow_infinity=False)
        | st.integers(-(2**70), 2**70)
        | st.booleans()
        | st.sampled_from([np.float32(0.5), np.int8(-3), np.float64(2)])
    )
    flat = st.lists(strings) | st.sets(strings)
    nested = flat if peer else flat | st.lists(strings).map(tuple) | st.frozensets(strings)
    values = st.recursive(
        numbers | strings | nested,
        lambda inner: (
            st.dictionaries(strings, inner, max_size=3)
            if peer
            else st.dictionaries(strings, inner, max_size=3)
            | st.dictionaries(strings, inner, max_size=3).map(MappingProxyType)
        ),
        max_leaves=8,
    )
    return flat | st.lists(strings).map(tuple) | st.dictionaries(strings, values, max_size=5)


@given(
    st.lists(
        st.lists(strategy(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), False), max_size=4)
    )
)
@settings(max_examples=150, deadline=None)
def test_equals_the_reference(X: list[list[Any]]) -> None:
    expected = [[reference(item) for item in sequence] for sequence in X]
    extract = ItemExtractor()
    dataset = extract(X)
    assert entries(dataset) == expected
    flat = [entry for sequence in expected for item in sequence for entry in item]
    assert (dataset.batch.value is None) == all(value == 1 for _, value in flat)
    assert dataset.attributes.strings() == list(dict.fromkeys(name for name, _ in flat))
    again = extract.freeze()(X).batch
    assert again.attr.tolist() == dataset.batch.attr.tolist()
    hashed = ItemExtractor(hashed=7)(X).batch
    assert hashed.attr_ptr.tolist() == dataset.batch.attr_ptr.tolist()
    assert (hashed.value is None) == (dataset.batch.value is None)


letters = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)


@given(st.lists(strategy(letters, True), max_size=4))
@settings(max_examples=150, deadline=None)
def test_equals_python_crfsuite(sequence: list[Any]) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    ours = entries(ItemExtractor()([sequence]))[0]
    theirs = pycrfsuite.ItemSequence(sequence).items()
    assert [{name for name, _ in item} for item in ours] == [set(item) for item in theirs]
    for item, expected in zip(ours, theirs, strict=True):
        assert all(value in [v for n, v in item if n == name] for name, value in expected.items())
