"""A Gaussian posterior of the weights by power expectation propagation: Qi, Szummer & Minka (2005).

    p(w | data) ~ N(w; 0, variance) prod_n 1 / Z_n(w),   Z_n(w) = sum_a exp(base_a + w . difference_a)

q(w) has a site exp(h . w - w' P w / 2) for each 1 / Z_n. A sum in the denominator is taken by the power -1
(Minka 2004): q is multiplied by the site once more, which gives N(w; v, V), and that by Z_n itself. The
product is a mixture of Gaussians with the covariance V, whose moments are

    shares s_a ~ exp(base_a + d_a . v + d_a' V d_a / 2),    mean v + V f,  covariance V + V C V,

f and C the mean and covariance of d under s. The site that gives q these moments is

    P = (C^-1 + V)^-1 = C (1 + V C)^-1,     h = P (v + V f) - f

P is never negative, so that q is always proper. Qi et al. also split Z_n into factors, with messages between
labels; here labels are summed out exactly, or by draws, which costs more and keeps the covariances between
factors. Sites start at the Laplace approximation around the best weights and are updated together, half of
the way (damped); where changes grow, sites go back to the least one, and go half as far from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import Floats, Pointers
from crfkit.linear.graphs.labelings import Labelings

#: How much larger than the least one a change may be before sites go back.
_GROWN = 4.0
_SHORTEST = 0.02  # share of the way


@dataclass(frozen=True, eq=False)
class Posterior:
    """A Gaussian over the weights."""

    mean: Floats  #: [F]
    covariance: Floats  #: [F, F], or its diagonal [F]
    sweeps: int  #: updates of all sites
    change: float  #: by an update: of the mean in standard deviations, or of a variance as a share
    converged: bool

    def sample(self, count: int, seed: int) -> Floats:
        """Return draws [count, F], in pairs on both sides of the mean.

        Examples
        --------
        >>> q = Posterior(np.zeros(2), np.eye(2), 1, 0.0, True)
        >>> np.allclose(q.sample(4, seed=0).sum(axis=0), 0.0)
        True
        """
        half = np.random.default_rng(seed).normal(size=(-(-count // 2), len(self.mean)))
        if self.covariance.ndim == 1:
            half = half * np.sqrt(self.covariance)
        else:
            half = half @ np.linalg.cholesky(self.covariance).T
        drawn: Floats = self.mean + np.concatenate([half, -half])[:count]
        return drawn


@dataclass(frozen=True, eq=False)
class Site:
    """The approximation of one 1 / Z_n, by the directions of weights in which it varies."""

    precision: Floats  #: P [r, r], or [r]
    linear: Floats  #: h [r]


@dataclass(frozen=True, eq=False)
class Sum:
    """Z_n by the directions of weights in which it varies, often few: its differences have a low rank."""

    base: Floats  #: [A]
    difference: Floats  #: [A, r]
    weights: Pointers  #: [f]
    basis: Floats | None  #: [r, f] orthonormal; None: the weights themselves, where covariances are diagonal

    @classmethod
    def of(cls, graph: Labelings, full: bool) -> Sum:
        """Return the sum over the labelings of a graph."""
        if not full or not graph.difference.size:
            return cls(
                graph.base, graph.difference, graph.weights, np.eye(len(graph.weights)) if full else None
            )
        left, length, right = np.linalg.svd(graph.difference, full_matrices=False)
        rank = int((length > 1e-10 * length[0]).sum())
        return cls(graph.base, left[:, :rank] * length[:rank], graph.weights, right[:rank])

    def of_mean(self, mean: Floats) -> Floats:
        """Return the mean by these directions, [r]."""
        here: Floats = mean[self.weights]
        return here if self.basis is None else self.basis @ here

    def of_covariance(self, covariance: Floats) -> Floats:
        """Return the covariance by these directions, [r, r] or [r]."""
        at, basis = self.weights, self.basis
        made: Floats = covariance[at] if basis is None else basis @ covariance[np.ix_(at, at)] @ basis.T
        return made

    def add(self, site: Site, precision: Floats, linear: Floats) -> None:
        """Add a site to the precision [F, F] or [F] and the linear term [F] of all weights."""
        at, basis = self.weights, self.basis
        if basis is None:
            precision[at] += site.precision
            linear[at] += site.linear
        else:
            precision[np.ix_(at, at)] += basis.T @ site.precision @ basis
            linear[at] += basis.T @ site.linear


def power_ep(
    graphs: Sequence[Labelings],
    w: Floats,
    prior: Floats,
    *,
    full: bool,
    max_sweeps: int,
    tolerance: float,
) -> Posterior:
    """Return the posterior of weights.

    Parameters
    ----------
    graphs : sequence of Labelings
    w : array [F]
        The weights with the highest posterior density, to begin at.
    prior : array [F]
        Variances of the weights before any data; their means are 0.
    full : bool
        Whether weights may be correlated; otherwise covariances are diagonal.
    max_sweeps : int
    tolerance : float
        Converged where a sweep changes less: means in standard deviations, variances as shares of themselves.
    """
    sums = [Sum.of(graph, full) for graph in graphs]
    sites = [_first(each, w, full) for each in sums]
    mean, covariance = _joined(sums, sites, prior, full)
    share, least, kept = 0.5, np.inf, (sites, mean, covariance)
    for sweep in range(1, max_sweeps + 1):
        pairs = zip(sums, sites, strict=True)
        moved = [_updated(each, site, mean, covariance, share) for each, site in pairs]
        new_mean, new = _joined(sums, moved, prior, full)
        change = _change(mean, covariance, new_mean, new) / share
        if change <= tolerance:
            return Posterior(new_mean, new, sweep, change, True)
        if change < least:
            least, kept = change, (sites, mean, covariance)
        if change > _GROWN * least and share > _SHORTEST:
            sites, mean, covariance = kept
            share = max(0.5 * share, _SHORTEST)
        else:
            sites, mean, covariance = moved, new_mean, new
    return Posterior(kept[1], kept[2], max_sweeps, least, False)


def _change(mean: Floats, covariance: Floats, new_mean: Floats, new: Floats) -> float:
    """Return the largest change of a mean in standard deviations, or of a variance as a share of itself."""
    before, after = (c if c.ndim == 1 else np.diagonal(c) for c in (covariance, new))
    moved = np.abs(new_mean - mean) / np.sqrt(after)
    return float(max(moved.max(initial=0.0), np.abs(after / before - 1.0).max(initial=0.0)))


def _moments(each: Sum, logits: Floats, full: bool) -> tuple[Floats, Floats]:
    """Return mean and covariance of the differences under shares that are proportional to exp(logits)."""
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    mean = shares @ each.difference
    apart = each.difference - mean
    weighted = shares[:, None] * apart
    return mean, weighted.T @ apart if full else np.einsum("af,af->f", weighted, apart)


def _first(each: Sum, w: Floats, full: bool) -> Site:
    here = each.of_mean(w)
    f, C = _moments(each, each.base + each.difference @ here, full)
    return Site(C, _times(C, here) - f)


def _updated(each: Sum, site: Site, mean: Floats, covariance: Floats, share: float) -> Site:
    """Return the site after a share of the way to the one that has the moments; letters as above."""
    d, here, S = each.difference, each.of_mean(mean), each.of_covariance(covariance)
    V = _over(S, site.precision)
    spread = d**2 @ V if V.ndim == 1 else np.einsum("ar,ar->a", d @ V, d)
    v = here + _times(V, site.linear - _times(site.precision, here))
    f, C = _moments(each, each.base + d @ v + 0.5 * spread, V.ndim == 2)
    P = _over(C, V)
    h = _times(P, v + _times(V, f)) - f
    return Site(site.precision + share * (P - site.precision), site.linear + share * (h - site.linear))


def _joined(sums: Sequence[Sum], sites: Sequence[Site], prior: Floats, full: bool) -> tuple[Floats, Floats]:
    """Return mean and covariance of the prior times all sites."""
    precision, linear = (np.diag(1.0 / prior) if full else 1.0 / prior), np.zeros(len(prior))
    for each, site in zip(sums, sites, strict=True):
        each.add(site, precision, linear)
    covariance: Floats = _symmetric(np.linalg.inv(precision)) if full else 1.0 / precision
    return _times(covariance, linear), covariance


def _over(a: Floats, b: Floats) -> Floats:
    """Return (a^-1 + b)^-1 = (1 + a b)^-1 a of two matrices or diagonals, of which a may be singular."""
    if a.ndim == 1:
        return a / (1.0 + a * b)
    return _symmetric(np.linalg.solve(np.eye(len(a)) + a @ b, a))


def _symmetric(matrix: Any) -> Floats:
    made: Floats = 0.5 * (matrix + matrix.T)
    return made


def _times(matrix: Floats, vector: Floats) -> Floats:
    """Return the product with a matrix, or with a diagonal."""
    return matrix * vector if matrix.ndim == 1 else matrix @ vector
