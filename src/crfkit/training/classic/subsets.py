"""Subsets of the features of a model: what each expert of a pool has weights of.

A subset is of attributes (by id), of labels, or both; transitions and real-valued columns are in all of them.
The ways of making them, after Smith, Cohn & Osborne (2005):

========== =============================================================================================
given      each predicate of the user chooses attributes by their names
random     each expert has a share of the attributes, drawn by itself
positional attributes of the current token, of tokens before it, of tokens after it
label      each expert has the attributes' weights of one label, or of a group of labels
========== =============================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crfkit.arrays import Bools, Pointers, pointers
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout, LayoutOptions
from crfkit.linear.plan import Block
from crfkit.structures.structure import Structure
from crfkit.training.data import TrainingData


@dataclass(frozen=True, eq=False)
class Subset:
    """Some attributes and some labels; None stands for all."""

    name: str
    attributes: Bools | None = None  #: [A]
    edges: Bools | None = None  #: [edge attributes]
    labels: Bools | None = None  #: [L]


class SubsetData(TrainingData):
    """Training data whose layout has only the weights of a subset."""

    def __init__(self, data: Dataset, subset: Subset, threads: int | None) -> None:
        maps = {"attributes": subset.attributes, "edges": subset.edges}
        ids = {
            kind: np.where(kept, np.arange(len(kept)), -1).astype(np.int32)
            for kind, kept in maps.items()
            if kept is not None and not kept.all()
        }
        if ids:
            batch = data.batch.renamed(**ids, label_count=len(data.labels))
            data = replace(data, batch=batch)
        super().__init__(data, threads)
        self.subset = subset

    def layout(
        self, structure: Structure, *, all_pairs: bool, pairs: Pointers | None, options: LayoutOptions
    ) -> Layout:
        """Return the weights that there are in the subset."""
        own = super().layout(structure, all_pairs=all_pairs, pairs=pairs, options=options)
        return restricted(own, self.subset)


def restricted(layout: Layout, subset: Subset) -> Layout:
    """Return the layout without the weights of attributes that are not in a subset.

    Examples
    --------
    >>> from crfkit.data.batch import Batch
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> layout = Layout.all_pairs(batch, 2, transitions="none")
    >>> part = restricted(layout, Subset("second label", labels=np.array([False, True])))
    >>> [(part.describe(i).attribute, part.describe(i).label) for i in range(part.weights)]
    [(0, 1), (1, 1)]
    """
    kept = {"node": subset.attributes, "edge": subset.edges}
    blocks = [
        _of_rows(block, layout.labels, kept[block.name], subset.labels) if block.name in kept else block
        for block in layout.blocks
    ]
    return replace(layout, blocks=tuple(blocks))


def _of_rows(block: Block, L: int, rows: Bools | None, labels: Bools | None) -> Block:
    """Return some rows of a block, and of these the cells whose last label is one of some."""
    row = np.repeat(np.arange(len(block.ptr) - 1), np.diff(block.ptr))
    keep = np.ones(len(row), dtype=np.bool_)
    if rows is not None:
        keep &= rows[row]
    if labels is not None:
        keep &= labels[block.cell % L]
    counts = np.bincount(row[keep], minlength=len(block.ptr) - 1)
    return replace(block, ptr=pointers(counts), cell=block.cell[keep])


def random_subsets(data: Dataset, experts: int, share: float, seed: int) -> list[Subset]:
    """Return subsets that have each attribute with probability `share`, drawn anew for each."""
    A, E = _sizes(data)
    made = []
    for k in range(experts):
        rng = np.random.default_rng([seed, k])
        made.append(Subset(f"random {k + 1}", rng.random(A) < share, rng.random(E) < share))
    return made


def chosen_subsets(data: Dataset, predicates: Sequence[Callable[[str], bool]]) -> list[Subset]:
    """Return the subsets of attributes whose names functions of the user accept."""
    node, edge = _names(data, "subsets is a list of functions of attribute names")
    made = []
    for k, accepts in enumerate(predicates):
        if not callable(accepts):
            raise TypeError(
                f"subsets[{k}] is {accepts!r}, expected a function of an attribute's name that says whether "
                "the expert has it"
            )
        both = [np.fromiter((bool(accepts(name)) for name in part), np.bool_) for part in (node, edge)]
        if not any(one.any() for one in both):
            raise ValueError(f"subsets[{k}] accepts none of the attributes, such as {node[0]!r}")
        name = getattr(accepts, "__name__", "")
        made.append(Subset(name if name.isidentifier() else f"subset {k + 1}", *both))
    return made


def label_subsets(labels: Sequence[str], experts: int | None = None) -> list[Subset]:
    """Return a subset for each label, or distribute the labels over that many subsets.

    Examples
    --------
    >>> [(one.name, one.labels.tolist()) for one in label_subsets(["A", "B", "C"], 2)]
    [('A, C', [True, False, True]), ('B', [False, True, False])]
    """
    L = len(labels)
    experts = L if experts is None else experts
    if experts > L:
        raise ValueError(f'experts is {experts}, but there are {L} labels to deal out by subsets="label"')
    dealt = [np.arange(L) % experts == k for k in range(experts)]
    return [Subset(", ".join(np.array(labels, dtype=object)[own]), labels=own) for own in dealt]


def positional_subsets(data: Dataset) -> list[Subset]:
    """Return what is known of the current token, of tokens before it, and of tokens after it.

    An attribute of tokens on both sides is in both subsets; one that says nothing of places is of the current
    token.
    """
    parts = _names(data, 'subsets="positional"')
    recipe = None if data.extractor is None else data.extractor.recipe
    templates = () if recipe is None else recipe.templates
    known = {t.literals[0]: tuple(f.offset for f in t.fields if not f.absolute) for t in templates}
    places = [[offsets_of(name, known) for name in part] for part in parts]
    rules: dict[str, Callable[[tuple[int, ...]], bool]] = {
        "current": lambda offsets: not any(offsets),
        "before": lambda offsets: min(offsets, default=0) < 0,
        "after": lambda offsets: max(offsets, default=0) > 0,
    }
    made = []
    for name, rule in rules.items():
        node, edge = (np.fromiter((rule(offsets) for offsets in part), np.bool_) for part in places)
        if node.any() or edge.any():
            made.append(Subset(name, node, edge))
    if len(made) < 2:
        raise ValueError(
            'subsets="positional": all attributes are of one place; give a template with offsets, attributes '
            'named like "w[-1]=the" or "-1:w", or subsets="random"'
        )
    return made


_BRACKETS = re.compile(r"\[([+-]?\d{1,9})(?:,\d+)?\]")
_SIGNED = re.compile(r"([+-]\d{1,9}):")


def offsets_of(name: str, templates: dict[str, tuple[int, ...]] | None = None) -> tuple[int, ...]:
    """Return the offsets of the tokens that an attribute is made of, by its template or else by its name.

    Examples
    --------
    >>> offsets_of("w[-1]=the"), offsets_of("w[-1]&w[1]=a|b"), offsets_of("+1:w:dog"), offsets_of("bias")
    ((-1,), (-1, 1), (1,), ())
    >>> offsets_of("U01:the", {"U01:": (-2,)})
    (-2,)
    """
    known = templates or {}
    for size in sorted({len(start) for start in known}, reverse=True):
        found = known.get(name[:size])
        if found is not None:
            return found
    signed = _SIGNED.match(name)
    if signed:
        return (int(signed[1]),)
    return tuple(int(offset) for offset in _BRACKETS.findall(re.split("[=:]", name, maxsplit=1)[0]))


def _names(data: Dataset, who: str) -> tuple[list[str], list[str]]:
    """Return the names of attributes and edge attributes; refuse data without names."""
    if not len(data.attributes) and len(data.batch.attr):
        raise ValueError(
            f'{who}, but the attributes are ids without names; use subsets="random" or subsets="label"'
        )
    return data.attributes.strings(), data.edge_attributes.strings()


def _sizes(data: Dataset) -> tuple[int, int]:
    """Return how many attributes and edge attributes there are."""
    batch, hashed = data.batch, 0
    if data.extractor is not None:
        hashed = data.extractor.hashed or 0
    A = max(len(data.attributes), hashed, int(batch.attr.max(initial=-1)) + 1)
    edges = 0 if batch.edge_attr is None else int(batch.edge_attr.max(initial=-1)) + 1
    return A, max(len(data.edge_attributes), edges)
