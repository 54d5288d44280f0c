"""A run of stochastic passes: rates, stopping rule and state; the steps themselves are native.

Every weight is up to date at the end of a pass, not of a block: steps that were left out for weights that no
sequence touched are made then.

Pass p visits the blocks in random order, and the sequences of each block in random order, drawn by one
generator seeded with (seed, p): the number of the pass is all the state that there is, and data in one block
are visited in the same order as data in memory. One block is in memory at a time, and the next on its way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, overload

import numpy as np

from crfkit import _native
from crfkit._safe.background import ahead
from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Pointers
from crfkit.native import kernels
from crfkit.optimize.options import Settling
from crfkit.optimize.parts import Parts
from crfkit.optimize.problem import End, Penalty, State, Step, Stopped, evaluate, view_of
from crfkit.optimize.sequential.sequences import SequenceBlocks, begin_at

if TYPE_CHECKING:
    from crfkit.optimize.sequential.mixed import MixedPassRun

Visit = tuple[int, Pointers]  # a block, and places among its sequences that are not empty


class Visits:
    """Labeled sequences in blocks.

    Parameters
    ----------
    problem
        A loss with `SequenceBlocks`.
    who : str
        The optimizer, for messages.
    """

    def __init__(self, problem: Any, who: str) -> None:
        blocks = view_of(problem, SequenceBlocks, who)
        self.sizes = blocks.sizes(who)  #: [blocks] sequences that are not empty
        self._load = blocks.block
        first = self._load(0)
        none = np.zeros(0, dtype=np.int32)
        zero = np.zeros(1, dtype=np.int64)
        #: the layout of the weights, without any sequence
        self.layout = replace(
            first,
            seq_ptr=zero,
            attr_ptr=zero,
            attr=none,
            value=None,
            label=none,
            weight=None,
            edges=first.edges and first.edges._replace(ptr=zero, attr=none, value=None),
        )
        self._last: tuple[int, _native.CompiledSequences, Pointers] | None = None

    @property
    def total(self) -> int:
        """Sequences that are not empty, N."""
        return int(self.sizes.sum())

    def plan(self, seed: int, number: int) -> Iterator[Visit]:
        """Yield the visits of a pass, counted from 1."""
        generator = np.random.default_rng([seed, number])
        for block in generator.permutation(len(self.sizes)).tolist():
            yield block, generator.permutation(self.sizes[block])

    def sample(self, seed: int, count: int) -> list[Visit]:
        """Return the first visits of pass 0, which no run makes: from as few blocks as have that many."""
        visits = []
        for block, places in self.plan(seed, 0):
            visits.append((block, places[:count]))
            count -= len(visits[-1][1])
            if count <= 0:
                break
        return visits

    def compiled(
        self, trainer: _native.StochasticTrainer, visits: Iterable[Visit]
    ) -> Generator[tuple[_native.CompiledSequences, Pointers], None, None]:
        """Yield the blocks of some visits as the trainer takes them, and the order of their sequences."""

        def make(visit: Visit) -> tuple[_native.CompiledSequences, Pointers]:
            block, places = visit
            if self._last is None or self._last[0] != block:
                self._last = None
                arrays = self._load(block)
                self._last = block, trainer.compile(arrays.native), arrays.filled
            _, sequences, filled = self._last
            return sequences, filled[places]

        made = map(make, visits)
        yield from made if len(self.sizes) == 1 else ahead(made)


Strengths: TypeAlias = tuple[float, float, float, float]  # l1, l2; the same for transitions, start and stop


@dataclass(frozen=True, kw_only=True)
class ByPasses(Settling, ABC):
    """The base of the stochastic optimizers, which differ in their rates.

    Parameters
    ----------
    seed : int
        Seed of the order of visits.
    """

    needs: ClassVar[tuple[type, ...]] = (SequenceBlocks,)
    rule: ClassVar[int]  #: the `Rule` of cpp/shared/learned.hpp
    keeps_best: ClassVar[bool] = False  #: whether a run that ends by itself goes back to its best pass

    seed: int = 0

    @property
    def offset(self) -> float:
        """Added to the roots of the sums of squares, where there are any."""
        return 0.0

    @overload
    def start(
        self, problem: Parts, penalty: Penalty, w: Floats, *, state: State = None
    ) -> PassRun | MixedPassRun: ...
    @overload
    def start(self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None) -> PassRun: ...
    def start(
        self, problem: Any, penalty: Penalty, w: Floats, *, state: State = None
    ) -> PassRun | MixedPassRun:
        """Begin at w [F], or go on from a state."""
        if isinstance(problem, Parts) and not hasattr(problem, "block"):  # nobody has all of its sequences
            from crfkit.optimize.sequential.mixed import MixedPassRun

            return MixedPassRun(self, problem, penalty, w, state)
        return PassRun(self, problem, penalty, w, state)

    def origin(self, run: PassRun) -> float:
        """Prepare a new run: return the time that its rates begin at."""
        return 0.0

    @abstractmethod
    def rates(self, origin: float, steps: Floats, visits: int, lam: float) -> Floats:
        """Return the rates of steps, by their numbers from 0 on; a pass has `visits` of them.

        `lam` is the l2 of one step.
        """

    @abstractmethod
    def check(self, strengths: Strengths) -> None:
        """Raise an error if the method cannot minimize the penalty."""


class PassRun:
    """Passes over the sequences in random order, until the objective no longer falls."""

    def __init__(self, method: ByPasses, problem: Any, penalty: Penalty, w: Floats, state: State) -> None:
        name = type(method).__name__
        self.method, self.problem, self.penalty = method, problem, penalty
        self.sequences = Visits(problem, name)
        strengths = self.sequences.layout.strengths(penalty, name)
        method.check(strengths)
        self.visits = self.sequences.total
        self.strengths = np.array(strengths) / self.visits  # [4] of one step
        kept, F = None if state is None else Fields.of(state), problem.size
        self.w = begin_at(w if kept is None else kept.floats("w", F), F)  # [F]
        self.trainer = _native.StochasticTrainer(self.sequences.layout.native, method.rule)
        self.trainer.write(self.w)
        if kept is None:
            self.memory = np.zeros(problem.size if method.rule else 0)
            self.due = np.zeros(2)
            self.passes, self.evaluations = 0, 0.0
            self.history: list[float] = []  # the lowest objective so far, after each of the last passes
            self.best, self.best_w = float("inf"), self.w.copy() if method.keeps_best else None
            self.start = method.origin(self)
            self.trainer.write(self.w)
        else:
            self.memory = kept.floats("memory", F if method.rule else 0)
            self.due = kept.floats("due", 2)
            self.passes, self.evaluations = kept.count("passes"), kept.number("evaluations", least=0.0)
            self.history = kept.numbers("history", most=method.period)
            self.best = kept.bounds("best")[0]
            self.best_w = kept.floats("best_w", F) if method.keeps_best else None
            self.start = kept.number("start", least=0.0)
        if self.memory.size:
            self.trainer.write_memory(self.memory)

    def step(self) -> Step:
        """Make one pass."""
        plan, due = self.sequences.plan(self.method.seed, self.passes + 1), self.due.copy()
        before = self.passes * self.visits

        def rates(first: int, count: int) -> Floats:
            steps = np.arange(before + first, before + first + count, dtype=np.float64)
            return self.method.rates(self.start, steps, self.visits, self.strengths[1])

        with np.errstate(all="ignore"):
            loss = self.visit(plan, rates, self.strengths, due)
            after = np.empty_like(self.w)
            self.trainer.read(after)
            objective = loss + self.penalty.value(after)
        self.passes += 1
        self.evaluations += 1.0
        if not (np.isfinite(objective) and np.isfinite(after).all()):
            why = f"diverged: the loss is not finite in pass {self.passes}; begin with a lower rate"
            return self._end(Stopped(End.DIVERGED, why))
        self.w, self.due = after, due
        if self.memory.size:
            self.trainer.read_memory(self.memory)
        if objective < self.best:
            self.best = objective
            self.best_w = None if self.best_w is None else after.copy()
        length = float(rates(self.visits - 1, 1)[0])
        stop = self.method.verdict(self.history, self.best, self.passes)
        self.history = [*self.history, self.best][-self.method.period :]
        if stop is None:
            return Step(objective, length=length, evaluations=self.evaluations)
        if self.best_w is not None:
            self.w = self.best_w.copy()
        return self._end(stop, length)

    def visit(
        self, visits: Iterable[Visit], rates: Callable[[int, int], Floats], strengths: Floats, due: Floats
    ) -> float:
        """Make some visits and bring all weights up to date; return the sum of the losses.

        ``rates(first, count)`` are those of visits, `strengths` [4] those of the penalty in one step; `due`
        [2], the L1 that weights should have received, goes in and out. Where the sum is not finite, the
        weights are not usable.
        """
        loss, done = 0.0, 0
        with closing(self.sequences.compiled(self.trainer, visits)) as blocks:
            for sequences, order in blocks:
                given = rates(done, len(order))
                loss += self.trainer.run(kernels, sequences, order, given, strengths, self.method.offset, due)
                done += len(order)
                del sequences  # before the next block but one is made
                if not np.isfinite(loss):
                    return loss
        self.trainer.settle(kernels)
        return loss

    def state(self) -> dict[str, Any]:
        """Return everything that a run needs to go on from here; the seed is an option."""
        return {
            "w": self.w.copy(),
            "memory": self.memory.copy(),
            "due": self.due.copy(),
            "passes": self.passes,
            "evaluations": self.evaluations,
            "history": list(self.history),
            "best": self.best,
            "best_w": None if self.best_w is None else self.best_w.copy(),
            "start": self.start,
        }

    def _end(self, stop: Stopped, length: float = float("nan")) -> Step:
        self.evaluations += 1.0
        objective, norm = evaluate(self.problem, self.penalty, self.w)
        return Step(objective, norm, length, self.evaluations, stopped=stop.why, end=stop.end)
