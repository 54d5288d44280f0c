"""What queries return: labellings and marginals in the user's labels, cut out of the kernels' flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools, Floats, Ids
from crfkit.structures import ChainPotentials, SemiMarkovPotentials, TreePotentials

__all__ = ["Labelling", "Marginals", "Potentials", "one_or_all"]

Potentials: TypeAlias = ChainPotentials | SemiMarkovPotentials | TreePotentials


@dataclass(frozen=True, eq=False)
class Labelling:
    """One labelling of one sequence."""

    labels: Ids  #: [T] label ids
    score: float
    begin: Bools | None = None  #: [T] where segments begin; semi-Markov only

    @property
    def segments(self) -> list[tuple[int, int, int]]:
        """(start, end, label) of each segment; in a chain or tree every position is one."""
        begin = np.ones(len(self.labels), np.bool_) if self.begin is None else self.begin
        first = np.flatnonzero(begin).tolist()
        ends = [*first[1:], len(self.labels)]
        return [(a, b, int(self.labels[a])) for a, b in zip(first, ends, strict=bool(first))]


@dataclass(frozen=True, eq=False)
class Marginals:
    """Probabilities of the parts, shaped like the potentials that scored them."""

    log_partition: float | Floats  #: one number, or [N]
    node: Any  #: chain, semi-Markov [P, L]; tree: a list with one array per variable
    edge: Any  #: like the edge potentials, added up over positions where those are shared
    start: Floats | None = None  #: [L], added up over sequences
    stop: Floats | None = None  #: [L]
    segment: Floats | None = None  #: [P, D, L]; semi-Markov only


def one_or_all(potentials: Potentials, values: NDArray[Any]) -> Any:
    """Return the value of the one sequence, or the values of a batch."""
    return values[0].item() if potentials.single else values


def shape_credits(potentials: Potentials, raw: dict[str, Any]) -> Marginals:
    """Bring the credits of the kernels into the shapes and labels of the potentials."""
    value = one_or_all(potentials, raw["value"])
    if isinstance(potentials, TreePotentials):
        nodes = [raw["node"][a:b] for a, b in pairwise(potentials.node_ptr)]
        flat = [raw["edge"][a:b] for a, b in pairwise(potentials.edge_ptr)]
        edges = [part.reshape(table.shape) for part, table in zip(flat, potentials.edge, strict=True)]
        return Marginals(value, nodes, edges)
    raw["start"] = None if potentials.start is None else raw["start"]
    raw["stop"] = None if potentials.stop is None else raw["stop"]
    if isinstance(potentials, SemiMarkovPotentials):
        edge = raw["edge"] if "edge" in raw else raw["tables"][0]
        return Marginals(value, _coverage(raw["node"]), edge, raw["start"], raw["stop"], raw["node"])
    tables: list[Floats] = [raw["edge"]] if "edge" in raw else raw["tables"]
    if expansion := potentials.expansion:
        onto = np.zeros((len(expansion.state_label), len(potentials.structure.labels)))  # [S, L]
        onto[np.arange(len(onto)), expansion.state_label] = 1.0
        start, stop = (None if raw[end] is None else raw[end] @ onto for end in ("start", "stop"))
        return Marginals(value, raw["node"] @ onto, onto.T @ tables[0] @ onto, start, stop)
    # What a run of h + 1 labels earns is earned by the tables of all lower orders as well.
    for h in range(len(tables) - 1, 0, -1):
        tables[h - 1] = tables[h - 1] + tables[h].sum(axis=0)
    single = tables[0] if len(tables) == 1 else tuple(tables)
    return Marginals(value, raw["node"], single, raw["start"], raw["stop"])


def _coverage(segment: Floats) -> Floats:
    """Probability [P, L] that a position lies in a segment of each label."""
    P, D, L = segment.shape
    change = np.zeros((P + 1, L))  # [P + 1, L]
    change[:P] = segment.sum(axis=1)
    for d in range(min(D, P)):
        change[d + 1 :] -= segment[: P - d, d]
    covered: Floats = np.clip(np.cumsum(change[:P], axis=0), 0.0, 1.0)
    return covered


def cut_labellings(
    potentials: Potentials, paths: Ids, begins: NDArray[np.uint8] | None, scores: Floats
) -> list[list[Labelling]]:
    """Cut k paths over flat positions [k, P] with scores [N, k] into labellings of each sequence."""
    if isinstance(potentials, ChainPotentials) and (expansion := potentials.expansion):
        labels = expansion.state_label[paths].astype(np.int32)
        paths = np.where(paths < 0, np.int32(-1), labels)
    ptr = potentials.seq_ptr.tolist()
    cut = []
    for n in range(len(ptr) - 1):
        here = slice(ptr[n], ptr[n + 1])
        cut.append(
            [
                Labelling(
                    paths[i, here],
                    float(scores[n, i]),
                    None if begins is None else begins[i, here].astype(np.bool_),
                )
                for i in range(len(paths))
                if scores[n, i] > -np.inf
            ]
        )
    return cut
