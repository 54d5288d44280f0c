"""Files of graphical models: golden files, round trips, evidence, answers."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Graph
from crfkit.data.graphs import read_evidence, read_factors, read_result, result_text
from crfkit.errors import DataError
from crfkit.graphs import load as load_graph
from crfkit.graphs import save as save_graph
from crfkit.inference.graphs import log_partition
from crfkit.structures import Table
from crfkit.structures.graphs.potentials import GraphPotentials
from tests.cases.graph_files import FG, UAI, opengm_file

DATA = Path(os.environ.get("CRFKIT_DATA", Path(__file__).parents[3] / "shared/data")) / "uai"


def tables(scores: GraphPotentials) -> dict[str, Any]:
    """Return values by clique: [scope, table] of each factor."""
    made = {}
    for name, table in scores.tables.items():
        scope = scores.batch.scopes[name]
        which = np.arange(len(scope)) if table.which is None else table.which
        made[name] = [
            (row, np.exp(table.scores[k]).round(9).tolist())
            for row, k in zip(scope.tolist(), which.tolist(), strict=True)
        ]
    return made


EXPECTED = {
    "2x3": [
        ([0, 1], [[100, 101, 102], [110, 111, 112]]),
        ([2, 1], [[200, 201, 202], [210, 211, 212]]),
    ],
    "2": [([0], [0, 0.05])],
}


def random_scores(seed: int) -> GraphPotentials:
    rng = np.random.default_rng(seed)
    width = rng.integers(1, 5, size=6)
    factors = []
    for _ in range(int(rng.integers(1, 9))):
        scope = rng.permutation(6)[: rng.integers(1, 5)]
        table = rng.normal(size=width[scope])
        table[rng.random(table.shape) < 0.1] = -np.inf
        factors.append((scope.tolist(), table))
    return Graph.from_factors(width, factors)


def test_uai_has_the_last_variable_fastest() -> None:
    assert tables(load_graph(io.BytesIO(UAI))) == EXPECTED


def test_fg_has_the_first_variable_fastest_and_numbers_with_gaps() -> None:
    assert tables(load_graph(io.BytesIO(FG))) == EXPECTED


def test_lg_holds_logarithms(tmp_path: Path) -> None:
    (tmp_path / "m.LG").write_bytes(b"MARKOV 1 3 1 1 0 3 -1e3 2.5 -inf")
    assert load_graph(tmp_path / "m.LG").tables["3"].scores.tolist() == [[-1e3, 2.5, -np.inf]]
    with pytest.raises(DataError, match=r"line 1: factor 0 has the value -1000, .* format='lg'"):
        load_graph(tmp_path / "m.LG", format="uai")


def test_opengm_has_energies_and_shared_functions() -> None:
    scores = load_graph(io.BytesIO(opengm_file()))
    assert scores.tables["2"].scores.tolist() == [[-0.5, -np.inf]]
    assert scores.tables["2x3"].scores.tolist() == [[[0.0, -1.0, -2.0], [-10.0, -11.0, -12.0]]]
    potts = scores.tables["2x2"]
    assert potts.scores.tolist() == [[[1.5, -0.25], [-0.25, 1.5]]]
    assert potts.which.tolist() == [0, 0]
    assert scores.batch.scopes["2x2"].tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (16003, [1.0, 2.0], [[0, 2, 2], [2, 0, 2], [2, 2, 0], [2, 2, 2]]),
        (16005, [5.0, 0.5], [[0, 0.5, 2], [0.5, 0, 0.5], [2, 0.5, 0], [2.5, 2, 0.5]]),
        (16007, [7.0, 3.0], [[7, 3, 3], [3, 7, 3], [3, 3, 7], [3, 3, 3]]),
    ],
)
def test_functions_of_opengm(kind: int, values: list[float], expected: list[list[float]]) -> None:
    sets = dict.fromkeys(("function-id-16000", "function-id-16006"))
    made = opengm_file(
        **{f"{name}/{part}": None for name in sets for part in ("indices", "values")},
        **{
            "header": [2, 0, 2, 1, 1, kind, 1, 1],
            "numbers-of-states": [4, 3],
            "factors": [0, 0, 2, 0, 1],
            f"function-id-{kind}/indices": [4, 3] if kind != 16007 else [2, 4, 3],
            f"function-id-{kind}/values": values,
        },
    )
    assert (-load_graph(io.BytesIO(made)).tables["4x3"].scores[0]).tolist() == expected


@pytest.mark.parametrize("ending", [".uai", ".LG", ".fg", ".h5", ".uai.gz"])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_is_read_again(ending: str, seed: int, tmp_path: Path) -> None:
    if ending == ".h5":
        pytest.importorskip("h5py")
    scores, path = random_scores(seed), tmp_path / f"m{ending}"
    save_graph(scores, path)
    again = load_graph(path)
    assert again.batch.width.tolist() == scores.batch.width.tolist()
    for name, table in scores.tables.items():
        assert again.batch.scopes[name].tolist() == scores.batch.scopes[name].tolist()
        np.testing.assert_allclose(again.tables[name].scores, table.scores, rtol=1e-14, atol=1e-14)
        if ending in (".LG", ".h5"):
            assert again.tables[name].scores.tolist() == table.scores.tolist()
    if ending == ".uai.gz":
        assert gzip.decompress(path.read_bytes()).startswith(b"MARKOV\n6\n")


def test_kinds_scales_and_constants_are_written(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    graph = Graph({"a": 2, "b": 3}, own=["a"], pair=["a", "b"])
    batch = graph.batch(sizes={"a": 2, "b": 2})
    scores = batch.potentials(
        own=Table([[0.5, 1.0], [-1.0, 2.0]], which=[1, 1]),
        pair=Table(np.arange(6.0).reshape(2, 3), scale=[1, 2]),
    )
    given = scores.given({"a": [1, -1]})
    for ending in ("uai", "LG", "fg", "h5"):
        path, evidence = tmp_path / f"m.{ending}", tmp_path / f"m.{ending}.evid"
        save_graph(given, path, evidence=evidence)
        again = load_graph(path, evidence=evidence)
        assert again.observed is not None
        assert again.observed.tolist() == [1, -1, -1, -1]
        assert float(log_partition(again)) == pytest.approx(float(log_partition(given)))
    with pytest.raises(ValueError, match="some labels are given; name a file"):
        save_graph(given, tmp_path / "m.uai")
    constant = Graph.from_factors([2], [([], 3.0)])
    assert constant.constant is not None
    save_graph(constant, tmp_path / "c.uai")
    assert float(log_partition(load_graph(tmp_path / "c.uai"))) == pytest.approx(3.0 + np.log(2.0))


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    large = Graph.from_factors([2], [([0], [800.0, 0.0])])
    with pytest.raises(DataError, match=r"score 800 is out of the range of exp; save as \.LG"):
        save_graph(large, tmp_path / "m.uai")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"does not say in which format to write; end it in one of \.uai"):
        save_graph(large, tmp_path / "model")
    with pytest.raises(ValueError, match="format is 'xml', expected one of uai, lg, fg, opengm"):
        save_graph(large, tmp_path / "model", format="xml")
    with pytest.raises(ValueError, match="bif is read only; write one of uai, lg, fg, opengm"):
        save_graph(large, tmp_path / "model", format="bif")
    two = Graph({"a": 2}, own=["a"]).batch(graph_ptr=[0, 1, 2]).potentials(own=[0.0, 1.0])
    with pytest.raises(ValueError, match="a file holds one graph, and there are 2"):
        save_graph(two, tmp_path / "m.LG")


def test_factors_of_one_shape_are_one_clique_in_their_order() -> None:
    width = np.array([2, 3, 2, 3], dtype=np.int32)
    words = ["MARKOV 4 2 3 2 3 3000"]
    words += [f"2 {m % 4} {(m + 1 + m % 2) % 4}" for m in range(3000)]
    words += [
        f"{width[m % 4] * width[(m + 1 + m % 2) % 4]} "
        + "1 " * int(width[m % 4] * width[(m + 1 + m % 2) % 4])
        for m in range(3000)
    ]
    found = load_graph(io.BytesIO("\n".join(words).encode()))
    assert {name: len(scope) for name, scope in found.batch.scopes.items()} == {"2x3": 1500, "3x3": 1500}
    assert found.batch.scopes["2x3"][:2].tolist() == [[0, 1], [2, 3]]


# ---- evidence and answers


@pytest.mark.parametrize(
    "text", [b"2 0 1 2 0", b"2\n0 1\r\n2 0\n", b"1\n2 2 0 0 1", b"\xef\xbb\xbf2 0 1 2 0"]
)
def test_evidence(text: bytes) -> None:
    width = np.array([2, 2, 2], dtype=np.int32)
    assert read_evidence(io.BytesIO(text), width).tolist() == [1, -1, 0]


def test_no_evidence() -> None:
    width = np.array([2], dtype=np.int32)
    assert read_evidence(io.BytesIO(b"0"), width).tolist() == [-1]
    assert read_evidence(io.BytesIO(b"1 0"), width).tolist() == [-1]  # one sample with nothing, of 2010


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty"),
        (b"2 0 1", "ends where 2 pairs of variable and label should come"),
        (b"1 0 1 2", "there is more behind 1 pairs"),
        (b"1 3 0", "line 1: an observed variable is 3, expected a whole number, 0 to 2"),
        (b"1\n0 2", "line 2: the label of variable 0 is 2, expected a whole number, 0 to 1"),
        (b"1 0 0.5", "the label of variable 0 is 0.5"),
        (b"1 0 nan", "the label of variable 0 is nan"),
        (b"2 0 1 0 0", "variable 0 is observed twice, as 1 and as 0"),
        (b"2 1 0 1 1 0 1 1 1", "there are 2 samples of evidence; keep one"),
        (b"one 0 1", "line 1: 'one' is not a number"),
    ],
)
def test_wrong_evidence(text: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_evidence(io.BytesIO(text), np.array([2, 2, 2], dtype=np.int32))


def test_answers_are_read_again() -> None:
    rng = np.random.default_rng(0)
    marginals = [rng.dirichlet(np.ones(n)) for n in (2, 3, 1)]
    found = read_result(io.BytesIO(result_text("MAR", marginals).encode()))
    assert found.label_ptr is not None
    assert found.marginals is not None
    assert found.label_ptr.tolist() == [0, 2, 5, 6]
    assert found.marginals.tolist() == np.concatenate(marginals).tolist()
    assert read_result(io.BytesIO(result_text("PR", -np.inf).encode())).value == -np.inf
    several = b"MPE\n2 0 0\n-BEGIN-\n2 0 1\n-BEGIN-\n1\n2 1 1\n"
    labels = read_result(io.BytesIO(several)).labels
    assert labels is not None
    assert labels.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty, expected PR, MAR or MPE"),
        (b"PRO\n1", "the file begins with 'PRO', expected PR, MAR or MPE"),
        (b"MMAP\n1 0 1", "MMAP.* is not supported"),
        (b"PR\n1 2 3", "not a whole PR: expected one number"),
        (b"PR\n", "the file is empty"),
        (b"MAR\n2 2 0.5 0.5 3 0.1 0.2", "not a whole MAR"),
        (b"MAR\n99999999999 2 0.5", "not a whole MAR"),
        (b"MPE\n2 0\n", "not a whole MPE"),
        (b"MPE\n1 -3\n", "not a whole MPE"),
        (b"MPE\n2 0 x\n", "line 2: 'x' is not a number"),
    ],
)
def test_wrong_answers(text: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_result(io.BytesIO(text))


# ---- real models


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data")
def test_the_best_labelings_of_real_models_have_their_scores() -> None:
    lines = (DATA / "index.tsv").read_text().splitlines()
    names = lines[0].split("\t")
    for line in lines[1:]:
        row = dict(zip(names, line.split("\t"), strict=True))
        path = DATA / f"{row['name']}.uai"
        scores = load_graph(path if path.exists() else f"{path}.gz", evidence=f"{path}.evid")
        assert (scores.batch.variables, scores.batch.factors) == (int(row["n_vars"]), int(row["n_factors"]))
        labels = read_result(f"{path}.MPE").labels
        assert labels is not None
        assert scores.labeling_score(labels)[0] == pytest.approx(float(row["MPE_ln"]), abs=1e-5)


def test_formats_are_told_by_content() -> None:
    assert len(read_factors(io.BytesIO(UAI)).width) == 3
    assert len(read_factors(io.BytesIO(FG)).width) == 3
    with pytest.raises(DataError, match="begins with '<xml>', expected a model: MARKOV or BAYES"):
        read_factors(io.BytesIO(b"<xml>"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "m.xml",
            b"network x {}",
            r"begins with 'network', .*; known formats and endings: uai \(\.uai\)",
        ),
        (
            "m.net",
            b"3\n",
            r"ends where 3 factors .* \(read as fg, for its name says no format; known",
        ),
        ("m", b"MARKOV", r"ends where the number of variables .* \(read as uai, for its name says no format"),
        ("m.uai", b"hello world", "begins with 'hello', expected MARKOV or BAYES, as of format uai; known"),
        ("m.uai.gz", b"not gzip", "begins with 'not', .*; its name ends in .gz, but it is not gzip"),
        ("m.gz", b"\x1f\x00\x12", r"but it is not gzip"),
    ],
)
def test_files_of_unknown_formats_say_which_are_known(
    name: str, text: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(DataError, match=message):
        load_graph(tmp_path / name)


def test_a_plain_file_may_end_in_gz(tmp_path: Path) -> None:
    (tmp_path / "m.uai.gz").write_bytes(UAI)
    assert tables(load_graph(tmp_path / "m.uai.gz")) == EXPECTED
