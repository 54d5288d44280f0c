"""How commands read data: separators, comments, CoNLL-U, and files that lack their labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crfkit.cli.commands import command_named
from crfkit.cli.plain_arguments import arguments_of
from crfkit.models import SequenceModel
from tests.cases.cli import folder, run

__all__ = ["folder"]

PLACES = "# places\nNew York\tB-LOC\nis\tO\n\n# more\nLos Angeles\tB-LOC\nwas\tO\n"
WORDS = [("the", "DET"), ("dog", "NOUN"), ("ran", "VERB")]


def conllu(sentences: int = 3) -> str:
    lines = []
    for n in range(sentences):
        lines += [f"# sent_id = {n}", "1-2\tthedog" + "\t_" * 8]
        lines += [f"{i + 1}\t{w}\t{w}\t{u}\t_\t_\t{i}\tdep\t_\t_" for i, (w, u) in enumerate(WORDS)]
        lines += ["3.1\tran" + "\t_" * 8, ""]
    return "\n".join(lines) + "\n"


def test_tabs_and_comments_in_every_command(tmp_path: Path) -> None:
    data, model = tmp_path / "places.tsv", tmp_path / "m.crf"
    data.write_text(PLACES)
    given = ["--comment", "#"]
    for more in ([], ["--separator", "tab"], ["--block-positions", "2"]):
        run("train", data, "-o", model, "-q", "-a", "lbfgs", *given, *more)
        assert "0[0]=New York" in SequenceModel.load(model).attributes
    tagged = run("tag", model, data, *given).stdout
    assert tagged == "New York\tB-LOC\tB-LOC\nis\tO\tO\n\nLos Angeles\tB-LOC\tB-LOC\nwas\tO\tO\n\n"
    assert "span_f1 1.0000" in run("evaluate", model, data, *given).stdout
    assert "span_f1 1.0000" in run("evaluate", "--predicted", "-", text=tagged).stdout
    assert run("explain", model, data, *given).stdout.startswith("New York B-LOC\tB-LOC")
    assert "0[0]=Los Angeles" in run("features", data, "-t", "0[0]", "--sequence", 2, *given).stdout
    assert json.loads(run("cv", data, "--folds", 2, "--json", "-q", *given).stdout)["sequences"] == 2
    commas = tmp_path / "commas.csv"
    commas.write_text("New York,B-LOC\nis,O\n")
    assert run("tag", model, commas, "--separator", ",").stdout.startswith("New York\tB-LOC\tB-LOC\n")
    assert "--comment" in run("train", data, "-o", model, status=2).stderr
    assert "expected tab, blanks" in run("tag", model, data, "--separator", "::", status=2).stderr


def test_what_separates_is_the_same_in_all_blocks(folder: Path, tmp_path: Path) -> None:
    lines = "the DT\nthe\tDT\n\n" + "dog\tNN\n\n" * 60_000  # the first sequence has a line without TABs
    tagged = run("tag", folder / "m.crf", text=lines).stdout.splitlines()
    assert tagged[0].startswith("the\tDT\t")
    assert tagged[-2].startswith("dog\tNN\t")


def test_options_of_reading_are_read_quickly() -> None:
    made = arguments_of(command_named("tag"), ["m", "d", "--separator", "tab", "--comment", "#"])
    assert made == {"model": "m", "data": "d", "separator": "tab", "comment": "#"}


def test_conllu_from_train_to_eval(tmp_path: Path) -> None:
    data, model = tmp_path / "en.conllu", tmp_path / "m.crf"
    data.write_text(conllu())
    run("train", data, "-o", model, "-q", "-a", "lbfgs")
    assert SequenceModel.load(model).labels == ("DET", "NOUN", "VERB")
    assert {name.split("[")[0] for name in SequenceModel.load(model).attributes} >= {"form", "lower(form)"}
    tagged = run("tag", model, data).stdout.splitlines()
    assert [line.split("\t")[-1] for line in tagged[:4]] == ["DET", "NOUN", "VERB", ""]
    assert "accuracy" in run("evaluate", model, data, "--format", "conllu").stdout
    assert run("tag", model, "--columns", "form", text="the\n").stdout == "the\tDET\n\n"
    run("train", data, "-o", model, "-q", "-a", "lbfgs", "--label-column", "lemma")
    assert SequenceModel.load(model).labels == ("the", "dog", "ran")


@pytest.mark.parametrize("columns", [1, 2])
def test_data_without_labels_are_not_judged(folder: Path, tmp_path: Path, columns: int) -> None:
    bare = tmp_path / "bare.txt"
    lines = (folder / "test.txt").read_text().splitlines()
    bare.write_text("".join(" ".join(line.split()[:columns]) + "\n" for line in lines))
    for model in ("m.crf", "t.crf"):
        told = run("evaluate", folder / model, bare, status=2).stderr
        assert "give data with a column of labels" in told
    assert (
        "reads it as input" in run("evaluate", folder / "m.crf", bare, "--label-column", "0", status=2).stderr
    )
    told = run("tag", folder / "t.crf", bare, "--given", status=2).stderr
    assert ("t.crf reads" if columns == 2 else "t.crf was trained on 3, so that 2 or 3") in told
    out = tmp_path / "m"
    told = run("train", folder / "train.txt", "-o", out, "--dev", bare, "-q", status=2).stderr
    assert "bare.txt: the column" in told


def test_labels_that_no_model_knows_are_words(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "word").write_text("U:%x[0,0]\n")
    model = tmp_path / "w.crf"
    run("train", folder / "train.txt", "-o", model, "-t", tmp_path / "word", "-q", "-a", "lbfgs")
    bare = tmp_path / "bare.txt"
    lines = (folder / "test.txt").read_text().splitlines()
    bare.write_text("".join(" ".join(line.split()[:2]) + "\n" for line in lines))
    told = run("evaluate", model, bare, status=2).stderr
    assert "none of its labels (DT, NN, VB) is one of" in told
    assert "--label-column" in told
    items = tmp_path / "items.txt"
    items.write_text("w=the\tw=dog\n")
    assert "none of its labels (w=the)" in run("evaluate", folder / "i.crf", items, status=2).stderr
    tagged = run("tag", model, bare, "--print", "labels").stdout
    words = "".join(
        f"{line} {y}\n" for line, y in zip(bare.read_text().splitlines(), tagged.splitlines(), strict=True)
    )
    both = "\n".join(" ".join(line.split()[::2]) for line in words.splitlines())
    assert "have no label in common" in run("evaluate", "--predicted", "-", text=both, status=2).stderr


def test_features_counts_the_weights_of_training(folder: Path, tmp_path: Path) -> None:
    for lines in ("B\nB01:%x[0,0]", "B", "B01:%x[0,1]", "B1\nB2"):
        template = tmp_path / "template"
        template.write_text(f"U00:%x[0,0]\nU01:%x[-1,1]\n{lines}\n")
        counted = json.loads(
            run("features", folder / "train.txt", "-t", template, "--count", "--json").stdout
        )
        for pairs, name in (("observed", "weights, observed pairs"), ("all", "weights, all pairs")):
            out = tmp_path / "m.crf"
            options = [
                "-t",
                template,
                "--selection",
                pairs,
                "--json",
                "-q",
                "--max-iterations",
                1,
                "-a",
                "lbfgs",
            ]
            told = json.loads(run("train", folder / "train.txt", "-o", out, *options).stdout)
            assert counted[name] == told["weights"], (lines, pairs)
    recipe = json.loads(
        run("features", folder / "train.txt", "-t", "0[0]", "--count", "--json", text="").stdout
    )
    assert recipe["weights, all pairs"] == recipe["attributes"] * 3 + 9
