"""The log of a training, read line by line into events and numbers.

Other programs feed it logs of CRFsuite and read its attributes; here `Trainer` feeds it the same lines. The
parts of a log, and the event that each ends with:

=================  ================================  ============================================
state              lines                             events
=================  ================================  ============================================
STARTING           up to "Feature generation"        start
FEATGEN            "0", ".", ..., "10", seconds      featgen_progress (each), featgen_end
AFTER_FEATGEN      options of the algorithm          prepared, prepare_error
ITERATION          one block for each iteration      iteration
AFTER_ITERATION    why it ended                      optimization_end
STORING            what is written                   end
=================  ================================  ============================================
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]


class LabelScore(NamedTuple):
    """How well one label was found; precision, recall and f1 are None where the log has asterisks."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_NUMBERS: dict[str, tuple[str, Callable[[str], float]]] = {
    "Loss": ("loss", float),
    "Feature norm": ("feature_norm", float),
    "Feature L2-norm": ("feature_norm", float),
    "Error norm": ("error_norm", float),
    "Active features": ("active_features", int),
    "Line search trials": ("linesearch_trials", int),
    "Line search step": ("linesearch_step", float),
    "Seconds required for this iteration": ("time", float),
}
_NUMBER = re.compile(r"([\w -]+): (-?\d+(?:\.\d+)?|-?inf|nan)")
_AVERAGE = re.compile(r"Macro-average precision, recall, F1: \(([\d.]+), ([\d.]+), ([\d.]+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)", re.DOTALL)
_DOTS = {".", *map(str, range(11))}


class TrainLogParser:
    r"""What a log says, as far as it was fed.

    Examples
    --------
    >>> parser = TrainLogParser()
    >>> [parser.feed(line) for line in ("Feature generation\n", "0", ".", "Seconds required: 0.001\n")]
    ['start', 'featgen_progress', 'featgen_progress', 'featgen_end']
    >>> parser.featgen_percent, parser.last_log
    (2, 'Seconds required: 0.001\n')
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []  #: name, first line, line after the last

    def feed(self, line: str) -> str | None:
        """Take one line; return the event that it completes, if it does."""
        self.log.append(line)
        if self.state is None:
            self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"
            self.events.append(("start", 0, 1))
            return "start"
        event: str | None = getattr(self, f"_{self.state.lower()}")(line)
        if event is not None:
            heading = event in ("prepared", "optimization_end")  # this line begins the next part
            self.events.append((event, self.events[-1][2], len(self.log) - heading))
        return event

    @property
    def last_log(self) -> str:
        """The text of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def _starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def _featgen(self, line: str) -> str | None:
        if line in _DOTS:
            self.featgen_percent += 2
            return "featgen_progress"
        if line.startswith("Number of features: "):
            self.featgen_num_features = int(line[20:])
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._iteration(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        if head := _HEAD.match(line):
            self.state = "ITERATION"
            self.last_iteration = {"num": int(head[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            return None
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        assert self.last_iteration is not None
        if found := _LABEL.match(line):
            rates = (None if "*" in rate else float(rate) for rate in found.group(5, 6, 7))
            counts = (int(count) for count in found.group(2, 3, 4))
            self.last_iteration["scores"][found[1]] = LabelScore(*counts, *rates)
        elif found := _AVERAGE.match(line):
            for name, rate in zip(("precision", "recall", "f1"), found.groups(), strict=True):
                self.last_iteration[f"avg_{name}"] = float(rate)
        elif found := _ACCURACY.match(line):
            key, total = f"{found[1].lower()}_accuracy", int(found[3])
            share = Fraction(int(found[2]), total) if total else Fraction(0)
            self.last_iteration |= {key: share, f"{key}_float": float(share)}
        elif (found := _NUMBER.match(line)) and found[1] in _NUMBERS:
            key, kind = _NUMBERS[found[1]]
            self.last_iteration[key] = kind(found[2])
        return None

    def _after_iteration(self, line: str) -> str | None:
        if _HEAD.match(line):
            return self._iteration(line)
        if found := re.match(r"Total seconds required for training: (\d+\.\d+)", line):
            self.training_seconds = float(found[1])
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return None
