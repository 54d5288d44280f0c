"""CRFsuite's five training algorithms, as iterations that tell what they did.

=====================  =========================================================================
lbfgs                  `crfkit.optimise.LBFGS`, OWL-QN where c1 is not 0
l2sgd                  `crfkit.optimise.SGD`
averaged-perceptron    `crfkit.optimise.AveragedPerceptron`
passive-aggressive     `crfkit.optimise.PassiveAggressive`
arow                   `crfkit.optimise.AROW`
=====================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from crfkit.batch import Batch
from crfkit.layout import Layout
from crfkit.objectives import Likelihood, Perceptron
from crfkit.optimise.lbfgs import LBFGS
from crfkit.optimise.mistakes import AROW, AveragedPerceptron, Corrector, PassiveAggressive, Variant
from crfkit.optimise.stochastic import SGD
from crfkit.structures import Chain
from crfkit.structures.labels import Floats

__all__ = ["METHODS", "Method", "Round"]

_MOST = 2147483647
Say = Callable[[str], None]


class Round(NamedTuple):
    """One iteration: its weights [F], and the lines about it; without lines: the end."""

    w: Floats
    title: str = "Iteration"
    lines: tuple[str, ...] = ()


class Method(Protocol):
    """An algorithm with its parameters."""

    name: str

    def describe(self) -> Iterator[str]:
        """Give the lines about the parameters."""
        ...

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Go through the iterations; say why they end."""
        ...


def _shown(values: Mapping[str, Any], names: str) -> Iterator[str]:
    for name in names.split():
        value = values[name]
        text = value if isinstance(value, str) else f"{value:f}" if isinstance(value, float) else f"{value:d}"
        yield f"{name}: {text}\n"


@dataclass
class Quasi:
    """L-BFGS."""

    v: Mapping[str, Any]
    name: str = "L-BFGS"

    def describe(self) -> Iterator[str]:
        """Give the lines about the parameters."""
        yield "L-BFGS optimization\n"
        yield from _shown(self.v, "c1 c2 num_memories max_iterations epsilon")
        yield f"stop: {self.v['period']:d}\n"
        yield from _shown(self.v, "delta linesearch")
        yield f"linesearch.max_iterations: {self.v['max_linesearch']:d}\n"

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Go through the iterations; say why they end."""
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
        say(self._ending(step.stopped, moved))
        yield Round(run.w)

    def _ending(self, reason: str, moved: bool) -> str:
        if not moved:
            return f"L-BFGS terminated with error: {reason}\n"
        if reason.startswith("converged: improved"):
            return "L-BFGS terminated with the stopping criteria\n"
        if reason.startswith("converged"):
            return "L-BFGS resulted in convergence\n"
        if reason.startswith("reached"):
            return "L-BFGS terminated with the maximum number of iterations\n"
        return f"L-BFGS terminated: {reason}\n"


@dataclass
class Stochastic:
    """Stochastic gradient descent."""

    v: Mapping[str, Any]
    name: str = "SGD"

    def describe(self) -> Iterator[str]:
        """Give the lines about the parameters."""
        yield "Stochastic Gradient Descent (SGD)\n"
        yield from _shown(self.v, "c2 max_iterations period delta")

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Calibrate the rate and go through the passes; say why they end."""
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
        for line in _shown(v, "calibration.eta calibration.rate"):
            say(line)
        say(f"calibration.samples: {min(int(v['calibration.samples']), batch.sequences)}\n")
        for line in _shown(v, "calibration.candidates calibration.max_trials"):
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
        if step.stopped.startswith("the limit"):
            say("SGD terminated with the maximum number of iterations\n")
        elif step.stopped.startswith("the objective fell"):
            say("SGD terminated with the stopping criteria\n")
        else:
            say(f"SGD terminated: {step.stopped}\n")
        say(f"Loss: {step.objective:f}\n")
        yield Round(run.w)


@dataclass
class Mistakes:
    """The algorithms that learn from mistakes only."""

    v: Mapping[str, Any]
    name: str
    shown: str  #: the parameters in the log
    method: Corrector

    def describe(self) -> Iterator[str]:
        """Give the lines about the parameters."""
        yield f"{self.name}\n"
        yield from _shown(self.v, self.shown)

    def rounds(self, layout: Layout, chain: Chain, batch: Batch, say: Say) -> Iterator[Round]:
        """Go through the passes; say why they end."""
        objective, first = Perceptron(), np.zeros(layout.weights)
        run = self.method.start(objective.bind(layout, chain, batch), objective.penalty(layout), first)
        ending = ""
        for _ in range(self.v["max_iterations"]):
            step = run.step()
            shown = run.last if isinstance(self.method, PassiveAggressive) else run.w
            lines = f"Loss: {step.objective:f}\n", f"Feature norm: {np.linalg.norm(shown):f}\n"
            yield Round(run.w, lines=lines)
            ending = step.stopped
            if ending:
                break
        if ending.startswith("the mean loss"):
            say("Terminated with the stopping criterion\n")
            say("\n")
        elif ending.startswith("diverged"):
            say(f"Terminated: {ending}\n")
        yield Round(run.w)


def _passes(v: Mapping[str, Any]) -> dict[str, Any]:
    return {"max_passes": max(v["max_iterations"], 1), "epsilon": v["epsilon"]}


def _perceptron(v: Mapping[str, Any]) -> Method:
    method = AveragedPerceptron(**_passes(v))
    return Mistakes(v, "Averaged perceptron", "max_iterations epsilon", method)


def _passive(v: Mapping[str, Any]) -> Method:
    if v["type"] not in (0, 1, 2):
        raise ValueError(f"type is {v['type']}, expected 0, 1 or 2")
    variants: tuple[Variant, ...] = ("hard", "linear", "squared")
    own = {name: v[name] for name in ("c", "error_sensitive", "averaging")}
    method = PassiveAggressive(variant=variants[v["type"]], **own, **_passes(v))
    return Mistakes(
        v, "Passive Aggressive", "type c error_sensitive averaging max_iterations epsilon", method
    )


def _arow(v: Mapping[str, Any]) -> Method:
    method = AROW(variance=v["variance"], gamma=v["gamma"], **_passes(v))
    title = "Adaptive Regularization of Weights (AROW)"
    return Mistakes(v, title, "variance gamma max_iterations epsilon", method)


#: What makes a method of the values of its parameters.
METHODS: dict[str, Callable[[Mapping[str, Any]], Method]] = {
    "lbfgs": Quasi,
    "l2sgd": Stochastic,
    "averaged-perceptron": _perceptron,
    "passive-aggressive": _passive,
    "arow": _arow,
}
