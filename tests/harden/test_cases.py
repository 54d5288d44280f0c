"""The short form of every case of `make harden`, in every run of the suite."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.harden.case import Case, SkippedError, chance
from tests.harden.cases import CASES
from tests.harden.child import attempt

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]
ROOT = Path(__file__).parents[2]
SHORT = [case for case in CASES if case.short]


@pytest.mark.parametrize("case", SHORT, ids=[case.name for case in SHORT])
def test_the_first_inputs_of_a_case(case: Case, tmp_path: Path) -> None:
    try:
        trials = case.start(tmp_path)
    except SkippedError as reason:
        pytest.skip(str(reason))
    for i in range(case.short):
        attempt(case, trials, trials.make(i, chance(case.name, 1, i)).data)


def test_a_case_without_a_short_form_says_which_test_has_it() -> None:
    for case in CASES:
        if not case.short:
            tests = re.findall(r"tests/\S+\.py", case.why)
            assert tests, f"{case.name} says no test that is its short form"
            assert all((ROOT / test).is_file() for test in tests), case.name
