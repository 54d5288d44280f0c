"""Weights of a model of sequences as people look at them: the largest, and a table of transitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.data.dataset import spelled_number
from crfkit.models.explain import state_weights, transition_weights

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel


@dataclass(frozen=True, eq=False)
class WeightTable:
    """Weights by row and column; prints as text.

    Examples
    --------
    >>> table = WeightTable(("D", "N"), ("D", "N"), np.array([[0.0, 1.5], [-0.25, 0.0]]))
    >>> print(table)
            D     N
    D    0.00  1.50
    N   -0.25  0.00
    >>> table.to_dict()["D"]["N"], table.to_frame().loc["D", "N"].item()
    (1.5, 1.5)
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: Floats  #: [rows, columns]

    def __str__(self) -> str:
        cells = [["", *self.columns]]
        cells += [
            [row, *(f"{w:.2f}" for w in line)] for row, line in zip(self.rows, self.weights, strict=True)
        ]
        first = max(len(line[0]) for line in cells)
        wide = max((len(cell) for line in cells for cell in line[1:]), default=0) + 2
        return "\n".join(
            line[0].ljust(first + 1) + "".join(cell.rjust(wide) for cell in line[1:]) for line in cells
        )

    def _repr_html_(self) -> str:
        from crfkit.view import cell, transitions

        return cell(transitions(self.rows, self.columns, self.weights, title="Weights"), plain=str(self))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the weights by row and column."""
        lines = self.weights.tolist()
        return {
            row: dict(zip(self.columns, line, strict=True))
            for row, line in zip(self.rows, lines, strict=True)
        }

    def to_frame(self) -> Any:
        """Return a data frame of pandas."""
        from crfkit._safe.frames import frame_of

        return frame_of(dict(zip(self.rows, self.weights.tolist(), strict=True)), self.columns)


def largest_weights(
    model: SequenceModel, label: str | int | None = None, n: int = 10
) -> list[tuple[str, str, float]]:
    """Return the n largest weights of attributes as (feature, label, weight), of one label or of all."""
    check_number("n", n, 1, whole=True)
    known = model.structure.labels
    label = spelled_number(label)
    if label is not None and label not in known:
        raise ValueError(
            f"label is {label!r}, which the model does not know; its labels are {', '.join(known)}"
        )
    found = [(name, y, w) for (name, y), w in state_weights(model).items() if label in (None, y)]
    return sorted(found, key=lambda one: -one[2])[:n]


def transition_table(model: SequenceModel) -> WeightTable:
    """Return the weights of label n-grams: a row for each history, a column for the label that follows."""
    found, labels = transition_weights(model), model.structure.labels
    histories = list(dict.fromkeys([*((y,) for y in labels), *(run[:-1] for run in found)]))
    table: Any = np.zeros((len(histories), len(labels)))
    place, column = {run: i for i, run in enumerate(histories)}, {y: i for i, y in enumerate(labels)}
    for run, weight in found.items():
        table[place[run[:-1]], column[run[-1]]] = weight
    return WeightTable(tuple(" ".join(run) for run in histories), tuple(labels), table)
