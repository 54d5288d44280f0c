"""All dependency trees, binary trees and alignment paths of a few words, as the parts that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import torch
from torch import Tensor

from crfkit.torch.trees import Alignments, ConstituencyTrees, DependencyTrees
from crfkit.torch.trees.structures import Structures

Part = tuple[int, ...]


def heads(n: int, projective: bool, multiroot: bool) -> Iterator[list[int]]:
    """Heads of each word of every tree: the word itself where it is a root."""
    for tree in product(range(n), repeat=n):
        roots = [j for j in range(n) if tree[j] == j]
        if (n and not roots) or (not multiroot and len(roots) > 1) or not all(map(_ends(tree), range(n))):
            continue
        arcs = [(-1 if h == j else h, j) for j, h in enumerate(tree)]
        ends = [(min(a), max(a)) for a in arcs]
        if projective and any(a < c < b < d for a, b in ends for c, d in ends):
            continue
        yield list(tree)


def _ends(tree: tuple[int, ...]) -> Callable[[int], bool]:
    def reaches_the_root(j: int) -> bool:
        for _ in tree:
            if tree[j] == j:
                return True
            j = tree[j]
        return False

    return reaches_the_root


def binary(i: int, j: int) -> Iterator[list[Part]]:
    """Spans of every binary tree of the words i to j."""
    if i == j:
        yield [(i, i)]
    for k in range(i, j):
        for left in binary(i, k):
            for right in binary(k + 1, j):
                yield [(i, j), *left, *right]


def paths(n: int, m: int) -> Iterator[list[Part]]:
    """Steps of every path to the last cell."""

    def to(i: int, j: int) -> Iterator[list[Part]]:
        if (i, j) == (0, 0):
            yield [(0, 0, 1)]
        for kind, a, b in ((0, i, j - 1), (1, i - 1, j - 1), (2, i - 1, j)):
            if a >= 0 and b >= 0:
                for path in to(a, b):
                    yield [*path, (i, j, kind)]

    return to(n - 1, m - 1)


def every(shape: str, n: int, m: int, labels: int) -> list[list[Part]]:
    """Parts of every structure, with a label each where there are labels."""
    if n == 0 or m == 0:
        return [[]]
    if shape == "alignment":
        return list(paths(n, m))
    if shape == "binary":
        found: list[list[Part]] = list(binary(0, n - 1))
    else:
        each = heads(n, shape.startswith("projective"), not shape.endswith("single_root"))
        found = [[(h, j) for j, h in enumerate(tree)] for tree in each]
    if not labels:
        return found
    return [
        [(*part, label) for part, label in zip(parts, chosen, strict=True)]
        for parts in found
        for chosen in product(range(labels), repeat=len(parts))
    ]


def distribution(
    shape: str, scores: Tensor, lengths: list[int] | None = None, columns: list[int] | None = None
) -> Structures:
    """The distribution of a shape."""
    if shape == "alignment":
        return Alignments(scores, lengths, columns)
    if shape == "binary":
        return ConstituencyTrees(scores, lengths)
    multiroot = not shape.endswith("single_root")
    return DependencyTrees(scores, lengths, projective=shape.startswith("projective"), multiroot=multiroot)


def random_scores(
    shape: str, B: int, n: int, labels: int = 0, seed: int = 0, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Scores of a batch; alignments have one column more than rows."""
    generator = torch.Generator().manual_seed(seed)
    last = (n + 1, 3) if shape == "alignment" else (n, labels) if labels else (n,)
    return 2 * torch.randn(B, n, *last, generator=generator, dtype=dtype)


def events(scores: Tensor, structures: list[list[Part]]) -> Tensor:
    """Structures as 0 and 1 for each part, [structures, ...]."""
    made = scores.new_zeros(len(structures), *scores.shape)
    for event, parts in zip(made, structures, strict=True):
        for part in parts:
            event[part] = 1
    return made


def totals(scores: Tensor, structures: list[list[Part]]) -> Tensor:
    """Scores of structures, [structures]."""
    made = [
        sum((scores[part].double() for part in parts), torch.zeros((), dtype=torch.float64))
        for parts in structures
    ]
    return torch.stack(made) if made else torch.zeros(0, dtype=torch.float64)
