"""One training on sequences: the objective bound to layout and data, the start, the model, and the dev set.

Graphs have the same in `training/graphs/`; what both share is in `training/runs/run.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from crfkit._safe.fields import Fields
from crfkit._safe.printable import counted
from crfkit.arrays import Floats, Pointers
from crfkit.checks import check_choice
from crfkit.data.dataset import Dataset
from crfkit.errors import NotCoveredError
from crfkit.linear.features import Chosen, FeatureSelection
from crfkit.linear.layout import Layout
from crfkit.linear.move import moved
from crfkit.linear.objective import Objective
from crfkit.linear.plan import LayoutOptions
from crfkit.models.model import Metric, SequenceModel, gold_labels
from crfkit.models.states import HIDDEN
from crfkit.models.tags import as_segments
from crfkit.objectives import Local
from crfkit.optimize.problem import Optimizer, Penalty, Stopped
from crfkit.structures import Structure
from crfkit.structures.kinds import STRUCTURES
from crfkit.training.blocks.problem import SummedProblem
from crfkit.training.data import TrainingData
from crfkit.training.record import TrainingRecord
from crfkit.training.runs.checkpoint import digest, fingerprint_of
from crfkit.training.runs.run import TrainingRun, Validation, halted_by
from crfkit.training.start import checked_start, warm_start
from crfkit.training.stop import Stop

Init: TypeAlias = "SequenceModel | Literal['memm'] | Callable[[Any, Layout], Any] | None"
_MEMM_ITERATIONS = 20


class Fit(TrainingRun[SequenceModel]):
    """One training on sequences: data, structure, layout, objective, optimizer and when to stop."""

    def __init__(
        self,
        data: TrainingData,
        structure: Structure,
        objective: Objective,
        features: FeatureSelection,
        optimizer: Optimizer | str,
        stop: Stop,
        init: Init = None,
        seed: int = 0,
    ) -> None:
        self.data, self.structure, self.objective = data, structure, objective
        self.likely, self.all_pairs = features.likely, features.which == "all"
        self.selected = isinstance(features.which, Chosen)
        self.options: LayoutOptions = features.options()
        self.stop, self.init, self.seed, self.threads = stop, init, seed, data.threads
        self.notes = data.check(structure)
        if not self.all_pairs and "path" not in data.kinds and not _has_labels(data):
            if self.likely is not None:
                raise ValueError('selection="likely" needs plain labels; use selection="all"')
            self.notes.append(
                "no position has a plain label, so every attribute gets a weight for every label"
            )
            self.all_pairs = True
        self._bind(None)
        if isinstance(self.problem, SummedProblem):
            self.notes += self.problem.notes
        self.choose_optimizer(optimizer)

    def _bind(self, pairs: Pointers | None) -> None:
        self.pairs = pairs
        self.layout = self.data.layout(
            self.structure, all_pairs=self.all_pairs, pairs=pairs, options=self.options
        )
        self.penalty: Penalty = self.objective.penalty(self.layout)
        self.problem = self.data.bind(self.objective, self.layout, self.structure)

    def model(self, w: Floats, training: TrainingRecord | None = None) -> SequenceModel:
        """Return a model with these weights [F]."""
        data = self.data
        chosen = self.selected
        return SequenceModel(
            self.structure, self.layout, data.names, w, data.extractor, training, selected=chosen
        )

    def little(self, iterations: int) -> SequenceModel:
        """Return a model after a few iterations, without events, dev sets and warnings."""
        begun = time.perf_counter()
        w, halted = self._initial(begun)
        if not halted:
            w = self.briefly(self.problem, w, iterations, begun).w
        return self.model(w)

    def marks(self, dev: Dataset | None) -> dict[str, str]:
        """Return the data, which weights there are, the structure and the start."""
        options = {k: v for k, v in sorted(self.options.items()) if k not in ("threads", "table_bytes")}
        chosen = self.options.get("chosen")
        return {
            "data": fingerprint_of(self.data.data),
            "dev": "none" if dev is None else fingerprint_of(dev),
            "features": repr(self.likely) if self.likely else "all" if self.all_pairs else "observed",
            "layout": repr(options if chosen is None else {**options, "chosen": digest([chosen])}),
            "structure": repr(self.structure),
            "start": self._start_name(),
        }

    def _start_name(self) -> str:
        if isinstance(self.init, SequenceModel):
            m = self.init
            return digest(
                [m.labels, m.attributes, m.edge_attributes, m.names.segment_attributes, m.layout, m.w]
            )
        return str(self.init) if not callable(self.init) else getattr(self.init, "__qualname__", "function")

    def validation(self, dev: Dataset, metric: Metric | str) -> SequenceValidation:
        """Return the dev score as a function of the weights."""
        return SequenceValidation(self.model(np.zeros(self.layout.weights)), dev, metric, self.threads)

    def dev_share(self, dev: Dataset) -> float:
        """Return how many positions the dev set has, by those of the data."""
        return dev.batch.positions / max(self.data.positions, 1)

    def cause(self) -> str:
        """Return which value is too large to compute with."""
        return self.data.cause()

    def extra_state(self) -> Pointers | None:
        """Return the likely pairs that were added to the layout."""
        return self.pairs

    def restore(self, saved: Fields, name: str) -> None:
        """Add likely pairs to the layout again."""
        L, A = self.layout.labels, self.layout.attributes
        pairs = saved.integers(name, None, 2, below=max(L, A))
        if self.likely is None or (pairs >= [A, L]).any():
            saved.wrong(name, "pairs of attributes and labels, where the options ask for likely ones")
        self._bind(pairs)

    def sizes(self) -> tuple[int, int, int, int]:
        """Return how many sequences, positions, labels and attributes there are."""
        return self.data.sequences, self.data.positions, self.layout.labels, self.layout.attributes

    def start(self, begun: float) -> tuple[Floats, Stopped | None]:
        """Return the first weights [F], and why training must not go on after them."""
        w, halted = self._initial(begun)
        if self.likely is None or halted:
            return w, halted
        first = self.briefly(self.problem, w, self.likely.iterations, begun)
        pairs = self.data.likely(self.model(first.w), self.likely.epsilon)
        before = self.layout
        self._bind(pairs)
        more = self.layout.weights - before.weights
        self.notes.append(f"{more:,} likely weights were added to {before.weights:,} observed ones")
        same = np.arange(before.labels, dtype=np.int32)
        return moved(before, first.w, self.layout, same, {}), halted_by(first)

    def _initial(self, begun: float) -> tuple[Floats, Stopped | None]:
        init = self.init
        if init is None:
            return np.zeros(self.layout.weights), None
        if isinstance(init, SequenceModel):
            return warm_start(init, self.layout, self.structure, self.data.names), None
        if callable(init):
            return checked_start(init(self.problem, self.layout), self.layout), None
        try:
            local = self.data.bind(Local(), self.layout, self.structure)
        except NotCoveredError as error:
            raise NotCoveredError(f'init="memm": {error}; use another start') from error
        zero = np.zeros(self.layout.weights)
        found = self.briefly(local, zero, _MEMM_ITERATIONS, begun)
        return found.w, halted_by(found)


def _has_labels(data: TrainingData) -> bool:
    if data.extractor is not None and data.extractor.encoding == HIDDEN:  # sets that stand for labels
        return True
    return bool(data.label_counts.any())


def check_metric(metric: Metric | str) -> None:
    """Refuse what is neither a name of a metric nor a function, before any work begins."""
    if callable(metric) or metric in ("auto", "log_prob"):
        return
    if not isinstance(metric, str):
        raise TypeError(
            f"metric is {metric!r}, expected a name, 'auto' or a function of gold and predicted labels"
        )
    from crfkit import metrics

    metrics.metric(metric)


class SequenceValidation(Validation[SequenceModel]):
    """The dev score of weights on sequences.

    Parameters
    ----------
    model : SequenceModel
        Whose weights vary; it may change while the alphabets stay.
    dev : Dataset
        Positions without a label cannot be scored: their sequences are left out.
    metric : str or function
        A name of `crfkit.metrics`; "log_prob", the mean over positions; a function of gold and
        predicted labels, where more is better; "auto": what fits the labels, as in `SequenceModel.judge`.
    threads : int, optional
    """

    def __init__(
        self, model: SequenceModel, dev: Dataset, metric: Metric | str, threads: int | None = None
    ) -> None:
        self._function = None if metric == "log_prob" else model.judge(metric)
        named = getattr(self._function, "name", getattr(self._function, "__name__", ""))
        name = "log_prob" if self._function is None else named or type(metric).__name__
        super().__init__(model, name, threads)
        dev = self._labeled(as_segments(dev) if model.segmental else dev)
        self._spelling = model.spelling_for(self._function)
        self._gold = gold_labels(dev, self._spelling.scheme)
        self._batch = model.batch_of(dev)
        model.check_known(self._gold, self._function, source="the dev set")

    def _labeled(self, dev: Dataset) -> Dataset:
        """Return the sequences that have a label at every position."""
        label = dev.batch.label
        if label is None or not dev.batch.positions:
            raise ValueError("dev has no labels; give a dev set with labels")
        lacking = np.add.reduceat(np.append(label < 0, 0), dev.batch.seq_ptr[:-1]) > 0  # [N]
        lacking &= np.diff(dev.batch.seq_ptr) > 0
        if not lacking.any():
            return dev
        if lacking.all():
            raise ValueError("every sequence of dev lacks labels; give a dev set with labels")
        count = int(lacking.sum())
        self.notes.append(f"left out of the dev set: {counted(count, 'sequence')} without all labels")
        return dev[~lacking]

    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]."""
        model = replace(self.model, w=w)
        if self._function is None:
            return float(np.sum(model.log_prob(self._batch, threads=self.threads))) / max(
                self._batch.positions, 1
            )
        found = self._spelling.tags(model._path(self._batch, threads=self.threads))
        return float(self._function(self._gold, found))


def structure_of(given: Any) -> Structure:
    """Return a structure given by name or as an object; its labels may be missing.

    Examples
    --------
    >>> structure_of("chain")
    Chain(labels=(), order=1, constraints=())
    """
    if isinstance(given, type):
        raise TypeError(f"structure is the class {given.__name__}; give an object: {given.__name__}()")
    if isinstance(given, str):
        check_choice("structure", given, tuple(STRUCTURES), "a structure such as Chain(order=2)")
        return STRUCTURES[given]()
    if not hasattr(given, "gold_cells"):
        raise TypeError(
            f"structure is {given!r}, which cannot be trained; expected one of {', '.join(STRUCTURES)}, or a "
            "structure such as Chain(order=2)"
        )
    found: Structure = given
    return found


def with_labels_of(structure: Structure, names: Sequence[str]) -> Structure:
    """Return a structure over the labels of the data; one that has labels must have the same."""
    if not structure.labels:
        return structure.with_labels(names)
    if structure.labels != tuple(names):
        raise ValueError(
            f"structure has the labels {', '.join(structure.labels[:5])}, the data have "
            f"{', '.join(names[:5])} in this order; leave the labels out, as in Chain(order=2)"
        )
    return structure
