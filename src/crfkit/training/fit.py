"""One training: its parts, and the steps from data to a model.

Bind the objective to a layout and data, choose the optimiser, find the start, follow the run, summarise it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Pointers
from crfkit.data.dataset import Dataset
from crfkit.linear.features import Features
from crfkit.linear.layout import Layout
from crfkit.linear.move import moved
from crfkit.linear.objective import Objective
from crfkit.linear.plan import LayoutOptions
from crfkit.models.model import Metric, Model
from crfkit.models.states import HIDDEN
from crfkit.objectives import Local
from crfkit.optimise.problem import End, NotCoveredError, Optimiser, Penalty, Stopped
from crfkit.structures import Structure
from crfkit.training.blocks.problem import BlockedProblem
from crfkit.training.causes import cause_of
from crfkit.training.certificate import curvature_of
from crfkit.training.checkpoint import Checkpoints, Saver
from crfkit.training.choose import by_name, check_suits, choose, name_of
from crfkit.training.convergence import remedy_for, warn_of_end
from crfkit.training.data import TrainingData
from crfkit.training.events import Begin, Event, Failed, Finished, Listener, Summary
from crfkit.training.fingerprint import described, digest, fingerprint_of
from crfkit.training.interrupt import interrupts
from crfkit.training.loop import Facts, NothingLearnedError, Outcome, follow
from crfkit.training.record import RunRecord
from crfkit.training.start import checked_start, warm_start
from crfkit.training.stop import Stop
from crfkit.training.summing import summed_up, tell
from crfkit.training.validation import Validation

__all__ = ["Fit", "Init"]

Init: TypeAlias = "Model | Literal['memm'] | Callable[[Any, Layout], Any] | None"
_MEMM_ITERATIONS = 20
_ENOUGH = 1e-4  # the tolerance by default


class Fit:
    """One training: data, structure, layout, objective, optimiser and when to stop."""

    def __init__(
        self,
        data: TrainingData,
        structure: Structure,
        objective: Objective,
        features: Features,
        optimiser: Optimiser | str,
        stop: Stop,
        init: Init = None,
        seed: int = 0,
    ) -> None:
        self.data, self.structure, self.objective = data, structure, objective
        self.likely, self.all_pairs = features.likely, features.which == "all"
        self.options: LayoutOptions = features.options()
        self.stop, self.init, self.seed = stop, init, seed
        self.notes = data.check(structure)
        if not self.all_pairs and "path" not in data.kinds and not _has_labels(data):
            if self.likely is not None:
                raise ValueError('features="likely" needs plain labels; use features="all"')
            self.notes.append(
                "no position has a plain label, so every attribute gets a weight for every label"
            )
            self.all_pairs = True
        self._bind(None)
        if isinstance(self.problem, BlockedProblem):
            blocks, size = self.problem.data.blocks, self.problem.memory / 2**20
            self.notes.append(f"{blocks} blocks on disk, about {size:,.0f} MB of them in memory at a time")
        self._named = isinstance(optimiser, str)
        self.optimiser, self.why = self._optimiser(optimiser)
        check_suits(self.problem, self.optimiser)

    def _bind(self, pairs: Pointers | None) -> None:
        self.pairs = pairs
        self.layout = self.data.layout(
            self.structure, all_pairs=self.all_pairs, pairs=pairs, options=self.options
        )
        self.penalty: Penalty = self.objective.penalty(self.layout)
        self.problem = self.data.bind(self.objective, self.layout, self.structure)

    def _optimiser(self, given: Optimiser | str) -> tuple[Optimiser, str]:
        if not isinstance(given, str):
            return given, "as asked for"
        if given == "auto":
            return choose(
                self.problem,
                self.penalty,
                seed=self.seed,
                threads=self.data.threads,
                tolerance=self.stop.tolerance,
            )
        return by_name(given, self.seed, self.data.threads, self.stop.tolerance), "as asked for"

    def model(self, w: Floats, training: Summary | None = None) -> Model:
        """Return a model with these weights [F]."""
        data = self.data
        return Model(self.structure, self.layout, data.names, w, data.extractor, training)

    def briefly(self, iterations: int) -> Model:
        """Return a model after a few iterations, without events, dev sets and warnings."""
        begun = time.perf_counter()
        w, halted = self._initial(begun)
        return self.model(w if halted else self._little(self.problem, w, iterations, begun).w)

    def fingerprint(self, dev: Dataset | None, metric: str) -> dict[str, str]:
        """Everything that the result depends on."""
        dev_every = self.stop.dev_every
        options = {k: v for k, v in sorted(self.options.items()) if k not in ("threads", "table_bytes")}
        chosen = self.options.get("chosen")
        return {
            "version": _native.__version__,
            "data": fingerprint_of(self.data.data),
            "dev": "none" if dev is None else fingerprint_of(dev),
            "metric": metric and (metric if dev_every is None else f"{metric} every {dev_every}"),
            "objective": described(self.objective),
            "optimiser": described(self.optimiser),
            "features": repr(self.likely) if self.likely else "all" if self.all_pairs else "observed",
            "layout": repr(options if chosen is None else {**options, "chosen": digest([chosen])}),
            "structure": repr(self.structure),
            "start": self._start_name(),
        }

    def _start_name(self) -> str:
        if isinstance(self.init, Model):
            m = self.init
            return digest(
                [m.labels, m.attributes, m.edge_attributes, m.names.segment_attributes, m.layout, m.w]
            )
        return str(self.init) if not callable(self.init) else getattr(self.init, "__qualname__", "function")

    def run(
        self,
        dev: Dataset | None,
        metric: Metric | str | None,
        keep: Checkpoints | None,
        audience: Sequence[Listener],
        begun: float,
        *,
        warn: bool = True,
    ) -> Model:
        """Train, from the checkpoint if there is one; send events, and warn if it did not converge."""
        with interrupts() as signals:  # from here on there is something to lose
            try:
                outcome, summary = self._run(dev, metric, keep, audience, begun)
            except NothingLearnedError as error:
                raise ValueError(f"nothing can be learned: {error}. {cause_of(self.data)}") from error
            if signals.asked:  # perhaps after the last step
                summary = replace(summary, end=End.INTERRUPTED.value)
        model = self.model(outcome.w, summary)
        try:
            tell(audience, Finished(outcome.reason, summary))
        except Exception as error:
            tell(audience, Failed(error, model))
            raise
        if not warn:
            return model
        most = self.stop.max_iterations
        remedy = remedy_for(outcome.end, self.optimiser, most if summary.iterations == most else None)
        known = summary.certificate if 2.0 * summary.gap < summary.loss else ""
        warn_of_end(outcome.end, bool(summary.converged), outcome.reason, remedy, known)
        return model

    def _run(
        self,
        dev: Dataset | None,
        metric: Metric | str | None,
        keep: Checkpoints | None,
        audience: Sequence[Listener],
        begun: float,
    ) -> tuple[Outcome, Summary]:
        model = self.model(np.zeros(self.layout.weights))
        validate = None if dev is None else Validation(model, dev, metric, self.data.threads)
        self.notes += [] if validate is None else validate.notes
        name = "" if validate is None else validate.name
        mark = {} if keep is None else self.fingerprint(dev, name)
        saved = None if keep is None else keep.load(mark)
        halted: Stopped | None = None
        if saved is None:
            record = RunRecord()
            w, halted = self._start(begun)
        else:
            if saved["pairs"] is not None:
                self._bind(saved["pairs"])
            w, record = saved["w"], RunRecord.of_state(saved["course"])
        facts = self._facts(dev, halted)
        if validate is not None:
            validate.model = self.model(w)
        state = None if saved is None else saved["run"]
        run = self.optimiser.start(self.problem, self.penalty, w, state=state)
        tell(audience, self._begin(record.iteration))

        def snapshot() -> dict[str, Any]:
            return {"run": run.state(), "w": run.w, "course": record.state(), "pairs": self.pairs}

        def say(event: Event) -> None:
            tell(audience, event)

        def rescue(outcome: Outcome, error: BaseException) -> None:
            say(Failed(error, self.model(outcome.w, summed_up(self, outcome, record, facts, name))))

        save = None if keep is None else Saver(keep, mark, record, snapshot, say, self.notes)
        tolerance = _ENOUGH if self._named else 0.0
        stop = self.stop if self.stop.tolerance is not None else replace(self.stop, tolerance=tolerance)
        outcome = follow(
            run, record, stop, facts, validate=validate, save=save, rescue=rescue, listener=say, begun=begun
        )
        return outcome, summed_up(self, outcome, record, facts, name)

    def _facts(self, dev: Dataset | None, halted: Stopped | None) -> Facts:
        positions = 0 if dev is None else dev.batch.positions
        return Facts(
            dev_passes=5.0 * positions / max(self.data.positions, 1),
            enough=_ENOUGH if self.stop.tolerance is None else self.stop.tolerance,
            curvature=curvature_of(self.penalty, self.problem.convex),
            convex=self.problem.convex,
            optimum=self.problem.minimises,
            halted=halted,
        )

    def _begin(self, resumed: int) -> Begin:
        data, layout = self.data, self.layout
        return Begin(
            data.sequences,
            data.positions,
            layout.labels,
            layout.attributes,
            layout.weights,
            name_of(self.optimiser),
            self.why,
            tuple(self.notes),
            resumed,
        )

    def _start(self, begun: float) -> tuple[Floats, Stopped | None]:
        """Return the first weights [F], and why training must not go on after them."""
        w, halted = self._initial(begun)
        if self.likely is None or halted:
            return w, halted
        first = self._little(self.problem, w, self.likely.iterations, begun)
        pairs = self.data.likely(self.model(first.w), self.likely.epsilon)
        before = self.layout
        self._bind(pairs)
        more = self.layout.weights - before.weights
        self.notes.append(f"{more:,} likely weights were added to {before.weights:,} observed ones")
        same = np.arange(before.labels, dtype=np.int32)
        return moved(before, first.w, self.layout, same, {}), _halted(first)

    def _initial(self, begun: float) -> tuple[Floats, Stopped | None]:
        init = self.init
        if init is None:
            return np.zeros(self.layout.weights), None
        if isinstance(init, Model):
            return warm_start(init, self.layout, self.structure, self.data.names), None
        if callable(init):
            return checked_start(init(self.problem, self.layout), self.layout), None
        try:
            local = self.data.bind(Local(), self.layout, self.structure)
        except NotCoveredError as error:
            raise NotCoveredError(f'init="memm": {error}; use another start') from error
        zero = np.zeros(self.layout.weights)
        found = self._little(local, zero, _MEMM_ITERATIONS, begun)
        return found.w, _halted(found)

    def _little(self, problem: Any, w: Floats, iterations: int, begun: float) -> Outcome:
        """Train for a few iterations, as a preparation."""
        stop = Stop(max_seconds=self.stop.max_seconds, max_iterations=iterations)
        optimiser = by_name("lbfgs", self.seed, self.data.threads)
        if not problem.minimises:
            optimiser = self.optimiser
        run = optimiser.start(problem, self.penalty, w)
        return follow(run, RunRecord(), stop, begun=begun)


def _halted(outcome: Outcome) -> Stopped | None:
    """Return why training must not go on after a preparation."""
    return Stopped(outcome.end, outcome.reason) if outcome.asked else None


def _has_labels(data: TrainingData) -> bool:
    if data.extractor is not None and data.extractor.encoding == HIDDEN:  # sets that stand for labels
        return True
    return any(batch.label is not None and (batch.label >= 0).any() for batch in data.batches())
