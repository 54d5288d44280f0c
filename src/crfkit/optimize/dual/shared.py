"""The dual of sequences in parts that other processes hold: CoCoA+, with the dual's own value as certificate.

Each part makes a pass over its own sequences as if the others did as it does, and all moves are *added*:

    max sum_k D_k(a_k) - |sum_k v_k|^2 / (2 l2),   |sum_k d_k|^2 <= sum_k s |d_k|^2  elementwise,

where s counts the parts that show an attribute (Ma et al. 2015 take the number of all parts for all of them).
So part k makes its pass with the penalty l2 / s, from v / s: the dual cannot fall, and what only one part
shows moves as fast as on one machine. The native trainer takes one penalty for all attributes; here their
values are scaled by sqrt(s) instead, which is the same.

A part that is lost has lost its marginals. They are a function of what was sent to it, so that it is sent all
of that once more: the bits do not depend on what became of the workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids
from crfkit.errors import NotCoveredError
from crfkit.native import threads_or_all
from crfkit.optimize.dual.passes import TOGETHER, DualPasses
from crfkit.optimize.parts import Held, Parts
from crfkit.optimize.problem import Penalty, view_of
from crfkit.optimize.sequential.sequences import DualSequences

_OPEN, _BEGIN, _RUN = "open", "begin", "run"


class SharedSequences:
    """The sequences of all parts, as far as the dual asks for them before it begins.

    Parameters
    ----------
    parts : Parts
    visits, positions, occurrences : int
        Sequences, positions and attributes of positions, of all parts.
    """

    def __init__(self, parts: Parts, visits: int, positions: int, occurrences: int) -> None:
        self.parts, self.visits, self.positions, self.occurrences = parts, visits, positions, occurrences
        one: DualSequences = parts.whole.view(DualSequences)
        self.row_ptr, self.segments, self._one = one.row_ptr, one.segments, one

    def strengths(self, penalty: Penalty, who: str) -> tuple[float, float, float, float]:
        """Return l1 and l2 of the attributes, and of all other weights."""
        return self._one.strengths(penalty, who)


@dataclass(frozen=True)
class _Opening:
    """What a part must know to begin."""

    share: Ids  #: how many parts show each of its attributes
    parts: int
    strengths: Floats
    relax: float
    seed: int


class _Command(NamedTuple):
    """What a part is to do: begin at weights, or make a pass from v."""

    kind: str
    number: int
    threshold: float
    given: Any


class _Done(NamedTuple):
    """What a part has come to."""

    v: Floats  #: of its sequences
    entropy: float
    met: float  #: sum of the gaps that the pass met


class _PartOfDual:
    """The marginals of the sequences of one part, in the process that holds it."""

    def __init__(self, loss: Any, opening: _Opening) -> None:
        arrays: DualSequences = view_of(loss, DualSequences, "Dual")
        self.loss, self.arrays, self.opening = loss, arrays, opening
        root = np.sqrt(opening.share.astype(np.float64))
        rows = int(arrays.row_ptr[-1])
        self.root = np.ones(loss.size)  # [F of the part]
        self.root[:rows] = np.repeat(root, np.diff(arrays.row_ptr))
        self.start = 1.0 / self.root  # v as the trainer has it, by v of all
        self.start[rows:] = 1.0 / opening.parts
        value = np.append(root, 1.0)[arrays.attr]  # the last stands for attributes without weights
        scaled = replace(arrays, value=value if arrays.value is None else value * arrays.value)
        strengths = opening.strengths.copy()
        strengths[3] /= opening.parts
        threads = threads_or_all(loss.threads)
        self.passes = DualPasses(
            scaled, Penalty(), strengths, 1.0, False, opening.relax, opening.seed, threads
        )

    def do(self, command: _Command) -> _Done:
        if command.kind == _BEGIN:
            self.passes.begin(command.given, self.arrays)
        else:
            self.passes.trainer.write(command.given * self.start)
            self.passes.run(command.number, command.threshold)
        v = np.empty(self.loss.size)
        self.passes.trainer.exact(v, self.passes.threads)
        v /= self.root
        return _Done(v, self.passes.trainer.entropy(), self.passes.met)

    def rounding(self, w: Floats) -> float:
        """Return what the rounding of its marginals may add to the dual."""
        return self.passes.rounding_at(*self.arrays.scores(w, self.passes.threads)[:2])

    def diagonal(self) -> Floats:
        """Return the part of its sequences in the diagonal of the Hessian."""
        found = np.empty(self.loss.size)
        self.passes.trainer.diagonal(found, self.passes.threads)
        found /= self.root**2
        return found


class _Kept:
    """What a part has done of one run."""

    def __init__(self, key: str) -> None:
        self.key, self.made = key, 0
        self.dual: _PartOfDual | None = None
        self.last: _Done | None = None


_NAME: Final = "dual"


def _advance(held: Held, key: str, made: int, commands: list[Any]) -> _Done | int:
    """Do what was not done yet of commands, `made` of which were sent before; return what came of the last.

    Where some before them are not done either, return how many are.
    """
    with held.lock:
        kept = held.kept.get(_NAME)
        if kept is None or kept.key != key or kept.made > made + len(commands):
            kept = held.kept[_NAME] = _Kept(key)
        if kept.made < made:
            return int(kept.made)
        try:
            for command in commands[kept.made - made :]:
                if kept.dual is None:
                    kept.dual = _PartOfDual(held.loss, command)
                else:
                    kept.last = kept.dual.do(command)
                kept.made += 1
        except BaseException:
            del held.kept[_NAME]
            raise
        assert kept.last is not None
        done: _Done = kept.last
        return done


def _diagonal(held: Held, key: str, made: int, commands: list[Any]) -> Floats | int:
    """Return the diagonal after all commands; where some are not done, how many are."""
    found = _advance(held, key, made, commands)
    return found if isinstance(found, int) else held.kept[_NAME].dual.diagonal()


def _rounding(held: Held, key: str, made: int, commands: list[Any], w: Floats) -> float | int:
    """Return what the rounding of marginals may add to the dual at w; as `_advance` where some lack."""
    found = _advance(held, key, made, commands)
    return found if isinstance(found, int) else float(held.kept[_NAME].dual.rounding(w))


def _forget(held: Held) -> None:
    held.kept.pop(_NAME, None)


class SharedPasses:
    """Passes of the dual over all parts; what `DualPasses` does for sequences in memory.

    Parameters
    ----------
    arrays : SharedSequences
    penalty, strengths, ease, exponentiated, relax, seed, threads
        As of `DualPasses`; the parts have their own threads.
    """

    def __init__(
        self,
        arrays: SharedSequences,
        penalty: Penalty,
        strengths: Floats,
        ease: float,
        exponentiated: bool,
        relax: float,
        seed: int,
        threads: int | None,
    ) -> None:
        if penalty.sparse:
            raise NotCoveredError("Dual on data in blocks takes L2 alone, and l1 is not 0; use LBFGS")
        if exponentiated:
            raise NotCoveredError('Dual on data in blocks takes step="mixture" only')
        strengths = strengths.copy()
        strengths[[1, 3]] *= ease
        self.parts, self.arrays, self.ease = arrays.parts, arrays, ease
        groups = np.full(self.parts.size, strengths[3])
        groups[: arrays.row_ptr[-1]] = strengths[1]
        self.l2, self.v = groups, np.zeros(self.parts.size)  # [F]
        self.meanwhile: Any = None  # nothing runs beside the passes here
        self.dual, self.met, self.entropy, self.rounding = 0.0, np.inf, 0.0, 0.0
        self._key = uuid4().hex
        shown = self.parts.shown
        counts = np.bincount(np.concatenate([*shown.values()]), minlength=len(arrays.row_ptr) - 1)
        self._opening = {
            i: _Opening(counts[ids].astype(np.int32), len(shown), strengths, relax, seed)
            for i, ids in shown.items()
        }
        self._history: list[_Command] = []

    def run(self, number: int, threshold: float) -> None:
        """Let each part visit all of its sequences."""
        self._do(_Command(_RUN, number, threshold, self.v.copy()))

    def begin(self, w: Floats) -> None:
        """Set the distribution of every sequence to the one that w [F] gives."""
        self._do(_Command(_BEGIN, 0, 0.0, w.copy()))
        self.measure(w)

    def weights(self, F: int) -> Floats:
        """Return w of the distributions now, [F]."""
        w: Floats = self.v / self.l2
        return w

    def bound(self, F: int) -> float:
        """Return a lower bound of the optimum."""
        l2 = self.l2 / self.ease
        return self.entropy - 0.5 * float(np.sum(self.v / l2 * self.v)) - self.rounding

    def measure(self, w: Floats) -> None:
        """Find out what the rounding of marginals may add to the dual, so that `bound` is one."""
        self.rounding = 0.0
        for _, part in self._asked(_rounding, lambda i: (self.parts.take(i, w),)):
            self.rounding += part

    def diagonal(self, F: int) -> Floats:
        """Return roughly the diagonal of the Hessian of the loss, [F], larger where weights move together."""
        found = np.zeros(F)
        for i, part in self._asked(_diagonal):
            self.parts.add(i, part, found)
        found[: self.arrays.row_ptr[-1]] *= TOGETHER
        return found

    def close(self) -> None:
        """Let the parts forget their marginals."""
        for _ in self.parts.ask(_forget, lambda i: (), keep=True):
            pass

    def state(self, F: int) -> dict[str, Any]:
        """Return what was sent to the parts, of which all that they have is a function."""
        sent = self._history
        return {
            "kinds": np.array([one.kind == _RUN for one in sent], dtype=np.bool_),
            "numbers": np.array([one.number for one in sent], dtype=np.int64),
            "thresholds": np.array([one.threshold for one in sent]),
            "given": np.array([one.given for one in sent]).reshape(len(sent), F),
            "v": self.v.copy(),
            "sums": np.array([self.dual, self.met, self.entropy, self.rounding]),
        }

    def recall(self, state: Fields, F: int) -> None:
        """Restore a state; the parts do all of it once more, when they are asked for the next."""
        thresholds = state.floats("thresholds", None, least=0.0)
        n = len(thresholds)
        kinds, numbers = state.array("kinds", np.bool_, n), state.integers("numbers", n, below=1 << 62)
        given = state.floats("given", n, F)
        self._history = [
            _Command(_RUN if run else _BEGIN, int(number), float(threshold), vector)
            for run, number, threshold, vector in zip(kinds, numbers, thresholds, given, strict=True)
        ]
        self.v = state.floats("v", F)
        sums = state.array("sums", np.float64, 4)
        self.dual, self.met, self.entropy, self.rounding = sums.tolist()

    def _do(self, command: _Command) -> None:
        self._history.append(command)
        v, entropy, met = np.zeros(self.parts.size), 0.0, 0.0
        for i, done in self._asked(_advance):
            self.parts.add(i, done.v, v)
            entropy, met = entropy + done.entropy, met + done.met
        self.v, self.entropy, self.met = v, entropy, met
        self.dual = entropy - 0.5 * float(np.sum(v / self.l2 * v))

    def _asked(
        self, function: Any, also: Callable[[int], tuple[Any, ...]] = lambda i: ()
    ) -> list[tuple[int, Any]]:
        """Return what a function returns for each part after all commands, in order of the parts."""
        sent = self._history
        made = dict.fromkeys(self._opening, len(sent))  # commands that each has, the opening is the first
        if len(sent) == 1:
            made = dict.fromkeys(made, 0)
        found: dict[int, Any] = {}

        def given(i: int) -> tuple[Any, ...]:
            since: list[Any] = [
                one._replace(given=self.parts.take(i, one.given)) for one in sent[max(made[i] - 1, 0) :]
            ]
            commands = since if made[i] else [self._opening[i], *since]
            return self._key, made[i], commands, *also(i)

        lacking = [*made]
        while lacking:
            for i, one in self.parts.ask(function, given, lacking, keep=True):
                if isinstance(one, int):
                    made[i] = one
                else:
                    found[i] = one
            lacking = [i for i in lacking if i not in found]
        return [(i, found[i]) for i in self._opening]
