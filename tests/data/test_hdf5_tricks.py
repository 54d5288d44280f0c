"""HDF5 files that would have other files read, libraries loaded or memory filled are refused."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit.data.graphs.hdf5 import opened
from crfkit.errors import DataError
from crfkit.graphs import load as load_graph
from tests.cases.graph_files import opengm_file

h5py = pytest.importorskip("h5py")

SECRET = b"root:x:0:0:the bytes of another file:/root:/bin/sh\n" * 2
VALUES = "gm/function-id-16000/values"


def changed(path: Path, change: Callable[[Any], None]) -> Path:
    """Write a model, then change its file in place; not in memory, where there are no other files."""
    path.write_bytes(opengm_file())
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        load_graph(path)
    assert "the bytes" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(params=["file", "fifo"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Another file with bytes, or one at which every reader hangs."""
    path = tmp_path / "other"
    if request.param == "fifo":
        os.mkfifo(path)
    else:
        path.write_bytes(SECRET)
    return path


def quickly(path: Path) -> str:
    """Return the refusal of a file in a process of its own, which is given some seconds."""
    told = subprocess.run(
        [sys.executable, "-m", "crfkit.cli", "infer", path, "--query", "MAR"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert told.returncode == 2
    assert told.stdout == ""
    assert "the bytes" not in told.stderr
    return told.stderr


def external(file: Any, other: Path) -> None:
    del file[VALUES]
    file.create_dataset(VALUES, shape=(8,), dtype="u1", external=[(str(other), 0, 9)])


def virtual(file: Any, other: Path) -> None:
    del file[VALUES]
    layout = h5py.VirtualLayout(shape=(8,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(other), "values", shape=(8,))
    file.create_virtual_dataset(VALUES, layout)


def endless_virtual(file: Any, other: Path) -> None:
    """Make a virtual data set whose very shape is that of its source."""
    del file[VALUES]
    layout = h5py.VirtualLayout(shape=(8,), maxshape=(None,), dtype="f8")
    source = h5py.VirtualSource(str(other), "values", shape=(8,), maxshape=(None,))
    layout[: h5py.h5s.UNLIMITED] = source[: h5py.h5s.UNLIMITED]
    file.create_virtual_dataset(VALUES, layout)


def linked(file: Any, other: Path) -> None:
    del file[VALUES]
    file[VALUES] = h5py.ExternalLink(str(other), "/values")


def linked_group(file: Any, other: Path) -> None:
    del file["gm"]
    file["gm"] = h5py.ExternalLink(str(other), "/gm")


def linked_root(file: Any, other: Path) -> None:
    file.move("gm", "model")
    file["another"] = h5py.ExternalLink(str(other), "/gm")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (external, f"/{VALUES} is stored in another file; store the numbers in the file itself"),
        (virtual, f"/{VALUES} is virtual"),
        (endless_virtual, f"/{VALUES} is virtual"),
        (linked, f"/{VALUES} is a soft or external link"),
        (linked_group, "/gm is a soft or external link"),
        (linked_root, "/another is a soft or external link"),
    ],
    ids=["external", "virtual", "endless virtual", "link", "link to a group", "link beside"],
)
def test_no_other_file_is_opened(
    change: Callable[[Any, Path], None], message: str, other: Path, tmp_path: Path
) -> None:
    path = changed(tmp_path / "m.h5", lambda file: change(file, other))
    assert message in quickly(path)


def test_soft_links_are_refused_where_they_are_read(tmp_path: Path) -> None:
    def soft(file: Any) -> None:
        file.move("gm/header", "gm/first")
        file["gm/header"] = h5py.SoftLink("/gm/first")

    assert "/gm/header is a soft or external link" in refused(changed(tmp_path / "m.h5", soft))


def test_names_that_are_paths_are_not_followed(tmp_path: Path) -> None:
    """A name with a slash, which only a damaged file has, would lead through a link."""

    def change(file: Any) -> None:
        file.move("gm", "gm_")
        file["g"] = h5py.ExternalLink("/etc/hostname", "/")

    path = changed(tmp_path / "m.h5", change)
    data = path.read_bytes()
    with opened(data, "m.h5") as root:
        assert root.names() == ["g", "gm_"]
    with opened(data.replace(b"gm_", b"g/_"), "m.h5") as root:
        assert root.names() == ["g"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compression": "lzf"}, "is stored with filter 32000 of HDF5; only gzip, shuffle and fletcher32"),
        ({"scaleoffset": 2}, "is stored with filter 6"),
        ({"compression": 40123, "allow_unknown_filter": True}, "is stored with filter 40123"),
    ],
)
def test_filters_that_may_be_plugins(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    def change(file: Any) -> None:
        del file[VALUES]
        made = file.create_dataset(VALUES, shape=(8,), dtype="f8", chunks=(8,), **options)
        if options.get("compression") == 40123:
            made.id.write_direct_chunk((0,), b"x" * 64)
        else:
            made[:] = 1.0

    assert message in refused(changed(tmp_path / "m.h5", change))


def test_hdf5_finds_no_plugins_while_a_file_is_read(tmp_path: Path) -> None:
    h5pl = h5py.h5pl
    before = [h5pl.get(i) for i in range(h5pl.size())]
    with opened(opengm_file(), "m.h5"):
        assert h5pl.size() == 0
    assert [h5pl.get(i) for i in range(h5pl.size())] == before
    with pytest.raises(DataError):
        load_graph(io.BytesIO(opengm_file()[:900]), format="opengm")
    assert [h5pl.get(i) for i in range(h5pl.size())] == before


@pytest.mark.parametrize(
    "value",
    [
        np.array([b"text", b"more"], dtype=h5py.string_dtype()),
        np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]),
        np.zeros(3, dtype=h5py.enum_dtype({"A": 1, "B": 0})),
        np.zeros(3, dtype="V16"),
        np.zeros(3, dtype="c16"),
    ],
    ids=["text", "compound", "enum", "opaque", "complex"],
)
def test_types_that_are_not_numbers(value: Any, tmp_path: Path) -> None:
    def change(file: Any) -> None:
        del file[VALUES]
        file[VALUES] = value

    assert "expected numbers" in refused(changed(tmp_path / "m.h5", change))


