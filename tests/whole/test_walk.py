"""One fit of a chain leads through few files, so that it can be followed by reading."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import crfkit
from crfkit import ChainCRF

PACKAGE = Path(crfkit.__file__).parent
MOST = 50
X = [[{"w": word} for word in "abcad"]]
Y = [list("NVNNV")]


def files_of_a_fit() -> set[str]:
    """Return the files of crfkit in which a function is called while a chain is fitted."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    ChainCRF().fit(X, Y)  # imports, and what is made once for each process
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        ChainCRF().fit(X, Y)
    finally:
        sys.setprofile(before)
    return {str(Path(name).relative_to(PACKAGE)) for name in seen if name.startswith(f"{PACKAGE}/")}


def test_a_fit_leads_through_few_files() -> None:
    files = files_of_a_fit()
    assert "estimators/chain.py" in files
    assert "optimize/batch/lbfgs.py" in files
    assert len(files) <= MOST, f"{len(files)} files: {sorted(files)}"
