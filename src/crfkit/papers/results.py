"""Results in a file: a list of {quantity, paper, ours, low, high, data, runs, settings, series}.

``ours`` is the mean over runs; ``low`` and ``high`` are the ends of its 95 % interval (Student's t), absent
with one run. ``runs`` has the number of each run by its seed, so that a run that was interrupted goes
on where it ended; ``series`` has the curves of each run, by its seed, where there are some.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from crfkit.data.sink import write_bytes

_LEVEL = 0.95


@dataclass(frozen=True)
class Reading:
    """A number, and the curves that led to it.

    Examples
    --------
    >>> Reading.of(Reading(94.0, {"passes": (1, 2), "F1": (90.0, 94.0)})).series["passes"]
    [1.0, 2.0]
    >>> Reading.of(4.6)
    Reading(value=4.6, series={})
    """

    value: float
    series: Mapping[str, Sequence[float]] = field(default_factory=dict)  #: columns by name

    @classmethod
    def of(cls, given: float | Reading) -> Reading:
        """Return a reading, its numbers plain floats; a number has no curves."""
        if not isinstance(given, Reading):
            return cls(float(given))
        return cls(float(given.value), {name: [*map(float, one)] for name, one in given.series.items()})


@dataclass(frozen=True)
class Result:
    """The number of the paper and ours."""

    quantity: str
    paper: float | None
    ours: float
    low: float | None
    high: float | None
    data: str
    runs: Mapping[str, float]  #: by seed
    settings: Mapping[str, Any]
    series: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)  #: by seed

    @classmethod
    def of(
        cls,
        quantity: str,
        paper: float | None,
        data: str,
        runs: Mapping[str, float | Reading],
        settings: Mapping[str, Any],
    ) -> Result:
        """Return the result of some runs.

        Examples
        --------
        >>> made = Result.of("F1", 70.0, "generated", {"0": 71.0, "1": 73.0}, {})
        >>> made.ours, round(made.low, 1), round(made.high, 1)
        (72.0, 59.3, 84.7)
        """
        read = {seed: Reading.of(one) for seed, one in runs.items()}
        numbers = {seed: one.value for seed, one in read.items()}
        series = {seed: one.series for seed, one in read.items() if one.series}
        low, high = t_interval(list(numbers.values()))
        ours = math.fsum(numbers.values()) / len(numbers)
        return cls(quantity, paper, ours, low, high, data, numbers, dict(settings), series)


def t_interval(values: list[float]) -> tuple[float | None, float | None]:
    """Return the ends of the 95 % interval of the mean; None for fewer than two values.

    Examples
    --------
    >>> t_interval([1.0])
    (None, None)
    """
    n = len(values)
    if n < 2:
        return None, None
    from scipy.special import stdtrit

    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, (1.0 + _LEVEL) / 2.0)) * spread / math.sqrt(n)
    return mean - half, mean + half


def save(path: Path, results: list[Result]) -> None:
    """Write results as a whole or not at all."""
    rows = ",\n".join(json.dumps(asdict(one), ensure_ascii=False) for one in results)
    write_bytes(path, [f"[\n{rows}\n]\n".encode()])


def load(path: Path, settings: Mapping[str, Any]) -> dict[str, dict[str, Reading]]:
    """Return the runs of each quantity that a file has; refuse results that other settings gave."""
    if not path.exists():
        return {}
    try:
        rows = [Result(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
        runs = {
            row.quantity: {
                seed: Reading.of(Reading(number, row.series.get(seed, {})))
                for seed, number in row.runs.items()
            }
            for row in rows
        }
        before = [dict(row.settings) for row in rows]
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} does not hold results of crfkit reproduce ({error}); give another folder with --output"
        ) from None
    asked = json.loads(json.dumps(settings))
    for one in before:
        if one != asked:
            different = [name for name in {**one, **asked} if one.get(name) != asked.get(name)]
            name = sorted(different)[0]
            raise ValueError(
                f"{path} has results with {name} = {one.get(name)!r}, now it is {asked.get(name)!r}; give "
                "another folder with --output, or delete the file"
            )
    return runs
