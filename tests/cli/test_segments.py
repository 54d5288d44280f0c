"""Models of segments on the command line: train, tag, eval, cv, show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crfkit import Model
from tests.cases.cli import run, written

OPTIONS = ["--structure", "semi", "-q", "--jobs", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("semi")
    (made / "train.txt").write_text(written())
    (made / "test.txt").write_text(written(10, seed=5))
    plain = written().replace("B-NP", "NP").replace("I-NP", "NP")
    (made / "plain.txt").write_text(plain)
    run("train", made / "train.txt", "-o", made / "m.crf", *OPTIONS)
    run("train", made / "plain.txt", "-o", made / "p.crf", *OPTIONS)
    return made


def test_tags_come_out_as_they_went_in(folder: Path) -> None:
    model: Any = Model.load(folder / "m.crf")
    assert model.scheme == "BIO"
    assert dict(zip(model.structure.labels, model.structure.max_length, strict=True)) == {"NP": 2, "O": 1}
    out = run("tag", folder / "m.crf", folder / "test.txt", "--jobs", 1).stdout
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert all(row[-1] == row[-2] for row in rows)
    assert out.count("\n") == (folder / "test.txt").read_text().count("\n")
    marked = run("tag", folder / "m.crf", folder / "test.txt", "--print", "proba", "--jobs", 1).stdout
    assert marked.splitlines()[0].split("\t")[4].startswith("NP/0.9")


def test_segments_are_printed_with_probabilities(folder: Path) -> None:
    text = "the\tDT\ndog\tNN\nran\tVB\n\n"
    told = json.loads(run("tag", folder / "m.crf", "-", "--print", "spans", "--json", text=text).stdout)
    assert told["segments"] == [[0, 2, "NP"]]
    told = json.loads(run("tag", folder / "m.crf", "-", "--print", "spans,proba", "--json", text=text).stdout)
    (one,) = told["segments"]
    assert one[:3] == [0, 2, "NP"]
    assert 0.5 < one[3] <= 1.0
    told = json.loads(
        run("tag", folder / "m.crf", "-", "--print", "spans", "--json", "-k", 2, text=text).stdout
    )
    assert [len(several["segments"]) for several in told["kbest"]] != [1, 1]
    assert list(told) == ["0", "1", "kbest"]
    run("train", folder / "train.txt", "-o", folder / "chain.crf", "-q", "--max-iterations", 5, "-a", "lbfgs")
    told = json.loads(run("tag", folder / "chain.crf", "-", "--print", "spans", "--json", text=text).stdout)
    assert told["segments"] == [[0, 2, "NP"]]
    told = json.loads(
        run("tag", folder / "chain.crf", "-", "--print", "spans,proba", "--json", text=text).stdout
    )
    assert told["segments"][0][:3] == [0, 2, "NP"]
    assert 0.1 < told["segments"][0][3] < 1.0


@pytest.mark.parametrize("model", ["m.crf", "chain.crf"])
def test_spans_one_a_line(folder: Path, model: str) -> None:
    run("train", folder / "train.txt", "-o", folder / "chain.crf", "-q", "--max-iterations", 5, "-a", "lbfgs")
    text = "the\tDT\ndog\tNN\nran\tVB\n\nran\tVB\na\tDT\ncat\tNN\n\n"
    rows = [
        line.split("\t")
        for line in run("tag", folder / model, "-", "--print", "spans", text=text).stdout.splitlines()
    ]
    assert rows == [["1", "0", "2", "NP", "the dog"], ["2", "1", "3", "NP", "a cat"]]
    asked = ["tag", folder / model, "-", "--print", "spans,proba"]
    sure = [line.split("\t") for line in run(*asked, text=text).stdout.splitlines()]
    assert [row[:5] for row in sure] == rows
    told = [json.loads(line) for line in run(*asked, "--json", text=text).stdout.splitlines()]
    assert [one["segments"][0][:3] for one in told] == [[0, 2, "NP"], [1, 3, "NP"]]
    assert [float(row[5]) for row in sure] == pytest.approx([one["segments"][0][3] for one in told], abs=1e-6)
    wrong = run("tag", folder / model, "-", "--print", "spans", "-k", 2, text=text, status=2)
    assert "is printed as JSON; give --json too" in wrong.output
    wrong = run("tag", folder / model, "-", "--print", "spans,labels", text=text, status=2)
    assert "give one of columns, labels and spans" in wrong.output
    wrong = run("tag", folder / model, "-", "--print", "entities", text=text, status=2)
    assert "--print is 'entities', expected columns, labels, spans, proba or spans,proba" in wrong.output


def test_scores_are_those_of_segments(folder: Path) -> None:
    for model, data in (("m.crf", "train.txt"), ("p.crf", "plain.txt")):
        told = json.loads(run("evaluate", folder / model, folder / data, "--json", "--jobs", 1).stdout)
        assert (told["kind"], told["micro"]["f1"]) == ("spans", 1.0) or model == "p.crf"
        assert told["kind"] == "spans"
        assert told["rows"].keys() == {"NP"}
    told = json.loads(
        run("cv", folder / "train.txt", "--folds", 2, *OPTIONS, "--max-iterations", 20, "--json").stdout
    )
    assert told["metrics"]["span_f1"]["mean"] > 0.9


def test_dev_sets_and_checkpoints(folder: Path, tmp_path: Path) -> None:
    options = [*OPTIONS, "--dev", folder / "test.txt", "--max-iterations", 20, "-a", "lbfgs"]
    run("train", folder / "train.txt", "-o", tmp_path / "a.crf", *options)
    checkpoints = ["--checkpoint", tmp_path / "kept", "--set", "checkpoint.seconds=0"]
    run("train", folder / "train.txt", "-o", tmp_path / "b.crf", *options, *checkpoints)
    a, b = (Model.load(tmp_path / name) for name in ("a.crf", "b.crf"))
    assert (a.w == b.w).all()
    assert a.training is not None
    assert a.training.metric == "span_f1"


def test_json_lines_have_segments(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"tokens": ["in", "New", "York"], "segments": [[1, 3, "LOC"]]},
        {"tokens": ["York", "is", "old"], "segments": [[0, 1, "LOC"]]},
        {"tokens": ["it", "rains"], "segments": []},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run("train", path, "-o", tmp_path / "m.crf", *OPTIONS, "--l2", 0.01)
    told = run("tag", tmp_path / "m.crf", path, "--print", "spans", "--json").stdout.splitlines()
    assert [json.loads(line)["segments"] for line in told] == [line["segments"] for line in lines]
    items = [{"items": [[w] for w in line["tokens"]], "segments": line["segments"]} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in items))
    run("train", path, "-o", tmp_path / "m.crf", *OPTIONS, "--l2", 0.01)
    told = run("tag", tmp_path / "m.crf", path, "--print", "spans", "--json").stdout.splitlines()
    assert [json.loads(line)["segments"] for line in told] == [line["segments"] for line in lines]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"tokens": ["a", "b"], "segments": [[0, 2, "A"], [1, 2, "A"]]}', "begins before position 2"),
        ('{"tokens": ["a", "b"], "segments": [[0, 3, "A"]]}', "does not lie within the 2 positions"),
        ('{"tokens": ["a", "b"], "segments": [[0, 1, null]]}', "has a segment without a label"),
        ('{"tokens": ["a", "b"], "segments": [["0", 1, "A"]]}', "is not a segment"),
        ('{"tokens": ["a"], "labels": ["A"], "segments": []}', "has labels and segments"),
        ('{"tokens": ["a"], "segments": 3}', 'needs a list "segments"'),
    ],
)
def test_wrong_segments_name_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["a", "b"], "segments": [[0, 1, "A"]]}\n' + line + "\n")
    told = run("train", path, "-o", tmp_path / "m.crf", *OPTIONS, status=2).stderr
    assert "a.jsonl" in told
    assert "line 2" in told
    assert message in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-length", "0"], "--max-length is '0', expected a number of 1 or more"),
        (["--max-length", "NP=2,3"], "--max-length is 'NP=2,3'"),
        (["--max-length", "X=2"], "max_length names 'X', which is not a label"),
        (["--max-length", "1"], "the gold segment 'NP' of 2 positions is longer than max_length allows"),
        (["--outside", "none"], "--outside is 'none', expected unit or long"),
        (["--order", "2"], "--order is for chains"),
        (["--block-positions", "10", "-a", "lbfgs"], "--block-positions is for chains"),
        (
            ["--structure", "chain", "--max-length", "2"],
            "--max-length is for segments; give --structure semi",
        ),
        (["--structure", "tree"], "--structure is 'tree', expected chain, local-chain or semi"),
    ],
)
def test_wrong_options_are_named(folder: Path, tmp_path: Path, options: list[str], message: str) -> None:
    told = run("train", folder / "train.txt", "-o", tmp_path / "m.crf", *OPTIONS, *options, status=2)
    assert message in told.stderr


def test_show_tells_lengths(folder: Path) -> None:
    told = run("show", folder / "m.crf").stdout
    assert "lengths      NP 2, O 1" in told
    assert "scheme       BIO" in told
    plain = json.loads(run("show", folder / "m.crf", "--json").stdout)
    assert plain["max_length"] == {"NP": 2, "O": 1}


def test_dictionaries_become_similarities(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "pets.txt").write_text("the dog\na cat\n")
    options = [*OPTIONS, "--max-iterations", 15]
    pets = ["--dictionary", f"pets={tmp_path}/pets.txt"]
    run("train", folder / "train.txt", "-o", tmp_path / "m.crf", *options, *pets)
    model = Model.load(tmp_path / "m.crf")
    assert 'segment:jaccard(0, "pets")[..]' in model.names.segment_attributes.strings()
    run("train", folder / "train.txt", "-o", tmp_path / "i.crf", *options, "--internal-dictionary")
    model = Model.load(tmp_path / "i.crf")
    assert 'segment:tfidf(0, "internal NP")[..]' in model.names.segment_attributes.strings()
    out = run("tag", tmp_path / "i.crf", folder / "test.txt", "--jobs", 1).stdout
    assert all(line.split("\t")[-1] == line.split("\t")[-2] for line in out.splitlines() if line)
    chain = ["-q", "--max-iterations", 15, "-a", "lbfgs", "--internal-dictionary"]
    run("train", folder / "train.txt", "-o", tmp_path / "c.crf", *chain)
    assert 'jarowinkler(0, "internal NP")[0]' in Model.load(tmp_path / "c.crf").attributes.strings()
    (tmp_path / "t").write_text("0[0]\nsegment: jaccard(0, pets)[..]\n")
    used = ["-t", tmp_path / "t", *pets]
    run("train", folder / "train.txt", "-o", tmp_path / "m.crf", *options, *used)
    shown = run("features", folder / "train.txt", *used, "--max-length", 2).stdout
    assert "segment:jaccard" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dictionary", "pets"], "--dictionary is 'pets', expected NAME=FILE"),
        (["--dictionary", "pets=nowhere"], "nowhere"),
        (["--structure", "chain", "-t", "TEMPLATE"], "has lines of segments (begin:, end:, segment:); give"),
        (["-t", "TEMPLATE", "--dictionary", "pets=TEMPLATE"], "does not use the dictionary 'pets'"),
    ],
)
def test_wrong_dictionaries_are_named(folder: Path, tmp_path: Path, options: list[str], message: str) -> None:
    (tmp_path / "t").write_text("0[0]\nbegin: 0[-1]\n")
    given = [option.replace("TEMPLATE", str(tmp_path / "t")) for option in options]
    told = run("train", folder / "train.txt", "-o", tmp_path / "m.crf", *OPTIONS, *given, status=2)
    assert message in told.stderr


@pytest.mark.parametrize(
    ("forced", "expected"),
    [
        (["?", "?", "?", "?"], [[0, 2, "NP"], [2, 4, "NP"]]),
        (["?", "B-NP", "?", "?"], [[0, 1, "NP"], [1, 2, "NP"], [2, 4, "NP"]]),
        (["B-NP", "O", "?", "?"], [[0, 1, "NP"], [2, 4, "NP"]]),
        (["O", "O", "?", "O"], [[2, 3, "NP"]]),
    ],
)
def test_given_tags_are_kept(folder: Path, forced: list[str], expected: list[list[Any]]) -> None:
    rows = zip(["the", "dog", "a", "cat"], ["DT", "NN", "DT", "NN"], forced, strict=True)
    text = "".join("\t".join(row) + "\n" for row in rows)
    told = json.loads(
        run("tag", folder / "m.crf", "-", "--print", "spans", "--json", "--given", text=text).stdout
    )
    assert told["segments"] == expected


@pytest.mark.filterwarnings("default::crfkit.errors.DataWarning")
def test_a_gold_label_that_the_model_does_not_know_is_an_error(folder: Path) -> None:
    text = "the\tDT\tB-PERSON\ndog\tNN\tI-PERSON\n\nran\tVB\tB-NP\n"
    done = run("evaluate", folder / "m.crf", "-", "--json", text=text)
    assert json.loads(done.stdout)["micro"]["f1"] == 0.0
    assert "standard input has labels that" in done.stderr
    assert "does not know: PERSON (2); 2 of 3 positions" in done.stderr
    wrong = run("evaluate", folder / "m.crf", "-", text=text.replace("B-NP", "O"), status=2)
    assert "none of its labels (PERSON) is one of" in wrong.stderr
    wrong = run("evaluate", folder / "m.crf", "-", text="the\tDT\tX\ndog\tNN\tX\n", status=2)
    assert "none of its labels (X) is one of" in wrong.stderr


def test_runs_of_plain_labels_are_segments(tmp_path: Path) -> None:
    lines = "12\tnumber\nHigh\tstreet\nSt\tstreet\nYork\ttown\n\n"
    (tmp_path / "train.txt").write_text(lines * 9)
    run("train", tmp_path / "train.txt", "-o", tmp_path / "m.crf", "-q", "--jobs", 1)
    asked = ["tag", tmp_path / "m.crf", "-", "--print", "spans,proba"]
    rows = [line.split("\t") for line in run(*asked, text=lines).stdout.splitlines()]
    assert [row[:5] for row in rows] == [
        ["1", "0", "1", "number", "12"],
        ["1", "1", "3", "street", "High St"],
        ["1", "3", "4", "town", "York"],
    ]
    assert all(0.5 < float(row[5]) < 1.0 for row in rows)
    (line,) = run(*asked, "--json", text=lines).stdout.splitlines()
    assert [one[:3] for one in json.loads(line)["segments"]] == [
        [int(row[1]), int(row[2]), row[3]] for row in rows
    ]
