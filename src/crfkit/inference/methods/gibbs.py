"""Gibbs sampling: variables, or trees of them, drawn in turn given all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.checks import check_number
from crfkit.inference.methods.blocks import FOUND, NONE, blocks_of, by_clique, first_labelings, notes_of
from crfkit.inference.methods.how import How
from crfkit.inference.methods.method import Labeled, Method, Summed
from crfkit.native import kernels
from crfkit.structures.graphs.potentials import GraphPotentials


@dataclass(frozen=True)
class Gibbs(Method):
    """Gibbs sampling: marginals and samples from Markov chains; log Z is not estimated (nan).

    Marginals are means of the probabilities given all others (Rao-Blackwell). Chains have converged where
    R-hat (Gelman & Rubin 1992, on halves of chains) of three numbers is low for a graph: its local scores,
    the sum of its labels, and the same with random signs. Where scores of -inf cut the labelings into parts
    that single changes do not join, chains stay in the part that they start in.

    With ``block=True`` trees are drawn exactly given the rest, which mixes much faster where neighbors
    agree strongly (Hamze & de Freitas 2004).

    Examples
    --------
    >>> from crfkit import Graph, inference
    >>> from crfkit.inference.methods import Gibbs
    >>> scores = Graph.from_factors([2, 2], [([0, 1], [[1.0, 0.0], [0.0, 0.5]])])
    >>> p = inference.marginals(scores, method=Gibbs(draws=500))["variable"][0]
    >>> bool(abs(p[0] - inference.marginals(scores)["variable"][0][0]) < 0.02)
    True
    """

    name: ClassVar[str] = "gibbs"
    sums: ClassVar[bool] = False
    draws: int = 1000  #: sweeps of each chain after burn-in whose probabilities are averaged
    burn: int = 100  #: sweeps of each chain before
    thin: int = 1  #: of samples: every so many sweeps give one
    chains: int = 4  #: the first starts from the best local labels, the others from random ones
    block: bool = False  #: draw trees of variables together
    limit: float = 1.01  #: R-hat below which chains have converged
    seed: int = 0  #: of marginals; samples have a seed of their own
    budget: int = 2**24  #: cells that are looked at to find an allowed labeling

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("draws", self.draws, 1, whole=True)
        check_number("burn", self.burn, whole=True)
        check_number("thin", self.thin, 1, whole=True)
        check_number("chains", self.chains, 1, whole=True)
        check_number("limit", self.limit, 1)
        check_number("seed", self.seed, whole=True)
        check_number("budget", self.budget, 1, whole=True)

    def log_partition(self, potentials: GraphPotentials, threads: int) -> tuple[Floats, How]:
        """Refuse: draws do not tell log Z."""
        raise self.cannot("estimate log Z")

    def marginals(self, potentials: GraphPotentials, cliques: bool, threads: int) -> Summed:
        """Return estimates of the marginals; the value is nan, or -inf where there is no labeling."""
        label, end = first_labelings(potentials, self.chains, self.seed, self.budget)
        found = _native.gibbs_marginals(
            kernels,
            potentials.problem,
            blocks_of(potentials, self.block),
            label.ravel(),
            self.chains,
            self.burn,
            self.draws,
            self.seed,
            cliques,
            threads,
        )
        value = np.where(end == FOUND, np.nan, -np.inf)
        how = self._how(potentials, end, found, self.chains, self.draws)
        return Summed(value, found["node"], by_clique(potentials, found["clique"]) if cliques else {}, how)

    def sample(self, potentials: GraphPotentials, n: int, seed: int, threads: int) -> Labeled:
        """Return labelings after burn-in, from the chains in turn."""
        label, end = first_labelings(potentials, min(self.chains, n), seed, self.budget)
        found = _native.gibbs_sample(
            kernels,
            potentials.problem,
            blocks_of(potentials, self.block),
            label.ravel(),
            len(label),
            self.burn,
            self.thin,
            n,
            seed,
            threads,
        )
        drawn: Ids = found["label"]
        score = np.where(end == FOUND, potentials.labeling_score(np.maximum(drawn, 0)), -np.inf)
        sweeps = -(-n // len(label)) * self.thin
        return Labeled(drawn, score, self._how(potentials, end, found, len(label), sweeps))

    def _how(
        self, potentials: GraphPotentials, end: Any, found: dict[str, Any], chains: int, sweeps: int
    ) -> How:
        graphs = potentials.batch.graphs
        first = found["first"].reshape(graphs, chains, 3)
        sums = found["sum"].reshape(graphs, chains, 2, 3, 2)
        ratio = np.where(end == FOUND, r_hat(first, sums, sweeps), 1.0)
        notes: tuple[str, ...] = ()
        if (end == FOUND).any():
            worst = int(np.argmax(ratio))
            notes = (f"largest R-hat {ratio[worst]:.4g}, of graph {worst}",)
        lost = np.flatnonzero(end > NONE)
        if lost.size:
            notes += (f"no allowed labeling of graph {lost[0]} was found; method=Elimination() looks at all",)
        return How.of(
            self.name,
            graphs,
            exact=end == NONE,
            converged=(end <= NONE) & (ratio < self.limit),
            sweeps=np.where(end == FOUND, self.burn + sweeps, 0),
            notes=notes + notes_of(end),
        )


def r_hat(first: Floats, sums: Floats, sweeps: int) -> Floats:
    """Return the largest R-hat of what was watched of each graph, [N]; inf where there are too few sweeps.

    Parameters
    ----------
    first : array [N, chains, 3]
        What was watched of the first sweep, and taken off the others.
    sums : array [N, chains, 2, 3, 2]
        Sums of values and of squares over the halves of chains.
    sweeps : int
        Sweeps of each chain.
    """
    if sweeps < 4:
        return np.full(len(first), np.inf)
    count = np.array([sweeps // 2, sweeps - sweeps // 2], dtype=np.float64)[:, None]  # [2, 1]
    with np.errstate(over="ignore", invalid="ignore"):  # squares of huge scores: R-hat is inf
        shift = sums[..., 0] / count  # [N, chains, 2, 3]
        within = (sums[..., 1] / count - shift**2) * count / (count - 1.0)
        mean = (first[:, :, None] + shift).reshape(len(first), 2 * first.shape[1], 3)
        # What rounding leaves of a constant.
        scale = 1e-12 * (1.0 + np.abs(mean).max(axis=1, initial=0.0) ** 2)
        inside = np.maximum(within.mean(axis=(1, 2)), 0.0)  # [N, 3]
        between = mean.var(axis=1, ddof=1)
        scale[np.isinf(scale)] = 0.0
        still = (inside <= scale) & (between <= scale)
        ratio = np.sqrt(1.0 - 1.0 / count[0] + between / np.where(inside > 0.0, inside, np.nan))
        ratio = np.where(still, 1.0, np.where(np.isnan(ratio), np.inf, ratio))
    largest: Floats = ratio.max(axis=1, initial=1.0)
    return largest
