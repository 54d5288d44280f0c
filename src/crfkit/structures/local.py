"""Chains whose every step is a distribution of its own: maximum-entropy Markov models.

    p(y | x) = prod_t softmax(node[t] + edge[t, y_{t-1}])[y_t],   y_1 by softmax(node[1] + start)

(McCallum, Freitag & Pereira 2000). With the normaliser taken from each step they are chains with scores by
position and log Z = 0, so that every query of `crfkit.inference` answers for them. What a label passes on
does not depend on what follows: that is their bias (Lafferty, McCallum & Pereira 2001, section 2).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.arrays import Floats
from crfkit.structures.chain import ChainPotentials

__all__ = ["normalised_by_step"]


def normalised_by_step(potentials: ChainPotentials) -> ChainPotentials:
    """Return scores of order 1 with the labels that can follow each label normalised; stop scores stay.

    A label that nothing can follow ends no sequence but the one it is the last of.

    Examples
    --------
    >>> from crfkit import inference
    >>> from crfkit.structures import Chain
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]], edge=[[1.0, 0.0], [0.0, 1.0]])
    >>> local = normalised_by_step(scores)
    >>> abs(inference.log_partition(local)) < 1e-12
    True
    """
    if potentials.structure.order != 1:
        raise ValueError(f"the chain has order {potentials.structure.order}; steps are normalised in order 1")
    node, L = potentials.node, potentials.node.shape[1]
    begins = potentials.seq_ptr[:-1][np.diff(potentials.seq_ptr) > 0]
    first = node[begins] if potentials.start is None else node[begins] + potentials.start  # [N, L]
    steps = np.zeros_like(node)  # [P, L]: all that is left of the nodes is the first of each sequence
    steps[begins] = _normalised(first)
    edge = np.ascontiguousarray(_normalised(potentials.edge[0] + node[:, None, :]))  # [P, L, L]
    edge[begins] = np.zeros((L, L))  # steps from nowhere
    return replace(potentials, node=steps, edge=(edge,), start=None)


def _normalised(scores: Floats) -> Floats:
    """Take the logarithm of the sum over the last axis away; rows of -inf stay."""
    total = np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    made: Floats = scores - np.where(np.isneginf(total), 0.0, total)
    return made
