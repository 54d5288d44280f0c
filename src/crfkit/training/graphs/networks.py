"""One network of which few labels are known: where training begins, and what is kept of links.

Where links weigh much, belief propagation has several fixed points and the likelihood of hidden labels jumps
between them. So training begins where it has one: at the weights of variables alone, without links. And what
few labels say of links may be worse than nothing: how much of it is kept, and whether links know more than
"same or not", is decided by known labels that are held out, each fold predicted from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from crfkit import inference
from crfkit.arrays import Bools, Floats, Ids, Pointers
from crfkit.inference.methods.belief import BeliefPropagation
from crfkit.linear.graphs.layout import cell_numbers
from crfkit.linear.graphs.score import GraphScores
from crfkit.linear.layout import Layout
from crfkit.structures.graphs.batch import GraphBatch

_FOLDS = 5
#: What says that links are of use must be this sure, as a chi square: labels that are found with them and not
#: without, and the reverse (McNemar 1947), and how often linked labels that are known are equal.
_SURE = 7.0
#: Over the root of the number of known labels: how many more of them stronger links must find than others, as
#: they make probabilities more sure; and how many may be missed where nothing else is asked.
_MORE = 0.25
_STRONGER, _WEAKER = (2.0, 4.0), (0.5, 0.25)  #: of the weights of links
_PRIOR = 2.0  #: labeled pairs that are added to each as chance has them
_ROUGH = BeliefPropagation(tol=1e-2, sweeps=30)  # labels are predicted, not weights learned


@dataclass(frozen=True, eq=False)
class Shrunk:
    """What became of the weights of links."""

    w: Floats  #: [F]
    note: str  #: what was chosen, for people; empty where all was kept


class _Tried(NamedTuple):
    """What was tried for links."""

    how: str
    links: Floats  #: [F]
    scale: float
    right: Bools  #: of known labels, which were found

    @property
    def found(self) -> int:
        return int(self.right.sum())


def few_labels(batch: GraphBatch) -> bool:
    """Return whether this is one network with links, of which a quarter of the labels or more are hidden."""
    assert batch.label is not None
    free = batch.width > 1
    known = (batch.label >= 0) & free
    links = any(len(scope) for name, scope in batch.scopes.items() if scope.shape[1] > 1)
    return batch.graphs == 1 and links and _FOLDS <= 2 * known.sum() <= 1.5 * free.sum()


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
    learned weights `w`, those of variables alone, and these with links weaker or stronger than learned, for
    each label or only "same or not", or with log odds of labeled pairs. Stronger ones too: where many links
    of hidden labels weigh as much as they should, messages have several fixed points, and training ends
    before.
    """
    assert batch.label is not None
    label = batch.label
    known = np.flatnonzero((label >= 0) & (batch.width > 1))
    fold = np.random.default_rng(seed).permutation(len(known)) % _FOLDS
    scores = GraphScores(layout, batch)
    learned, tied = _links(batch, layout, w)
    if not learned.any():
        return Shrunk(w, "")
    bases = [alone(left) for left, _ in _held(label, known, fold)]

    tried: list[_Tried] = []
    more = _MORE * np.sqrt(len(known))

    def found_by(links: Floats, how: str, scale: float = 1.0) -> int:
        """Return how many labels are found if links have these weights [F], unless others found enough."""
        most = max((each.found for each in tried), default=0)
        if most >= len(known) - more:
            return most
        right = np.zeros(len(label), dtype=np.bool_)
        for base, (left, held) in zip(bases, _held(label, known, fold), strict=True):
            made = replace(scores.potentials(base + scale * links, threads=threads), observed=left)
            p = inference.marginals(made, cliques=False, method=_ROUGH, threads=threads)
            right[held] = _right(batch, p, held)
        tried.append(_Tried(how, links, scale, right[known]))
        return tried[-1].found

    def scaled(links: Floats, first: int, how: str) -> None:
        """Try stronger links, and weaker ones where these find no more."""
        if max([found_by(links, how, scale) for scale in _STRONGER]) > first:
            return
        for scale in _WEAKER:
            here = found_by(links, how, scale)
            if here < first:
                break
            first = here

    none = found_by(np.zeros_like(w), "left out")
    as_learned = found_by(learned, "kept")
    counted = _counted(batch, layout)
    if counted.any():
        for scale in (1.0, 0.5):
            found_by(counted, "taken from labeled pairs", scale)
    scaled(learned, as_learned, "kept")
    if tied is not learned:
        how = 'kept as "same or not"'
        scaled(tied, found_by(tied, how), how)
    alone_found, *others = tried
    best = max(others, key=lambda each: each.found - more * (each.scale > 1.0), default=alone_found)
    differ = max(int((best.right != alone_found.right).sum()), 1)
    if best.found <= none or (best.found - none) ** 2 / differ + _alike(batch) < _SURE:
        best = alone_found
    if best.links is learned and best.scale == 1.0:
        return Shrunk(w, "")
    at = "" if best is alone_found else f", at {best.scale:g} of their weights"
    note = (
        f"few labels are known: links were {best.how}{at}, as {best.found} of the {len(known)} known labels "
        f"are then found by the others ({as_learned} as learned, {none} without links)"
    )
    return Shrunk(alone(label) + best.scale * best.links, note)


