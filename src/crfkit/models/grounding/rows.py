"""Rows of a table as graphs: several variables of two labels for each row, which is there or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids
from crfkit.linear.layout import Layout
from crfkit.metrics.comparison import Columns
from crfkit.metrics.default_metric import judge_for
from crfkit.models.explanation import At
from crfkit.models.grounding.base import Comparison, Grounding, Samples, integers_of
from crfkit.models.parts import Plain
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.clique_features import as_features
from crfkit.structures.graphs.graph import Graph


@dataclass(frozen=True, eq=False)
class Rows(Grounding):
    """Rows of numbers [N, K], with labels [N, n] that are there or not."""

    kind: ClassVar[str] = "rows"
    takes: ClassVar[str] = "rows of numbers"

    features: int  #: K
    labels: int  #: n
    values: NDArray[np.integer[Any]]  #: of y where a label is not there, and where it is: mostly 0 and 1

    def plain(self) -> Plain:
        """Return a description."""
        plain: dict[str, Any] = {"features": self.features, "labels": self.labels}
        return {**plain, "values": self.values.tolist(), "dtype": str(self.values.dtype)}, {}

    @classmethod
    def of_plain(cls, fields: Fields) -> Rows:
        """Return what a file describes."""
        values = integers_of(fields, "values")
        if len(values) != 2:
            fields.wrong("values", "two numbers")
        return cls(fields.count("features"), fields.count("labels"), values)

    def check_fits(self, names: Graph, layout: Layout) -> None:
        """Refuse another graph."""
        kinds = {str(a): 2 for a in range(self.labels)} if self.labels == len(names.kinds) else {}
        rows = {layout.rows_of(kind) for kind in kinds if kind in layout.block}
        if names.kinds != kinds or rows != {self.features + 1}:
            raise ValueError("its map is of rows with other labels or features than its weights")

    def samples(self, X: Any, threads: int | None = None) -> Samples:
        """Read an array or a sparse matrix."""
        rows = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.features:
            raise ValueError(f"X has shape {rows.shape}, expected [N, {self.features}]")
        return Samples(rows, [(1,)] * rows.shape[0])

    def graphs(self, graph: Graph, samples: Samples, labels: Mapping[str, Ids] | None = None) -> GraphBatch:
        """Return a graph for each row."""
        N = len(samples)
        rows = as_features("X", _with_one(samples.data), N)
        names = graph.kinds
        return graph.batch(graph_ptr=np.arange(N + 1), labels=labels, features=dict.fromkeys(names, rows))

    def gold(
        self, graph: Graph, samples: Samples, y: Any, what: str = "y", *, foreign: bool = True
    ) -> dict[str, Ids]:
        """Return whether labels are there, -1 where y has -1 (and no label is -1)."""
        given = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
        given = given[:, None] if given.ndim == 1 and self.labels == 1 else given
        if given.shape != (len(samples), self.labels):
            raise ValueError(
                f"{what} has shape {given.shape}, expected {(len(samples), self.labels)}: a row for each "
                "of X, and a column for each label"
            )
        ids = np.where(given == self.values[1], 1, np.where(given == self.values[0], 0, -1))
        wrong = np.argwhere((ids < 0) & (given != -1))
        if wrong.size:
            i, a = wrong[0].tolist()
            no, yes = self.values.tolist()
            raise ValueError(
                f"{what}[{i}, {a}] is {given[i, a]}, expected {no} or {yes}, or -1 where unknown"
            )
        return {kind: ids[:, a].astype(np.int32) for a, kind in enumerate(graph.kinds)}

    def compared(self, asked: Comparison) -> dict[str, Columns]:
        """Return a sequence for each row: where it has label a there is "a", elsewhere "none"."""
        gold = self.gold(asked.graph, asked.samples, asked.y)
        kinds = [name for name in gold if asked.kind in (None, name)]
        n = len(kinds)
        there, right = (np.column_stack([each[name] for name in kinds]) for each in (asked.found, gold))
        made = Columns.of_ids(
            [*kinds, "none"],
            np.where(right < 0, -1, np.where(right == 1, np.arange(n), n)).ravel(),
            np.where(there == 1, np.arange(n), n).ravel(),
            n * np.arange(len(asked.samples) + 1),
            judge_for(asked.metric, "sequence_accuracy"),
            unit="sample",
            absent=1,
        )
        return {"": made}

    def answer(self, graph: Graph, labels: Mapping[str, Ids]) -> NDArray[np.integer[Any]]:
        """Return the labels of a row, [n]."""
        found: NDArray[np.integer[Any]] = self.values[np.concatenate([labels[kind] for kind in graph.kinds])]
        return found

    def gathered(self, answers: list[Any]) -> NDArray[np.integer[Any]]:
        """Return the labels of all rows, [N, n]."""
        return np.array(answers, dtype=self.values.dtype).reshape(len(answers), self.labels)

    def proba(self, node: Mapping[str, list[Any]]) -> Floats:
        """Return the probability that each label is there, [N, n]."""
        return np.column_stack([np.array([one[0, 1] for one in each]) for each in node.values()])

    def one(self, x: Any) -> Any:
        """Return a table whose only row is x."""
        if hasattr(x, "tocsr"):
            return x.reshape(1, -1).tocsr()
        return np.asarray(x).reshape(1, -1)

    def variable(self, at: Any, shape: tuple[int, ...]) -> tuple[str, int]:
        """Return the variable of a label, given its number or ("label", number)."""
        number = at[1] if isinstance(at, tuple) and len(at) == 2 and at[0] == "label" else at
        if not isinstance(number, int | np.integer):
            raise TypeError(f"at is {at!r}, expected the number of a label, from 0")
        if not 0 <= number < self.labels:
            raise ValueError(f"at: there are {self.labels} labels; {number} is not one of them")
        return str(number), 0

    def place(self, kind: str, number: int, shape: tuple[int, ...]) -> At:
        """Return the number of a label, as ("label", number)."""
        return "label", int(kind)

    def label(self, graph: Graph, kind: str, y: int) -> str:
        """Return what y has."""
        return str(self.values[y])


def _with_one(X: Any) -> Any:
    """Return X with a last column of ones."""
    if isinstance(X, np.ndarray):
        return np.column_stack([X, np.ones(len(X))])
    from scipy.sparse import csr_array, hstack

    return hstack([X, csr_array(np.ones((X.shape[0], 1)))], format="csr")
