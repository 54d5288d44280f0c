"""What a training will take, before it begins: weights, memory, time, and which optimizer does it.

Sizes and the optimizer are those that `train` will have. Memory follows from what each part keeps
(`training/memory.py`). Time is that of an evaluation of a few sequences, by their share of the positions,
times the evaluations that runs to the default certificate mostly took.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any, NoReturn

import numpy as np

from crfkit.checks import threads_of, with_flat
from crfkit.data.dataset import Dataset
from crfkit.linear.features import FeatureSelection
from crfkit.linear.loss import LinearLoss
from crfkit.linear.objective import Objective
from crfkit.linear.restrict import restrict
from crfkit.native import threads_or_all, usable_cores
from crfkit.optimize import LBFGS, Dual
from crfkit.optimize.problem import Optimizer
from crfkit.structures import Structure
from crfkit.training.choose import name_of, objective_of
from crfkit.training.data import TrainingData, checked_dataset
from crfkit.training.fit import Fit, structure_of, with_labels_of
from crfkit.training.foreign import refuse_unknown
from crfkit.training.memory import available_bytes, bytes_of, resident_bytes
from crfkit.training.segments import dataset_of
from crfkit.training.stop import Stop

_SAMPLE = 1 << 20  # cells of the steps of the sequences that are timed: a few ms
_LEAST = 300  # their positions, at least
_EVALUATIONS = {Dual: 50, LBFGS: 150}  # until a run is certified, a pass of the dual counted as two
_OTHERS = 100  # of other methods


@dataclass(frozen=True)
class Forecast:
    """What a training will take; `print` shows it.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["the"], ["old"], ["dog"]], [["a"], ["dog"]]], [["D", "A", "N"], ["D", "N"]])
    >>> found = forecast(data)
    >>> found.weights, found.all_pairs, found.by_kind, found.optimizer
    (13, 21, {'node': 4, 'transition': 9}, 'LBFGS')
    >>> found.peak > found.growth > 0, found.seconds > 0
    (True, True)
    """

    sequences: int
    positions: int
    labels: int
    attributes: int
    weights: int  #: that training will have
    by_kind: dict[str, int]  #: the same by the slot of scores: node, transition, ...
    all_pairs: int  #: weights with ``selection="all"``
    optimizer: str
    why: str  #: why this optimizer
    held: int  #: bytes that the program and the data have now; 0 where the system does not say
    bytes: dict[str, int]  #: what training adds, by part
    available: int  #: bytes that the process could still take; 0 where the system does not say
    evaluation: float  #: seconds of one evaluation; nan where it was not timed
    evaluations: int  #: that are expected
    seconds: float  #: until the end; nan where no evaluation was timed

    @property
    def growth(self) -> int:
        """Bytes that training adds to what is held now."""
        return sum(self.bytes.values())

    @property
    def peak(self) -> int:
        """Bytes of the process at the most."""
        return self.held + self.growth

    @property
    def fits(self) -> bool:
        """Whether there is so much memory; True where the system does not say."""
        return not self.available or self.growth <= self.available

    @property
    def remedy(self) -> str:
        """What makes training need less memory."""
        most = max(self.bytes, key=self.bytes.__getitem__)
        fewer = "fewer weights (--selection observed, --min-count 2)"
        steps = "weights of observed transitions only (--transitions observed)"
        first = steps if most == "dual" and self.labels > 64 else "" if most == "evaluation" else fewer
        return ", ".join(x for x in (first, "blocks on disk (--block-positions 100000)", "fewer labels") if x)

    @property
    def line(self) -> str:
        """Memory and time in one line."""
        told = f"about {_megabytes(self.peak)} of memory"
        if not np.isnan(self.seconds):
            told += f" and {_duration(self.seconds)}"
        return f"{told} are expected"

    def warn(self) -> None:
        """Warn where training needs more memory than there is."""
        if self.fits:
            return
        warnings.warn(
            f"training is expected to take {_megabytes(self.growth)} more memory, and "
            f"{_megabytes(self.available)} are available; to need less: {self.remedy}",
            RuntimeWarning,
            stacklevel=4,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "growth": self.growth, "peak": self.peak, "fits": self.fits}

    def to_frame(self) -> Any:
        """Return weights by slot and bytes by part as a data frame of pandas."""
        from crfkit._safe.frames import frame_of

        sizes = {**{f"{name} weights": n for name, n in self.by_kind.items()}, "all weights": self.weights}
        sizes |= {**{f"{name} bytes": n for name, n in self.bytes.items()}, "all bytes": self.growth}
        return frame_of({name: (n,) for name, n in sizes.items()}, ["number"], "part")

    def _repr_html_(self) -> str:
        from crfkit.view import cell, facts

        sizes = ("sequences", "positions", "labels", "attributes", "weights", "optimizer")
        rows: dict[str, object] = {name: getattr(self, name) for name in sizes}
        rows["memory"] = f"{_megabytes(self.peak)} expected, {_megabytes(self.available)} available"
        rows |= {} if np.isnan(self.seconds) else {"time": _duration(self.seconds)}
        return cell(facts(rows, title="Forecast"), plain=str(self))

    def __str__(self) -> str:
        sizes = ("sequences", "positions", "labels", "attributes", "weights")
        lines = [f"{name:<14}{getattr(self, name):>16,}" for name in sizes]
        lines += [f"  {name:<12}{count:>16,}" for name, count in self.by_kind.items() if count]
        lines.append(f"{'all pairs':<14}{self.all_pairs:>16,}  weights, with features all")
        there = f"  of {_megabytes(self.available)} available" if self.available else ""
        lines.append(f"{'memory':<14}{_megabytes(self.peak):>16}  expected at the most{there}")
        lines.append(f"  {'held now':<12}{_megabytes(self.held):>16}  program and data")
        lines += [f"  {name:<12}{_megabytes(size):>16}" for name, size in self.bytes.items()]
        if not self.fits:
            lines.append(f"  more than there is; to need less: {self.remedy}")
        if not np.isnan(self.seconds):
            each = f"{self.evaluations} evaluations of {self.evaluation:.3g} s"
            lines.append(f"{'time':<14}{_duration(self.seconds):>16}  expected: {each}")
        lines.append(f"{'optimizer':<14}{self.optimizer:>16}  {self.why}")
        return "\n".join(lines)


def forecast(
    data: Any,
    *,
    features: Any = "auto",
    structure: Structure | str | None = None,
    selection: FeatureSelection | str | None = None,
    objective: Objective | str | None = None,
    optimizer: Optimizer | str = "auto",
    stop: Stop | None = None,
    l1: float | None = None,
    l2: float | None = None,
    order: int | None = None,
    max_length: Any = None,
    min_count: int | None = None,
    max_iterations: int | None = None,
    n_jobs: int | None = None,
    **unknown: NoReturn,
) -> Forecast:
    """Return how much memory and time training will take, without training.

    Parameters
    ----------
    data, features, structure, selection, objective, optimizer, stop, n_jobs
        As in `train`.
    l1, l2, order, max_length, min_count, max_iterations : optional
        Fields of the parts, as in `train`.

    Examples
    --------
    >>> from crfkit.features import ItemExtractor
    >>> data = ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]])
    >>> print(forecast(data))  # doctest: +ELLIPSIS
    sequences                    1
    positions                    2
    labels                       2
    attributes                   2
    weights                      6
      node                       2
      transition                 4
    ...
    """
    refuse_unknown(unknown, "forecast", forecast.__kwdefaults__ or ())
    threads = threads_of(n_jobs)
    asked = structure_of("chain" if structure is None else structure)
    asked = with_flat("structure", structure, asked, order=order, max_length=max_length)
    goal = objective_of(objective, optimizer, asked.objective)
    goal = with_flat("objective", objective, goal, l1=l1, l2=l2)
    kept = FeatureSelection.of("observed" if selection is None else selection)
    kept = with_flat("selection", selection, kept, min_count=min_count)
    ending = with_flat("stop", stop, Stop() if stop is None else Stop.of(stop), max_iterations=max_iterations)
    read = dataset_of(data, asked, features, threads)
    return forecast_of(fit_of(read, asked, goal, kept, optimizer, ending, threads))


def fit_of(
    data: Dataset,
    structure: Structure,
    objective: Objective,
    selection: FeatureSelection,
    optimizer: Optimizer | str,
    stop: Stop,
    threads: int | None,
) -> Fit:
    """Return a training that has not begun, for forecasts."""
    known = TrainingData(checked_dataset(data, "data"), threads)
    labeled = with_labels_of(structure, known.labels.strings()).settled(known.batches)
    return Fit(known, labeled, objective, selection, optimizer, stop)


def forecast_of(fit: Fit, *, timed: bool = True) -> Forecast:
    """Return what a training with data in memory will take; its time only where evaluations are timed."""
    problem, layout, stop = fit.problem, fit.layout, fit.stop
    assert isinstance(problem, LinearLoss)
    evaluation = seconds_of_evaluation(problem) if timed else float("nan")
    evaluations = next((n for kind, n in _EVALUATIONS.items() if isinstance(fit.optimizer, kind)), _OTHERS)
    if stop.max_iterations is not None:
        evaluations = min(evaluations, stop.max_iterations)
    seconds = evaluation * evaluations
    shared = sum(size.cells for name, size in layout.slots.items() if name == "edge")
    rows = {name: layout.rows_of(name) for name in layout.block}
    every = layout.weights - sum(len(layout.block[name].cell) for name in ("node", "edge") if name in rows)
    every += layout.attributes * layout.labels + layout.edge_attributes * shared
    return Forecast(
        fit.data.sequences,
        fit.data.positions,
        layout.labels,
        layout.attributes,
        layout.weights,
        {name: len(block.cell) for name, block in layout.block.items() if len(block.cell)},
        every,
        name_of(fit.optimizer),
        fit.why,
        resident_bytes(),
        bytes_of(problem, fit.optimizer),
        available_bytes(),
        evaluation,
        evaluations,
        seconds if stop.max_seconds is None else min(seconds, stop.max_seconds),
    )


def seconds_of_evaluation(problem: LinearLoss) -> float:
    """Return how long an evaluation of all data should take, from one of a few sequences on one thread."""
    batch, layout = problem.batch, problem.layout
    cost = max(len(problem.structure.labels) ** 2, 1)
    wanted = max(_SAMPLE // cost, _LEAST)
    if batch.positions > wanted:
        filled = np.flatnonzero(np.diff(batch.seq_ptr))
        some = max(round(len(filled) * wanted / batch.positions), 1)
        chosen = filled[np.linspace(0, len(filled) - 1, some).astype(np.int64)]
        part = batch.select(chosen)
        made = restrict(layout, part)
        part, layout = replace(part, attr=made.attr), made.layout
    else:
        part = batch
    loss = LinearLoss(problem.objective, problem.structure, layout, part, threads=1)
    w, gradient, taken = np.zeros(layout.weights), np.empty(layout.weights), []
    for _ in range(3):  # the first one prepares
        begun = time.perf_counter()
        loss.value_and_grad(w, gradient)
        taken.append(time.perf_counter() - begun)
    threads = max(min(threads_or_all(problem.threads), usable_cores()), 1)
    return float(min(taken[1:]) * batch.positions / part.positions / threads**0.9)


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


def _duration(seconds: float) -> str:
    """Return a time that is roughly known.

    Examples
    --------
    >>> [_duration(x) for x in (0.2, 17.3, 260.0, 9000.0)]
    ['1 s', '17 s', '4 min', '2.5 h']
    """
    if seconds < 100.0:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000.0 else f"{seconds / 3600:.1f} h"
