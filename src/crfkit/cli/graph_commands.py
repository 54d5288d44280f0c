"""What ``tag``, ``evaluate``, ``show`` and ``explain`` do with a model of graphs over columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from crfkit._native import render_lines
from crfkit.cli.scores import Texts
from crfkit.cli.streams import json_line
from crfkit.cli.tagging import sequences
from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns
from crfkit.graphs.text_columns import column_graphs, gold_columns

if TYPE_CHECKING:
    from crfkit.cli.groups.data import Data
    from crfkit.graphs.text_form import GraphForm
    from crfkit.models.explanation import Decision
    from crfkit.models.graph_model import GraphModel
    from crfkit.structures.graphs.batch import GraphBatch

Labels = list[list[str]]


class GraphTagger:
    """A model of graphs from a file, and how columns become its graphs.

    Parameters
    ----------
    path : str
    model : GraphModel
        What the file holds.
    threads : int, optional
    """

    def __init__(self, path: str, model: GraphModel, threads: int | None = None) -> None:
        self.source, self.model, self.threads = path, model, threads
        if model.form is None:
            raise ValueError(
                f"{path} is a model of graphs without a text form, so that columns do not become its graphs; "
                "open it with crfkit.load in Python"
            )
        self.form: GraphForm = model.form
        self.kinds = [kind for kind, where in self.form.kinds.items() if where.column is not None]

    def blocks(self, reading: Data, data: str, docstart: str | None = None) -> Iterator[Columns]:
        """Yield the data in blocks of whole sequences."""
        for block in reading.blocks(data, attributes=False, docstart=docstart):
            if not isinstance(block, Columns):
                raise ValueError(f"{data} has attributes, but {self.source} reads columns of text")
            yield block

    def batch(self, block: Columns) -> GraphBatch:
        """Return the graphs of a block."""
        return column_graphs(self.form, block, self.model.graph, threads=self.threads)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the labels of a kind."""
        names = self.model.graph.kinds[kind]
        assert isinstance(names, tuple)
        return names

    # ---- tag

    def tagged(self, block: Columns, *, marginals: bool, labels_only: bool, as_json: bool) -> bytes:
        """Return a block with the best labels of each kind in further columns."""
        batch = self.batch(block)
        best = self.model.predict(batch, threads=self.threads)
        columns = None if labels_only else block
        if not marginals and not as_json:
            alphabets = [*(() if columns is None else columns.alphabets)]
            ids = [*(() if columns is None else columns.ids)]
            for kind in self.kinds:
                alphabets.append(Alphabet(self.names(kind)))
                ids.append(np.ascontiguousarray(best.ids[kind], dtype=np.int32))
            return render_lines([each._native for each in alphabets], ids, block.seq_ptr)
        found = {kind: [self.names(kind)[y] for y in best.ids[kind].tolist()] for kind in self.kinds}
        share = self._marginals(batch) if marginals else None
        given = {} if columns is None else dict(zip(columns.names, columns.strings(), strict=True))
        ptr = block.seq_ptr.tolist()
        lines = []
        for a, b in itertools.pairwise(ptr):
            mine = {name: column[a:b].tolist() for name, column in given.items()}
            labels = {kind: found[kind][a:b] for kind in self.kinds}
            if as_json:
                more = {} if share is None else {"marginals": {k: share[k][a:b] for k in self.kinds}}
                lines.append(json_line({**mine, "predicted": labels, **more}))
                continue
            rows = zip(*mine.values(), *labels.values(), strict=True)
            for t, row in enumerate(rows, a):
                p = [] if share is None else [self._spelled(k, share[k][t]) for k in self.kinds]
                lines.append("\t".join([*row, *p]) + "\n")
            lines.append("\n")
        return "".join(lines).encode()

    def _marginals(self, batch: GraphBatch) -> dict[str, list[dict[str, float]]]:
        found = self.model.predict_proba(batch, threads=self.threads)
        return {
            kind: [dict(zip(self.names(kind), row, strict=True)) for row in found[kind].tolist()]
            for kind in self.kinds
        }

    def _spelled(self, kind: str, share: dict[str, float]) -> str:
        before = f"{kind}:" if len(self.kinds) > 1 else ""
        return "\t".join(f"{before}{label}/{p:.6f}" for label, p in share.items())

    # ---- evaluate

    def judged(
        self, reading: Data, data: str
    ) -> tuple[dict[str, list[list[str | None]]], dict[str, Labels], Texts]:
        """Return gold labels, None where there is none, and predicted ones, by kind; and the words."""
        texts = Texts()
        gold: dict[str, list[list[str | None]]] = {kind: [] for kind in self.kinds}
        found: dict[str, Labels] = {kind: [] for kind in self.kinds}
        for block in self.blocks(reading, data):
            texts.add(block)
            truth = gold_columns(self.form, block)
            best = self.model.predict(self.batch(block), threads=self.threads)
            for kind in self.kinds:
                labels = [self.names(kind)[y] for y in best.ids[kind].tolist()]
                gold[kind] += sequences(truth[kind], block)
                found[kind] += sequences(labels, block)
        return gold, found, texts

    # ---- explain

    def decisions(self, block: Columns, n: int) -> Iterator[tuple[str, list[Decision]]]:
        """Yield each token of a sequence, and why it has its labels."""
        one = self.batch(block).select([n])
        made = self.model.explain(one, threads=self.threads)
        for t, row in enumerate(block.sequence(n)):
            yield " ".join(row), [made.at((kind, t)) for kind in self.kinds]
