"""What may come of a program under a fault, and some faults that are quick; `make harden` tries more."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harden.case import FailureError, Outcome
from tests.harden.faults import Pipes
from tests.harden.processes import Ended, ended, start

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]


@pytest.mark.parametrize(
    ("status", "said", "message"),
    [
        (-11, "", "ended by SIGSEGV"),
        (1, "Traceback (most recent call last)", "Traceback"),
        (0, "Traceback of a thread", "Traceback"),
        (3, "crfkit: no", "status 3"),
        (2, " ", "without a word"),
    ],
)
def test_what_may_not_come_of_a_program(status: int, said: str, message: str) -> None:
    with pytest.raises(FailureError, match=message):
        Ended(status, b"", said).plainly(1, 2)


def test_what_may_come_of_a_program() -> None:
    assert Ended(0, b"x", "").plainly().output == b"x"
    assert Ended(2, b"", "crfkit: no such file").plainly(1, 2).status == 2


def test_a_program_that_hangs_is_a_failure() -> None:
    with pytest.raises(FailureError, match="did not end within"):
        ended(start("-c", "import time; time.sleep(100)"), seconds=0.5)


def test_a_reader_that_stops_reading(tmp_path: Path) -> None:
    trials = Pipes(tmp_path)
    assert trials.judge(json.dumps(["marginals", "broken", 10]).encode()) == Outcome.REFUSED