def _labeled_pairs(batch: GraphBatch, name: str) -> tuple[int, int, float]:
    """Return how many linked pairs have equal labels, of how many that are known, and the share by chance."""
    assert batch.label is not None
    scope, kinds = batch.scopes[name], batch.graph.cliques[name].kinds
    if len(kinds) != 2 or kinds[0] != kinds[1]:
        return 0, 0, 0.0
    first, last = batch.kind_ptr[kinds[0]]
    known = batch.label[first:last]
    pairs = batch.label[scope]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    chance = float(np.square(np.bincount(known[known >= 0]) / max(int((known >= 0).sum()), 1)).sum())
    return int((pairs[:, 0] == pairs[:, 1]).sum()), len(pairs), chance


def _alike(batch: GraphBatch) -> float:
    """Return how sure it is that linked labels are alike more or less often than by chance: a chi square."""
    most = 0.0
    for name in batch.scopes:
        same, pairs, chance = _labeled_pairs(batch, name)
        if pairs and chance < 1.0:
            most = max(most, float((same - pairs * chance) ** 2 / (pairs * chance * (1.0 - chance))))
    return most


def _counted(batch: GraphBatch, layout: Layout) -> Floats:
    """Return weights of links [F]: log odds of equal labels in labeled pairs, by those of chance."""
    made = np.zeros(layout.weights)
    for block in layout.blocks:
        same, pairs, chance = _labeled_pairs(batch, block.slot)
        if not pairs or chance >= 1.0 or block.by is not None:
            continue
        numbers = cell_numbers(batch.graph, block.slot)
        if np.isin(numbers[~np.eye(len(numbers), dtype=bool)], numbers.diagonal()).any():
            continue
        odds = (same / chance + _PRIOR) / ((pairs - same) / (1.0 - chance) + _PRIOR)
        made[layout.parts[block.slot]] = np.log(odds) * np.isin(block.cell, numbers.diagonal())
    return made


def _held(label: Ids, known: Pointers, fold: Pointers) -> Iterator[tuple[Ids, Pointers]]:
    """Yield the labels [V] that each fold leaves, and the variables that it holds out."""
    for f in range(_FOLDS):
        held = known[fold == f]
        left = label.copy()
        left[held] = -1
        yield left, held


def _links(batch: GraphBatch, layout: Layout, w: Floats) -> tuple[Floats, Floats]:
    """Return what was learned of links [F], and what is left as "same or not": the same array if all."""
    learned, tied = np.zeros_like(w), np.zeros_like(w)
    for name, scope in batch.scopes.items():
        part = layout.parts[name]
        if scope.shape[1] > 1:
            learned[part] = w[part]
            tied[part] = _tied(batch, layout, name, w[part])
    return learned, (tied if np.abs(tied - learned).max(initial=0.0) > 1e-9 else learned)


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


def _right(batch: GraphBatch, p: inference.graphs.GraphMarginals, held: Pointers) -> Bools:
    """Return which labels are the likeliest ones, of these variables."""
    assert batch.label is not None
    found = [np.zeros(0, dtype=np.int64)]  # held is in order, and so are kinds
    for kind, (first, last) in batch.kind_ptr.items():
        of = held[(held >= first) & (held < last)]
        if len(of):
            found.append(p[kind][of - first].argmax(axis=1))
    return np.asarray(np.concatenate(found) == batch.label[held])
