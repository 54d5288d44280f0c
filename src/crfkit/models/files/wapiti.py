"""Wapiti models: text with patterns, labels and observations as netstrings, then the weights that are not 0.

An observation that begins with u owns one weight for each label, with b one for each step from * L + to,
with * both, in this order; observations own consecutive places. Patterns run natively, with exactly Wapiti's
strings; b and * patterns without fields make plain transitions. Maxent models become chains of order 0, MEMMs
chains whose steps are normalized each by itself (`crfkit.structures.chains.local`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, pointers
from crfkit.features import Recipe
from crfkit.features.wapiti import parse_wapiti
from crfkit.models.files.assembly import Triples, assemble, check_steps, decoded
from crfkit.models.files.inspect import check_labels
from crfkit.models.files.plain import edge_strings, plain_transitions
from crfkit.models.model import SequenceModel
from crfkit.structures import Chain
from crfkit.structures.chains.local import LocalChain

MAXENT, MEMM, CRF = 0, 1, 2  #: types of models


class _Lines:
    """A cursor over the text."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0

    def line(self) -> bytes:
        end = self.text.find(b"\n", self.at)
        if end < 0:
            raise ValueError("a line is missing: the file is cut off")
        found = self.text[self.at : end]
        self.at = end + 1
        return found

    def head(self, name: bytes) -> list[int]:
        """Return the numbers of a line ``#name#1#2`` or ``#name#1/2``."""
        line = self.line()
        parts = line[len(name) + 2 :].replace(b"/", b"#").split(b"#")
        if not line.startswith(b"#" + name + b"#") or not all(p.isdigit() and len(p) < 19 for p in parts):
            raise ValueError(f"the line {quoted(line)} is not a {name.decode()} line")
        return [int(part) for part in parts]

    def netstrings(self, count: int) -> list[bytes]:
        """Return strings ``length:text,`` with a line end behind each."""
        text, at, found = self.text, self.at, []
        for _ in range(count):
            colon = text.find(b":", at, at + 12)
            size = int(text[at:colon]) if colon > at and text[at:colon].isdigit() else -1
            end = colon + 1 + size
            if size < 0 or text[end : end + 2] != b",\n":
                raise ValueError(f"{text[at : at + 40]!r} is not a netstring: the file is cut off or damaged")
            found.append(text[colon + 1 : end])
            at = end + 2
        self.at = at
        return found


def read_wapiti(data: bytes | memoryview, *, encoding: str = "utf-8") -> SequenceModel:
    """Return the model of a file of ``wapiti train``; a ValueError says what is wrong with it."""
    lines = _Lines(bytes(data))
    head = lines.head(b"mdl")
    kind, count = (CRF, head[0]) if len(head) == 1 else (head[0], head[1]) if len(head) == 2 else (-1, 0)
    if kind not in (MAXENT, MEMM, CRF):
        raise ValueError(f"its type is {kind}, expected 0 (maxent), 1 (memm) or 2 (crf)")
    patterns = lines.netstrings(lines.head(b"rdr")[0])
    labels = lines.netstrings(lines.head(b"qrk")[0])
    L = len(labels)
    check_labels(L)
    if kind != MAXENT:
        check_steps(L, len(data))
    observations = decoded(lines.netstrings(lines.head(b"qrk")[0]), encoding, "observation")
    recipe = None
    if patterns:
        recipe = parse_wapiti("\n".join(decoded(patterns, encoding, "pattern")), source="its pattern")
    index, weight = _weights(lines, count)
    return _model(decoded(labels, encoding, "label"), observations, recipe, index, weight, kind)


def _weights(lines: _Lines, count: int) -> tuple[NDArray[np.int64], Floats]:
    """Return places and values of the weights that the file has."""
    rest = lines.text[lines.at :].split(b"\n")
    if rest and not rest[-1].strip():
        rest.pop()
    if len(rest) != count:
        raise ValueError(f"it has {len(rest):,} weights, but claims {count:,}: the file is cut off")
    index = np.zeros(count, dtype=np.int64)
    weight = np.zeros(count)
    try:
        for i, line in enumerate(rest):
            place, _, value = line.partition(b"=")
            index[i] = int(place)
            weight[i] = float.fromhex(value.decode("ascii"))
    except (ValueError, OverflowError):
        raise ValueError(f"the line {quoted(line)} is not a place and weight") from None
    return index, weight


def _model(
    labels: list[str],
    observations: list[str],
    recipe: Recipe | None,
    index: NDArray[np.int64],
    weight: Floats,
    kind: int,
) -> SequenceModel:
    L = len(labels)
    first = np.array([ord(name[0]) if name else 0 for name in observations], dtype=np.int64)
    unary, binary = np.isin(first, [ord("u"), ord("*")]), np.isin(first, [ord("b"), ord("*")])
    if not (unary | binary).all():
        wrong = observations[int(np.argmin(unary | binary))]
        raise ValueError(f"the observation {quoted(wrong)} begins with neither u, b nor *")
    begin = pointers(L * unary + L * L * binary)  # [observations + 1]
    if index.size and (index.min() < 0 or index.max() >= begin[-1]):
        raise ValueError(f"it has a weight at a place outside 0 to {int(begin[-1]) - 1:,}")
    owner = np.searchsorted(begin, index, side="right") - 1
    place = index - begin[owner]
    of_label = unary[owner] & (place < L)
    cell = place - L * unary[owner]
    edged = binary & edge_strings(recipe, observations) & (kind != MAXENT)
    node_id, edge_id = np.cumsum(unary) - 1, np.cumsum(edged) - 1
    table = np.zeros(L * L)
    often = plain_transitions(recipe)
    times = np.array([often.get(name, 0) for name in observations], dtype=np.float64)
    plain = ~of_label & (times[owner] > 0)
    np.add.at(table, cell[plain], times[owner[plain]] * weight[plain])
    step = ~of_label & edged[owner]
    return assemble(
        labels,
        [name for name, mine in zip(observations, unary.tolist(), strict=True) if mine],
        Triples(node_id[owner[of_label]], place[of_label], weight[of_label]),
        table.reshape(L, L) if kind != MAXENT else None,
        edge_attributes=[name for name, mine in zip(observations, edged.tolist(), strict=True) if mine],
        edge=Triples(edge_id[owner[step]], cell[step], weight[step]),
        order=0 if kind == MAXENT else 1,
        recipe=recipe,
        label_column=-1,
        structure=LocalChain if kind == MEMM else Chain,
    )