def test_references_and_lists_of_any_length(tmp_path: Path) -> None:
    def reference(file: Any) -> None:
        del file[VALUES]
        file.create_dataset(VALUES, data=[file["gm"].ref], dtype=h5py.ref_dtype)

    def lists(file: Any) -> None:
        del file[VALUES]
        file.create_dataset(VALUES, shape=(3,), dtype=h5py.vlen_dtype(np.float64))

    def nothing(file: Any) -> None:
        del file[VALUES]
        file[VALUES] = h5py.Empty("f8")

    for change in (reference, lists, nothing):
        assert "expected numbers" in refused(changed(tmp_path / "m.h5", change))


@pytest.mark.parametrize("options", [{"compression": "gzip"}, {"compression": "gzip", "shuffle": True}])
def test_what_gzip_keeps_is_read(options: dict[str, Any], tmp_path: Path) -> None:
    def change(file: Any) -> None:
        kept = file[VALUES][()]
        del file[VALUES]
        file.create_dataset(VALUES, data=kept, chunks=(3,), fletcher32=True, **options)

    plain = load_graph(io.BytesIO(opengm_file()))
    found = load_graph(changed(tmp_path / "m.h5", change))
    for name, table in plain.tables.items():
        assert found.tables[name].scores.tolist() == table.scores.tolist()


def bomb(shape: tuple[int, ...], chunk: tuple[int, ...], data: bytes | None, **more: Any) -> Any:
    def change(file: Any) -> None:
        del file[VALUES]
        made = file.create_dataset(
            VALUES,
            shape=shape,
            maxshape=(None,) * len(shape),
            dtype="f8",
            chunks=chunk,
            compression="gzip",
            **more,
        )
        if data is not None:
            made.id.write_direct_chunk((0,) * len(shape), data)

    return change


def zeros(size: int) -> bytes:
    deflate = zlib.compressobj(9)
    block = bytes(1 << 20)
    made = b"".join(deflate.compress(block) for _ in range(size >> 20))
    return made + deflate.flush()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (bomb((8,), (1 << 28,), None), "has 268435456 numbers, too many for the size of the file"),
        (bomb((1, 4000), (1 << 20, 1), None), "numbers, too many for the size of the file"),
        (bomb((4_000_000,), (1,), None), "has 4000000 chunks, too many for the size of the file"),
        (bomb((8,), (8,), zeros(1 << 30)), "is longer than the 64 bytes of a chunk"),
    ],
    ids=["large chunk", "chunks across", "many chunks", "a chunk that grows"],
)
def test_bombs_are_refused_within_little_memory(change: Any, message: str, tmp_path: Path) -> None:
    path = changed(tmp_path / "m.h5", change)
    tracemalloc.start()
    try:
        assert message in refused(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_all_data_sets_together_have_a_bound(tmp_path: Path) -> None:
    """Each alone is within the bound of its file."""

    def change(file: Any) -> None:
        for name in ("gm/function-id-16000/indices", VALUES):
            del file[name]
            file.create_dataset(name, shape=(3_000_000,), dtype="u8", fillvalue=1)

    assert f"/{VALUES} has 3000000 numbers, too many" in refused(changed(tmp_path / "m.h5", change))


def test_types_of_functions_are_named_once(tmp_path: Path) -> None:
    header = [2, 0, 3, 4, 3, 16000, 2, 16006, 1, 16000, 2, 1]
    (tmp_path / "m.h5").write_bytes(opengm_file(header=header))
    assert "names one type of functions twice" in refused(tmp_path / "m.h5")


def test_the_trick_works_without_the_check(tmp_path: Path) -> None:
    """HDF5 itself reads the other file: without a check these tests would fail."""
    (tmp_path / "other").write_bytes(SECRET)
    path = changed(tmp_path / "m.h5", lambda file: external(file, tmp_path / "other"))
    with h5py.File(path, "r") as file:
        assert bytes(file[VALUES][()]) == SECRET[:8]
