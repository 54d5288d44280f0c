"""The types of the native module, generated from the module that is built.

    python -m tests.whole.stubs          # writes src/crfkit/_native.pyi (make stubs)

nanobind knows names, parameters, defaults and types of everything that is bound. Shapes, orders and devices
of arrays are left out of the stub: a type checker cannot use them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from crfkit import _native

STUB = Path(__file__).parents[2] / "src" / "crfkit" / "_native.pyi"
PLAINER = {
    r"^import numpy\.typing\n": "",
    r"\bnumpy\.typing\.NDArray": "NDArray",
    r"\bnumpy\.(?!typing)": "np.",
    r"^import numpy$": "import numpy as np",
    r"^(compiler: str) = .*$": r"\1",
    r"(?<=[:\[] |.\[)NDArray\b(?!\[)": "object",  # whatever DLPack knows: a tensor, a capsule, an array
}
ARRAY = re.compile(r"Annotated\[(NDArray\[[\w.]+\]), dict\((?:[^()]|\([^()]*\))*\)\]")


def generated() -> str:
    """Return the stub of the module that is imported."""
    from nanobind.stubgen import StubGen  # type: ignore[import-untyped]

    maker = StubGen(_native, include_docstrings=False)
    maker.put(_native)
    text = ARRAY.sub(r"\1", maker.get())
    for pattern, new in PLAINER.items():
        text = re.sub(pattern, new, text, flags=re.MULTILINE)
    text = re.sub(r"^from typing import (.*)$", _used(text), text, flags=re.MULTILINE)
    text = text.replace("compiler: str\n", "__version__: str\ncompiler: str\n")
    return _formatted('"""Made by `make stubs` from the native module."""\n\n' + text)


def _used(text: str) -> str:
    body = re.sub(r"^from typing import .*$", "", text, flags=re.MULTILINE)
    names = [name for name in ("Any", "Final") if re.search(rf"\b{name}\b", body)]
    return f"from typing import {', '.join(names)}" if names else ""


def _formatted(text: str) -> str:
    for arguments in (["check", "-q", "--fix-only", "--select=I"], ["format", "-q"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(generated())
