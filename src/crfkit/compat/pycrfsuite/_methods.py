"""CRFsuite's five training algorithms, as iterations with their log lines.

=====================  =========================================================================
lbfgs                  `crfkit.optimize.LBFGS`, OWL-QN where c1 is not 0
l2sgd                  `crfkit.optimize.SGD`
averaged-perceptron    `crfkit.optimize.AveragedPerceptron`
passive-aggressive     `crfkit.optimize.PassiveAggressive`
arow                   `crfkit.optimize.AROW`
=====================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.objectives import Likelihood, Perceptron
from crfkit.optimize.batch.lbfgs import LBFGS
from crfkit.optimize.problem import End, Step
from crfkit.optimize.sequential.perceptron import (
    AROW,
    AveragedPerceptron,
    MistakeDriven,
    PassiveAggressive,
    Variant,
)
from crfkit.optimize.sequential.stochastic import SGD
from crfkit.structures import Chain

__all__ = ["METHODS", "Method", "Round"]

_MOST = 2147483647
Say = Callable[[str], None]


class Round(NamedTuple):
    """One iteration: its weights [F], and the lines about it; without lines: the end, and which one."""

    w: Floats
    title: str = "Iteration"
    lines: tuple[str, ...] = ()
    last: Step | None = None


class Method(Protocol):
    """An algorithm with its parameters."""

    name: str

    def describe(self) -> Iterator[str]:
        """Give the lines about the parameters."""
        ...

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Go through the iterations, and say why they end."""
        ...


def _lines(values: Mapping[str, Any], names: str) -> Iterator[str]:
    """Give a line for each parameter; ``stop=period`` is the parameter period, called stop."""
    for name in names.split():
        shown, _, key = name.partition("=")
        value = values[key or shown]
        text = value if isinstance(value, str) else f"{value:f}" if isinstance(value, float) else f"{value:d}"
        yield f"{shown}: {text}\n"


@dataclass
class _Titled:
    """The part of a method that its log begins with."""

    v: Mapping[str, Any]
    name: str
    title: str
    shown: str  #: the parameters in the log

    def describe(self) -> Iterator[str]:
        """Give the lines about the parameters."""
        yield f"{self.title}\n"
        yield from _lines(self.v, self.shown)


_WORDS = {
    End.CONVERGED: "resulted in convergence",
    End.SETTLED: "terminated with the stopping criteria",
    End.LIMIT: "terminated with the maximum number of iterations",
}


def _ending(method: str, step: Step) -> str:
    """Return CRFsuite's words for the end of an optimizer."""
    found = None if step.end is None else _WORDS.get(step.end)
    return f"{method} {found or f'terminated: {step.stopped}'}\n"


class Quasi(_Titled):
    """L-BFGS."""

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Go through the iterations, and say why they end."""
        v = self.v
        objective = Likelihood(l1=v["c1"], l2=2.0 * v["c2"])
        method = LBFGS(
            max_iterations=v["max_iterations"] or _MOST,
            tolerance=v["epsilon"],
            period=v["period"] or None,
            delta=v["delta"],
            memory=v["num_memories"],
            max_evaluations=v["max_linesearch"],
        )
        problem = objective.bind(layout, chain, batch)
        run = method.start(problem, objective.penalty(layout), np.zeros(layout.weights))
        before, moved = 1.0, False  # the first evaluation is that of the start
        while True:
            step = run.step()
            if step.length > 0.0:
                moved = True
                yield Round(run.w, lines=(
                    f"Loss: {step.objective:f}\n",
                    f"Feature norm: {np.linalg.norm(run.w):f}\n",
                    f"Error norm: {step.gradient_norm:f}\n",
                    f"Active features: {np.count_nonzero(run.w)}\n",
                    f"Line search trials: {step.evaluations - before:.0f}\n",
                    f"Line search step: {step.length:f}\n",
                ))  # fmt: skip
            before = step.evaluations
            if step.stopped:
                break
        error = f"{self.name} terminated with error: {step.stopped}\n"
        say(_ending(self.name, step) if moved else error)
        yield Round(run.w, last=step)


class Stochastic(_Titled):
    """Stochastic gradient descent."""

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Calibrate the rate and go through the passes, and say why they end."""
        v = self.v
        objective = Likelihood(l2=2.0 * v["c2"])
        method = SGD(
            max_passes=v["max_iterations"],
            period=v["period"],
            delta=v["delta"],
            calibration_eta=v["calibration.eta"],
            calibration_rate=v["calibration.rate"],
            calibration_samples=int(v["calibration.samples"]),
            calibration_candidates=v["calibration.candidates"],
            calibration_max_trials=v["calibration.max_trials"],
        )
        say("Calibrating the learning rate (eta)\n")
        samples = min(int(v["calibration.samples"]), batch.sequences)
        for line in _lines({**v, "calibration.samples": samples}, _CALIBRATION):
            say(line)
        problem = objective.bind(layout, chain, batch)
        run = method.start(problem, objective.penalty(layout), np.zeros(layout.weights))
        eta = 1.0 / (float(run.strengths[1]) * run.start)
        say(f"Best learning rate (eta): {eta:f}\n")
        say("\n")
        while True:
            step = run.step()
            yield Round(run.w, "Epoch", (
                f"Loss: {step.objective:f}\n",
                f"Feature L2-norm: {np.linalg.norm(run.w):f}\n",
                f"Learning rate (eta): {step.length:f}\n",
                f"Total number of feature updates: {run.passes * run.visits}\n",
            ))  # fmt: skip
            if step.stopped:
                break
        say(_ending(self.name, step))
        say(f"Loss: {step.objective:f}\n")
        yield Round(run.w, last=step)


