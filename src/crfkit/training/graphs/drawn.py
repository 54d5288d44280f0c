"""Rough sums of large graphs: where training begins, and whether links help.

On images whose labels come in large areas, messages hardly come to rest at the weights that are sought: the
likelihood jumps, and a sum costs seconds. Draws do not jump, and a sweep of them costs hundredths. So weights
of links are learned by persistent contrastive divergence, begun at those of variables alone. Where links
weigh much, one label may fill the best labeling although probabilities are right; so labels are compared with
those of variables alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.arrays import Floats
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.models.graph_model import GraphModel
from crfkit.objectives import ContrastiveDivergence
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.parts import part_of
from crfkit.training.graphs.validation import GraphValidation

_STEPS = 500  #: steps of AdaGrad, one for each part of the data
_LEAST, _MOST = 25, 400  #: passes over the data
_VISITS = 50_000_000  #: variables drawn; a million takes half a second
_PARTS = 32
_JUDGED = 60_000  #: variables that are labeled to compare
_SHARES = (0.7, 0.5, 0.35, 0.2, 0.1)  #: of the way from variables alone


def passes_of(batch: GraphBatch) -> int:
    """Return how many passes of contrastive divergence begin the training: as many as their cost allows."""
    wanted = -(-_STEPS // max(min(batch.graphs, _PARTS), 1))
    return max(min(wanted, _MOST, _VISITS // max(batch.variables, 1)), _LEAST)


def drawn_loss(loss: GraphLoss) -> GraphLoss:
    """Return persistent contrastive divergence on the graphs of a likelihood."""
    return GraphLoss(
        ContrastiveDivergence(persistent=True),
        loss.layout,
        loss.batch,
        loss.method,
        weight=loss.weight,
        gold=loss.gold,
        threads=loss.threads,
    )


def no_worse(
    model: GraphModel, alone: Floats, batch: GraphBatch, method: Method, threads: int | None
) -> GraphModel:
    """Return the model, or one of weaker links where its labels are worse than those of variables alone.

    Parameters
    ----------
    model : GraphModel
    alone : array [F]
        The weights of variables alone.
    batch : GraphBatch
        What it was trained on; some of it is labeled.
    method : Method
    threads : int, optional
    """
    order = np.random.default_rng(0).permutation(batch.graphs)
    size = np.bincount(batch.graph_of, minlength=batch.graphs)[order]
    some = np.sort(order[: max(int(np.searchsorted(np.cumsum(size), _JUDGED, side="right")), 1)])
    part = part_of(batch, some).batch
    assert part.label is not None
    if not (part.label >= 0).any():
        return model
    judge = GraphValidation(replace(model, training=None), part, "accuracy", method, threads)
    learned, least = judge(model.w), judge(alone)
    if learned >= least or model.training is None:
        return model
    weaker = [alone + share * (model.w - alone) for share in _SHARES]
    scores = [*map(judge, weaker), least]
    best = int(np.argmax(scores))
    what = f"links weigh {_SHARES[best]:g} of that" if best < len(weaker) else "links were left out"
    note = (
        f"{learned:.3g} of the labels are right with all that was learned of links, {least:.3g} by variables "
        f"alone, so {what}: {scores[best]:.3g}"
    )
    training = replace(model.training, notes=(*model.training.notes, note))
    return replace(model, w=[*weaker, alone][best], training=training)
