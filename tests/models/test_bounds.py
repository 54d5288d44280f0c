"""What small model files may ask for: tables are bounded, whatever a file says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, Graph, SemiMarkov
from crfkit.data.alphabet import Alphabet
from crfkit.errors import ModelFileError
from crfkit.graphs import Clique
from crfkit.linear.layout import Block, Layout
from crfkit.models import SequenceModel
from crfkit.models.files.native import any_model_of
from crfkit.models.graph_model import GraphModel
from crfkit.models.model import Names
from crfkit.models.store import pack, unpack
from crfkit.structures.structure import Slot, Structure

MB = 1 << 20


def sparse(L: int, order: int = 1, rows: int = 0) -> SequenceModel:
    """Return a chain whose attributes have two weights each."""
    labels = [f"{y:x}" for y in range(L)]
    ptr, cell = np.arange(rows + 1) * 2, np.tile(np.arange(2, dtype=np.int32), rows)
    none = (np.zeros(1, np.int64), np.zeros(0, np.int32))
    layout = Layout.of_chain(L, ptr, cell, *none, none[1], order=order)
    names = Names(Alphabet(labels), Alphabet(f"{a:x}" for a in range(rows)))
    return SequenceModel(Chain(labels, order), layout, names, np.ones(layout.weights))


def saying(model: SequenceModel, **claims: Any) -> bytes:
    """Return the file of a model with other claims, and sums that fit."""
    arrays, described = unpack(model.to_bytes(), "m")
    return b"".join(pack(arrays, {**described, **claims}))


def empty(structure: Structure) -> bytes:
    """Return the file of a model without a weight."""
    none = (np.zeros(0, np.int32), np.zeros(2, np.int64))
    labels = Alphabet(structure.labels)
    arrays: dict[str, Any] = {"w": np.zeros(0)}
    for name, strings in (("labels", labels), ("attributes", Alphabet()), ("edge_attributes", Alphabet())):
        arrays.update(zip((f"{name}.bytes", f"{name}.begin", f"{name}.slots"), strings.arrays(), strict=True))
    blocks: list[list[str | None]]
    blocks = [[name, name if slot.places else None] for name, slot in structure.slots().items()]
    blocks.append(["node", "dense"])
    for slot, by in blocks:
        key = slot if by is None else by
        arrays[f"{key}_cell"], arrays[f"{key}_ptr"] = none[0], none[1][: 2 if by is None else 1]
    described: dict[str, Any] = {
        "format": 7,
        "estimator": None,
        "crfkit": "0",
        "license": "",
        "notes": "",
        "recipe": None,
        "label_column": None,
    }
    described |= {"structure": structure.to_dict(), "blocks": blocks, "training": None}
    return b"".join(pack(arrays, {**described, "table_bytes": 1 << 29, "hashed": None, "constraints": []}))


def potts(kinds: list[Any], *cliques: list[str]) -> bytes:
    """Return the file of a model of graphs with a weight for each clique."""
    arrays: dict[str, Any] = {"w": np.zeros(len(cliques))}
    for i in range(len(cliques)):
        arrays[f"clique{i}_ptr"], arrays[f"clique{i}_cell"] = np.array([0, 1]), np.zeros(1, np.int32)
    parts = [[f"c{i}", of, "potts", False, False] for i, of in enumerate(cliques)]
    described = {
        "format": 7,
        "estimator": None,
        "crfkit": "0",
        "license": "",
        "notes": "",
        "training": None,
        "form": None,
    }
    structure = {"kind": "graph", "kinds": kinds, "cliques": parts}
    return b"".join(pack(arrays, {**described, "structure": structure}))


@pytest.mark.parametrize("claim", [1 << 29, 1 << 40])
def test_a_claim_of_table_bytes_above_the_default_counts_as_the_default(claim: int) -> None:
    assert SequenceModel.from_bytes(saying(sparse(3), table_bytes=claim)).layout.table_bytes == 1 << 29
    assert SequenceModel.from_bytes(saying(sparse(3), table_bytes=7)).layout.table_bytes == 7


def test_the_table_of_rows_is_bounded_by_what_it_is_made_of() -> None:
    few = sparse(4000, rows=500)
    assert few.layout.rows().table_bytes == 500 * 4000 * 8
    many = sparse(4000, rows=10_000)  # 305 MB of 160 KB
    assert many.layout.rows().table_bytes == 0
    crowded = sparse(100, rows=100_000)  # 79 MB of 1.6 MB
    assert crowded.layout.rows().table_bytes == 100_000 * 104 * 8


@pytest.mark.parametrize(
    ("data", "what"),
    [
        pytest.param(lambda: empty(Chain([f"{y}" for y in range(600)], 2)), "a chain of order 2", id="order"),
        pytest.param(lambda: empty(Chain([f"{y}" for y in range(11)], 7)), "a chain of order 7", id="high"),
        pytest.param(lambda: empty(SemiMarkov([f"{y}" for y in range(4000)], 5000)), "a semi", id="long"),
        pytest.param(lambda: potts([["a", 11_000]], ["a", "a"]), "its graph", id="clique"),
        pytest.param(lambda: potts([["a", 1000]], *[["a", "a"]] * 9), "its graph", id="cliques"),
        pytest.param(lambda: potts([["a", 2]], ["a"] * 24), "its graph", id="arity"),
    ],
)
def test_tables_of_scores_are_bounded_by_the_file(data: Any, what: str) -> None:
    with pytest.raises(ModelFileError, match=rf"{what}.* has tables of .* cells, more than the 16,777,216"):
        any_model_of(data(), "m")


def test_large_files_may_have_large_tables() -> None:
    """The same chain, with an array that pays for its tables."""
    arrays, described = unpack(empty(Chain([f"{y}" for y in range(260)], 2)), "m")
    described.pop("sums", None)
    with pytest.raises(ModelFileError, match="17,643,600 cells"):
        any_model_of(b"".join(pack(arrays, described)), "m")
    paid = {**arrays, "history.objective": np.zeros(300_000)}
    assert any_model_of(b"".join(pack(paid, described)), "m").layout.weights == 0


ASK = """
import resource, sys
import numpy as np
import crfkit
from crfkit.models import SequenceModel
from crfkit.models import Tagger
from crfkit.data.batch import Batch

