"""crfkit infer: answers about models in files, as a user meets them."""

from __future__ import annotations

import gzip
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Graph
from crfkit.data.graphs import read_result
from crfkit.graphs import load as load_graph
from crfkit.graphs import save as save_graph
from crfkit.inference import graphs
from crfkit.inference.methods import Enumeration
from crfkit.inference.methods.registry import METHODS
from tests.cases.cli import on_a_terminal, run
from tests.cases.real_data import DATA

UAI = DATA / "uai"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    width = [2, 3, 2, 4]
    factors: list[Any] = [([v], rng.normal(size=width[v])) for v in range(4)]
    factors += [([a, b], rng.normal(size=(width[a], width[b]))) for a, b in [(0, 1), (1, 2), (2, 0), (3, 1)]]
    save_graph(Graph.from_factors(width, factors), tmp_path / "m.uai")
    (tmp_path / "m.evid").write_text("1 1 2\n")
    return tmp_path / "m.uai"


def result(text: str) -> Any:
    return read_result(io.BytesIO(text.encode()))


@pytest.mark.parametrize("observed", [False, True])
def test_answers_are_those_of_enumeration(model: Path, observed: bool) -> None:
    file = model.with_suffix(".evid") if observed else None
    evidence = ["--evidence", file] if observed else []
    scores = load_graph(model, evidence=file)
    exact = graphs.marginals(scores, method=Enumeration())
    told = run("infer", model, *evidence)
    assert result(told.stdout).value == pytest.approx(float(exact.log_partition) / math.log(10), abs=1e-9)
    assert "exact" in told.stderr
    found = result(run("infer", model, "--query", "mar", *evidence).stdout)
    assert found.label_ptr.tolist() == [0, 2, 5, 7, 11]
    np.testing.assert_allclose(found.marginals, np.concatenate(exact.node["variable"]), atol=1e-12)
    best = graphs.decode(scores, Enumeration())
    assert result(run("infer", model, "--query", "MPE", *evidence).stdout).labels.tolist() == (
        best.labels["variable"].tolist()
    )


def test_json_has_everything(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "answer.json"
    evidence = model.with_suffix(".evid")
    done = run(
        "infer", model, "--query", "MPE", "--evidence", evidence, "--json", "-o", out, "-q", "--jobs", 1
    )
    assert done.stdout == done.stderr == ""
    told = json.loads(out.read_text())
    assert (told["variables"], told["factors"], told["observed"]) == (4, 8, 1)
    assert told["labels"][1] == 2
    assert told["info"]["exact"] is True
    labels = {"variable": np.array(told["labels"])}
    assert told["score"] == pytest.approx(graphs.score(load_graph(model), labels))
    summed = json.loads(run("infer", model, "--query", "PR", "--json").stdout)
    assert summed["ln_z"] == pytest.approx(summed["log10_z"] * math.log(10))


def test_models_of_other_formats_and_from_a_pipe(model: Path, tmp_path: Path) -> None:
    expected = result(run("infer", model).stdout).value
    scores = load_graph(model)
    for name in ("m.LG", "m.fg", "m.uai.gz"):
        save_graph(scores, tmp_path / name)
        assert result(run("infer", tmp_path / name).stdout).value == pytest.approx(expected)
    assert result(run("infer", "-", text=model.read_bytes()).stdout).value == pytest.approx(expected)
    packed = gzip.compress((tmp_path / "m.LG").read_bytes())
    assert result(run("infer", "-", "-f", "lg", text=packed).stdout).value == pytest.approx(expected)


def test_a_model_without_variables(tmp_path: Path) -> None:
    (tmp_path / "m.uai").write_text("MARKOV 0 1 0 1 100")
    assert result(run("infer", tmp_path / "m.uai").stdout).value == pytest.approx(2.0)
    assert run("infer", tmp_path / "m.uai", "--query", "MAR").stdout == "MAR\n0\n"
    assert run("infer", tmp_path / "m.uai", "--query", "MPE").stdout == "MPE\n0\n"


def test_options_of_methods(model: Path) -> None:
    asked = ("infer", model, "--inference-method", "enumeration", "--set")
    told = run(*asked, "method.max_labelings=3", status=2).stderr
    assert "m.uai: graph 0 has 48 labelings, more than the 3" in told
    assert "(here: --inference-method, --set method.FIELD=VALUE)" in told
    run(*asked, "method.max_labelings=48")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", "MMAP"], "marginal MAP is not supported; ask for PR, MAR or MPE"),
        (["--query", "MAP"], "--query is 'MAP', expected one of PR, MAR, MPE"),
        (["--inference-method", "magic"], "--inference-method is 'magic', expected one of auto, "),
        (
            ["--inference-method", "enumeration", "--set", "method.budget=2^9"],
            "--set method.budget: the method enumeration does not have it",
        ),
        (
            ["--inference-method", "enumeration", "--seed", "1"],
            "--seed: the method enumeration does not have it",
        ),
        (
            ["--inference-method", "enumeration", "--set", "method.tol=1"],
            "--set method.tol: the method enumeration does not",
        ),
        (["--set", "tol"], "--set is 'tol', expected PART.FIELD=VALUE, such as method.NAME=1"),
        (["--set", "method.budget=much"], "--set method.budget: "),
        (["--set", "objective.l2=1"], "there is no part 'objective' here; the parts are method"),
        (["--format", "xml"], "format is 'xml', expected one of uai, lg, fg, opengm, wcsp, cfn, bif"),
        (["--format", "fg"], "'MARKOV' is not a number"),
        (["--evidence", "absent.evid"], "absent.evid: No such file or directory; check the name"),
        (["-o", "/nowhere/x"], "there is no folder /nowhere"),
    ],
)
def test_wrong_requests(model: Path, arguments: list[str], message: str) -> None:
    told = run("infer", model, *arguments, status=2)
    assert message in told.stderr
    assert told.stderr.count("\n") == 1
    assert told.stdout == ""


