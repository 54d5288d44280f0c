"""Chains whose every step is a distribution of its own: maximum-entropy Markov models.

    p(y | x) = prod_t softmax(node[t] + edge[t, y_{t-1}])[y_t],   y_1 by softmax(node[1] + start)

(McCallum, Freitag & Pereira 2000). With the normalizer taken from each step they are chains with scores by
position and log Z = 0, so that every query of `crfkit.inference` answers for them. What a label passes on
does not depend on what follows: that is their bias (Lafferty, McCallum & Pereira 2001, section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.structures.chains.chain import Chain
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.constraints import Constraint
from crfkit.structures.structure import Scores


@dataclass(frozen=True)
class LocalChain(Chain):
    """A maximum-entropy Markov model: a chain of order 1 whose every step is a distribution of its own.

    Parameters
    ----------
    labels : int or list of str, optional
        Label names, or their number; without them, they are to be found in training data.

    Examples
    --------
    >>> from crfkit import inference
    >>> from crfkit.data.batch import Batch
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 0, 0], attr=[])
    >>> scores = {"node": np.array([[0.0, 1.0], [0.5, 0.0]]), "transition": np.array([1.0, 0.0, 0.0, 1.0])}
    >>> bool(abs(inference.log_partition(LocalChain(2).potentials_of(scores, batch))[0]) < 1e-12)
    True
    """

    kind: ClassVar[str] = "local-chain"
    objective: ClassVar[str] = "local"
    local: ClassVar[bool] = True

    def __init__(
        self,
        labels: int | Iterable[str] | None = None,
        order: int = 1,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        if order != 1 or constraints:
            raise ValueError(
                f"a local chain has order 1 and no constraints; this one has order {order} and "
                f"{len(constraints)} constraints"
            )
        super().__init__(labels)

    def describe(self) -> str:
        """Return the name that messages use for the structure."""
        return "a local chain"

    def cells(self) -> int:
        """Return how many scores a position has: normalized steps have their own."""
        return len(self.labels) * (len(self.labels) + 1)

    def potentials_of(self, scores: Scores, batch: Batch) -> ChainPotentials:
        """Return potentials of the scores of a batch, each step normalized."""
        return normalized_by_step(self.unnormalized(scores, batch))

    def unnormalized(self, scores: Scores, batch: Batch) -> ChainPotentials:
        """Return the same before steps are normalized: all that training needs, without [P, L, L]."""
        if "stop" in scores:
            raise ValueError(
                "a local chain has no stop weights: what follows a label does not change its step"
            )
        return super().potentials_of(scores, batch)


def normalized_by_step(potentials: ChainPotentials) -> ChainPotentials:
    """Return scores of order 1 with the labels that can follow each label normalized; stop scores stay.

    A label that nothing can follow can only be the last one of its sequence.

    Examples
    --------
    >>> from crfkit import inference
    >>> from crfkit.structures import Chain
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0]], edge=[[1.0, 0.0], [0.0, 1.0]])
    >>> local = normalized_by_step(scores)
    >>> abs(inference.log_partition(local)) < 1e-12
    True
    """
    if potentials.structure.order != 1:
        raise ValueError(f"the chain has order {potentials.structure.order}; steps are normalized in order 1")
    node, L = potentials.node, potentials.node.shape[1]
    begins = potentials.seq_ptr[:-1][np.diff(potentials.seq_ptr) > 0]
    first = node[begins] if potentials.start is None else node[begins] + potentials.start  # [N, L]
    steps = np.zeros_like(node)  # [P, L]: all that is left of the nodes is the first of each sequence
    steps[begins] = _normalized(first)
    edge = np.ascontiguousarray(_normalized(potentials.edge[0] + node[:, None, :]))  # [P, L, L]
    edge[begins] = np.zeros((L, L))  # steps from nowhere
    return replace(potentials, node=steps, edge=(edge,), start=None, unnormalized=potentials)


def _normalized(scores: Floats) -> Floats:
    """Subtract the logarithm of the sum over the last axis; rows of -inf stay."""
    total = np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    made: Floats = scores - np.where(np.isneginf(total), 0.0, total)
    return made