limit = int(sys.argv[2]) + int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
model = crfkit.load(sys.argv[1])
if isinstance(model, SequenceModel):
    model.predict(Batch([0, 2], [0, 0, 0], []), threads=1)
    if len(model.attributes):
        Tagger(model).tag([["1"], ["2"]])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not keep to RLIMIT_AS")
@pytest.mark.parametrize(
    ("data", "bytes"),
    [
        pytest.param(lambda: saying(sparse(1000, rows=60_000), table_bytes=1 << 40), 250 * MB, id="table"),
        pytest.param(lambda: saying(sparse(3, rows=1), hashed=(1 << 31) - 1), 120 * MB, id="hashed"),
        pytest.param(lambda: potts([["a", 2800]], ["a", "a"]), 400 * MB, id="clique"),
        pytest.param(lambda: potts([[f"{i}", 1 << 24] for i in range(500)], ["1"]), 400 * MB, id="kinds"),
        pytest.param(lambda: empty(SemiMarkov(["a", "b"], 1 << 12)), 200 * MB, id="lengths"),
    ],
)
def test_small_files_are_asked_in_little_memory(data: Any, bytes: int, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(data())
    command = [sys.executable, "-c", ASK, str(tmp_path / "m"), str(bytes)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("compact", [False, True])
def test_a_small_model_with_large_tables_is_loaded_again(compact: bool) -> None:
    model = sparse(300, order=2, rows=3)
    data = model.to_bytes(compact=compact)
    assert len(data) < 300**3 // 8 + MB
    again = SequenceModel.from_bytes(data)
    assert (again.structure, again.layout.weights) == (model.structure, 6)
    assert SequenceModel.from_bytes(again.to_bytes()).w.tolist() == model.w.tolist()
    assert "room" not in unpack(sparse(3).to_bytes(), "m")[0]


def test_a_graph_with_large_tables_is_loaded_again(tmp_path: Path) -> None:
    graph = Graph({"a": 3000}, pair=Clique("a", "a", cells="potts"))
    layout = Layout({"pair": Slot(((1,),), None)}, (Block.shared("pair", np.zeros(1, np.int32)),))
    GraphModel(graph, layout, np.ones(1)).save(tmp_path / "g.crf")
    assert any_model_of((tmp_path / "g.crf").read_bytes(), "g.crf").w.tolist() == [1.0]
