"""Watching a method: what its answers said of themselves during training, added up."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from crfkit.arrays import Bools, Floats
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Expected, Labeled, Method, Summed
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass
class MethodStats:
    """How graphs were answered."""

    answers: int = 0  #: graphs times queries
    exact: int = 0
    converged: int = 0
    sweeps: int = 0
    last: list[list[How]] = field(default_factory=list)  #: of the last evaluation, by block of graphs

    def block(self, *, first: bool) -> None:
        """Take answers from now on for those of another block; the first one begins an evaluation."""
        if first:
            self.last.clear()
        self.last.append([])

    def note(self, how: How) -> None:
        """Take in an answer."""
        self.answers += len(how.exact)
        self.exact += int(how.exact.sum())
        self.converged += int(how.converged.sum())
        self.sweeps += int(how.sweeps.sum())
        if not self.last:
            self.last.append([])
        self.last[-1].append(how)

    def how(self, graphs: int) -> How | None:
        """Return how this many graphs were answered in the last evaluation; None where it was of others."""
        blocks = [_all_queries(answers) for answers in self.last if answers]
        if sum(len(how.exact) for how in blocks) != graphs or not blocks:
            return None
        names = [f.name for f in fields(How) if f.name != "notes"]
        columns = {name: np.concatenate([getattr(how, name) for how in blocks]) for name in names}
        return How(**columns, notes=tuple(dict.fromkeys(note for how in blocks for note in how.notes)))

    def sentences(self) -> list[str]:
        """Return what a user should know: nothing where all answers were exact."""
        if not self.answers or self.exact == self.answers:
            return []
        parts = [f"{100.0 * self.exact / self.answers:.3g} % of the answers about graphs were exact"]
        missed = self.answers - self.converged
        if missed:
            parts.append(f"{100.0 * missed / self.answers:.3g} % did not converge")
        if self.sweeps:
            parts.append(f"{self.sweeps / self.answers:.3g} sweeps each on average")
        return [", ".join(parts)]


def _all_queries(answers: list[How]) -> How:
    """Return what holds for all answers about the same graphs; bounds are those of the first."""
    first, *others = answers
    if not others or any(len(how.exact) != len(first.exact) for how in others):
        return first
    names = zip(*(how.method for how in answers), strict=True)
    return replace(
        first,
        method=np.array([" + ".join(dict.fromkeys(each)) for each in names], dtype=object),
        exact=np.logical_and.reduce([how.exact for how in answers]),
        converged=np.logical_and.reduce([how.converged for how in answers]),
        sweeps=np.maximum.reduce([how.sweeps for how in answers]),
        notes=tuple(dict.fromkeys(note for how in answers for note in how.notes)),
    )


@dataclass(frozen=True)
class CountedMethod(Method):
    """A method whose answers are tallied."""

    inner: Method = field(default_factory=Method)
    tally: MethodStats = field(default_factory=MethodStats)

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Return log Z of each graph."""
        value, how = self.inner.log_partition(potentials, threads)
        self.tally.note(how)
        return value, how

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return marginals."""
        summed = self.inner.marginals(potentials, cliques, threads)
        self.tally.note(summed.info)
        return summed

    def expected(self, potentials: GraphPotentials, weight: Floats, threads: int) -> Expected:
        """Return expected counts."""
        found = self.inner.expected(potentials, weight, threads)
        self.tally.note(found.info)
        return found

    def pools(self, potentials: GraphPotentials) -> Bools:
        """Return for which graphs `expected` takes no memory for marginals of each factor."""
        return self.inner.pools(potentials)

    def best(self, potentials: GraphPotentials, threads: int) -> Labeled:
        """Return the best labeling of each graph."""
        found = self.inner.best(potentials, threads)
        self.tally.note(found.info)
        return found

    def kbest(self, potentials: GraphPotentials, k: int, threads: int) -> Labeled:
        """Return the k best labelings of each graph."""
        found = self.inner.kbest(potentials, k, threads)
        self.tally.note(found.info)
        return found

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labeled:
        """Return draws."""
        found = self.inner.sample(potentials, n, seed, threads)
        self.tally.note(found.info)
        return found

    def without_observed(self, potentials: GraphPotentials) -> CountedMethod:
        """Return the method for what is left once observed variables are cut out."""
        return CountedMethod(self.inner.without_observed(potentials), self.tally)
