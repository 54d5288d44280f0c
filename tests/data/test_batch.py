"""Batches and alphabets: checks, selections, freezing."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crfkit import _native
from crfkit.data.alphabet import Alphabet, AlphabetArrays
from crfkit.data.batch import Batch
from crfkit.features import ItemExtractor
from tests.cases.batches import FULL

PARTS = ("seq_ptr", "attr_ptr", "attr", "value", "label", "edge_ptr", "edge_attr", "weight", "dense")
GOOD: dict[str, Any] = {name: FULL[name] for name in PARTS}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seq_ptr": [1, 3]}, "seq_ptr must begin with 0"),
        ({"seq_ptr": [0, 3, 2, 3]}, r"seq_ptr\[2\] is 2, below"),
        ({"attr_ptr": [0, 2, 5]}, "attr_ptr has 3 entries, expected 4"),
        ({"attr_ptr": [0, 2, 3, 4]}, "attr_ptr ends at 4, expected 5"),
        ({"value": [1.0]}, "value has 1 entries, expected 5"),
        ({"value": [1.0, np.nan, 1.0, 1.0, 1.0]}, r"value\[1\] is nan"),
        ({"label": [0]}, "label has 1 entries, expected 3"),
        ({"attr": [0, 1, -3, 2, 2]}, r"attr\[2\] is -3"),
        ({"edge_ptr": None}, "only one of edge_ptr and edge_attr"),
        ({"weight": [[1.0], [2.0], [3.0]]}, "weight has 2 axes, expected 1"),
        ({"dense": [1.0, 2.0, 3.0]}, "dense has 1 axes, expected 2"),
        ({"edge_ptr": None, "edge_attr": None, "edge_value": [1.0]}, "edge_value is given without edge_ptr"),
        ({"segment_ptr": [0]}, "only one of segment_ptr and segment_attr is given"),
        ({"segment_ptr": [0, 0, 0, 0, 0], "segment_attr": []}, r"expected P \* D \+ 1"),
        ({"segment_ptr": [0, 0, 0, 0, 1, 1, 1], "segment_attr": [0]}, "segment of 2 positions .* at 1"),
        ({"segment_ptr": [0, 0, 0, 0, 0, 0, 1], "segment_attr": [0]}, "segment of 2 positions .* at 2"),
        ({"begin": [True, False, False]}, r"begin\[2\] is False; the first position of a sequence begins"),
        ({"soft": [[0.5, 0.4]] * 3}, r"soft\[0\] is not a distribution"),
    ],
)
def test_bad_batches(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Batch(**{**GOOD, **change})


def test_select() -> None:
    batch = Batch(**GOOD).select([2, 0])
    assert batch.seq_ptr.tolist() == [0, 1, 3]
    assert batch.attr.tolist() == [2, 2, 0, 1, 0]
    assert batch.value is not None
    assert batch.value.tolist() == [1.0, 0.0, 1.0, -2.0, 0.5]
    assert batch.label is not None
    assert batch.label.tolist() == [-1, 0, 1]
    assert batch.edge_ptr is not None
    assert batch.edge_ptr.tolist() == [0, 0, 0, 1]
    assert batch.weight is not None
    assert batch.weight.tolist() == [3.0, 1.0]


def test_choosing_sequences_of_a_data_set() -> None:
    X = [[["a"], ["b"]], [["c"]], [], [["d"], ["a"]]]
    data = ItemExtractor()(X, [["X", "Y"], ["Y"], [], ["X", "X"]], [1.0, 2.0, 3.0, 4.0])
    for which, expected in (
        (1, [1]),
        (-1, [3]),
        (np.int32(2), [2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        ([3, 0, 3], [3, 0, 3]),
        (np.array([-1, 1]), [3, 1]),
        ([], []),
        (np.array([True, False, False, True]), [0, 3]),
    ):
        part = data[which]  # type: ignore[index]
        assert part.attributes is data.attributes
        assert part.labels is data.labels
        assert part.batch.weight is not None
        assert part.batch.weight.tolist() == [n + 1.0 for n in expected]
        items = [[["abcd"[i]] for i in one.batch.attr] for one in part]
        assert items == [X[n] for n in expected]
    for outside in (4, -5, [0, 4], np.zeros(3, dtype=bool)):
        with pytest.raises(IndexError, match=r"there are 4|of 4 sequences"):
            data[outside]
    for wrong in ("a", 1.0, None, [[1]], [0.5]):
        with pytest.raises(TypeError, match="chosen by a slice, a list of numbers or a mask"):
            data[wrong]  # type: ignore[index]


@given(st.lists(st.text(max_size=5)))
def test_alphabet_equals_a_dictionary(strings: list[str]) -> None:
    known: dict[str, int] = {}
    expected = [known.setdefault(string, len(known)) for string in strings]
    alphabet = Alphabet()
    assert alphabet.ids(strings).tolist() == expected
    assert alphabet.strings() == list(known)
    frozen = alphabet.freeze()
    assert frozen.ids([*strings, "unseen string"]).tolist() == [*expected, -1]
    assert pickle.loads(pickle.dumps(frozen)).strings() == list(known)
    assert Alphabet(["x"]).merge(alphabet).tolist() == Alphabet(["x"]).ids(known).tolist()
    few = Alphabet([*strings[::2], "x"]).freeze()
    assert few.merge(alphabet).tolist() == few.ids(known).tolist()
    assert few.merge(frozen).tolist() == few.ids(known).tolist()


def test_alphabet_of_many_strings() -> None:
    strings = [f"{i:x}" for i in range(200_000)]
    alphabet = Alphabet(strings)
    assert alphabet.freeze().ids(strings).tolist() == list(range(len(strings)))
    assert alphabet.find("no") == -1


def test_damaged_alphabets_do_not_crash() -> None:
    rng = np.random.default_rng(0)
    arrays = Alphabet([f"string {i}" for i in range(50)]).arrays()
    refused = 0
    for _ in range(500):
        bytes_, begin, slots = arrays[0].copy(), arrays[1].copy(), arrays[2].copy()
        for array in (begin, slots):
            array[rng.integers(len(array))] = rng.integers(0, 2**63, dtype=np.uint64)
        try:
            damaged = _native.FrozenAlphabet.from_arrays(bytes_, begin, slots)
            damaged.find_all([f"string {i}" for i in range(50)])
            damaged.strings()
        except ValueError as error:
            refused += "damaged" in str(error)
    assert refused > 450


WORDS = Alphabet(["one", "two", "three"]).arrays()


def words(*numbers: int) -> NDArray[np.uint64]:
    return np.array(numbers, dtype=np.uint64)


def full_table(size: int, shift: int = 0) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return empty strings whose slots lie side by side, from `shift` on and around the end."""
    slots = np.zeros(4 * size, dtype=np.uint64)
    slots[(np.arange(size) + shift) % len(slots)] = np.arange(size) + 1
    return WORDS[0][:0], np.zeros(size + 1, dtype=np.uint64), slots


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((WORDS[0], words(), WORDS[2]), "begin is empty"),
        ((WORDS[0], words(0, 3, 6), WORDS[2]), "from byte 0 to 6, expected 0 to 11"),
        ((WORDS[0], words(1, 3, 6, 11), WORDS[2]), "from byte 1"),
        ((WORDS[0], words(0, 7, 6, 11), WORDS[2]), "string 1 ends before it begins"),
        ((WORDS[0], words(0, 2**64 - 1, 6, 11), WORDS[2]), "string 1 ends before it begins"),
        ((WORDS[0], WORDS[1], WORDS[2][:0]), "0 slots for 3 strings"),
        ((WORDS[0], WORDS[1], WORDS[2][:4]), "4 slots for 3 strings"),
        ((WORDS[0], WORDS[1], np.append(WORDS[2], WORDS[2][:3])), "67 slots for 3 strings"),
        (
            (WORDS[0], WORDS[1], np.zeros(64, dtype=np.uint64)),
            "0 slots are taken, expected one for each of 3",
        ),
        ((WORDS[0], WORDS[1], np.ones(64, dtype=np.uint64)), "64 slots are taken, expected one for each"),
        ((WORDS[0], WORDS[1], np.full(64, 4, dtype=np.uint64)), "slot 0 names a string that is not there"),
        ((WORDS[0], WORDS[1], np.full(64, 1 << 32, dtype=np.uint64)), "slot 0 names a string that is not"),
        (full_table(1 << 12), "crowded around slot 512"),
        (full_table(1 << 12, shift=-1500), "crowded"),
        (full_table(1 << 12, shift=-4000), "crowded around slot 12384"),
    ],
)
def test_hostile_alphabets_are_refused(arrays: AlphabetArrays, message: str) -> None:
    with pytest.raises(ValueError, match=f"the alphabet is damaged: .*{message}"):
        _native.FrozenAlphabet.from_arrays(*arrays)


