"""What objectives share whose gradients are drawn by Markov chains: Gibbs sweeps from given labelings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.inference.methods.blocks import FOUND, blocks_of, first_labelings
from crfkit.linear.objective import Asks
from crfkit.native import kernels, threads_or_all
from crfkit.objectives.penalized import Penalized
from crfkit.structures.gold import GoldKind
from crfkit.structures.graphs.evidence import without_observed
from crfkit.structures.graphs.gold import GraphGold
from crfkit.structures.graphs.potentials import GraphPotentials
from crfkit.structures.structure import Trainable

_BUDGET = 2**24  # cells that are looked at to find an allowed labeling


@dataclass(frozen=True)
class Drawn(Penalized):
    """An objective for graphs whose gradient is drawn; its value is an estimate that nothing minimizes."""

    golds: ClassVar[frozenset[GoldKind]] = frozenset({"path", "set"})
    convex: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    minimizes: ClassVar[bool] = False
    drawn: ClassVar[bool] = True
    asks: ClassVar[Asks] = "nothing"

    def covers(self, structure: Trainable, kinds: Sequence[str]) -> str:
        """Return why it cannot be used: it is for graphs."""
        if not structure.graphical:
            return f"the objective {self.name} is for graphs (GraphCRF), not for {structure.describe()}"
        return super().covers(structure, kinds)

    def loss(
        self, potentials: Any, gold: Any, weight: Floats, *, threads: int | None = None
    ) -> tuple[float, Mapping[str, Floats]]:
        """Return the estimates of a first visit with the seed 0."""
        value, by_score, _ = self.draw(potentials, gold, weight, None, (0,), threads=threads)
        return value, by_score


def key_of(seed: Sequence[int], what: int) -> int:
    """Return a seed of 64 bits, different for each visit and each thing that is drawn in it."""
    return int(np.random.SeedSequence([*seed, what]).generate_state(1, np.uint64)[0])


def swept(
    potentials: GraphPotentials, start: Ids, sweeps: int, seed: int, *, block: bool, threads: int | None
) -> Ids:
    """Return labelings [chains, V] after that many Gibbs sweeps from `start`; observed labels stay."""
    rest = without_observed(potentials)
    free = start if potentials.observed is None else start[:, potentials.observed < 0]
    if not free.size:
        return start
    found = _native.gibbs_sample(
        kernels,
        rest.potentials.problem,
        blocks_of(rest.potentials, block),
        np.ascontiguousarray(free).ravel(),
        len(free),
        0,
        sweeps,
        len(free),
        seed,
        threads_or_all(threads),
    )
    return rest.label(found["label"])


def completed(potentials: GraphPotentials, gold: GraphGold, chains: int, seed: int) -> Ids:
    """Return labelings [chains, V] that agree with the gold; what it hides has an allowed label."""
    if gold.kind == "path":
        return np.repeat(gold.label[None], chains, axis=0)
    rest = without_observed(replace(potentials, observed=gold.label))
    label, end = first_labelings(rest.potentials, chains, seed, _BUDGET)
    if (end != FOUND).any():
        lost = int(np.flatnonzero(end != FOUND)[0])
        raise ValueError(f"no allowed labeling of graph {lost} agrees with its known labels")
    return rest.label(label)
