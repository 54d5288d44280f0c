"""Building from source: what people are told where it cannot work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BESIDE = os.path.dirname(sys.executable)


@pytest.mark.parametrize("named", [{}, {"CXX": "/nowhere/g++"}])
def test_a_missing_compiler_is_told_with_what_to_install(named: dict[str, str], tmp_path: Path) -> None:
    cmake, ninja = (shutil.which(name, path=f"{_BESIDE}:{os.defpath}") for name in ("cmake", "ninja"))
    if cmake is None or ninja is None:
        pytest.skip("there is no CMake or no Ninja")
    tools = tmp_path / "bin"  # a machine that has nothing else
    tools.mkdir()
    for name in ("sh", "uname"):
        (tools / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    asked = [
        cmake,
        "-S",
        str(ROOT),
        "-B",
        str(tmp_path / "build"),
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
    ]
    done = subprocess.run(asked, env={"PATH": str(tools), **named}, capture_output=True, text=True)
    assert done.returncode != 0
    told = " ".join(done.stderr.split())
    assert "there is no C++ compiler here. Install GCC or Clang" in told
    assert "apt install g++" in told
    assert "CMAKE_CXX_COMPILER" not in told
