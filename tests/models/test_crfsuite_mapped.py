"""CRFsuite's models used as they lie in their files: the same as what the slower readers make of them."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import FeatureSelection, Stop, _native, train
from crfkit.compat.pycrfsuite import Tagger as DropIn
from crfkit.data.alphabet import Alphabet
from crfkit.features import ItemExtractor
from crfkit.models import SequenceModel, Tagger
from crfkit.models.files import cqdb, crfsuite
from crfkit.models.files.cqdb import lookup3, read_strings, write_strings
from crfkit.models.files.crfsuite import read_crfsuite
from crfkit.models.files.crfsuite_write import crfsuite_bytes
from tests.cases.growth import seconds_of

X: list[list[Any]] = [
    [["w=the", "first"], {"w": "dog", "length": 0.75}, ["w=barks", "\u4e2d\n", "a name of many letters"]],
    [["w=a", "first"], ["w=dog"], ["w=runs", "w=runs"]],
]
Y = [["D", "N", "V"], ["D", "N", "V"]]


@pytest.fixture(scope="module")
def data() -> bytes:
    made = ItemExtractor()(X, Y)
    return crfsuite_bytes(
        train(made, stop=Stop(max_iterations=10), selection=FeatureSelection(transitions="all"))
    )


class Unhelpful:
    """Stands for native code that finds every file unsound."""

    Alphabet = _native.Alphabet

    class FrozenAlphabet:
        @staticmethod
        def of_database(*_: object) -> None: ...

    @staticmethod
    def crfsuite_rows(*_: object) -> None: ...


def slowly(data: bytes, monkeypatch: pytest.MonkeyPatch) -> SequenceModel:
    """Read by the slower readers alone."""
    with monkeypatch.context() as patched:
        patched.setattr(crfsuite, "_native", Unhelpful)
        return read_crfsuite(data)


def assert_same(a: SequenceModel, b: SequenceModel) -> None:
    assert a.w.tobytes() == b.w.tobytes()
    assert a.structure.labels == b.structure.labels
    for name in ("node_ptr", "node_label", "transition_cell"):
        np.testing.assert_array_equal(getattr(a.layout, name), getattr(b.layout, name))
    names = b.attributes.strings()
    assert a.attributes.strings() == names
    asked = [*names, *(name + "x" for name in names), *(name[:-1] for name in names)]
    np.testing.assert_array_equal(a.attributes.ids(asked), b.attributes.ids(asked))


def outcome(read: Callable[[bytes], SequenceModel], data: bytes) -> tuple[SequenceModel | None, str]:
    """Return a model, or why there is none."""
    try:
        return read(data), ""
    except ValueError as error:
        return None, str(error)


def database(strings: list[str]) -> _native.FrozenAlphabet | None:
    file = np.frombuffer(b"..." + write_strings([string.encode() for string in strings]), dtype=np.uint8)
    return _native.FrozenAlphabet.of_database(file, 3, len(strings))


@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=40), unique=True), st.text())
def test_databases_find_what_they_hold(strings: list[str], other: str) -> None:
    strings = [string for string in strings if _encodes(string)]
    found = database(strings)
    if not strings:  # CRFsuite writes no array of records then
        assert found is None
        return
    assert found is not None
    assert len(found) == len(strings)
    assert found.strings() == strings
    assert found.find_all(strings).tolist() == list(range(len(strings)))
    assert [found.find(string) for string in strings] == list(range(len(strings)))
    if _encodes(other) and other not in strings:
        assert found.find(other) == -1 == found.find_all([other])[0]


def _encodes(string: str) -> bool:
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True


def test_many_strings_in_one_table_and_strings_that_occur_twice() -> None:
    names = [f"a{i}" for i in range(100_000)]
    text = np.frombuffer("".join(name + "\0" for name in names).encode(), dtype=np.uint8)
    begin = np.cumsum([0, *(len(name) + 1 for name in names)])
    one = [name for name, h in zip(names, lookup3(text, begin).tolist(), strict=True) if h & 255 == 7]
    found = database(one)
    assert found is not None
    assert found.find_all(names).max() == len(one) - 1
    assert database([*one, one[3]]) is None


def test_names_that_are_made_to_collide_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [b"a%d" % i for i in range(2000)]
    monkeypatch.setattr(cqdb, "lookup3", lambda text, begin: np.full(len(begin) - 1, 7, dtype=np.uint32))
    assert len(read_strings(write_strings(names[:512]), 0, 512, "names")) == 512
    with pytest.raises(ValueError, match="1,488 of 2,000 names have hashes that collide"):
        write_strings(names)


def test_hashes_of_long_names_take_little() -> None:
    assert seconds_of(lambda: write_strings([b"x" * 1_000_000, b"y"])) < 0.5
    spans = np.frombuffer(b"ab", np.uint8), np.array([0, 3])
    with pytest.raises(ValueError, match="a string lies outside the text, or is empty"):
        lookup3(*spans)


def test_tables_that_share_bytes_are_not_looked_up_in() -> None:
    data = bytearray(write_strings([b"a%d" % i for i in range(5000)]))
    refs = np.frombuffer(data, dtype="<u4", count=512, offset=24).reshape(256, 2)
    refs[:] = refs[0, 0], refs[:, 1].sum()
    assert _native.FrozenAlphabet.of_database(np.frombuffer(data, dtype=np.uint8), 0, 5000) is None


def test_a_file_of_crfsuite_is_used_as_it_is(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    model, known = read_crfsuite(data), slowly(data, monkeypatch)
    assert_same(model, known)
    again = SequenceModel.from_bytes(model.to_bytes())
    assert_same(again, SequenceModel.from_bytes(known.to_bytes()))
    assert_same(pickle.loads(pickle.dumps(model)), known)
    assert Tagger(model).tag(X[0]) == Tagger(known).tag(X[0])
    for x in X:
        assert model.predict([x]) == known.predict([x])
    assert crfsuite_bytes(model) == data == crfsuite_bytes(known)
    made = Alphabet(known.attributes.strings())
    for mine, theirs in zip(model.attributes.arrays(), made.arrays(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_damaged_files_are_read_or_refused_as_before(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, same = random.Random(5), 0
    head = np.frombuffer(data[:48], dtype="<u4").tolist()
    places = [*range(48, len(data), 97), *range(head[9], head[9] + 2072, 61)]
    places += range(len(data) - 300, len(data))
    for at in places:
        change = bytes([chance.choice((0, 1, 7, 0x80, 0xFF, data[at] ^ 1, data[at] ^ 0x40))])
        damaged = data[:at] + change + data[at + 1 :]
        expected, trouble = outcome(partial(slowly, monkeypatch=monkeypatch), damaged)
        found, mine = outcome(read_crfsuite, damaged)
        assert mine == trouble
        if found is not None and expected is not None:
            assert_same(found, expected)
            same += 1
    assert 30 < same < len(places)


def test_threads_find_the_same_as_one() -> None:
    names = [f"name {i}" for i in range(50_000)]
    names[40_000] = "\u4e2d"
    whole = write_strings([name.encode() for name in names])
    back = int(np.frombuffer(whole[20:24], dtype="<u4")[0])
    record = np.frombuffer(whole[back:], dtype="<u4")
    slot = whole.index(whole[back + 4 * 30_000 : back + 4 * 30_000 + 4], int(record[-1]) + 8) - 4
    changes = {
        "no change": (0, b"C"),
        "letters": (int(record[49_999]) + 9, b"\0"),
        "not UTF-8": (int(record[40_000]) + 8, b"\xff"),
        "id": (int(record[20_000]), b"\xff"),
        "hash": (slot, bytes([whole[slot] ^ 1])),
        "empty slot": (slot + 4, bytes(4)),
    }
    for change, (at, new) in changes.items():
        file = np.frombuffer(whole[:at] + new + whole[at + len(new) :], dtype=np.uint8)
        for threads in (1, 2, 3):
            found = _native.FrozenAlphabet.of_database(file, 0, len(names), threads)
            assert (found is not None) is (change == "no change"), (change, threads)
            assert found is None or found.find_all(names).tolist() == list(range(len(names)))


def test_rows_made_on_threads_are_those_of_one() -> None:
    A, L, chance = 50_000, 3, np.random.default_rng(2)
    count = chance.integers(0, L + 1, A)
    ptr, column = np.concatenate([[0], np.cumsum(count)]), np.concatenate([np.arange(n) for n in count])
    features = np.zeros(len(column), dtype=crfsuite.FEATURE)
    features["source"], features["label"] = np.repeat(np.arange(A), count), column
    features["weight"] = chance.normal(size=len(column))
    at = features.nbytes
    lists = at + 12 + 4 * A + 4 * (ptr[:-1] + np.arange(A))  # a list: its length, its features
    words = np.insert(np.arange(len(column)), ptr[:-1], count)
    chunk = b"AFRF" + bytes(8) + np.concatenate([lists, words]).astype("<u4").tobytes()

    def rows(features: Any, threads: int) -> Any:
        file = np.frombuffer(features.tobytes() + chunk, dtype=np.uint8)
        return _native.crfsuite_rows(file, 0, len(features), at, len(chunk), A, L, threads)

    for threads in (1, 2, 3):
        for mine, expected in zip(rows(features, threads), (ptr, column, features["weight"]), strict=True):
            np.testing.assert_array_equal(mine, expected)
    for name, value in (("weight", np.inf), ("weight", 0.0), ("label", L), ("source", 7), ("kind", 1)):
        for place in (60_000, len(column) - 1):
            damaged = features.copy()
            damaged[name][place] = value
            assert [rows(damaged, threads) for threads in (1, 2, 3)] == [None] * 3


@pytest.mark.parametrize(("slots", "used"), [(250, True), (600, False)])
def test_tables_in_which_a_search_would_take_long_are_not_used(slots: int, used: bool) -> None:
    made = bytearray(write_strings([b"a"]))
    table = next(t for t in range(256) if made[28 + 8 * t : 32 + 8 * t] == bytes(4))
    full = np.array([[table, 2072]] * slots, dtype="<u4").tobytes()  # each slot names the one record
    made[24 + 8 * table : 32 + 8 * table] = np.array([len(made), slots], dtype="<u4").tobytes()
    made[4:8] = np.array([len(made) + len(full)], dtype="<u4").tobytes()
    file = np.frombuffer(bytes(made) + full, dtype=np.uint8)
    assert (_native.FrozenAlphabet.of_database(file, 0, 1) is not None) is used
    for at, count in ((1, 1), (0, 2), (len(file) - 5, 1), (1 << 60, 1)):
        assert _native.FrozenAlphabet.of_database(file, at, count) is None


def test_the_drop_in_opens_and_closes_what_it_maps(data: bytes, tmp_path: Any) -> None:
    path = tmp_path / "m.crfsuite"
    path.write_bytes(data)
    tagger = DropIn()
    with tagger.open(str(path)):
        from_file = [tagger.tag(x) for x in X]
        path.unlink()
        assert [tagger.tag(x) for x in X] == from_file
        assert tagger.info().labels == {"D": "0", "N": "1", "V": "2"}
    tagger.open_inmemory(data)
    assert [tagger.tag(x) for x in X] == from_file
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="Invalid model file"):
        tagger.open(str(path))