def test_wrong_and_impossible_evidence(tmp_path: Path) -> None:
    model, evidence = tmp_path / "m.uai", tmp_path / "m.evid"
    model.write_text("MARKOV 2 2 2 1 2 0 1 4 0.5 0 0.25 0")
    evidence.write_text("1 1 2")
    told = run("infer", model, "--evidence", evidence, status=2).stderr
    assert "m.evid, line 1: the label of variable 1 is 2, expected a whole number, 0 to 1" in told
    evidence.write_text("1 1 1")
    assert run("infer", model, "--evidence", evidence).stdout == "PR\n-inf\n"
    assert json.loads(run("infer", model, "--evidence", evidence, "--json").stdout)["ln_z"] is None
    for query in ("MAR", "MPE"):
        told = run("infer", model, "--evidence", evidence, "--query", query, status=2).stderr
        assert f"m.uai: every labeling has probability 0 given {evidence}" in told


def test_what_is_not_exact_has_bounds(model: Path) -> None:
    told = run("infer", model, "--query", "MPE", "--inference-method", "icm").stderr
    assert "the best score is at least " in told
    assert "at most" not in told


def test_a_terminal_shows_what_is_done(model: Path) -> None:
    told = on_a_terminal(100, "infer", model, "--query", "MAR")
    assert "crfkit: MAR of 4 variables, 8 factors by auto ...\n" in told
    assert "MAR of" not in on_a_terminal(100, "infer", model, "--query", "MAR", "-q")


def test_the_help_names_all_methods() -> None:
    words = run("infer", "--help").stdout.split()
    assert {*METHODS} <= {word.strip(".,") for word in words}


@pytest.mark.skipif(not UAI.is_dir(), reason="no shared data")
@pytest.mark.skipif("elimination" not in METHODS, reason="no elimination yet")
@pytest.mark.parametrize("name", ["CSP_12", "Pedigree_11", "Promedus_34", "Segmentation_11", "Alchemy_11"])
def test_real_models(name: str) -> None:
    path = UAI / f"{name}.uai"
    for query in ("PR", "MAR", "MPE"):
        told = run(
            "infer", path, "--evidence", f"{path}.evid", "--query", query, "--inference-method", "elimination"
        )
        found, expected = result(told.stdout), read_result(f"{path}.{query}")
        if query == "PR":
            assert found.value == pytest.approx(expected.value, rel=1e-5)
        elif query == "MAR":
            assert found.marginals == pytest.approx(expected.marginals, abs=1e-6)
        else:
            assert expected.labels is not None
            scores = load_graph(path)
            best = scores.labeling_score(np.stack([found.labels, expected.labels]))[:, 0]
            assert best[0] == pytest.approx(best[1], abs=1e-7)
