"""The runner notices what it is for: exceptions, crashes, hangs, slow inputs and large ones."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.harden.broken import CASES
from tests.harden.cases import CASES as REAL
from tests.harden.child import SANITIZED
from tests.harden.runner import Tally, harden, replay, table

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def seen(kept: Path) -> dict[str, Tally]:
    found = harden(CASES, seconds=7.0, seed=4, module="tests.harden.broken", kept=kept, say=lambda _: None)
    return {tally.case.name: tally for tally in found}


def test_every_case_has_its_turn(seen: dict[str, Tally]) -> None:
    assert [*seen] == [case.name for case in CASES]
    assert seen["sound"].inputs > 10
    assert seen["sound"].accepted + seen["sound"].refused == seen["sound"].inputs
    assert not seen["sound"].failures
    assert seen["skipped"].skipped == "there is no moon"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raises", "KeyError: 'a name'"),
        ("crashes", "ended by SIGABRT"),
        ("hangs", "hung: nothing for"),
        ("slow", "s of the processor, more than 0.4"),
        pytest.param(
            "large", "MB, more than 100", marks=pytest.mark.skipif(SANITIZED, reason="their own memory")
        ),
    ],
)
def test_a_failure_names_case_seed_and_input_and_keeps_it(
    name: str, message: str, seen: dict[str, Tally], kept: Path
) -> None:
    (told,) = seen[name].failures.values()
    assert f"{name}, seed 4, input 3 (number 3): " in told
    assert message in told
    assert (kept / f"{name}.4.3.input").read_bytes() == b"3"
    assert 'File "' in (kept / f"{name}.4.3.log").read_text(), "the log shows where"
    assert told in table([*seen.values()])


def test_the_case_goes_on_behind_a_failure(seen: dict[str, Tally]) -> None:
    assert max(seen[name].inputs for name in ("raises", "crashes", "hangs", "slow")) > 4


def test_a_kept_input_is_judged_again(seen: dict[str, Tally], kept: Path) -> None:
    with pytest.raises(KeyError):
        replay(kept / "raises.4.3.input", CASES)
    (kept / "sound.4.3.input").write_bytes(b"4")
    assert replay(kept / "sound.4.3.input", CASES) == "accepted"
    with pytest.raises(SystemExit, match="no case is called"):
        replay(kept / "unknown.4.3.input", CASES)


def test_an_interrupt_ends_the_children_and_keeps_what_was_seen(tmp_path: Path) -> None:
    tallies: list[Tally] = []

    def interrupt() -> None:
        while not tallies or not tallies[0].inputs:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        harden(
            [case for case in CASES if case.name == "sound"],
            seconds=600.0,
            module="tests.harden.broken",
            kept=tmp_path,
            say=lambda _: None,
            tallies=tallies,
        )
    assert time.monotonic() - begun < 60.0
    assert tallies[0].inputs
    assert not tallies[0].failures
    assert not [*tmp_path.iterdir()], "nothing is left behind"


def test_names_of_cases_differ() -> None:
    names = [case.name for case in REAL]
    assert len({*names}) == len(names)
