"""Includes of the native code point one way: every room of cpp/ keeps its rule (cpp/README.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CPP = Path(__file__).parents[2] / "cpp"

# What the files of a room may include beside their own room.
ROOMS: dict[str, set[str]] = {"shared": set(), "text": {"shared"}}
ROOMS["kernels/simd"] = {"shared"}
ROOMS["kernels/linear"] = {"shared", "kernels/simd"}
ROOMS["kernels/sweep"] = {"shared", "kernels/simd", "kernels/linear"}
ROOMS["kernels/learn"] = {"shared", "kernels/simd", "kernels/linear", "kernels/sweep"}
ROOMS["kernels/graph"] = {"shared", "kernels/simd", "kernels/sweep"}
ROOMS["kernels"] = {"shared", "kernels/simd", "kernels/linear", "kernels/sweep", "kernels/learn"}
ROOMS["engine"] = {"shared"}
ROOMS["engine/threads"] = {"shared", "engine"}
ROOMS["engine/linear"] = {"shared", "engine", "engine/threads"}
ROOMS["engine/induction"] = {"shared", "engine", "engine/threads"}
ROOMS["engine/likelihood"] = {"shared", "engine", "engine/threads", "engine/linear"}
ROOMS["engine/sequential"] = {"shared", "engine", "engine/threads", "engine/linear"}
ROOMS["engine/tensors"] = {"shared", "engine", "engine/threads"}
ROOMS["engine/trees"] = {"shared", "engine", "engine/threads"}
ROOMS["graph"] = {"shared", "engine", "engine/threads"}
for subject in ("messages", "visits", "sampling", "lanes", "tree_ep", "elimination", "cuts"):
    ROOMS[f"graph/{subject}"] = {"shared", "engine", "engine/threads", "graph"}
ROOMS["python"] = {room for room in ROOMS if not room.startswith("kernels")}

# Headers without inline functions that the linker could take from an object of another instruction set.
PLAIN = {"cmath", "cstddef", "cstdint", "cstdlib", "cstring", "immintrin.h", "limits", "new"}
PYTHON = re.compile(r"<(nanobind/|Python\.h)|\bnanobind\b|\bPyObject\b|\bnb::")


def sources() -> list[Path]:
    return [path.relative_to(CPP) for path in sorted(CPP.rglob("*.[hc]pp"))]


def complaints(path: Path, text: str) -> list[str]:
    """What a file of the native code does that the rule of its room forbids."""
    room = path.parent.as_posix()
    if room not in ROOMS:
        return [f"cpp/{path} lies in no room that ROOMS knows"]
    wrong = []
    code = re.sub(r"//.*", "", text)
    for quoted in re.findall(r'#include "(.*)"', code):
        other = Path(quoted).parent.as_posix()
        if other != room and other not in ROOMS[room]:
            wrong.append(f"cpp/{path} includes {quoted}")
        if not (CPP / quoted).exists():
            wrong.append(f"cpp/{path} includes {quoted}, which is not there")
    if room.startswith(("shared", "kernels")):
        for header in set(re.findall(r"#include <(.*)>", code)) - PLAIN:
            wrong.append(f"cpp/{path} includes <{header}>, which kernels must not")
    if room != "python" and PYTHON.search(code):
        wrong.append(f"cpp/{path} knows Python")
    return wrong


def test_every_file_keeps_the_rule_of_its_room() -> None:
    assert [wrong for path in sources() for wrong in complaints(path, (CPP / path).read_text())] == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("shared/problem.hpp", '#include "engine/linear/index.hpp"'),
        ("kernels/simd/simd.hpp", '#include "kernels/sweep/sweep.hpp"'),
        ("kernels/sweep/sweep.hpp", '#include "engine/linear/index.hpp"'),
        ("kernels/sweep/sweep.hpp", "#include <vector>"),
        ("engine/linear/index.hpp", '#include "kernels/sweep/sweep.hpp"'),
        ("engine/linear/index.hpp", '#include "python/arrays.hpp"'),
        ("engine/linear/index.hpp", "#include <nanobind/ndarray.h>"),
        ("text/words.hpp", "#include <Python.h>"),
        ("text/words.hpp", "PyObject* letters();"),
        ("python/module.cpp", '#include "kernels/sweep/sweep.hpp"'),
        ("shared/problem.hpp", '#include "shared/nowhere.hpp"'),
        ("attic/old.hpp", ""),
    ],
)
def test_a_wrong_include_would_be_noticed(path: str, line: str) -> None:
    assert len(complaints(Path(path), line + "\n")) == 1


def test_the_native_code_was_found_and_the_rooms_are_described() -> None:
    assert {path.parent.as_posix() for path in sources()} == set(ROOMS)
    described = re.findall(r"^\| `([^`]*)/` \|", (CPP / "README.md").read_text(), flags=re.MULTILINE)
    assert sorted(described) == sorted(set(ROOMS) - {"kernels"})


def test_headers_are_included_once_and_by_somebody() -> None:
    everything = "".join((CPP / path).read_text() for path in sources())
    for path in sources():
        if path.suffix == ".hpp":
            assert "#pragma once" in (CPP / path).read_text(), f"cpp/{path}: #pragma once is missing"
            assert f'#include "{path.as_posix()}"' in everything, f"nobody includes cpp/{path}"
