"""Fuzzers and faults, for as long as is asked: ``python -m tests.harden [--seconds 600] [--only NAME ...]``.

Every case makes inputs from a seed and judges what comes of them, in child processes whose time and memory
are limited: an answer, or an error that says what is wrong. Anything else, a crash or a hang among it, fails
and keeps its input and log under build/harden; ``--replay FILE`` judges such an input again, here.
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path

from tests.harden.cases import CASES
from tests.harden.child import SANITIZED
from tests.harden.runner import Tally, harden, replay, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harden", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names of cases; * stands for any letters")
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="judge an input that was kept")
    options = parser.parse_args()
    if options.replay is not None:
        print(replay(options.replay, CASES))
        return 0
    chosen = [case for case in CASES if any(fnmatch(case.name, name) for name in options.only or ["*"])]
    if not chosen:
        parser.error(f"no case is called {' or '.join(options.only)}; --list prints them")
    if options.list:
        print("\n".join(f"{case.name:<22} {case.about}" for case in chosen))
        return 0
    if SANITIZED:
        chosen = [case for case in chosen if case.sanitized]

    def say(line: str) -> None:
        print(line, flush=True)

    tallies: list[Tally] = []
    status = 0
    try:
        harden(
            chosen,
            seconds=options.seconds,
            seed=options.seed,
            jobs=options.jobs,
            say=say,
            tallies=tallies,
        )
    except KeyboardInterrupt:
        say("interrupted")
        status = 130
    say(f"\n{table(tallies)}")
    return int(any(tally.failures for tally in tallies)) or status


if __name__ == "__main__":
    sys.exit(main())
