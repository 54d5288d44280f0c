"""Where real corpora, models and answers of original programs lie; where they do not, tests skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("CRFKIT_DATA", Path(__file__).parents[3] / "shared/data"))
MODELS = DATA.parent / "models"
GOLDEN = DATA.parent / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="no files of the original programs here")
