"""Batches and alphabets: checks, selections, freezing."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import _native
from crfkit.alphabet import Alphabet
from crfkit.batch import Batch

GOOD: dict[str, Any] = {
    "seq_ptr": [0, 2, 2, 3],
    "attr_ptr": [0, 2, 3, 5],
    "attr": [0, 1, 0, 2, 2],
    "value": [1.0, -2.0, 0.5, 1.0, 0.0],
    "label": [0, 1, -1],
    "edge_ptr": [0, 0, 1, 1],
    "edge_attr": [4],
    "weight": [1.0, 2.0, 3.0],
    "dense": [[1.0], [2.0], [3.0]],
}


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
        ({"edge_ptr": None}, "go together"),
        ({"weight": [[1.0], [2.0], [3.0]]}, "weight has 2 axes, expected 1"),
        ({"dense": [1.0, 2.0, 3.0]}, "dense has 1 axes, expected 2"),
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
        damaged = _native.FrozenAlphabet.from_arrays(bytes_, begin, slots)
        try:
            damaged.find_all([f"string {i}" for i in range(50)])
            damaged.strings()
        except RuntimeError as error:
            refused += "damaged" in str(error)
    assert refused > 100
    with pytest.raises(ValueError, match="damaged"):
        _native.FrozenAlphabet.from_arrays(arrays[0], arrays[1][:0], arrays[2])


def test_alphabets_can_be_mapped_from_files(tmp_path: Path) -> None:
    strings = [f"attribute {i}" for i in range(1000)]
    arrays = Alphabet(strings).arrays()
    for i, name in enumerate("abc"):
        np.save(tmp_path / f"{name}.npy", arrays[i])
    a, b, c = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "abc")
    mapped = Alphabet.from_arrays((a, b, c))
    assert mapped.frozen
    assert mapped.ids([*strings, "unknown"]).tolist() == [*range(1000), -1]
