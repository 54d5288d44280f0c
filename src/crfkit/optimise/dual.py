"""Training in the dual: fast first passes, L-BFGS for the last digits, a duality gap as certificate.

The dual of penalised likelihood keeps a distribution over labellings for each sequence; a visit moves it
towards the answer that the present weights give (cpp/dual.hpp has the formulas):

- ``step="mixture"``: stochastic dual coordinate ascent (Shalev-Shwartz & Zhang 2013; Le Priol et al. 2018).
  The best step of each visit follows from the gap of its sequence; there is no rate to choose.
- ``step="exponentiated"``: online exponentiated gradient (Collins et al. 2008; Gupta 2005, section 2.4.2).

Either takes a third or more off the gap with every pass, which nothing matches far from the optimum. Close
to it L-BFGS on weights scaled by the diagonal of the Hessian is quicker (`finish`), but the bound that its
gradient gives is loose: the certificate comes from the dual again, begun anew at the weights that were found.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from threading import Thread
from typing import Any, Literal

import numpy as np

from crfkit import _native
from crfkit.native import kernels, threads_or_all
from crfkit.optimise.extrapolate import Extrapolation
from crfkit.optimise.lbfgs import LBFGS
from crfkit.optimise.online import arrays_of
from crfkit.optimise.problem import End, Optimiser, Penalty, Run, Step
from crfkit.structures.labels import Floats

__all__ = ["Dual"]

_STALLED = 0.05  # of the wanted gap: a finisher that gains less in three steps has done its work


@dataclass(frozen=True)
class Dual:
    """Dual coordinate ascent for likelihood with an L2 (and L1) penalty.

    Parameters
    ----------
    step : {"mixture", "exponentiated"}
        How a visit moves the distribution of its sequence.
    finish : optimiser, optional
        What goes on from the weights once the relative gap is below `switch`; None: the dual to the end.
    switch : float, optional
        When `finish` takes over; default 3.2 sqrt(gap), as the last digits are a matter of `finish` and a
        pass costs as much as two or three of its evaluations.
    gap : float
        Relative gap at which the run ends; 1e-4 is "within 0.01 % of the optimum".
    max_passes : int
        Most passes of the dual, and again for the certificate.
    relax : float
        Share of the best mixture step that is taken: others move the same weights meanwhile.
    seed : int
        Of the order of visits.
    threads : int, optional
        Default: one for each core. Results are the same bits for any number.

    Examples
    --------
    >>> Dual(finish=None, gap=1e-6).step
    'mixture'
    """

    step: Literal["mixture", "exponentiated"] = "mixture"
    finish: Optimiser | None = field(default_factory=lambda: LBFGS(preconditioner="diagonal", memory=10))
    switch: float | None = None
    gap: float = 1e-4
    max_passes: int = 200
    relax: float = 0.8
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.step not in ("mixture", "exponentiated"):
            raise ValueError(f"step is {self.step!r}, expected 'mixture' or 'exponentiated'")
        for name, most in (("switch", np.inf), ("gap", 1.0), ("relax", 1.0)):
            if getattr(self, name) is not None and not 0.0 < getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0, at most {most}")
        if self.max_passes < 1:
            raise ValueError(f"max_passes is {self.max_passes}, expected 1 or more")

    def start(
        self, problem: Any, penalty: Penalty, w: Floats, *, state: dict[str, Any] | None = None
    ) -> DualRun:
        """Begin at w (at the gold labels where w is 0), or go on from a state."""
        return DualRun(self, problem, penalty, w, state)


class KnownDiagonal:
    """A problem whose diagonal of the Hessian is known already."""

    def __init__(self, problem: Any, diagonal: Floats | None) -> None:
        self.problem, self._known = problem, diagonal
        self.value_and_grad = problem.value_and_grad

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return int(self.problem.size)

    def diagonal(self, w: Floats) -> Floats:
        """Return what is known, wherever w is."""
        return self.problem.diagonal(w) if self._known is None else self._known


class DualRun:
    """Passes of the dual, steps of the finisher, passes for the certificate."""

    def __init__(
        self, options: Dual, problem: Any, penalty: Penalty, w: Floats, state: dict[str, Any] | None
    ) -> None:
        self.options, self.problem, self.penalty = options, problem, penalty
        self.threads = threads_or_all(options.threads)
        self.w = np.array(w, dtype=np.float64)  # [F]
        self.phase: Literal["dual", "finish", "certify"] = "dual"
        self.passes, self.evaluations = 0, 0.0  # of the dual; of the finisher
        self.dual, self.met = 0.0, np.inf  # the dual now; the sum of the gaps that the last pass met
        self.objectives: list[float] = []  # of the finisher
        self.finisher: Run | None = None
        self.recent = Extrapolation()
        arrays = arrays_of(problem, "Dual")
        strengths = np.array(arrays.strengths(penalty, "Dual"))
        if not (strengths[1] > 0.0 and (strengths[3] > 0.0 or arrays.row_ptr[-1] == problem.size)):
            raise ValueError("Dual needs an L2 penalty above 0; use LBFGS")
        strengths[3] = strengths[3] or strengths[1]
        self.filled, self.positions = arrays.filled, len(arrays.label)
        self.preparing: Thread | None = None
        prepare = getattr(problem, "prepare", None)
        if prepare is not None and options.finish is not None and self.threads > 1:
            self.preparing = Thread(target=prepare)
            self.preparing.start()
        self.trainer = _native.DualTrainer(
            arrays.native, strengths, options.step == "exponentiated", self.threads
        )
        if state is not None:
            self._recall(state)
        elif self.w.any():
            self._begin()

    # ---- steps

    def step(self) -> Step:
        """Make one pass over the sequences, or one step of the finisher."""
        if self.phase == "finish":
            return self._finish()
        if self.phase == "certify":
            return self._certify()
        # A position that moves by less than its small share of the gap may wait for a later pass.
        self._pass(min(1e-3, 0.01 * self.met / self.positions))
        self._read()
        objective = self.dual + self.met
        enough = self._enough() * abs(objective)
        if self.met < 10.0 * enough:
            self.recent.add(self.w)
        if self.met < enough or self.passes >= self.options.max_passes:
            if self.options.finish is None:
                return self._certify_anew(self._objective())
            self.phase = "finish"
            self.w, self.recent = self.recent.weights(), Extrapolation()
            if self.preparing is not None:
                self.preparing.join()
            known = KnownDiagonal(self.problem, self._diagonal())
            self.finisher = self._finisher().start(known, self.penalty, self.w)
        return self._report(objective, np.nan, np.nan)  # an estimate: gaps were met before their steps

    def _enough(self) -> float:
        """Return the relative gap at which the passes end."""
        options = self.options
        if options.finish is None:
            return 2.0 * options.gap
        return 3.2 * float(np.sqrt(options.gap)) if options.switch is None else options.switch

    def _finish(self) -> Step:
        assert self.finisher is not None
        step = self.finisher.step()
        self.w, self.evaluations = self.finisher.w, step.evaluations
        self.objectives = [*self.objectives, step.objective][-4:]
        if step.end is End.DIVERGED:
            return self._report(step.objective, step.gradient_norm, np.nan, step.stopped, step.end)
        gained = (self.objectives[0] - step.objective) / abs(step.objective)
        if step.stopped or (len(self.objectives) == 4 and gained < _STALLED * self.options.gap):
            return self._certify_anew(step.objective)
        return self._report(step.objective, step.gradient_norm, np.nan)

    def _finisher(self) -> Optimiser:
        """Return the finisher, on as many threads as the dual."""
        finish: Any = self.options.finish
        if any(f.name == "threads" for f in fields(finish)) and finish.threads is None:
            finish = replace(finish, threads=self.options.threads)
        made: Optimiser = finish
        return made

    def _certify_anew(self, objective: float) -> Step:
        """Begin the dual at the weights of now: from here on its value is an exact bound."""
        self.phase, self.best = "certify", objective
        self._begin()
        return self._judged()

    def _certify(self) -> Step:
        self._pass(0.0)
        if self.options.finish is None:
            before = self.w
            self._read()
            objective = self._objective()
            if objective < self.best:
                self.best = objective
            else:
                self.w = before
        return self._judged()

    def _judged(self) -> Step:
        gap = self.best - self._exact_dual()
        self.certifying += 1
        relative = gap / abs(self.best)
        stopped = ""
        end: End | None = None
        if relative <= self.options.gap:
            end = End.CONVERGED
            stopped = f"converged: the duality gap {gap:.3g} is {relative:.1e} of the objective"
        elif self.certifying > self.options.max_passes:
            end = End.LIMIT
            stopped = f"the gap is still {relative:.1e} of the objective after {self.passes} passes"
        return self._report(self.best, np.nan, gap, stopped, end)

    def _report(
        self, objective: float, gradient_norm: float, gap: float, stopped: str = "", end: End | None = None
    ) -> Step:
        done = self.passes + self.evaluations
        return Step(objective, gradient_norm, evaluations=done, gap=gap, stopped=stopped, end=end)

    # ---- the dual

    def _free_threads(self) -> int:
        """Leave a core to the preparation of the finisher, while it goes on."""
        return max(self.threads - (self.preparing is not None and self.preparing.is_alive()), 1)

    def _diagonal(self) -> Floats:
        diagonal = np.empty_like(self.w)
        self.trainer.diagonal(diagonal, self.threads)
        return diagonal

    def _pass(self, threshold: float) -> None:
        order = np.random.default_rng([self.options.seed, self.passes]).permutation(self.filled)
        self.met, gain, _, _ = self.trainer.run(
            kernels, order, self.options.relax, threshold, self.passes == 0, self._free_threads()
        )
        self.passes += 1
        self.dual += gain

    def _begin(self) -> None:
        """Give every sequence the distribution that w gives it."""
        node, edge, ends = self.problem.scores(self.w)
        self.met, gain, _, _ = self.trainer.begin(kernels, node, edge, ends, self.filled, self.threads)
        self.passes += 1
        self.dual += gain

    def _read(self) -> None:
        v = np.zeros_like(self.w)
        self.trainer.read(v)
        self.w = self._shrunk(v) / self.penalty.l2

    def _shrunk(self, v: Floats) -> Floats:
        if not np.any(self.penalty.l1):
            return v
        shrunk: Floats = v - np.clip(v, -np.asarray(self.penalty.l1), self.penalty.l1)
        return shrunk

    def _exact_dual(self) -> float:
        v = np.empty_like(self.w)
        self.trainer.exact(v, self.threads)
        shrunk = self._shrunk(v)
        return float(self.trainer.entropy()) - 0.5 * float(np.sum(shrunk / self.penalty.l2 * shrunk))

    def _objective(self) -> float:
        gradient = np.empty_like(self.w)
        return float(self.problem.value_and_grad(self.w, gradient)) + self.penalty.value(self.w)

    # ---- checkpoints

    def state(self) -> dict[str, Any]:
        """Return the distributions of all sequences and v, and the state of the finisher."""
        v = np.zeros_like(self.w)
        self.trainer.read(v)
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            "objectives": np.array(self.objectives),
            "recent": np.array(self.recent.recent, dtype=np.float32),
            "v": v,
            "w": self.w,
            "trainer": self.trainer.state(),
            "finish": {} if self.finisher is None else self.finisher.state(),
        }

    def _recall(self, state: dict[str, Any]) -> None:
        for name in _NUMBERS:
            setattr(self, name, state[name])
        self.objectives = [float(x) for x in state["objectives"]]
        self.recent = Extrapolation(recent=np.asarray(state["recent"]))
        self.w = np.array(state["w"], dtype=np.float64)
        self.trainer.restore(np.asarray(state["v"]), state["trainer"])
        if self.phase == "finish":
            if self.options.finish is None:
                raise ValueError("the state is that of a finishing run, but finish is None")
            finisher = self._finisher()
            known = KnownDiagonal(self.problem, None)
            self.finisher = finisher.start(known, self.penalty, self.w, state=state["finish"])

    best, certifying = np.inf, 0  # objective of w; passes for the certificate


_NUMBERS = ("phase", "passes", "evaluations", "dual", "met", "best", "certifying")
