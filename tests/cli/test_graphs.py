"""The commands on graphs over columns, which a text form describes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crfkit
from crfkit.errors import ModelFileError
from crfkit.models.store import pack, unpack
from tests.cases.cli import run, written

GRAPH = """
columns  word pos chunk
kind     pos
kind     chunk
features word[-1..1]; suffix(word, 1)[0]
clique   pos   by features
clique   chunk by features
clique   pos[-1] pos
clique   chunk[-1] chunk
clique   pos chunk
clique   chunk chunk equal word where capitalized nearest 1 by features
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with data, a text form and a model."""
    place = tmp_path_factory.mktemp("graphs")
    (place / "train.txt").write_text(written(30))
    (place / "test.txt").write_text(written(10, seed=1))
    (place / "graph.txt").write_text(GRAPH)
    done = run(*train(place, "m.crf"), "--json", "--dev", place / "test.txt")
    told = json.loads(done.stdout)
    assert told["kinds"] == {"pos": 3, "chunk": 3}
    assert told["cliques"]["pos chunk"] == 9
    assert "exact" in done.stderr
    return place


def train(place: Path, name: str) -> list[object]:
    data = [place / "train.txt", "-o", place / name]
    return ["train", *data, "--structure", "graph", "--graph", place / "graph.txt", "--max-iterations", 20]


def test_tags_go_into_further_columns(folder: Path) -> None:
    lines = run("tag", folder / "m.crf", folder / "test.txt").stdout.splitlines()
    rows = [line.split("\t") for line in lines if line]
    assert {len(row) for row in rows} == {5}
    assert sum(row[1] == row[3] and row[2] == row[4] for row in rows) > 0.9 * len(rows)
    words = "".join(line.split(" ")[0] + "\n" for line in (folder / "test.txt").read_text().splitlines())
    alone = run("tag", folder / "m.crf", "--print", "labels", text=words).stdout.splitlines()
    assert [line.split("\t") for line in alone if line] == [row[3:] for row in rows]


def test_probabilities_and_json(folder: Path) -> None:
    first = (
        run("tag", folder / "m.crf", "--print", "proba", text="the\ndog\n").stdout.splitlines()[0].split("\t")
    )
    assert first[:3] == ["the", "DT", "B-NP"]
    assert [cell.split("/")[0] for cell in first[3:]] == [
        *("pos:DT", "pos:NN", "pos:VB"),
        *("chunk:B-NP", "chunk:I-NP", "chunk:O"),
    ]
    assert sum(float(cell.split("/")[1]) for cell in first[3:]) == pytest.approx(2.0, abs=1e-5)
    made = json.loads(run("tag", folder / "m.crf", "--print", "proba", "--json", text="the\ndog\n").stdout)
    assert made["predicted"] == {"pos": ["DT", "NN"], "chunk": ["B-NP", "I-NP"]}
    assert made["marginals"]["pos"][0]["DT"] > 0.4


def test_eval_scores_each_kind(folder: Path) -> None:
    told = run("evaluate", folder / "m.crf", folder / "test.txt").stdout
    assert "pos:\n" in told
    assert "\nspan_f1 " in told
    made = json.loads(run("evaluate", folder / "m.crf", folder / "test.txt", "--json").stdout)
    assert made["parts"]["pos"]["kind"] == "labels"
    assert made["parts"]["chunk"]["kind"] == "spans"
    assert 0.5 < made["sequence_accuracy"] <= 1.0
    by_token = json.loads(
        run("evaluate", folder / "m.crf", folder / "test.txt", "--json", "-m", "accuracy").stdout
    )
    assert by_token["parts"]["chunk"]["kind"] == "labels"


def test_show_and_explain(folder: Path) -> None:
    told = run("show", folder / "m.crf", "--top", 1).stdout
    assert "kind         pos, 3 labels: DT, NN, VB\n" in told
    assert "clique       pos chunk (pos, chunk): 9 weights\n" in told
    assert GRAPH.strip() in told
    assert "strongest weights" not in run("show", folder / "m.crf", "-q").stdout
    made = json.loads(run("show", folder / "m.crf", "--json").stdout)
    assert made["structure"] == "graph"
    assert len(made["cliques"]["pos[-1] pos"]["strongest"]) == 5
    told = run("explain", folder / "m.crf", folder / "test.txt", "--sequence", 1, "--top", 2).stdout
    assert "\tpos DT" in told
    assert "pos: word[0]=" in told
    plain = json.loads(run("explain", folder / "m.crf", "--json", text="the\ndog\n").stdout)
    assert [one["kind"] for one in plain] == ["pos", "chunk"] * 2
    assert plain[0]["difference"] == pytest.approx(sum(c["amount"] for c in plain[0]["contributions"]))
    said = run("explain", folder / "m.crf", "--sequence", 3, text="the\n", status=2).stderr
    assert "standard input has 1 sequence; there is no sequence 3" in said


def test_the_file_keeps_the_text_form(folder: Path) -> None:
    model = crfkit.load(folder / "m.crf")
    assert str(model.form) == GRAPH
    data = (folder / "m.crf").read_bytes()
    arrays, described = unpack(data, "m")
    for form, said in (
        ("kind pos", "there is no clique"),
        (GRAPH.replace("clique   pos chunk\n", ""), "does not describe its cliques"),
        (7, "the text form of its graph is '7'"),
    ):
        (folder / "bad.crf").write_bytes(b"".join(pack(arrays, {**described, "form": form})))
        with pytest.raises(ModelFileError, match=said):
            crfkit.load(folder / "bad.crf")
    (folder / "bare.crf").write_bytes(b"".join(pack(arrays, {**described, "form": None})))
    said = run("tag", folder / "bare.crf", text="the\n", status=2).stderr
    assert "without a text form" in said
    assert run("show", folder / "bare.crf", "-q").stdout.startswith("model")


def test_methods_objectives_and_threads(folder: Path) -> None:
    run(*train(folder, "bp.crf"), "-q", "--inference-method", "belief-propagation", "--jobs", 1)
    run(*train(folder, "pl.crf"), "-q", "--objective", "pseudo-likelihood", "--l2", 0.5)
    run(*train(folder, "two.crf"), "-q", "--inference-method", "belief-propagation", "--jobs", 2)
    one, two = (crfkit.load(folder / name).w for name in ("bp.crf", "two.crf"))
    assert (one == two).all()
    made = json.loads(run("evaluate", folder / "pl.crf", folder / "test.txt", "--json").stdout)
    assert made["parts"]["pos"]["accuracy"] > 0.9


def test_training_goes_on_from_a_checkpoint(folder: Path) -> None:
    run(*train(folder, "whole.crf")[:-1], 8, "-q")
    kept = ["-q", "--checkpoint", folder / "kept", "--set", "checkpoint.seconds=0"]
    run(*train(folder, "half.crf")[:-1], 4, *kept)
    run(*train(folder, "rest.crf")[:-1], 8, *kept)
    whole, half, rest = (crfkit.load(folder / f"{name}.crf").w for name in ("whole", "half", "rest"))
    assert (whole == rest).all()
    assert not (whole == half).all()


def test_mistakes_are_told(folder: Path) -> None:
    data = [folder / "train.txt", "-o", folder / "x.crf"]
    graph = ["--structure", "graph", "--graph", folder / "graph.txt"]
    (folder / "wrong.txt").write_text("kind pos = column 1\nclique poss\n")
    (folder / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (folder / "label.txt").write_text("kind a = column 2\nfeatures 2[0]\nclique a by features\n")
    (folder / "column.txt").write_text("kind a = column 2\nfeatures word[0]\nclique a by features\n")
    (folder / "kind.txt").write_text("kind tag\nclique tag\n")
    (folder / "few.txt").write_text("columns word pos\nkind pos\nclique pos\n")
    (folder / "many.txt").write_text("kind a = column 2\nkind b hidden 99999999999\nclique a b\n")
    (folder / "other.txt").write_text("the X Y\n")
    for arguments, said in (
        (["--structure", "graph"], "--structure graph needs --graph FILE"),
        (["--graph", folder / "graph.txt"], "--graph and --inference-method are for --structure graph"),
        ([*graph, "--order", 2], "--order is not for --structure graph; leave it out"),
        ([*graph, "-t", "t"], "--features is not for --structure graph; the file of --graph decides it"),
        ([*graph, "--inference-method", "guess"], "method is 'guess', expected one of auto"),
        ([*graph[:3], folder / "none.txt"], "none.txt"),
        ([*graph[:3], folder / "wrong.txt"], "wrong.txt:2: clique poss: 'poss' is not a kind"),
        ([*graph[:3], folder / "binary.txt"], "binary.txt is not UTF-8 text"),
        ([*graph[:3], folder / "label.txt"], "label.txt:2: features features reads the column '2', whose"),
        ([*graph[:3], folder / "column.txt"], "column.txt:2: features features: "),
        ([*graph[:3], folder / "kind.txt"], "kind.txt:1: kind tag: "),
        ([*graph[:3], folder / "few.txt"], "few.txt:1: "),
        ([*graph[:3], folder / "many.txt"], "many.txt:2: kind 'b' has 99999999999 hidden labels, expected"),
        ([*graph, "--dev", folder / "other.txt"], "kind pos: none of its labels (X) is one of"),
    ):
        told = run("train", *data, *arguments, status=2).stderr.replace("\n", " ")
        assert said in told
    for arguments in (
        ["--kbest", 2],
        ["--constraint", "once:all"],
        ["--print", "spans"],
        ["--given"],
        ["--label-column", 1],
        ["--text"],
    ):
        told = run("tag", folder / "m.crf", *arguments, text="the\n", status=2).stderr
        assert "not for models of graphs" in told
    told = run("explain", folder / "m.crf", "--text", text="the\n", status=2).stderr
    assert "not for models of graphs" in told
    assert "one of graphs" in run("show", folder / "m.crf", "--label", "DT", status=2).stderr
