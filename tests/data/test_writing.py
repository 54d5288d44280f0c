"""Writing files as a whole or not at all, and the data that are passed around."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from crfkit import data
from crfkit.data import Columns
from crfkit.errors import DataError
from tests.cases.formats import dataset, written


def test_write_is_atomic(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    good = Columns.from_rows([[("a", "b")]])
    data.write(path, good)
    path.chmod(0o640)

    def chunks() -> Iterator[Columns]:
        yield good
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        data.write(path, chunks())
    with pytest.raises(ValueError, match="holds a blank"):
        data.write(path, [good, Columns.from_rows([[("x y", "z")]])])
    with pytest.raises(ValueError, match="holds a blank"):
        data.write(tmp_path / "new.txt", Columns.from_rows([[("x y", "z")]]))
    assert path.read_bytes() == b"a b\n\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]
    data.write(path, Columns.from_rows([[("c", "d")]]))
    assert path.read_bytes() == b"c d\n\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_write_follows_links_and_knows_folders(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_bytes(b"")
    link.symlink_to(real)
    data.write(link, Columns.from_rows([[("a", "b")]]))
    assert link.is_symlink()
    assert real.read_bytes() == b"a b\n\n"
    data.write(os.devnull, Columns.from_rows([[("a", "b")]]))
    with pytest.raises(IsADirectoryError):
        data.write(tmp_path, Columns.from_rows([[("a", "b")]]))
    with pytest.raises(FileNotFoundError):
        data.write(tmp_path / "missing" / "x", Columns.from_rows([[("a", "b")]]))


def test_a_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    data.write(tmp_path / "ours", Columns.from_rows([[("a", "b")]]))
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_write_packs_by_name_with_the_same_bytes(tmp_path: Path) -> None:
    given = Columns.from_rows([[("a", "b")]])
    data.write(tmp_path / "x.txt.gz", given)
    data.write(tmp_path / "y.jsonl.gz", given)
    first = (tmp_path / "x.txt.gz").read_bytes()
    assert gzip.decompress(first) == b"a b\n\n"
    assert first[4:8] == b"\0\0\0\0"  # no time
    assert gzip.decompress((tmp_path / "y.jsonl.gz").read_bytes()) == b'{"0": ["a"], "1": ["b"]}\n'


def test_a_name_in_tsv_asks_for_tabs(tmp_path: Path) -> None:
    made = Columns.from_rows([[("New York", "B"), ("is", "O")]])
    data.write(tmp_path / "a.tsv", made)
    assert (tmp_path / "a.tsv").read_bytes() == b"New York\tB\nis\tO\n\n"
    assert [*next(data.stream(tmp_path / "a.tsv"))] == [*made]
    with pytest.raises(ValueError, match=r"or a name in \.tsv"):
        data.write(tmp_path / "a.txt", made)


def test_write_refuses_the_wrong_kind_of_data() -> None:
    with pytest.raises(ValueError, match="format crfsuite holds attributes"):
        written(Columns.from_rows([[("a",)]]), "crfsuite")
    with pytest.raises(ValueError, match="format columns holds columns"):
        written(dataset([("B", {"a": 1.0})]), "columns")
    with pytest.raises(ValueError, match="nothing to write"):
        data.write(io.BytesIO(), [])


def test_only_chunks_of_one_input_can_be_concatenated() -> None:
    one, two = Columns.from_rows([[("a",)]]), Columns.from_rows([[("b",)]])
    with pytest.raises(ValueError, match="alphabets of their own"):
        data.concatenate([one, two])
    with pytest.raises(ValueError, match="some parts are columns"):
        data.concatenate([one, dataset([("B", {"a": 1.0})])])
    with pytest.raises(ValueError, match="at least one chunk to concatenate"):
        data.concatenate([])


def test_errors_can_be_pickled() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(DataError("x", 3, "bad")))
    assert (error.path, error.line, str(error)) == ("x", 3, "x, line 3: bad")
