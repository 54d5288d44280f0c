"""Iterative parameter mixing: perceptrons and SGD on parts that other processes hold.

Every part makes one pass over its own sequences from the same weights; then they are mixed, and sent out
again (McDonald, Hall & Mann 2010). The data say which sequences make a part, not the workers: the bits are
the same for any number of them. With n_k of all N sequences in part k, which goes from w to w_k:

=====================  =====================================================================================
perceptron, PA, MIRA   w + sum_k n_k / N (w_k - w); the average is over the weights after all visits, of all
SGD                    the same; a part knows its share of the penalty, and rates fall with its own visits
AROW                   1/V + sum_k (1/V_k - 1/V) for the variances: what each part has learned adds up; and
                       w + sum_k (V / V_k) (w_k - w) with that V, so that who knows more of a weight says more
=====================  =====================================================================================

One part alone gives what the method gives in memory, up to rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats
from crfkit.errors import NotCoveredError
from crfkit.native import kernels
from crfkit.optimize.parts import Held, Parts
from crfkit.optimize.problem import End, Penalty, State, Step, Stopped, evaluate, view_of
from crfkit.optimize.sequential.rules import BOUNDED, CONFIDENCE, Rule
from crfkit.optimize.sequential.sequences import PerceptronSequences, SequenceBlocks, Sequences, begin_at

if TYPE_CHECKING:
    from crfkit.optimize.sequential.passes import ByPasses


class _Learned(NamedTuple):
    """What a part has come to after a pass."""

    visits: int
    loss: float
    w: Floats
    memory: Floats | None = None


def _visits(held: Held, kind: type) -> int:
    """Return how many sequences of a part are visited."""
    found: Any = view_of(held.loss, kind, "mixing")
    return len((found.block(0) if kind is SequenceBlocks else found).filled)


# ---- perceptrons


def _learn(held: Held, rule: Rule, seed: int, number: int, w: Floats, memory: Floats | None) -> _Learned:
    """Make one pass over the sequences of a part."""
    arrays: PerceptronSequences = view_of(held.loss, PerceptronSequences, "mixing")
    trainer = arrays.trainer(rule)
    trainer.write(w)
    own = np.zeros(len(w)) if rule.averaged else memory
    if own is not None:
        trainer.write_memory(own)
    none = np.zeros(0)
    loss = trainer.run(kernels, arrays.order(seed, number), 1, none, none)
    after, learned = np.empty(len(w)), None
    trainer.read(after)
    if own is not None:
        learned = np.empty(len(w))
        trainer.read_memory(learned)
    return _Learned(len(arrays.filled), loss, after, learned)


class MixedSequences:
    """Labeled sequences of a perceptron loss in parts, as `MistakeDrivenRun` takes them."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.filled = range(sum(n for _, n in parts.ask(_visits, lambda i: (PerceptronSequences,))))

    def order(self, seed: int, number: int) -> tuple[int, int]:
        """Return what each part draws the order of its pass with."""
        return seed, number

    def trainer(self, rule: Rule) -> _MixedTrainer:
        """Return what makes passes over all parts by a rule."""
        if rule.remedy == BOUNDED:
            raise NotCoveredError(
                "mira-crfpp needs one order of all sequences, and each block has its own; use mira"
            )
        return _MixedTrainer(self.parts, rule)


class _MixedTrainer:
    """What the native trainer does for sequences in memory."""

    def __init__(self, parts: Parts, rule: Rule) -> None:
        self.parts, self.rule = parts, rule
        self.w = self.memory = np.zeros(parts.size)

    def write(self, w: Floats) -> None:
        """Take the weights [F]."""
        self.w = w.copy()

    def write_memory(self, memory: Floats) -> None:
        """Take the sums of averaging, or the variances, [F]."""
        self.memory = memory.copy()

    def read(self, out: Floats) -> None:
        """Give the weights."""
        out[:] = self.w

    def read_memory(self, out: Floats) -> None:
        """Give the sums of averaging, or the variances."""
        out[:] = self.memory

    def run(self, kernels: Any, order: tuple[int, int], seen: int, spent: Floats, right: Floats) -> float:
        """Let each part make a pass, and mix; return the sum of their losses."""
        rule, parts = self.rule, self.parts
        sure = rule.remedy == CONFIDENCE

        def given(i: int) -> tuple[Any, ...]:
            return rule, *order, parts.take(i, self.w), parts.take(i, self.memory) if sure else None

        loss, total = 0.0, 0
        moved, more = np.zeros(parts.size), np.zeros(parts.size)
        for i, found in parts.ask(_learn, given):
            move = found.w - parts.take(i, self.w)
            loss, total = loss + found.loss, total + found.visits
            if sure:
                assert found.memory is not None
                parts.add(i, move / found.memory, moved)
                parts.add(i, 1.0 / found.memory - 1.0 / parts.take(i, self.memory), more)
                continue
            if rule.averaged:
                assert found.memory is not None
                parts.add(i, (found.visits + 1) * move - found.memory, more)
            parts.add(i, found.visits * move, moved)
        if sure:
            self.memory = 1.0 / (1.0 / self.memory + more)
            self.w = self.w + moved * self.memory
            return loss
        moved /= max(total, 1)
        self.w = self.w + moved
        if rule.averaged:
            self.memory = self.memory + (seen + total) * moved - more
        return loss


