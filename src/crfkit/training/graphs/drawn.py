"""Rough sums of large graphs: where training begins, and whether links help.

On images whose labels come in large areas, messages hardly come to rest at the weights that are sought: the
likelihood jumps, and a sum costs seconds. Draws do not jump, and a sweep of them costs hundredths. So weights
of links are learned by persistent contrastive divergence, begun at those of variables alone. Where links
weigh much, one label may fill the best labeling although probabilities are right, or sums by messages may be
wrong where the best labeling is right; so labels of both are compared with each other, and with those of
variables alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.arrays import Floats, Pointers
from crfkit.inference.methods.method import Method
from crfkit.linear.graphs.loss import GraphLoss
from crfkit.models.graph_model import Decoding, GraphModel
from crfkit.objectives import ContrastiveDivergence
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.parts import part_of
from crfkit.training.graphs.validation import GraphValidation

_STEPS = 500  #: steps of AdaGrad, one for each part of the data
_LEAST, _MOST = 25, 400  #: passes over the data
_VISITS = 50_000_000  #: variables drawn; a million takes half a second
_PARTS = 32
_JUDGED = 60_000  #: variables that are labeled to compare
_SHARES = (0.7, 0.5, 0.35, 0.2, 0.1)  #: of the way from variables alone, while more is found


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


def held_out(batch: GraphBatch) -> Pointers:
    """Return the graphs that judge what the others learn: up to a quarter; none of fewer than four."""
    order = np.random.default_rng(0).permutation(batch.graphs)[: batch.graphs // 4]
    return np.sort(order[: _within(batch, order)])


def no_worse(
    model: GraphModel,
    alone: Floats,
    batch: GraphBatch,
    method: Method,
    threads: int | None,
    *,
    others: Floats | None = None,
) -> GraphModel:
    """Return the model with the better decoding, and with weaker links where these find more.

    Parameters
    ----------
    model : GraphModel
    alone : array [F]
        The weights of variables alone.
    batch : GraphBatch
        What it was trained on; some of it is labeled.
    method : Method
    threads : int, optional
    others : array [F], optional
        The weights of variables alone by graphs that are not `held_out`, whose labels are compared then.
        Default: those of all graphs are.
    """
    graphs = held_out(batch) if others is not None else np.arange(batch.graphs)
    part = part_of(batch, graphs[: _within(batch, graphs)]).batch
    if model.training is None or part.label is None or not (part.label >= 0).any():
        return model
    base = alone if others is None else others
    judges: dict[Decoding, GraphValidation] = {
        decoding: GraphValidation(
            replace(model, training=None), part, "accuracy", method, threads, decoding=decoding
        )
        for decoding in ("posterior", "viterbi")
    }
    least = judges["viterbi"](base)
    right = {(decoding, 1.0): judge(base + model.w - alone) for decoding, judge in judges.items()}
    likeliest, best_labeling = right.values()
    for decoding in ("posterior", "viterbi") if likeliest < best_labeling else ("posterior",):
        last = right[decoding, 1.0]
        for share in _SHARES:
            here = right[decoding, share] = judges[decoding](base + share * (model.w - alone))
            if here <= last and here >= least:
                break
            last = here
    (decoding, share), found = max(right.items(), key=lambda each: each[1])
    what = f'predict gives "{decoding}"'
    if found < least:
        share, what = 0.0, "links are left out"
    elif share < 1.0:
        what = f"{what}, and links keep {share:g} of their weights: {found:.3g}"
    of = "of training" if others is None else "held out"
    note = (
        f"{likeliest:.3g} of the labels {of} are right as the likeliest of each variable, "
        f"{best_labeling:.3g} in the best labeling, {least:.3g} by variables alone, so {what}"
    )
    training = replace(model.training, notes=(*model.training.notes, note))
    w = model.w if share == 1.0 else alone + share * (model.w - alone)
    return replace(model, w=w, decoding=decoding, training=training)


def _within(batch: GraphBatch, graphs: Pointers) -> int:
    """Return how many of these graphs are compared, at least one if there is any."""
    size = np.bincount(batch.graph_of, minlength=batch.graphs)[graphs]
    return max(int(np.searchsorted(np.cumsum(size), _JUDGED, side="right")), 1)
