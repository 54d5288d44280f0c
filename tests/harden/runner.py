"""Turns of cases in child processes, until the time is used up; what failed keeps its input and its log."""

from __future__ import annotations

import faulthandler
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.harden.case import Case
from tests.harden.child import INPUT, NAME, SLOWER, attempt

ROOT = Path(__file__).parents[2]
MOST_FAILURES = 10  # of a case; then the others have its time
SHORTEST = 8.0  # seconds of a turn, of which a child takes one to start
START = 60.0  # seconds that a start, an end or the making of an input may take
HANG = 10.0  # times the seconds of a case, by the clock of a busy machine


@dataclass
class Tally:
    """What was seen of a case."""

    case: Case
    inputs: int = 0
    refused: int = 0
    accepted: int = 0
    slowest: float = 0.0
    peak: int = 0
    skipped: str = ""
    #: What was said of each failure, by its message: one that occurs again is not kept again.
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether it should not be tried again."""
        return bool(self.skipped) or len(self.failures) >= MOST_FAILURES

    def line(self) -> str:
        """Return what is said after a turn."""
        if self.skipped:
            return f"{self.case.name:<22} skipped: {self.skipped}"
        counts = f"{self.inputs:>8} inputs {self.refused:>8} refused {self.accepted:>8} accepted"
        costs = f"slowest {self.slowest:6.2f} s  peak {self.peak >> 20:>5} MB"
        return f"{self.case.name:<22}{counts}  {costs}  {len(self.failures)} failed"


def table(tallies: Sequence[Tally]) -> str:
    """Return the table of the end, and the failures."""
    lines = [tally.line() for tally in tallies]
    lines += [f"FAILED  {told}" for tally in tallies for told in tally.failures.values()]
    return "\n".join(lines)


def harden(
    cases: Sequence[Case],
    *,
    seconds: float,
    seed: int = 0,
    jobs: int = 2,
    module: str = "tests.harden.cases",
    kept: Path = ROOT / "build" / "harden",
    say: Callable[[str], object] = print,
    tallies: list[Tally] | None = None,
) -> list[Tally]:
    """Give every case of a module its share of the time, in rounds; return what was seen.

    A list that is given is filled, for whoever wants to know what was seen before an interrupt.
    """
    given = tallies if tallies is not None else []
    given += [Tally(case) for case in cases]
    end = time.monotonic() + seconds
    rounds = int(seconds * jobs / (SHORTEST * sum(case.share for case in cases)))
    stopped = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        for turn in range(max(1, min(rounds, 5)), 0, -1):
            left = [tally for tally in given if not tally.over]
            each = max(0.0, end - time.monotonic()) * jobs / turn / max(1e-9, sum(t.case.share for t in left))

            def go(tally: Tally, each: float = each) -> None:
                until = time.monotonic() + each * tally.case.share
                while not tally.over and not stopped.is_set():  # at least once, and again after a failure
                    _turn(tally, module, seed, max(until - time.monotonic(), 1.0), kept, stopped)
                    if time.monotonic() > until - 1.0:
                        break
                say(tally.line())

            try:
                list(pool.map(go, left))
            except BaseException:
                stopped.set()
                raise
    return given


def _turn(tally: Tally, module: str, seed: int, seconds: float, kept: Path, stopped: threading.Event) -> None:
    """Run a child for so many seconds, or until it is stopped, and add up what it tells."""
    home = kept / _file_name(tally.case)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    reading, writing = os.pipe()
    given = (module, tally.case.name, seed, tally.inputs, max(1, round(seconds)), writing)
    paths = filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)])
    with (home / "log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.harden.child", *map(str, given)],
            cwd=home,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            pass_fds=(writing,),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    os.close(writing)
    failure = _follow(tally, child, reading, stopped)
    os.close(reading)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # what it started and left behind
    if failure:
        if failure not in tally.failures:
            tally.failures[failure] = _keep(tally, seed, home, kept, failure)
        tally.inputs += 1  # go on behind it
    shutil.rmtree(home, ignore_errors=True)


def _follow(tally: Tally, child: subprocess.Popen[bytes], reading: int, stopped: threading.Event) -> str:
    """Add up what a child tells until it ends; return why it failed, or nothing."""
    rest, failure, heard, limit = b"", "", time.monotonic(), START
    while True:
        if stopped.is_set():
            child.kill()
            child.wait()
            return failure
        if select.select([reading], [], [], 0.5)[0]:
            got, heard = os.read(reading, 1 << 16), time.monotonic()
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                failure = _add(tally, line.decode()) or failure
                limit = HANG * SLOWER * tally.case.seconds if line == b"B" else START
            if not got:
                break
        elif child.poll() is not None:
            break  # a process that it forked holds the pipe
        elif time.monotonic() > heard + limit:
            return failure or f"hung: nothing for {limit:.0f} s{_stopped(child)}"
    try:
        status = child.wait(START)
    except subprocess.TimeoutExpired:
        return failure or f"hung at its end{_stopped(child)}"
    if status < 0:
        return failure or f"ended by {signal.Signals(-status).name}"
    return failure or (f"ended with status {status}" if status else "")


def _stopped(child: subprocess.Popen[bytes]) -> str:
    """End a child that hangs; faulthandler writes into its log where."""
    child.send_signal(signal.SIGABRT)
    try:
        child.wait(5.0)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    return ""


def _add(tally: Tally, line: str) -> str:
    kind, _, told = line.partition(" ")
    if kind == "E":
        outcome, seconds, bytes_ = told.split()
        tally.inputs += 1
        tally.refused += outcome == "refused"
        tally.accepted += outcome == "accepted"
        tally.slowest, tally.peak = max(tally.slowest, float(seconds)), max(tally.peak, int(bytes_))
    elif kind == "S":
        tally.skipped = told
    return told if kind == "F" else ""


def _keep(tally: Tally, seed: int, home: Path, kept: Path, failure: str) -> str:
    """Keep input and log of a failure; return what is said of it."""
    place = kept / f"{_file_name(tally.case)}.{seed}.{tally.inputs}.input"
    log = (home / "log").read_text(errors="replace")
    place.with_suffix(".log").write_text(f"{tally.case.name}: {failure}\n\n{log}")
    if not (home / NAME).exists():
        return f"{tally.case.name}, seed {seed}: {failure}; see {place.with_suffix('.log')}"
    shutil.copyfile(home / INPUT, place)
    name = (home / NAME).read_text()
    return f"{tally.case.name}, seed {seed}, input {tally.inputs} ({name}): {failure}; --replay {place}"


def _file_name(case: Case) -> str:
    return "".join(c if c.isalnum() else "-" for c in case.name)


def replay(path: Path, cases: Sequence[Case]) -> str:
    """Judge an input that was kept, in this process; return the outcome."""
    name = path.name.split(".")[0]
    found = [case for case in cases if _file_name(case) == name]
    if not found:
        raise SystemExit(f"{path}: no case is called {name}; names of kept inputs begin with the case")
    with tempfile.TemporaryDirectory(prefix="crfkit-harden-") as folder:
        faulthandler.enable()
        return attempt(found[0], found[0].start(Path(folder)), path.read_bytes())[0]