def test_alphabets_that_change_behind_their_checks() -> None:
    """The arrays belong to whoever made them; look-ups stay within them all the same."""
    text, begin, slots = WORDS[0].copy(), WORDS[1].copy(), WORDS[2].copy()
    frozen = _native.FrozenAlphabet.from_arrays(text, begin, slots)
    walk = _native.ItemWalk.frozen(frozen)
    begin[1] = 2**63
    with pytest.raises(ValueError, match="string 0 lies outside its bytes"):
        frozen.strings()
    assert frozen.find("one") == -1
    walk.append([["one"]], 0)
    slots[:] = 2**64 - 1
    assert frozen.find("two") == -1
    with pytest.raises(TypeError):
        _native.ItemWalk.frozen(*WORDS)  # type: ignore[call-arg, arg-type]


def test_alphabets_can_be_mapped_from_files(tmp_path: Path) -> None:
    strings = [f"attribute {i}" for i in range(1000)]
    arrays = Alphabet(strings).arrays()
    for i, name in enumerate("abc"):
        np.save(tmp_path / f"{name}.npy", arrays[i])
    a, b, c = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "abc")
    mapped = Alphabet.from_arrays((a, b, c))
    assert mapped.frozen
    assert mapped.ids([*strings, "unknown"]).tolist() == [*range(1000), -1]


@pytest.mark.parametrize("size", [0, 1, 32, 33, 1000, 11_494])
def test_frozen_tables_have_no_more_slots_than_they_need(size: int) -> None:
    """Growing tables have up to eight slots for a string; those in model files two to four."""
    alphabet = Alphabet([f"name {i}" for i in range(size)])
    _, _, slots = alphabet.arrays()
    assert 2 * size <= len(slots) <= max(4 * size, 64)
    frozen = alphabet.freeze()
    assert frozen.ids([f"name {i}" for i in range(size)]).tolist() == list(range(size))
    assert frozen.ids(["another"]).tolist() == [-1]