@dataclass
class Perceptrons(_Titled):
    """The perceptron and its variants, which learn from wrong labelings only."""

    method: MistakeDriven

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Go through the passes, and say why they end."""
        objective, first = Perceptron(), np.zeros(layout.weights)
        run = self.method.start(objective.bind(layout, chain, batch), objective.penalty(layout), first)
        step = None
        for _ in range(self.v["max_iterations"]):
            step = run.step()
            shown = run.last if isinstance(self.method, PassiveAggressive) else run.w
            lines = f"Loss: {step.objective:f}\n", f"Feature norm: {np.linalg.norm(shown):f}\n"
            yield Round(run.w, lines=lines)
            if step.stopped:
                break
        if step is not None and step.end is End.CONVERGED:
            say("Terminated with the stopping criterion\n")
            say("\n")
        elif step is not None and step.end is End.DIVERGED:
            say(f"Terminated: {step.stopped}\n")
        yield Round(run.w, last=step)


def _passes(v: Mapping[str, Any], below: bool = True) -> dict[str, Any]:
    """Options of passes; most methods stop below epsilon there, and at epsilon here."""
    epsilon = float(np.nextafter(v["epsilon"], -np.inf)) if below else v["epsilon"]
    return {"max_passes": max(v["max_iterations"], 1), "epsilon": epsilon}


_CALIBRATION = " ".join(
    f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")
)
_PASSES = "max_iterations epsilon"


def _quasi(v: Mapping[str, Any]) -> Method:
    shown = "c1 c2 num_memories max_iterations epsilon stop=period delta linesearch"
    return Quasi(v, "L-BFGS", "L-BFGS optimization", f"{shown} linesearch.max_iterations=max_linesearch")


def _stochastic(v: Mapping[str, Any]) -> Method:
    return Stochastic(v, "SGD", "Stochastic Gradient Descent (SGD)", "c2 max_iterations period delta")


def _perceptron(v: Mapping[str, Any]) -> Method:
    title = "Averaged perceptron"
    return Perceptrons(v, title, title, _PASSES, AveragedPerceptron(**_passes(v)))


def _passive(v: Mapping[str, Any]) -> Method:
    if v["type"] not in (0, 1, 2):
        raise ValueError(f"type is {v['type']}, expected 0, 1 or 2")
    variants: tuple[Variant, ...] = ("hard", "linear", "squared")
    own = {name: v[name] for name in ("c", "error_sensitive", "averaging")}
    method = PassiveAggressive(variant=variants[v["type"]], **own, **_passes(v))
    title = "Passive Aggressive"
    return Perceptrons(v, title, title, f"type {' '.join(own)} {_PASSES}", method)


def _arow(v: Mapping[str, Any]) -> Method:
    own = {name: v[name] for name in ("variance", "gamma")}
    title = "Adaptive Regularization of Weights (AROW)"
    return Perceptrons(v, title, title, f"{' '.join(own)} {_PASSES}", AROW(**own, **_passes(v, below=False)))


#: What makes a method of the values of its parameters.
METHODS: dict[str, Callable[[Mapping[str, Any]], Method]] = {
    "lbfgs": _quasi,
    "l2sgd": _stochastic,
    "averaged-perceptron": _perceptron,
    "passive-aggressive": _passive,
    "arow": _arow,
}
