"""One turn of a case, in a process: ``python -m tests.harden.child MODULE NAME SEED FIRST SECONDS FD``.

Tells on the pipe FD when an input begins (``B``), what came of it (``E outcome seconds bytes``), and, before
it ends, why it failed (``F message``) or cannot be tried (``S reason``). The input of now lies in a file of
the current folder, so that it is there after a crash; whoever started the child removes the folder.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
import time
import traceback
import warnings
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path

from tests.harden.case import Case, FailureError, SkippedError, Trials, chance

LINUX = sys.platform.startswith("linux")
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
INPUT, NAME = "input", "name"  #: files with the input of now, and what it is called
ROOM = 4 << 30  # bytes of addresses beyond those of the start
SLOWER = 10.0 if SANITIZED else 1.0


def peak() -> int:
    """Return the bytes of the largest memory since `forget_peak`, where there is such a thing."""
    if not LINUX:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = Path("/proc/self/status").read_bytes()
    return 1024 * int(status.partition(b"VmHWM:")[2].split(None, 1)[0])


def forget_peak() -> None:
    """Let the largest memory be that of now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_bytes(b"5")


def limit_addresses() -> None:
    """Let allocations beyond any sound need fail; sanitizers need all addresses for themselves."""
    if SANITIZED or not LINUX:
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, resource.RLIM_INFINITY))


def overwrite(file: int, data: bytes) -> None:
    """Replace what is in a file. Some systems write one that is opened anew to the disk at once."""
    os.pwrite(file, data, 0)
    os.ftruncate(file, len(data))


def attempt(case: Case, trials: Trials, data: bytes) -> tuple[str, float, int]:
    """Judge one input; return outcome, processor seconds and bytes; raise where any of them is wrong."""
    forget_peak()
    before, begun = peak(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # a number that nobody looked at
        outcome = trials.judge(data)
    seconds, largest = time.process_time() - begun, peak()
    if seconds > case.seconds * SLOWER:
        raise FailureError(f"took {seconds:.1f} s of the processor, more than {case.seconds:g}")
    if largest - before > case.memory and not SANITIZED:
        raise FailureError(f"took {(largest - before) >> 20:,} MB, more than {case.memory >> 20:,}")
    return outcome.value, seconds, largest


def main() -> int:
    module, name = sys.argv[1:3]
    seed, first, seconds, fd = map(int, sys.argv[3:])
    faulthandler.enable()
    cases: tuple[Case, ...] = import_module(module).CASES
    case = next(case for case in cases if case.name == name)

    def tell(*words: object) -> None:
        os.write(fd, " ".join(map(str, words)).encode() + b"\n")

    files = {name: os.open(name, os.O_CREAT | os.O_WRONLY) for name in (INPUT, NAME)}
    folder = Path("work").resolve()
    folder.mkdir()
    try:
        trials = case.start(folder)
        limit_addresses()
        end = time.monotonic() + seconds
        for i in count(first):
            tried = trials.make(i, chance(name, seed, i))
            for file, data in ((INPUT, tried.data), (NAME, tried.name.encode(errors="backslashreplace"))):
                overwrite(files[file], data)
            tell("B")
            tell("E", *attempt(case, trials, tried.data))
            if time.monotonic() > end:
                return 0
    except SkippedError as reason:
        tell("S", reason)
        return 0
    except BaseException as error:
        traceback.print_exc()
        told = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        tell("F", told.encode("ascii", "backslashreplace").decode())
        return 1
    raise AssertionError("inputs do not end")


if __name__ == "__main__":
    sys.exit(main())
