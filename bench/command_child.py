"""``crfkit train`` with a clock for each phase, which goes to a file as JSON.

    python -m bench.command_child BEGIN FILE train data.txt -o model.crf

BEGIN is the reading of `time.perf_counter` at which the process was started. A phase counts what happens in
it and not in a phase within; threads that run beside it count as processor time of the phase.
"""

from __future__ import annotations

import time

_FIRST = time.perf_counter(), time.process_time()

import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable  # noqa: E402
from functools import wraps  # noqa: E402
from importlib import import_module  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402


class Phases:
    """Seconds of the wall and of the processor by phase."""

    def __init__(self, begin: float) -> None:
        self.spent: dict[str, list[float]] = {"interpreter": [_FIRST[0] - begin, _FIRST[1]]}
        self.open, self.last = ["imports"], _FIRST

    def change(self) -> None:
        """Give the time since the last change to the phase that is open."""
        now = time.perf_counter(), time.process_time()
        spent = self.spent.setdefault(self.open[-1], [0.0, 0.0])
        for i in (0, 1):
            spent[i] += now[i] - self.last[i]
        self.last = now

    def watch(self, owner: Any, name: str, phase: str | Callable[[Any], str]) -> None:
        """Count the calls of a function as a phase."""
        plain = getattr(owner, name)

        @wraps(plain)
        def noted(*given: Any, **options: Any) -> Any:
            self.change()
            self.open.append(phase if isinstance(phase, str) else phase(given[0]))
            try:
                return plain(*given, **options)
            finally:
                self.change()
                self.open.pop()

        setattr(owner, name, noted)


def main() -> None:
    phases = Phases(float(sys.argv[1]))
    file = Path(sys.argv[2])
    command = import_module("crfkit.cli.commands")
    command.command_named("train")
    for name in ("crfkit.training.train", "crfkit.data", "crfkit.cli.learning"):
        import_module(name)
    trainer = import_module("crfkit.optimize.dual.trainer").DualRun
    phases.change()
    phases.open = ["other"]
    phases.watch(import_module("crfkit.cli.learning"), "prepare", "reading")
    phases.watch(import_module("crfkit.training.fit").Fit, "__init__", "layout")
    phases.watch(trainer, "__init__", "arranging")
    phases.watch(trainer, "step", lambda run: {"finish": "L-BFGS"}.get(run.phase, run.phase))
    phases.watch(trainer, "_close", "diagonal")
    phases.watch(trainer, "_join", "arranging")
    phases.watch(import_module("crfkit.optimize.dual.nearby").Nearby, "evaluate", "certify")
    phases.watch(import_module("crfkit.cli.saving").Saver, "save", "saving")
    sys.argv = ["crfkit", *sys.argv[3:]]
    try:
        command.run()
    finally:
        phases.change()
        file.write_text(json.dumps({"phases": phases.spent, "ended": time.perf_counter()}))


if __name__ == "__main__":
    main()