# ---- SGD


def _share_of(penalty: tuple[float, float], loss: Any, share: float) -> Penalty:
    """Return the share of a penalty that the sequences of a part carry, by the weights that it shows."""
    sequences: Sequences = view_of(loss, SequenceBlocks, "mixing").block(0)
    l2 = np.full(loss.size, penalty[1] * share)
    l2[: int(sequences.row_ptr[-1])] = penalty[0] * share
    return Penalty(l2=l2)


def _rate(
    held: Held, method: ByPasses, penalty: tuple[float, float], share: float, w: Floats
) -> tuple[float, float]:
    """Return the time that the rates of a part begin at, and what finding it took."""
    run: Any = method.start(held.loss, _share_of(penalty, held.loss, share), w)
    return run.start, run.evaluations


def _step(
    held: Held,
    method: ByPasses,
    penalty: tuple[float, float],
    share: float,
    passes: int,
    start: float,
    w: Floats,
) -> _Learned:
    """Make one pass over the sequences of a part."""
    own = _share_of(penalty, held.loss, share)
    state = {
        "w": w,
        "memory": np.zeros(0),
        "due": np.zeros(2),
        "passes": passes,
        "evaluations": 0.0,
        "history": [],
        "best": np.inf,
        "best_w": w,
        "start": start,
    }
    run: Any = replace(method, max_passes=passes + 2).start(held.loss, own, w, state=state)
    step = run.step()
    loss = np.inf if step.end is End.DIVERGED else step.objective - own.value(run.w)
    return _Learned(run.visits, loss, run.w)


class MixedPassRun:
    """Passes of SGD over the parts, mixed after each, until the objective no longer falls.

    The rates are those of the first part, calibrated there where the method asks for it.
    """

    def __init__(self, method: ByPasses, parts: Parts, penalty: Penalty, w: Floats, state: State) -> None:
        name = type(method).__name__
        if method.rule:
            raise NotCoveredError(f"{name} keeps more than weights, which cannot be mixed; use sgd, or lbfgs")
        self.method, self.parts, self.penalty = method, parts, penalty
        strengths = view_of(parts.whole, SequenceBlocks, name).block(0).strengths(penalty, name)
        method.check(strengths)
        self._l2 = strengths[1], strengths[3]
        self._visits = dict(parts.ask(_visits, lambda i: (SequenceBlocks,)))
        total = sum(self._visits.values())
        self._share = {i: n / total for i, n in self._visits.items()}
        kept = None if state is None else Fields.of(state)
        F = parts.size
        self.w = begin_at(w if kept is None else kept.floats("w", F), F)  # [F]
        if kept is None:
            self.passes, self.history = 0, list[float]()
            self.best, self.best_w = float("inf"), self.w.copy()
            first = next(iter(self._visits))
            given = (method, self._l2, self._share[first], parts.take(first, self.w))
            ((_, (self.start, took)),) = parts.ask(_rate, lambda i: given, [first])
            self.evaluations = took * self._share[first]
        else:
            self.passes, self.evaluations = kept.count("passes"), kept.number("evaluations", least=0.0)
            self.history = kept.numbers("history", most=method.period)
            self.best, self.best_w = kept.bounds("best")[0], kept.floats("best_w", F)
            self.start = kept.number("start", least=0.0)

    def step(self) -> Step:
        """Let each part make a pass, and mix."""
        parts, loss, moved = self.parts, 0.0, np.zeros(self.parts.size)

        def given(i: int) -> tuple[Any, ...]:
            own = (self.method, self._l2, self._share[i], self.passes, self.start)
            return *own, parts.take(i, self.w)

        for i, found in parts.ask(_step, given):
            loss += found.loss
            parts.add(i, self._share[i] * (found.w - parts.take(i, self.w)), moved)
        after = self.w + moved
        self.passes, self.evaluations = self.passes + 1, self.evaluations + 1.0
        objective = loss + self.penalty.value(after)
        if not np.isfinite(objective):
            why = f"diverged: the loss is not finite in pass {self.passes}; begin with a lower rate"
            return self._end(Stopped(End.DIVERGED, why))
        self.w = after
        if objective < self.best:
            self.best, self.best_w = objective, after.copy()
        stop = self.method.verdict(self.history, self.best, self.passes)
        self.history = [*self.history, self.best][-self.method.period :]
        if stop is None:
            return Step(objective, evaluations=self.evaluations)
        self.w = self.best_w.copy()
        return self._end(stop)

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here; the seed is an option."""
        kept = {name: getattr(self, name) for name in ("passes", "evaluations", "best", "start")}
        return {**kept, "w": self.w.copy(), "best_w": self.best_w.copy(), "history": list(self.history)}

    def _end(self, stop: Stopped) -> Step:
        self.evaluations += 1.0
        objective, norm = evaluate(self.parts, self.penalty, self.w)
        return Step(objective, norm, evaluations=self.evaluations, stopped=stop.why, end=stop.end)
