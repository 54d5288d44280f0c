"""Everything that a model can be asked, in Python and on the command line, by whoever opened its file."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from crfkit import inference
from crfkit.cli import main
from crfkit.data.batch import Batch
from crfkit.data.formats.columns import Columns
from crfkit.graphs.text_columns import column_graphs
from crfkit.models import SequenceModel, Tagger, uncertainty
from crfkit.models.explain import state_weights, transition_weights
from crfkit.models.files import read_model_bytes, written
from crfkit.models.files.kinds import FOREIGN
from crfkit.models.files.native import any_model_of
from crfkit.models.graph_model import GraphModel
from tests.harden.case import FailureError
from tests.harden.seeds import graph_bytes

Question = Callable[[], object]
TOKENS = ["The", "New", "York", "a"]


def ask(model: SequenceModel | GraphModel) -> None:
    """Ask a model everything; a ValueError is an answer, other exceptions are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for question in _of_graph(model) if isinstance(model, GraphModel) else _of_chain(model):
            with suppress(ValueError):  # not for such a model, or no labeling, or too large a score
                question()


def _of_graph(model: GraphModel) -> Iterator[Question]:
    if model.form is not None:
        names = [*model.form.columns] or ["0", "1", "2"]
        columns = Columns.from_rows([[[token] * len(names) for token in TOKENS]], names=names)
        graphs = column_graphs(model.form, columns, model.graph, threads=1)
        yield lambda: model.predict(graphs, threads=1)
        yield lambda: model.predict_proba(graphs, threads=1)
        yield lambda: model.explain(graphs[0], (next(iter(model.graph.kinds)), 0), threads=1)
    yield model.tables
    yield lambda: any_model_of(graph_bytes(model), "again")


def _of_chain(model: SequenceModel) -> Iterator[Question]:
    for X in _data(model):
        yield partial(model.predict, X, threads=1)
        yield partial(model.predict, X, method="posterior", threads=1)
        yield partial(model.predict_proba, X, threads=1)
        yield partial(model.predict_spans, X, threads=1)
        yield partial(model.entropy, X, threads=1)
        yield partial(uncertainty, model, X, threads=1)
        yield partial(_explained, model, X)
        yield partial(_likelihood, model, X)
        scores = _scores(model, X)
        if scores is not None:
            for query in (inference.log_partition, inference.entropy, inference.count, inference.decode):
                yield partial(query, scores, threads=1)
            yield partial(inference.kbest, scores, 3, threads=1)
            yield partial(inference.sample, scores, 2, seed=1, threads=1)
    yield lambda: Tagger(model).tag([["a", "word[0]=The"], {"b": 0.5}])
    yield lambda: Tagger(model).predict_proba([["a"], ["b"]])
    yield lambda: model.attributes.find("word[0]=The")
    yield model.attributes.strings
    yield lambda: state_weights(model)
    yield lambda: transition_weights(model)
    yield lambda: read_model_bytes(model.to_bytes(compact=True))
    yield lambda: repr(model)
    for kind in written()[1:]:
        yield partial(_converted, model, kind)


def _explained(model: SequenceModel, X: Any) -> None:
    data = model.dataset(X)
    for n in range(len(data)):
        model.explain(data[n : n + 1], threads=1)


def _likelihood(model: SequenceModel, X: Any) -> None:
    model.log_prob(X, model.predict(X, threads=1), threads=1)


def _scores(model: SequenceModel, X: Any) -> Any:
    try:
        return model.potentials(model.batch_of(X, threads=1), threads=1)
    except ValueError:
        return None


def _data(model: SequenceModel) -> Iterator[Any]:
    """Yield what the model may be asked about: ids, items, rows of its columns; few, and of small size."""
    A, E, D = model.layout.attributes, model.layout.edge_attributes, model.layout.dense
    if D * model.layout.labels < 1 << 20:
        few = list(range(min(A, 2)))
        parts: dict[str, Any] = {"seq_ptr": [0, 2], "attr_ptr": [0, len(few), len(few)], "attr": few}
        if E:
            parts |= {"edge_ptr": [0, 0, min(E, 2)], "edge_attr": list(range(min(E, 2)))}
        if D:
            parts["dense"] = np.zeros((2, D))
        yield Batch(**parts)
    if model.recipe is None:
        yield [[["a", "b"], {"c": 0.5}], [["d"]]]
        return
    names = [c for c in dict.fromkeys(model.recipe.columns) if c] or ["word"]
    if len(names) < 50 and not any(name.isdigit() and int(name) > 50 for name in names):
        yield Columns.from_rows([[[token] * len(names) for token in TOKENS]], names=names)


def _converted(model: SequenceModel, kind: str) -> None:
    written = FOREIGN[kind].writer()(model)  # refuses what such a file cannot hold
    try:
        read_model_bytes(written, kind)
    except ValueError as error:
        raise FailureError(f"what was written for {kind} cannot be read: {error}") from error


COLUMNS = "The DT O\nNew NN B-LOC\nYork NN I-LOC\n\na DT O\n"
ITEMS = '{"items": [["a", "b"], {"c": 0.5}], "labels": ["P", "Q"]}\n'


def commands(path: Path, folder: Path) -> None:
    """Give the model to the commands that read one; each does its work or says in one line why not."""
    for name, text in (("columns.txt", COLUMNS), ("items.jsonl", ITEMS)):
        data = folder / name
        data.write_text(text)
        command("tag", path, data, "--jobs", 1)
        command("evaluate", path, data, "--jobs", 1)
    command("show", path)
    command("show", path, "--json")
    command("convert", path, folder / "again.crf")
    command("convert", path, folder / "again.crfsuite")


def command(*arguments: object) -> int:
    """Run a command in this process; return its status, and raise where it ends in a way of its own."""
    given, said, status = sys.argv, io.StringIO(), 0
    sys.argv = ["crfkit", *map(str, arguments)]
    try:
        with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")), redirect_stderr(said):
            main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.argv = given
    if status and said.getvalue().count("\n") != 1:
        raise FailureError(f"crfkit {arguments[0]}: status {status}, and it said {said.getvalue()[:200]!r}")
    return status
