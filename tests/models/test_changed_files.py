"""Model files that change while models use them: those that were read, and those that are mapped."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import Chain, FeatureSelection, SemiMarkov, Stop, train
from crfkit.compat import pycrfsuite
from crfkit.data.formats.columns import Columns
from crfkit.features import ItemExtractor
from crfkit.graphs.text_columns import column_graphs
from crfkit.models import SequenceModel, Tagger
from crfkit.models.files.crfsuite_write import crfsuite_bytes
from crfkit.models.files.graphs import graph_pieces
from tests.cases.models import graph_model, native_model

X = [[[f"w{(i * 7 + n) % 50}", f"s{i % 9}", "bias"] for i in range(12)] for n in range(20)]
Y = [["ABC"[(i * 7 + n) % 3] for i in range(12)] for n in range(20)]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def model(**options: Any) -> SequenceModel:
    data = ItemExtractor(options.pop("hashed", None))(X, Y)
    return train(data, stop=Stop(max_iterations=3), **options)


FILES: dict[str, Callable[[], bytes]] = {
    "items": lambda: model().to_bytes(),
    "hashed": lambda: model(hashed=64).to_bytes(),
    "order2": lambda: model(
        structure=Chain(order=2), selection=FeatureSelection(start=True, stop=True)
    ).to_bytes(),
    "columns": lambda: native_model().to_bytes(),
    "segments": lambda: model(structure=SemiMarkov(max_length=3)).to_bytes(),
    "crfsuite": lambda: crfsuite_bytes(model()),
    "graph": lambda: b"".join(graph_pieces(graph_model(), notes=None, license=None)),
}


def answers(kind: str, one: Any) -> list[Any]:
    """Ask all that weights and names decide."""
    if kind == "graph":
        rows = [[("The", "DT", "B"), ("York", "NN", "I")]]
        columns = Columns.from_rows(rows, names=["word", "pos", "chunk"])
        found = one.predict(column_graphs(one.form, columns, one.graph, threads=1))
        return [str(found), one.w.tolist()]
    given: Any = X
    if kind == "columns":
        rows = [[("The", "DT", "O"), ("York", "NN", "B")]] * 9
        given = Columns.from_rows(rows, names=["word", "pos", "tag"])
    found = [one.predict(given), one.attributes.strings(), one.w.tolist(), one.to_bytes()]
    found.append(pickle.loads(pickle.dumps(one)).predict(given))
    if kind not in ("columns", "segments"):
        found.append([Tagger(one).tag(x) for x in X])
    return found


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_was_read_may_change(kind: str, asked_before: bool, tmp_path: Path) -> None:
    (path := tmp_path / "m.crf").write_bytes(data := FILES[kind]())
    one, expected = crfkit.load(path), answers(kind, crfkit.load(path))
    if asked_before:
        assert answers(kind, one) == expected
    for changed in (b"\xff" * len(data), b""):
        path.write_bytes(changed)
        assert answers(kind, one) == expected


@pytest.mark.parametrize("kind", FILES)
def test_a_mapped_file_may_be_replaced_by_renaming(kind: str, tmp_path: Path) -> None:
    (path := tmp_path / "m.crf").write_bytes(FILES[kind]())
    one, expected = crfkit.load(path, mapped=True), answers(kind, crfkit.load(path))
    (tmp_path / "new").write_bytes(b"")
    os.replace(tmp_path / "new", path)
    assert answers(kind, one) == expected


def test_weights_of_a_mapped_file_are_those_of_the_file(tmp_path: Path) -> None:
    model().save(path := tmp_path / "m.crf")
    one = SequenceModel.load(path, mapped=True)
    path.write_bytes(b"\xff" * path.stat().st_size)  # what nobody should do
    assert np.isnan(one.w).all()


def test_a_file_of_python_crfsuite_may_change(tmp_path: Path) -> None:
    (path := tmp_path / "m.crfsuite").write_bytes(FILES["crfsuite"]())
    tagger, expected = pycrfsuite.Tagger(), model().predict(X)
    tagger.open(str(path))
    path.write_bytes(b"")
    assert [tagger.tag(x) for x in X] == expected


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what is handled is read from /proc")
def test_no_signal_is_handled_that_python_does_not_handle(tmp_path: Path) -> None:
    """The handlers of a process are its owner's: faulthandler, a debugger, another library."""
    model().save(path := tmp_path / "m.crf")
    code = f"""
from pathlib import Path
def handled():
    lines = Path("/proc/self/status").read_text().splitlines()
    return [line for line in lines if line.startswith(("SigCgt", "SigIgn"))]
import numpy, scipy.sparse
before = handled()
import crfkit
for mapped in (False, True):
    crfkit.load({str(path)!r}, mapped=mapped).predict([[["w1"]]])
assert handled() == before, (before, handled())
"""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
