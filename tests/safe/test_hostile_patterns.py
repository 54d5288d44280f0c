"""Random hostile expressions, recipes and constraints end soon, with an answer or a ValueError."""

from __future__ import annotations

import random

import pytest

from tests.cases.hostile_patterns import fuzz_patterns


@pytest.mark.parametrize("seed", range(40))
def test_hostile_patterns_end(seed: int) -> None:
    fuzz_patterns(random.Random(seed))
