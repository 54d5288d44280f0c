"""Items: Python features to attributes, against the rules, a plain reference and python-crfsuite."""

from __future__ import annotations

from collections import Counter, OrderedDict, UserDict, deque
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.data.alphabet import Alphabet
from crfkit.features.items import ItemExtractor
from tests.cases.items import Entries, entries, one

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


# ---- against a plain implementation


def reference(item: Any, prefix: str = "") -> Entries:
    """Say the rules once more, in plain Python."""

    def text(x: str | bytes) -> str:
        return x.decode() if isinstance(x, bytes) else x

    if not isinstance(item, Mapping):
        names = map(text, item)
        return [(prefix + x, 1.0) for x in (sorted(names) if isinstance(item, set | frozenset) else names)]
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
