"""Training in the dual: fast first passes, L-BFGS for the last digits, a duality gap as certificate.

The dual of penalized likelihood keeps a distribution over labelings for each sequence; a visit moves it
towards the answer that the present weights give (cpp/kernels/learn/dual.hpp has the formulas):

- ``step="mixture"``: stochastic dual coordinate ascent (Shalev-Shwartz & Zhang 2013; Le Priol et al. 2018).
  The best step of each visit follows from the gap of its sequence; there is no rate to choose.
- ``step="exponentiated"``: online exponentiated gradient (Collins et al. 2008; Gupta 2005, section 2.4.2).

Either takes a third or more off the gap with every pass; close to the optimum L-BFGS on weights scaled by the
diagonal of the Hessian is quicker (`finish`). The certificate is the bound of a gradient near its weights
(`nearby.py`); where that is foreseen to take long, it comes from the dual again, begun anew at them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from crfkit._safe.background import Aside, Later
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.checks import check_choice
from crfkit.native import threads_or_all
from crfkit.optimize.batch.lbfgs import LBFGS
from crfkit.optimize.batch.preconditioned import KnownDiagonal
from crfkit.optimize.batch.vectors import Vectors
from crfkit.optimize.dual.extrapolate import Extrapolation
from crfkit.optimize.dual.nearby import Nearby
from crfkit.optimize.dual.passes import DualPasses, passes_left, strain, strengths_of
from crfkit.optimize.dual.shared import SharedPasses, SharedSequences
from crfkit.optimize.problem import End, Optimizer, Penalty, Run, State, Step, view_of
from crfkit.optimize.sequential.sequences import DualSequences, Prepared, begin_at

_STALLED = 0.1  # of the wanted gap: a finisher that gains less in five steps has done its work
_CERTIFYING = 8  # passes that a certificate may be foreseen to take: then the gradient is as fast
_EVALUATIONS = 20  # cost what those cost
_EASY = 1000.0  # of `strain`, up to which passes are made with the penalty itself
_EASED = 4  # passes with a stronger penalty, where that of the objective is weak

Phase: TypeAlias = Literal["dual", "finish", "certify"]
Passes: TypeAlias = DualPasses | SharedPasses


@dataclass(frozen=True)
class Dual:
    """Dual coordinate ascent for likelihood with an L2 (and L1) penalty.

    Parameters
    ----------
    step : {"mixture", "exponentiated"}
        How a visit moves the distribution of its sequence.
    finish : optimizer, optional
        What goes on from the weights once the relative gap is below `switch`; None: the dual to the end.
    switch : float, optional
        When `finish` takes over; default 3.2 sqrt(gap), as the last digits are a matter of `finish` and a
        pass costs as much as two or three of its evaluations.
    gap : float
        Relative gap at which the run ends; 1e-4 is "within 0.01 % of the optimum".
    patience : float
        Passes that the trend of the gap may foresee until `finish` takes over near the optimum. Where it
        foresees more, which weak penalties and long sequences bring about, `finish` goes on at once.
    max_passes : int
        Most passes of the dual, and again for the certificate.
    relax : float
        Share of the best mixture step that is taken: others move the same weights meanwhile.
    seed : int
        Seed of the order of visits.
    threads : int, optional
        Default: one for each core. Results are the same bits for any number.

    Examples
    --------
    >>> Dual(finish=None, gap=1e-6).step
    'mixture'
    """

    needs: ClassVar[tuple[type, ...]] = (DualSequences, Prepared)

    step: Literal["mixture", "exponentiated"] = "mixture"
    finish: Optimizer | None = field(
        default_factory=lambda: LBFGS(preconditioner="diagonal", max_iterations=10_000)
    )
    switch: float | None = None
    gap: float = 1e-4
    patience: float = 100.0
    max_passes: int = 200
    relax: float = 0.8
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        check_choice("step", self.step, ("mixture", "exponentiated"))
        for name, most in (("switch", np.inf), ("gap", 1.0), ("relax", 1.0), ("patience", np.inf)):
            if getattr(self, name) is not None and not 0.0 < getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name)}, expected more than 0, at most {most}")
        if self.max_passes < 1:
            raise ValueError(f"max_passes is {self.max_passes}, expected 1 or more")

    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> DualRun:
        """Begin at w (at the gold labels where w is 0), or go on from a state."""
        return DualRun(self, problem, penalty, w, state)


class DualRun:
    """Passes of the dual, steps of the finisher, passes for the certificate."""

    def __init__(self, options: Dual, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        self.options, self.problem, self.penalty = options, problem, penalty
        self.w = begin_at(w, problem.size)  # [F]
        self.phase: Phase = "dual"
        self.passes, self.evaluations = 0, 0.0  # of the dual; of the finisher
        self.certifying, self.before = 0, 0.0  # passes for the certificate; evaluations before the finisher's
        self.gaps: list[float] = []  # of the last passes, relative to the objective
        self.objectives: list[float] = []  # of the finisher
        self.best, self.bound = np.inf, -np.inf  # objective of w, and what the optimum is known to be above
        self.left = ""  # why the dual was left before its gap was small
        self.finisher: Run | None = None
        self.recent = Extrapolation()
        self.curvature = float(np.min(penalty.l2))
        self.near = Nearby(Vectors(problem.size, options.threads), self.curvature)
        arrays: DualSequences | SharedSequences = view_of(problem, DualSequences, "Dual")
        self.positions = arrays.positions
        self.strengths = strengths_of(arrays, penalty, problem.size)
        strained = strain(arrays.occurrences, arrays.visits, self.curvature)
        self.ease = max(strained / _EASY, 1.0) if options.finish is not None else 1.0
        self.aside, self.preparing = Aside(), Later[None](lambda: None)  # the finisher, meanwhile
        self.sequences: Passes | None = None  # while there are passes: they take much memory
        kept = None if state is None else Fields.of(state)
        if kept is not None and kept.text("left"):
            self._recall(kept)
            return
        if state is None and self.w.any() and self.ease > 1.0:
            self.left = "the L2 penalty is weak, and it begins at given weights"
            self._start(problem)
            return
        if kept is not None and kept.text("phase") == "finish":
            self._recall(kept)
            return
        alone = isinstance(arrays, DualSequences)  # parts are prepared where they are held
        if alone and options.finish is not None and threads_or_all(options.threads) > 1:
            self.preparing = self.aside.submit(view_of(problem, Prepared, "Dual").prepare)
        try:
            self.sequences = self._passes(arrays)
            self.sequences.meanwhile = self.preparing
            if kept is not None:
                self._recall(kept)
            elif self.w.any() or (options.step == "exponentiated" and arrays.segments is not None):
                # Potentials of rows alone cannot single out gold segments, as they can the labels of a chain.
                self._begin(self.sequences)
        except BaseException:
            self.close()
            raise

    def _passes(self, arrays: DualSequences | SharedSequences) -> Passes:
        o, exponentiated = self.options, self.options.step == "exponentiated"
        given = (self.penalty, self.strengths, self.ease, exponentiated, o.relax, o.seed, o.threads)
        if isinstance(arrays, SharedSequences):
            return SharedPasses(arrays, *given)
        return DualPasses(arrays, *given)

    def _end_passes(self) -> None:
        """Let go of the marginals."""
        if isinstance(self.sequences, SharedPasses):
            self.sequences.close()
        self.sequences = None

    def close(self) -> None:
        """End what runs beside the steps; for whoever makes no more of them."""
        self.aside.close()

    # ---- steps

    def step(self) -> Step:
        """Make one pass over the sequences, or one step of the finisher."""
        if self.phase == "finish":
            return self._finish()
        if self.phase == "certify":
            return self._certify()
        assert self.sequences is not None
        # A position that moves by less than its small share of the gap may wait for a later pass.
        self._pass(self.sequences, min(1e-3, 0.01 * self.sequences.met / self.positions))
        self.w, met = self.sequences.weights(len(self.w)), self.sequences.met
        objective = self.sequences.dual + met
        enough = self._enough() * abs(objective)
        self.gaps = [*self.gaps, met / abs(objective) if objective else 0.0][-2:]
        if met <= 10.0 * enough:
            self.recent.add(self.w)
        if met <= enough and self.ease == 1.0:
            return self._close(objective)
        if self.options.finish is not None:
            self.left = self._too_slow()
            if self.left:
                self._leave()
        elif self.passes >= self.options.max_passes:
            return self._certify_anew(self._objective(), self.sequences)
        return self._report(objective, np.nan, np.nan)  # an estimate: gaps were met before their steps

    def _enough(self) -> float:
        """Return the relative gap at which the passes end."""
        options = self.options
        if options.finish is None:
            return 2.0 * options.gap
        return 3.2 * float(np.sqrt(options.gap)) if options.switch is None else options.switch

    def _too_slow(self) -> str:
        """Return why the finisher should be faster than further passes; empty where it is not."""
        if self.ease > 1.0 and self.passes >= min(_EASED, self.options.max_passes):
            return f"the L2 penalty is weak, so that passes were made with {self.ease:.3g} times as much"
        if self.passes >= self.options.max_passes:
            return f"its gap is still {self.gaps[-1]:.2g} of the objective after {self.passes} passes"
        if self.passes < 6:  # rates rise at first
            return ""
        left = passes_left(self.gaps, self._enough())
        if left <= self.options.patience:
            return ""
        fell = f"in pass {self.passes} its gap was {self.gaps[-1]:.2g} of the objective after "
        return f"{fell}{self.gaps[-2]:.2g} in the one before"

    def _close(self, objective: float) -> Step:
        """Go on with the finisher near the optimum, on weights scaled by the diagonal of the Hessian."""
        assert self.sequences is not None
        if self.options.finish is None:
            return self._certify_anew(self._objective(), self.sequences)
        self.w, self.recent = self.recent.weights(), Extrapolation()
        diagonal = self.sequences.diagonal(len(self.w))
        self._end_passes()
        self._start(KnownDiagonal(self.problem, diagonal))
        return self._report(objective, np.nan, np.nan)

    def _leave(self) -> None:
        """Go on with the finisher far from the optimum: from these weights, or from 0 if that is better.

        The diagonal of the Hessian far from the optimum is that of another function, so there is none.
        """
        self._end_passes()
        self.preparing.result()
        now = self._objective()
        after, self.w = self.w, np.zeros_like(self.w)
        if now < self._objective():
            self.w = after
        self.before = 2.0
        self._start(self.problem)

    def _start(self, problem: Any) -> None:
        self.phase = "finish"
        self.preparing.result()
        self.finisher = self._finisher().start(problem, self.penalty, self.w)

    def _finisher(self) -> Optimizer:
        """Return the finisher, on as many threads as the dual; scaled only where the diagonal is known."""
        finish: Any = self.options.finish
        own = {f.name for f in fields(finish)}
        if "threads" in own and finish.threads is None:
            finish = replace(finish, threads=self.options.threads)
        if self.left and "preconditioner" in own:
            finish = replace(finish, preconditioner="none")
        return cast(Optimizer, finish)

    def _finish(self) -> Step:
        assert self.finisher is not None
        step = self.finisher.step()
        self.w, self.evaluations, self.best = self.finisher.w, self.before + step.evaluations, step.objective
        if step.end is End.DIVERGED:
            return self._report(step.objective, step.gradient_norm, np.nan, step.stopped, step.end)
        # Nesterov (2004), theorem 2.1.10; see training/runs/convergence.py
        self.bound = max(self.bound, step.objective - step.gradient_norm**2 / (2.0 * self.curvature))
        wanted = self.options.gap * abs(step.objective)
        if step.objective - self.bound > wanted:
            self._look_nearby(self.finisher, wanted)
        gap = self.best - self.bound
        if gap <= self.options.gap * abs(self.best):
            why = f"converged: the gradient shows that the objective is at most {gap:.3g} above its optimum"
            norm = step.gradient_norm if self.best == step.objective else np.nan
            return self._report(self.best, norm, gap, why + self._reason_for_leaving(), End.CONVERGED)
        self.objectives = [*self.objectives, step.objective][-6:]
        gained = (self.objectives[0] - step.objective) / abs(step.objective)
        if self.left:
            why = step.stopped and step.stopped + self._reason_for_leaving()
            return self._report(step.objective, step.gradient_norm, gap, why, step.end)
        stalled = len(self.objectives) == 6 and gained < _STALLED * self.options.gap
        if step.stopped or (stalled and self.near.left(wanted) > _EVALUATIONS):
            passes = self._passes(view_of(self.problem, DualSequences, "Dual"))
            return self._certify_anew(step.objective, passes)
        return self._report(step.objective, step.gradient_norm, np.nan)

    def _look_nearby(self, run: Any, wanted: float) -> None:
        """Raise the bound by weights near those of the run, where they are foreseen to do so."""
        if self.penalty.sparse or not hasattr(run, "uphill"):  # a pseudo-gradient is not linear in w
            return
        self.near.add(self.w, run.uphill)
        if not self.near.promises(wanted):
            return
        w, objective, bound = self.near.evaluate(self.problem, self.penalty)
        self.before, self.evaluations = self.before + 1.0, self.evaluations + 1.0
        self.bound = max(self.bound, bound)
        if objective < self.best and objective - self.bound <= wanted:
            self.w, self.best = w, objective

    def _reason_for_leaving(self) -> str:
        return f" (L-BFGS went on after {self.passes} passes of the dual: {self.left})" if self.left else ""

    def _certify_anew(self, objective: float, sequences: Passes) -> Step:
        """Begin the dual at the present weights: from here on its value is an exact bound."""
        self.phase, self.best, self.sequences = "certify", objective, sequences
        self.near = Nearby(self.near.vectors, self.curvature)
        self.finisher = None  # its history is as large as a dozen weight vectors
        if isinstance(sequences, SharedPasses) and self.options.finish is None:
            sequences.measure(self.w)  # it knows its dual exactly, and would be long in coming back to it
        else:
            self._begin(sequences)
        self.gaps = []
        return self._certified(sequences)

    def _certify(self) -> Step:
        assert self.sequences is not None
        self._pass(self.sequences, 0.0)
        if self.options.finish is None:
            before = self.w
            self.w = self.sequences.weights(len(self.w))
            objective = self._objective()
            if objective < self.best:
                self.best = objective
            else:
                self.w = before
        return self._certified(self.sequences)

    def _certified(self, sequences: Passes) -> Step:
        bound = sequences.bound(len(self.w))
        self.gaps = [*self.gaps, (self.best - bound) / abs(self.best) if self.best else 0.0][-3:]
        self.bound = max(self.bound, bound)
        gap = max(self.best - self.bound, 0.0)
        relative = gap / abs(self.best) if self.best else 0.0
        self.certifying += 1
        stopped = ""
        end: End | None = None
        if relative <= self.options.gap:
            end = End.CONVERGED
            stopped = f"converged: the duality gap {gap:.3g} is {relative:.1e} of the objective"
        elif self.options.finish is not None and self.certifying >= 4:
            if passes_left(self.gaps, self.options.gap) > _CERTIFYING or self.certifying > 3 * _CERTIFYING:
                self._certify_by_gradient()
        elif self.certifying > self.options.max_passes:
            end = End.LIMIT
            stopped = f"the gap is still {relative:.1e} of the objective after {self.passes} passes"
        return self._report(self.best, np.nan, gap, stopped, end)

    def _certify_by_gradient(self) -> None:
        """Go on with the finisher until its gradient bounds the gap: the dual is foreseen to take longer."""
        self.left = f"to certify the last digits it would have taken more than {_CERTIFYING} passes"
        self._end_passes()
        self.before = self.evaluations
        self._start(self.problem)

    def _report(
        self, objective: float, gradient_norm: float, gap: float, stopped: str = "", end: End | None = None
    ) -> Step:
        done = self.passes + self.evaluations
        return Step(objective, gradient_norm, evaluations=done, gap=gap, stopped=stopped, end=end)

    def _pass(self, sequences: Passes, threshold: float) -> None:
        sequences.run(self.passes, threshold)
        self.passes += 1

    def _begin(self, sequences: Passes) -> None:
        sequences.begin(self.w)
        self.passes += 1

    def _objective(self) -> float:
        gradient = np.empty_like(self.w)
        return float(self.problem.value_and_grad(self.w, gradient)) + self.penalty.value(self.w)

    # ---- checkpoints

    def state(self) -> dict[str, Any]:
        """Return the distributions of all sequences and v, and the state of the finisher."""
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            "gaps": np.array(self.gaps),
            "objectives": np.array(self.objectives),
            "recent": np.array(self.recent.recent, dtype=np.float32),
            "w": self.w,
            "sequences": {} if self.sequences is None else self.sequences.state(len(self.w)),
            "finish": {} if self.finisher is None else self.finisher.state(),
            "near": self.near.state(),
        }

    def _recall(self, state: Fields) -> None:
        F = len(self.w)
        self.left = state.text("left")
        phases = ["finish"] if self.options.finish is not None else []
        self.phase = cast(Phase, state.text("phase", phases if self.left else ["dual", "certify", *phases]))
        self.passes, self.certifying = state.count("passes"), state.count("certifying")
        self.evaluations = state.number("evaluations", least=0.0)
        self.before = state.number("before", least=0.0)
        self.best, self.bound = state.bounds("best", "bound")
        self.gaps = state.numbers("gaps", most=3)
        if self.phase == "dual" and self.passes > 1 and not self.gaps:
            state.wrong("gaps", "those of the last passes")
        self.objectives = state.numbers("objectives", most=6)
        self.recent.recall(state, "recent", F)
        self.w = state.floats("w", F)
        self.near = Nearby(self.near.vectors, self.curvature, state.part("near"))
        if self.sequences is not None:
            self.sequences.recall(state.part("sequences"), F)
        if self.phase == "finish":
            known = self.problem if self.left else KnownDiagonal(self.problem, None)
            self.finisher = self._finisher().start(known, self.penalty, self.w, state=state.part("finish"))


_NUMBERS = ("phase", "passes", "evaluations", "before", "best", "bound", "left", "certifying")
