"""Twice the input takes at most 2.5 times as long, for every reader and in every dimension."""

from __future__ import annotations

import pytest

from tests.cases.growing_inputs import growth_cases
from tests.cases.growth import GrowthCase, check_growth

#: What is read may be one long sequence, which is warned of elsewhere.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* is one sequence of:crfkit.errors.DataWarning"),
]

CASES = growth_cases()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_cost_grows_as_the_input_does(case: GrowthCase) -> None:
    check_growth(case.make, case.use, case.n)


def test_growth_can_fail() -> None:
    with pytest.raises(AssertionError, match="times as long"):
        check_growth(lambda n: n, lambda n: [i for i in range(n) for _ in range(n)], 150)
