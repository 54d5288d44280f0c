"""One network of which few labels are known: where training begins, and what is kept of links.

Where links weigh much, belief propagation has several fixed points and the likelihood of hidden labels jumps
between them. So training begins where it has one: at the weights of variables alone, without links. And what
few labels say of links may be worse than nothing: how much of it is kept, and whether links know more than
"same or not", is decided by known labels that are held out, each fold predicted from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, Ids, Pointers
from crfkit.inference.methods.belief import BeliefPropagation
from crfkit.linear.graphs.layout import cell_numbers
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.layout import Layout
from crfkit.structures.graphs.batch import GraphBatch

_FOLDS = 5
#: By how many labels, over the root of their number, links must find more than variables alone, as links have
#: seen all labels; and less of links more than all of them.
_GAIN, _LOSS = 0.5, 0.25
_SCALES = (1.0, 0.5, 0.25, 0.125)
_ROUGH = BeliefPropagation(tol=1e-2, sweeps=30)  # labels are predicted, not weights learned


@dataclass(frozen=True, eq=False)
class Shrunk:
    """What became of the weights of links."""

    w: Floats  #: [F]
    note: str  #: what was chosen, for people; empty where all was kept


def few_labels(batch: GraphBatch) -> bool:
    """Return whether this is one network with links, of which half of the labels or more are hidden."""
    assert batch.label is not None
    free = batch.width > 1
    known = (batch.label >= 0) & free
    links = any(len(scope) for name, scope in batch.scopes.items() if scope.shape[1] > 1)
    return batch.graphs == 1 and links and _FOLDS <= 2 * known.sum() <= free.sum()


def without_links(batch: GraphBatch, label: Ids | None = None) -> GraphBatch:
    """Return the variables without the factors of several of them; with other labels, if given."""
    none = np.zeros(0, dtype=np.int64)
    several = {name for name, scope in batch.scopes.items() if scope.shape[1] > 1}
    scopes = {name: scope[:0] if name in several else scope for name, scope in batch.scopes.items()}
    features = {name: each.take(none) if name in several else each for name, each in batch.features.items()}
    return replace(
        batch, scopes=scopes, features=features, label=batch.label if label is None else label, _kept={}
    )


def shrunk(
    batch: GraphBatch,
    layout: Layout,
    w: Floats,
    alone: Callable[[Ids], Floats],
    seed: int,
    threads: int | None,
) -> Shrunk:
    """Return the weights under which most labels that were held out are found.

    `alone` returns the weights [F] that are learned from some labels [V] without links. Candidates are the
    learned weights `w`, those of variables alone, and these with links in a part of what was learned, for
    each label or only "same or not".
    """
    assert batch.label is not None
    label = batch.label
    known = np.flatnonzero((label >= 0) & (batch.width > 1))
    fold = np.random.default_rng(seed).permutation(len(known)) % _FOLDS
    scores = GraphScores(layout, batch)
    candidates = list(_links(batch, layout, w))
    if not candidates[0][1].any():
        return Shrunk(w, "")
    bases = [alone(left) for left, _ in _held(label, known, fold)]

    def right_by(links: Floats) -> int:
        total = 0
        for base, (left, held) in zip(bases, _held(label, known, fold), strict=True):
            made = replace(scores.potentials(base + links, threads=threads), observed=left)
            p = inference.marginals(made, cliques=False, method=_ROUGH, threads=threads)
            total += _right(batch, p, held)
        return total

    spread = np.sqrt(len(known))
    learned, none = right_by(candidates[0][1]), right_by(candidates[-1][1])
    if learned - none >= _GAIN * spread and len(known) - learned < _LOSS * spread:
        return Shrunk(w, "")  # nothing else could find enough more
    right = np.array([learned, *(right_by(links) for _, links in candidates[1:-1]), none])
    best = int(np.argmax(right))  # the first of equals keeps most
    if right[best] - right[-1] < _GAIN * spread:
        best = len(right) - 1
    elif right[best] - right[0] < _LOSS * spread:
        return Shrunk(w, "")
    name, links = candidates[best]
    note = (
        f"few labels are known: links were {name}, as {right[best]} of the {len(known)} known labels "
        f"are then found by the others ({right[0]} as learned, {right[-1]} without links)"
    )
    return Shrunk(alone(label) + links, note)


def _held(label: Ids, known: Pointers, fold: Pointers) -> Iterator[tuple[Ids, Pointers]]:
    """Yield the labels [V] that each fold leaves, and the variables that it holds out."""
    for f in range(_FOLDS):
        held = known[fold == f]
        left = label.copy()
        left[held] = -1
        yield left, held


def _links(batch: GraphBatch, layout: Layout, w: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield candidates for the weights of links [F], that of all that was learned first, none last."""
    learned, tied = np.zeros_like(w), np.zeros_like(w)
    for name, scope in batch.scopes.items():
        part = layout.parts[name]
        if scope.shape[1] > 1:
            learned[part] = w[part]
            tied[part] = _tied(batch, layout, name, w[part])
    for scale in _SCALES:
        yield f"kept at {scale:g} of their weights", scale * learned
    if np.abs(tied - learned).max(initial=0.0) > 1e-9:
        for scale in _SCALES:
            yield f'kept as "same or not", at {scale:g} of their weights', scale * tied
    yield "left out", np.zeros_like(w)


def _tied(batch: GraphBatch, layout: Layout, name: str, w: Floats) -> Floats:
    """Return weights of pairs of a kind with the means of equal and of different labels."""
    kinds, columns = batch.graph.cliques[name].kinds, batch.graph.cliques[name].counts
    block = next(block for block in layout.blocks if block.slot == name)
    if len(kinds) != 2 or kinds[0] != kinds[1] or columns is not None:
        return w
    numbers = cell_numbers(batch.graph, name)
    same = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.bool_)
    same[numbers.diagonal()] = True
    if (
        not same.any()
        or same.all()
        or np.isin(numbers[~np.eye(len(numbers), dtype=bool)], numbers.diagonal()).any()
    ):
        return w
    row = np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr))  # attribute of each weight
    key = 2 * row + same[block.cell]
    count = np.bincount(key)
    mean: Floats = (np.bincount(key, w) / np.maximum(count, 1))[key]
    return mean


def _right(batch: GraphBatch, p: inference.graphs.GraphMarginals, held: Pointers) -> int:
    """Return how many labels are the likeliest ones."""
    assert batch.label is not None
    total = 0
    for kind, (first, last) in batch.kind_ptr.items():
        of = held[(held >= first) & (held < last)]
        total += int((p[kind][of - first].argmax(axis=1) == batch.label[of]).sum()) if len(of) else 0
    return total
