"""Damaged and hostile files of graphical models: one clear error, and no large allocation."""

from __future__ import annotations

import gzip
import io
import random
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from crfkit.errors import DataError
from crfkit.graphs import load as load_graph
from tests.cases.graph_files import FG, UAI, opengm_file

HUGE = "99999999999999999999"


def refused(data: bytes, format: str | None = None) -> str:
    with pytest.raises(DataError) as caught:
        load_graph(io.BytesIO(data), format=format)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        (" \n ", "the file is empty"),
        ("MARKOV", "ends where the number of variables should come"),
        ("MARKOV 2 2", "ends where the numbers of labels of 2 variables should come"),
        ("MARKOV -1", "the number of variables is -1"),
        ("MARKOV 1.5", "the number of variables is 1.5"),
        (f"MARKOV {HUGE}", "the number of variables is 1e\\+20"),
        ("MARKOV 2000000000 2", "ends where the numbers of labels of 2000000000"),
        ("MARKOV\n2\n2 0\n", "line 3: a number of labels is 0, expected a whole number, 1 or more"),
        ("MARKOV 1 2 nan", "the number of factors is nan"),
        ("MARKOV 1 2 1", "ends where the scopes of 1 factors should come"),
        ("MARKOV 1 2 1000000000 1 0", "ends where the scopes of 1000000000 factors"),
        ("MARKOV 2 2 2\n1\n3 0 1", "line 3: the number of variables of factor 0 is 3"),
        ("MARKOV 2 2 2 1\n2 0 2", "line 2: a variable is 2, expected a whole number, 0 to 1"),
        ("MARKOV 2 2 2 1\n2 0 -1", "line 2: a variable is -1"),
        ("MARKOV 2 2 2 2\n1 0\n2 1 1", "line 3: factor 1 has a variable twice: \\[1, 1\\]"),
        ("MARKOV 2 2 2 1 2 0 1", "ends where the table of factor 0 should come"),
        ("MARKOV 2 2 2 1 2 0 1\n3 1 1 1", "ends where the table of factor 0"),
        (
            "MARKOV 2 2 2 1 2 0 1\n3 1 1 1 1",
            "line 2: the table of factor 0 is said to have 3 values, expected 4",
        ),
        ("MARKOV 2 2 2 2 1 0 1 1\n2 1 1\n3 1 1 1", "line 3: the table of factor 1 is said to have 3"),
        ("MARKOV 1 2 1 1 0 2 1", "ends where the table of factor 0"),
        ("MARKOV 1 2 1 1 0 2 1 1\n7", "line 2: there is more behind the last table: 7"),
        ("MARKOV 1 2 1 1 0 2\n1\n-1", "line 3: factor 0 has the value -1, expected 0 or more"),
        ("MARKOV 1 2 1 1 0 2 1 nan", "factor 0 has the value nan"),
        ("MARKOV 1 2 1 1 0 2 1 inf", "factor 0 has the value inf"),
        ("MARKOV 1 2 1 1 0 2 1\n0.5x", "line 2: '0.5x' is not a number"),
        ("MARKOV 1 2 1 1 0 2 1 1_0", "'1_0' is not a number"),
        ("MARKOV 1 2147483647 0", "variable 0 has 2147483647 labels and is not in any factor"),
        ("MARKOV 3 " + "2000000000 " * 3 + "1 3 0 1 2 5 1 1", "ends where the table of factor 0"),
        ("MARKOV 70 " + "1 " * 70 + "1 70 " + " ".join(map(str, range(70))) + " 1 1", "has 70 variables"),
        ("GARKOV 1 2 0", "begins with 'GARKOV', expected MARKOV or BAYES"),
    ],
)
def test_wrong_uai(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_graph(io.BytesIO(text.encode()), format="uai")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing", "the file is empty"),
        (HUGE, "the number of factors is 1e\\+20"),
        ("1000000000 1", "ends where 1000000000 factors should come"),
        ("1\n2\n0 1\n2 2\n5\n", "ends where the values of factor 0"),
        ("1\n2\n0 1\n2 0\n0\n", "line 4: a number of labels is 0"),
        ("1\n1\n-3\n2\n0\n", "line 3: the number of a variable is -3"),
        ("1\n2\n4 4\n2 2\n0\n", "line 2: factor 0 has a variable twice"),
        ("2\n1\n0\n2\n0\n1\n0\n3\n0\n", "line 8|line 4"),
        ("1\n1\n0\n2\n1\n2 0.5\n", "line 6: a cell of factor 0 is 2, expected a whole number, 0 to 1"),
        ("1\n1\n0\n2\n1\n0 -0.5\n", "line 6: factor 0 has the value -0.5"),
        ("1\n1\n0\n2\n0\n5\n", "there is more behind 1 factors: 5"),
        ("1\n1\n0\n2000000000\n0\n", "the tables have 2e\\+09 cells, .* too many for a file of"),
        ("1\n3\n0 1 2\n99999 99999 99999\n0\n", "the tables have 1e\\+15 cells"),
        ("1\nx\n", "line 2: 'x' is not a number"),
    ],
)
def test_wrong_fg(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_graph(io.BytesIO(text.encode()), format="fg")


TABLE, POTTS = "function-id-16000", "function-id-16006"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"header": None}, "0 groups hold a model"),
        ({"header": [1, 0, 3, 4, 0]}, r"header begins with \[1, 0\], expected version 2, 0"),
        ({"header": [2, 0, 3, 4, 9, 1]}, "the header has 6 numbers, expected 24"),
        ({"header": [2.0, 0.0]}, "header has type float64"),
        ({"header": [b"x"]}, "header has type"),
        ({"numbers-of-states": None}, "there is no data set /gm/numbers-of-states"),
        ({"numbers-of-states": [2, 3]}, "2 numbers of states for 3 variables"),
        ({"numbers-of-states": [2, 0, 2]}, "variable 1 has 0 states, expected 1 to 2147483647"),
        ({"numbers-of-states": [2, 2, 2**60]}, f"variable 2 has {2**60} states, expected 1 to 2147483647"),
        ({"numbers-of-states": [2, 2**31 - 1, 2]}, "the variables have 2.15e\\+09 states"),
        ({"factors": None}, "there is no data set /gm/factors"),
        ({"factors": [0, 0, 1, 0]}, "factors has 4 numbers, too few for 4 factors"),
        (
            {"factors": [1, 0, 2, 0, 1, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 9, 2, 0]},
            "factors ends in factor 3 of 4",
        ),
        ({"factors": [9, 0, 2, 0, 1, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2, 2, 0]}, "factor 0 has function 9"),
        ({"factors": [1, 7, 2, 0, 1, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2, 2, 0]}, "function 1 of type 7"),
        ({"factors": [1, 0, 2, 0, 5, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2, 2, 0]}, "factor 0 has variable 5"),
        (
            {"factors": [1, 0, 2, 0, 0, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2, 2, 0]},
            "factor 0 has a variable twice",
        ),
        ({"factors": [1, 0, 2, 0, 2, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2, 2, 0]}, r"have \[2, 2\] labels"),
        ({"factors": [1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 2, 0, 2, 0, 1, 2, 2, 0]}, "factor 0 has 1 variables"),
        ({f"{TABLE}/indices": None}, "there is no data set /gm/function-id-16000/indices"),
        ({f"{TABLE}/indices": [1, 2, 2, 2]}, "the shape of function 1 of type 16000"),
        ({f"{TABLE}/indices": [1, 0, 2, 2, 3]}, "the shape of function 0 of type 16000"),
        ({f"{TABLE}/indices": [1, 10**9, 2, 2, 3]}, "function 0 of type 16000 has 1e\\+09 cells"),
        ({f"{TABLE}/values": [0.5, 0.5]}, "function 1 of type 16000 lacks values"),
        ({f"{TABLE}/values": [float("nan")] * 8}, "function 0 of type 16000 has the energy nan"),
        ({f"{TABLE}/values": [-float("inf")] * 8}, "function 0 of type 16000 has the energy -inf"),
        ({f"{POTTS}/indices": [10**5, 10**5]}, "function 0 of type 16006 has 1e\\+10 cells"),
        ({f"{POTTS}/indices": None, f"{POTTS}/values": None}, "there is no group function-id-16006"),
        ({"header": [2, 0, 3, 4, 3, 16000, 2, 16011, 1, 16003, 0, 1]}, "type 16011 are not supported"),
        ({"header": [2, 0, 3, 4, 3, 16000, 10**15, 16006, 1, 16003, 0, 1]}, "functions of type 16000 have 5"),
    ],
)
def test_wrong_opengm(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_graph(io.BytesIO(opengm_file(**changes)))


def test_data_sets_that_are_larger_than_their_file() -> None:
    library = pytest.importorskip("h5py")
    kept = io.BytesIO()
    with library.File(kept, "w") as file:
        file.create_dataset("gm/header", shape=(10**11,), dtype="u8", chunks=(1024,))
    assert "has 100000000000 numbers, too many for the size of the file" in refused(kept.getvalue())


def test_binary_junk_and_formats_that_contradict(tmp_path: Path) -> None:
    assert "holds a NUL byte, so it is not text" in refused(b"MARKOV \0\1\2")
    assert "is not a whole HDF5 file" in refused(b"\x89HDF\r\n\x1a\nxxxxxxx")
    assert "is an HDF5 file, but format is 'uai'" in refused(opengm_file(), "uai")
    assert "is not a number" in refused(UAI, "fg")
    assert "ends in the middle of its gzip data" in refused(gzip.compress(UAI)[:-9])
    path = tmp_path / "cut.uai"
    path.write_bytes(UAI[:50])
    with pytest.raises(DataError, match=r"cut\.uai"):
        load_graph(path)


@pytest.mark.parametrize("data", [UAI, FG], ids=["uai", "fg"])
def test_truncated_at_any_byte(data: bytes) -> None:
    """A cut within the last number or behind it may go unseen, and nowhere else."""
    for size in range(len(data.rstrip()) - 4):
        assert refused(data[:size], "uai" if data is UAI else "fg")


def test_opengm_truncated() -> None:
    data = opengm_file()
    for size in range(0, len(data) - 1, 97):
        assert refused(data[:size], "opengm")


def test_allocations_stay_near_the_size_of_the_file() -> None:
    hostile = [f"MARKOV {n} 2 2 1000000 1 0".encode() for n in (10, 10**6, 2 * 10**9)] + [
        b"1 2 0 1 100000000 100000000 0",
        b"MARKOV 1 2000000000 1 1 0 2000000000 1",
    ]
    tracemalloc.start()
    try:
        for data in hostile:
            refused(data)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format", ["uai", "lg", "fg", "opengm"])
def test_mutations_are_read_or_refused(format: str) -> None:
    rng = random.Random(3)
    seed = opengm_file() if format == "opengm" else FG if format == "fg" else UAI
    read = 0
    for _ in range(60 if format == "opengm" else 300):
        data = bytearray(seed)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1 and format != "opengm":
                data[at:at] = rng.choice(
                    [b" ", b"9", b"-", b"99999999999", b"nan ", b"1e400", b"\n", b"\xff"]
                )
            elif kind == 2 and format != "opengm":
                del data[at : at + rng.randrange(1, 9)]
            else:
                data[at] = rng.randrange(256)
        with suppress(DataError):
            load_graph(io.BytesIO(bytes(data)), format=format)
            read += 1
    assert read
