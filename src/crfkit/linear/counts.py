"""A chain's likelihood as counts in groups of sequences: what iterative scaling asks for.

Sequences are grouped by T(x) = max_y sum_k F_k(x, y), the largest total of feature values that a labelling of
x can have (Lafferty et al. 2001, section 4): the score of the best path when all weights are 1.
"""

from __future__ import annotations

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Pointers
from crfkit.data.batch import Batch
from crfkit.linear.diagonal import BLOCK_BYTES
from crfkit.linear.score import has_edges, scatter, score, score_edges, transpose
from crfkit.objectives.likelihood import LikelihoodProblem
from crfkit.structures import ChainPotentials

__all__ = ["ChainCounts"]


class ChainCounts:
    """The counts of a likelihood; a `crfkit.optimise.scaling.Counted`.

    Parameters
    ----------
    problem : LikelihoodProblem
        With a path or a distribution as gold, and no feature value below 0.
    groups : int, optional
        The most groups. Where there are more distinct totals they are rounded up, which keeps every step an
        improvement but makes it shorter. None: one for each total. Expectations take 16 bytes per group
        and weight.

    Examples
    --------
    >>> from crfkit.linear.layout import Layout
    >>> from crfkit.objectives import Likelihood
    >>> from crfkit.structures import Chain
    >>> batch = Batch(seq_ptr=[0, 2, 3], attr_ptr=[0, 2, 3, 4], attr=[0, 1, 0, 0], label=[1, 0, 1])
    >>> problem = Likelihood().bind(Layout.all_pairs(batch, labels=2), Chain(2), batch)
    >>> ChainCounts(problem).totals.tolist()  # 3 attributes and a transition; 1 attribute
    [1.0, 4.0]
    """

    def __init__(self, problem: LikelihoodProblem, *, groups: int | None = 64) -> None:
        if problem.kind == "set":
            raise ValueError("iterative scaling needs gold labels at all positions, not sets of labels")
        if groups is not None and groups < 1:
            raise ValueError(f"groups is {groups}, expected 1 or more")
        _check_counts(problem.batch)
        self.problem = problem
        self.observed = problem.observed  # [F]
        each = _totals(problem)  # [N]
        distinct = np.unique(each)
        if groups is not None and len(distinct) > groups:
            ends = np.linspace(0, len(distinct), groups + 1).astype(int)[1:] - 1
            distinct = distinct[ends]
        group = np.searchsorted(distinct, each)  # [N] the least total that is no smaller
        self.totals: Floats = distinct  # [G]
        members = [np.flatnonzero(group == g) for g in range(len(distinct))]
        self.sequences = np.array([problem.weight[m].sum() for m in members])  # [G]
        self._parts = [[_Part(problem, run) for run in _runs(problem, m)] for m in members]

    @property
    def size(self) -> int:
        """Number of weights, F."""
        return self.problem.size

    def expect(self, w: Floats, expected: Floats) -> float:
        """Return the loss at w; the expected counts of each group go to `expected` [G, F]."""
        expected[:] = 0.0
        value = sum(
            part.add_expected(w, out)
            for parts, out in zip(self._parts, expected, strict=True)
            for part in parts
        )
        return value - float(self.observed @ w)


def _runs(problem: LikelihoodProblem, sequences: Pointers) -> list[Pointers]:
    """Cut sequences into runs whose scores by position, if there are any, take a bounded room."""
    if not has_edges(problem.layout, problem.batch):
        return [sequences]
    chosen = problem.batch.select(sequences.tolist())
    return [sequences[run] for run in chosen.cut(BLOCK_BYTES // (8 * problem.layout.labels**2))]


class _Part:
    """Sequences of one group."""

    def __init__(self, problem: LikelihoodProblem, sequences: Pointers) -> None:
        self.problem, self.batch = problem, problem.batch.select(sequences.tolist())
        self.weight = problem.weight[sequences]  # [n]
        self.index = transpose(problem.layout, self.batch)

    def add_expected(self, w: Floats, out: Floats) -> float:
        """Add expected counts to out [F]; return the sum of weight * log Z."""
        problem, batch = self.problem, self.batch
        weighted = bool((self.weight != 1.0).any())
        potentials = _potentials(problem, batch, w)
        found = inference.marginals(potentials, edges_by_position=weighted, threads=problem.threads)
        each = np.repeat(self.weight, np.diff(batch.seq_ptr))  # [p]
        node = found.node * each[:, None]
        filled = batch.seq_ptr[1:] > batch.seq_ptr[:-1]
        scatter(
            problem.layout,
            batch,
            node,
            found.edge * each[:, None, None] if found.edge.ndim == 3 else found.edge,
            node[batch.seq_ptr[:-1][filled]].sum(axis=0),
            node[batch.seq_ptr[1:][filled] - 1].sum(axis=0),
            index=self.index,
            threads=problem.threads,
            out=out,
            add=True,
        )
        return float(self.weight @ found.log_partition)


def _potentials(problem: LikelihoodProblem, batch: Batch, w: Floats) -> ChainPotentials:
    layout, threads = problem.layout, problem.threads
    scores = score(layout, w, batch, threads=threads)
    edge = scores.edge
    if scores.per_position:
        edge = score_edges(layout, w, batch, 0, batch.positions, threads=threads)
    return problem.chain.potentials(
        scores.node, edge, start=scores.start, stop=scores.stop, seq_ptr=batch.seq_ptr
    )


def _totals(problem: LikelihoodProblem) -> Floats:
    """Return T(x) of each sequence, [N]."""
    ones, found = np.ones(problem.size), []
    for run in _runs(problem, np.arange(problem.batch.sequences)):
        potentials = _potentials(problem, problem.batch.select(run.tolist()), ones)
        found += [labelling.score for labelling in inference.decode(potentials, threads=problem.threads)]
    return np.round(found, 6)  # real values: no group for each rounding error


def _check_counts(batch: Batch) -> None:
    for name in ("value", "edge_value", "dense"):
        array = getattr(batch, name)
        if array is not None and (array < 0.0).any():
            at = tuple(np.argwhere(array < 0.0)[0].tolist())
            raise ValueError(
                f"{name}{list(at)} is {array[at]}: iterative scaling needs feature values of 0 or more; "
                "split such features into a positive and a negative part, or use LBFGS"
            )
