"""Labelings of graphs and their features: all of a small graph, or draws from a model.

For each graph they stand for its sum as a function of the weights, by the difference to the gold:

    Z(w) / exp(score of the gold) = sum over labelings a of exp(base_a + w . difference_a)

With all labelings this is exact. With draws from the model at weights w0 it is an estimate by importance
sampling, up to a constant: base_a = log(share of the draws) - w0 . difference_a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.linear.graphs.score import CliqueScores
from crfkit.structures.graphs.potentials import GraphPotentials, table_numbers

#: Numbers that the labelings of all graphs may have: 2 GB.
_MOST = 2**28


@dataclass(frozen=True, eq=False)
class Labelings:
    """Labelings of one graph."""

    base: Floats  #: [A]
    difference: Floats  #: [A, f] features minus those of the gold
    weights: Pointers  #: [f] which weights these are; the others do not matter for this graph


def labelings_of(
    loss: GraphLoss, w: Floats, *, max_labelings: int, draws: int, seed: int, method: Method
) -> list[Labelings]:
    """Return labelings of each graph of a loss whose labels are all known.

    Parameters
    ----------
    loss : GraphLoss
    w : array [F]
        Weights of the model that draws.
    max_labelings : int
        Graphs with at most this many labelings have all of them.
    draws : int
        Draws from each other graph.
    seed : int
    method : Method
        The inference method that draws.
    """
    batch, fixed = loss.batch, loss.potentials(np.zeros(loss.size))
    jacobian = {each.name: _jacobian(each) for each in loss.scores.cliques}
    with np.errstate(over="ignore"):
        each = np.bincount(batch.graph_of, np.log(batch.width), minlength=batch.graphs)
    large = each > np.log(max_labelings) + 1e-9
    drawn: Ids | None = None
    if large.any():
        chosen = np.flatnonzero(large)
        part = loss.potentials(w).select(chosen)
        drawn = np.full((draws, batch.variables), -1, dtype=np.int32)
        at = np.isin(batch.graph_of, chosen)
        found = inference.sample(part, draws, seed, method=method, threads=loss.threads)
        for kind, (first, last) in batch.kind_ptr.items():
            drawn[:, first:last][:, at[first:last]] = found[kind]
    made, numbers = [], 0
    for n in range(batch.graphs):
        variables = np.flatnonzero(batch.graph_of == n)
        gold = loss.gold.label[variables]
        if large[n]:
            assert drawn is not None
            label, count = np.unique(drawn[:, variables], axis=0, return_counts=True)
        else:
            width = batch.width[variables].tolist()
            label = np.indices(width, dtype=np.int32).reshape(len(width), -1).T
            count = np.ones(len(label), dtype=np.int64)
        features, score = _features(fixed, jacobian, n, variables, np.vstack([gold, label]))
        used = np.unique(features.indices)
        chosen = features[:, used].toarray()
        difference = chosen[1:] - chosen[0]
        varies = difference.any(axis=0)
        used, difference = used[varies].astype(np.int64), np.ascontiguousarray(difference[:, varies])
        base = np.log(count / draws) - difference @ w[used] if large[n] else score[1:] - score[0]
        allowed = np.isfinite(base)
        made.append(Labelings(base[allowed], difference[allowed], used))
        numbers += difference.size
        if numbers > _MOST:
            raise ValueError(
                f"the labelings of {n + 1} of {batch.graphs} graphs have {numbers:.3g} features, more than "
                f"{_MOST}; lower max_labelings={max_labelings} or draws={draws}, or train on fewer graphs"
            )
    return made


def _jacobian(scores: CliqueScores) -> Any:
    """Return the derivative of the tables of a clique by the weights, sparse [K * cells, F]."""
    from scipy.sparse import csr_array, eye_array, kron

    layout, name, given = scores.layout, scores.name, scores.features
    block, columns, part = layout.block[name], layout.slots[name].cells, layout.parts[name]
    row = np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr)) * columns + block.cell
    place = (row, part.start + np.arange(len(row)))
    chosen = csr_array((np.ones(len(row)), place), shape=((len(block.ptr) - 1) * columns, layout.weights))
    if given is None:
        features = csr_array(np.ones((1, 1)))
    elif given.dense is not None:
        features = csr_array(given.dense)
    else:
        assert given.rows is not None
        value = np.ones(len(given.rows.id)) if given.rows.value is None else given.rows.value
        shape = (len(given), len(block.ptr) - 1)
        features = csr_array((value, given.rows.id, given.rows.ptr), shape=shape)
    spread = eye_array(columns) if scores.spread is None else scores.spread
    return csr_array(kron(features, spread, format="csr") @ chosen)


def _features(
    fixed: GraphPotentials, jacobian: dict[str, Any], n: int, variables: Pointers, label: Ids
) -> tuple[Any, Floats]:
    """Return the features of labelings [A, v] of graph n, sparse [A, F], and their scores at w = 0."""
    from scipy.sparse import csr_array

    batch, A = fixed.batch, len(label)
    place = np.zeros(batch.variables, dtype=np.int64)
    place[variables] = np.arange(len(variables))
    features, score = csr_array((A, next(iter(jacobian.values())).shape[1])), np.zeros(A)
    for name, table in fixed.tables.items():
        factors = np.flatnonzero(batch.graph_of[batch.scopes[name][:, 0]] == n)
        scope = place[batch.scopes[name][factors]]  # [m, a]
        which = np.asarray(table_numbers(table, len(batch.scopes[name])))[factors]
        scale = np.ones(len(factors)) if table.scale is None else table.scale[factors]
        index = (np.broadcast_to(which, (A, len(factors))), *np.moveaxis(label[:, scope], 2, 0))
        cell = np.ravel_multi_index(index, table.scores.shape)  # [A, m]
        score += table.scores.ravel()[cell] @ scale
        ptr = np.arange(A + 1) * len(factors)
        taken = csr_array((np.tile(scale, A), cell.ravel(), ptr), shape=(A, jacobian[name].shape[0]))
        features = features + taken @ jacobian[name]
    return features, score
