"""The approximate diagonal of the Hessian of the likelihood: each position's variance of each feature.

    H_f = sum_k sum_i [ E f(y_{i-1}, y_i, x_k, i)^2 - (E f(y_{i-1}, y_i, x_k, i))^2 ]

Sha & Pereira (2003) section 3, the unnumbered equation for H_f: the square of a global feature is replaced by
the squares of its local values, so that one sweep is enough. A node feature of value v on label y adds
v^2 mu_i(y) (1 - mu_i(y)), a step adds mu_i(x, y) (1 - mu_i(x, y)); sequence weights scale both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats
from crfkit.linear.feature_counts import squared
from crfkit.linear.objective import Family
from crfkit.linear.score import scatter

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

BLOCK_BYTES = 1 << 26  # of edge marginals in memory at a time


def diagonal_lacks(loss: LinearLoss) -> str:
    """Return why a loss has no such diagonal; empty where it has one."""
    if loss.objective.family is not Family.LIKELIHOOD:
        return f"the objective {loss.objective.name}"
    chain = loss.structure.is_chain and loss.structure.order in (0, 1)
    return "" if chain else f"{loss.structure.describe()}, only chains of order 1"


def approximate_diagonal(loss: LinearLoss, w: Floats) -> Floats:
    """Return H_f of the loss (not of its penalty) at w, [F]; block by block of sequences."""
    layout, threads = loss.layout, loss.threads
    diagonal = np.zeros(layout.weights)
    for chosen in loss.batch.cut(max(BLOCK_BYTES // (8 * layout.labels**2), 1)):
        part = loss.part(chosen)
        potentials = part.potentials(w)
        found = inference.marginals(potentials, edges_by_position=True, threads=threads)
        each = np.repeat(part.weight, np.diff(part.batch.seq_ptr))  # [P]
        variance = {"node": found.node * (1.0 - found.node) * each[:, None]}  # [P, L]
        if "edge" in layout.slots:
            steps = (found.edge * (1.0 - found.edge)).reshape(len(each), -1)  # [P, L * L]
            variance["edge"] = steps * each[:, None]
        filled = np.diff(part.batch.seq_ptr) > 0
        for name, at in (("start", part.batch.seq_ptr[:-1]), ("stop", part.batch.seq_ptr[1:] - 1)):
            variance[name] = variance["node"][at[filled]].sum(axis=0)
        scatter(layout, squared(part.batch), variance, threads=threads, out=diagonal, add=True)
    return diagonal
