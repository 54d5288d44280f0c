"""Files that people have: headers, columns that number sentences, other encodings and separators."""

from __future__ import annotations

from pathlib import Path

import pytest

from crfkit.models import SequenceModel
from tests.cases.cli import run

ROWS = [("1", "le", "D"), ("1", "café", "N"), ("2", "été", "N"), ("3", "le", "D"), ("3", "café", "N")]
HEADER = ("sentence_id", "word", "tag")
TRAINED = ["-a", "lbfgs", "-q", "--max-iterations", "30"]
TAGGED = "le\tD\tD\ncafé\tN\tN\n\nété\tN\tN\n\nle\tD\tD\ncafé\tN\tN\n\n"


def text(separator: str, header: bool = True) -> str:
    return "".join(separator.join(row) + "\n" for row in ([HEADER, *ROWS] if header else ROWS))


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.tsv", text("\t"), []),
        ("a.tsv", text("\t"), ["--header", "--sequence-column", "sentence_id"]),
        ("a.tsv", text("\t"), ["--columns", "word,tag", "--sequence-column", "sentence_id"]),
        ("a.csv", text(","), []),
        ("a.csv", text(";"), []),
        ("a.csv", text(";"), ["--separator", ";"]),
        ("a.txt", text(";"), ["--separator", ";"]),
        ("a.txt", text(" "), ["--header"]),
        ("a.txt", text(" "), ["--sequence-column", "sentence_id"]),
        ("a.csv", text(";", header=False), ["--no-header", "--sequence-column", "0", "-f", "csv"]),
        ("a.txt", text(" ", header=False), ["--sequence-column", "0"]),
        ("a.tsv", text("\t", header=False), ["--columns", "n,word,tag", "--sequence-column", "n"]),
    ],
)
@pytest.mark.parametrize("encoding", [None, "latin-1", "utf-16"])
def test_from_train_to_eval(
    name: str, content: str, options: list[str], encoding: str | None, tmp_path: Path
) -> None:
    data, model = tmp_path / name, tmp_path / "m.crf"
    data.write_text(content, encoding=encoding or "utf-8")
    given = [*options, *([] if encoding in (None, "utf-16") else ["--encoding", encoding])]
    run("train", data, "-o", model, *TRAINED, *given)
    assert SequenceModel.load(model).labels == ("D", "N")
    assert run("tag", model, data, *given).stdout == TAGGED
    assert "accuracy 1.0000 of 5 labels" in run("evaluate", model, data, *given).stdout
    assert len(run("rank", model, data, *given).stdout.splitlines()) == 3
    assert run("explain", model, data, "--sequence", "2", *given).stdout.startswith("été")
    assert "été" in run("features", data, "-t", "bias", "--sequence", "2", *given).stdout


def test_a_header_that_is_used_is_told(tmp_path: Path) -> None:
    data = tmp_path / "a.tsv"
    data.write_text(text("\t"))
    told = run("train", data, "-o", tmp_path / "m", "-a", "lbfgs", "--max-iterations", "5").stderr
    assert f"{data}: the first line names the columns sentence_id, word, tag; 'sentence_id' numbers" in told


@pytest.mark.filterwarnings("default::crfkit.errors.DataWarning")
def test_suspicious_data_are_one_line_on_standard_error(tmp_path: Path) -> None:
    data = tmp_path / "a.txt"
    data.write_text(text(" "))
    told = run("train", data, "-o", tmp_path / "m", *TRAINED).stderr
    assert f"crfkit: warning: {data}, line 1: is read as a token, but 'tag' occurs nowhere else" in told
    assert "--header" in told
    data.write_text("1;le;D\n1;café;N\n" * 1000)
    told = run("train", data, "-o", tmp_path / "m", *TRAINED, "--separator", ";").stderr
    [line] = [line for line in told.splitlines() if "one sequence" in line]
    assert f"{data} is one sequence of 2,000 positions" in line
    assert "--sequence-column" in line


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--encoding", "utf-9"], "encoding is 'utf-9', expected the name of a text encoding"),
        (["--encoding", "ascii"], "a.tsv, line 3: is not valid ascii; give its encoding"),
        (
            ["--sequence-column", "doc"],
            "there is no column 'doc'; there are 0, 1, 2; give header=True (--header)",
        ),
        (
            ["--sequence-column", "doc", "--header"],
            "a.tsv, line 1: there is no column 'doc'; there are sentence_id",
        ),
        (["--header", "-f", "crfpp"], "format crfpp has no option 'header'; columns, csv have it"),
        (["--sequence-column", ""], "sequence is empty"),
    ],
)
def test_mistakes(options: list[str], told: str, tmp_path: Path) -> None:
    data = tmp_path / "a.tsv"
    data.write_text(text("\t"))
    for command in (["train", data, "-o", tmp_path / "m", *TRAINED], ["features", data, "-t", "0[0]"]):
        assert told in run(*command, *options, status=2).stderr


def test_a_file_that_is_not_utf8_names_the_option(tmp_path: Path) -> None:
    data = tmp_path / "a.tsv"
    data.write_bytes(text("\t").encode("latin-1"))
    told = run("train", data, "-o", tmp_path / "m", *TRAINED, status=2).stderr
    assert "a.tsv, line 3: is not valid UTF-8 in column 2; give its encoding" in told
    assert "--encoding latin-1" in told


def test_rows_of_other_widths_name_the_line(tmp_path: Path) -> None:
    data = tmp_path / "a.tsv"
    data.write_text(text("\t") + "4\tx\n")
    told = run("train", data, "-o", tmp_path / "m", *TRAINED, "--separator", "tab", status=2).stderr
    assert f"{data}, line 7: has 2 columns, expected 3 as on the first line" in told


def test_columns_without_the_names_of_training_are_told_which_to_give(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(text("\t"))
    run("train", tmp_path / "a.tsv", "-o", tmp_path / "m", *TRAINED)
    for name, lines, told in (
        ("b.txt", "Ana\nran\n", "name the columns with --columns (--columns word)"),
        ("b.txt", "Ana B\nran O\n", "name the columns with --columns (--columns word,label)"),
        ("b.tsv", "form\ttag\nAna\tB\n", "rename them in the file, or give --no-header"),
    ):
        (tmp_path / name).write_text(lines)
        assert told in run("tag", tmp_path / "m", tmp_path / name, status=2).stderr
    (tmp_path / "raw.txt").write_text("Ana ran\nBo sat down\n")
    told = run("tag", tmp_path / "m", tmp_path / "raw.txt", status=2).stderr
    assert "line 2: has 3 columns" in told
    assert "give --text --tokenizer words where it is raw text" in told
    assert (
        run("tag", tmp_path / "m", tmp_path / "raw.txt", "--text", "--tokenizer", "words").stdout is not None
    )
