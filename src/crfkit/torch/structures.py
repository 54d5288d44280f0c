"""Structures as functions of autograd take them: the flat fields of a batch, and which operators answer.

Autograd sees no tensors in lists and tuples: fields are those of `crfkit.torch.batches` in their order, each
table of a list by itself. Compilers see a structure as its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from crfkit.torch import ops
from crfkit.torch.batches import Batch, Chain, Segments
from crfkit.torch.registry import ask

__all__ = ["STRUCTURES", "Fields", "Grads", "Structure", "flat"]

Fields = Sequence[Any]
Grads = tuple[Tensor | None, ...]  # by each field


def flat(batch: Batch) -> tuple[Any, ...]:
    """Return the fields of a batch, each table of a list by itself."""
    if isinstance(batch, Chain) and isinstance(batch.edge, list):
        return (*batch[:5], *batch.edge, batch.stop)
    return tuple(batch)


class Structure(NamedTuple):
    """How the flat fields of a batch are laid out, and what answers for them."""

    operators: ops.Operators
    rows: int = 1  # scores that lie by row: the first fields; three that say where rows lie follow
    tables: bool = False  # a list of them

    def batch(self, fields: Fields) -> Batch:
        """Return the batch that fields are of."""
        if self.tables:
            return Chain._make((*fields[:5], list(fields[5:-1]), fields[-1]))
        return Chain(*fields) if self.rows == 1 else Segments(*fields)

    def scores(self, fields: Fields) -> tuple[Any, ...]:
        """Return the fields that have gradients."""
        return (*fields[: self.rows], *fields[self.rows + 3 :])

    def with_scores(self, fields: Fields, scores: Fields) -> tuple[Any, ...]:
        """Return the fields with other scores."""
        return (*scores[: self.rows], *fields[self.rows : self.rows + 3], *scores[self.rows :])

    def grads(self, fields: Fields, made: Iterable[Tensor]) -> Grads:
        """Return gradients in the order of the fields, None for scores that are not given."""
        if self.rows == 1:
            node, *tables = made
            return (node, None, None, None, *tables)
        given = [None if x is None else y for x, y in zip(self.scores(fields), made, strict=True)]
        return (*given[: self.rows], None, None, None, *given[self.rows :])

    def ask(self, name: str, fields: Fields, *more: Any) -> tuple[Any, ...]:
        """Ask an operator; lists among its answers are spread."""
        operator = getattr(self.operators, name)
        if not self.tables:
            answers: tuple[Any, ...] = ask(operator, *fields, *more)
            return answers
        if name == "hvp":
            more = (more[0], list(more[1:]))
        found = ask(operator, *self.batch(fields), *more)
        return tuple(y for x in found for y in (x if isinstance(x, list) else (x,)))

    def length(self, fields: Fields) -> Tensor:
        """Return positions of each sequence."""
        length: Tensor = fields[self.rows]
        return length


STRUCTURES = {
    "chain": Structure(ops.chain),
    "order": Structure(ops.order, tables=True),
    "segment": Structure(ops.segment, rows=2),
}
