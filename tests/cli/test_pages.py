"""Pages of pictures that commands write: whole, well-formed, of what was asked for, and harmless."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cases.cli import folder, on_a_terminal, run

__all__ = ["folder"]


def page(text: str) -> ElementTree.Element:
    first, _, rest = text.partition("\n")
    assert first == "<!DOCTYPE html>"
    root = ElementTree.fromstring(rest)
    assert not [one for one in root.iter() if one.tag in ("script", "link", "iframe", "object")]
    return root


def titles(root: ElementTree.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iterfind(".//figcaption/b")]


def test_tag_marks_words_in_a_page(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "tagged.html"
    run("tag", folder / "m.crf", folder / "test.txt", "--html", "-o", out)
    root = page(out.read_text())
    assert len(list(root.iter("figure"))) == (folder / "test.txt").read_text().strip().count("\n\n") + 1
    spans = run("tag", folder / "m.crf", folder / "test.txt", "--print", "spans").stdout.splitlines()
    assert len(list(root.iter("mark"))) == len(spans)
    assert run("tag", folder / "m.crf", folder / "test.txt", "--html").stdout == out.read_text()


def test_explain_shows_lattice_and_reasons(folder: Path) -> None:
    root = page(run("explain", folder / "m.crf", folder / "test.txt", "--html", "--sequence", 2).stdout)
    first, *reasons = titles(root)
    assert first == "sequence 2"
    assert reasons
    assert all(re.fullmatch("“.*” is .*", one, re.DOTALL) for one in reasons)
    assert "lattice of" in (next(root.iter("{http://www.w3.org/2000/svg}svg")).get("aria-label") or "")


def test_explain_shows_more_reasons_on_a_page_than_in_lines(folder: Path) -> None:
    def steps(*more: object) -> list[int]:
        root = page(run("explain", folder / "m.crf", folder / "test.txt", "--html", *more).stdout)
        name = "{http://www.w3.org/2000/svg}"
        drawn = [one for one in root.iter(f"{name}svg") if "contributions" in (one.get("aria-label") or "")]
        return [len([*one.iter(f"{name}rect")]) for one in drawn]

    assert 7 < max(steps()) <= 16  # with the others and the sum
    assert max(steps("--top", 3)) == 5


def test_show_has_transitions_and_features(folder: Path) -> None:
    root = page(run("show", folder / "m.crf", "--html").stdout)
    assert titles(root) == [str(folder / "m.crf"), "Training", "Transitions", "Strongest features"]


def test_evaluate_has_scores_confusion_slices_calibration_and_errors(folder: Path) -> None:
    root = page(run("evaluate", folder / "m.crf", folder / "test.txt", "--html", "--errors", 2).stdout)
    found = titles(root)
    plain = run("evaluate", folder / "m.crf", folder / "test.txt").stdout.splitlines()[-1]
    assert found[0] == plain  # the metric and its value
    assert found[1:4] == ["Gold by predicted", "By length", "By unknown words"]
    assert "Calibration" in found


def test_evaluate_shows_errors_of_files_with_their_words(tmp_path: Path) -> None:
    file = tmp_path / "predicted.txt"
    file.write_text("<b> B-LOC O\nin O O\n\nRome B-LOC B-PER\n")
    root = page(run("evaluate", "--predicted", file, "--html").stdout)
    assert titles(root)[-3:] == ["Errors by kind", "sequence 1, line 1", "sequence 2, line 4"]
    marked = [(one.get("class"), "".join(one.itertext())) for one in root.iter("mark")]
    assert [text for _, text in marked] == ["<b>LOC", "RomeLOC", "Rome✕ PER"]


def test_a_report_of_training_is_written_beside_the_model(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    run("train", folder / "train.txt", "-o", tmp_path / "m.crf", "--report", report, "-j", 1)
    assert titles(page(report.read_text()))[1:] == ["Training", "Transitions", "Strongest features"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["tag", "{f}/m.crf", "{f}/test.txt", "--html", "--json"], "--html and --json are two forms"),
        (["tag", "{f}/m.crf", "{f}/test.txt", "--html", "--kbest", "2"], "--html shows the best segments"),
        (
            ["tag", "{f}/m.crf", "{f}/test.txt", "--html", "--print", "labels"],
            "leave --kbest, --given and --print",
        ),
        (["show", "{f}/m.crf", "--html", "--json"], "--html goes without --json and --label"),
        (
            ["explain", "{f}/m.crf", "{f}/test.txt", "--html", "--sequence", "9999"],
            "there is no sequence 9999",
        ),
        (
            ["evaluate", "{f}/m.crf", "{f}/test.txt", "--against", "{f}/m.crf", "--html"],
            "--html is of one system",
        ),
        (["train", "{f}/train.txt", "-o", "m.crf", "--report", "{f}"], "--report is"),
    ],
)
def test_what_does_not_go_together_is_refused(line: list[str], message: str, folder: Path) -> None:
    assert message in run(*(word.format(f=folder) for word in line), status=2).stderr


def test_on_a_terminal_tag_marks_segments_in_the_text(folder: Path) -> None:
    plain = run("tag", folder / "m.crf", folder / "test.txt", "--print", "spans,proba").stdout.splitlines()
    shown = on_a_terminal(60, "tag", folder / "m.crf", folder / "test.txt")
    assert max(map(len, shown.splitlines())) <= 60
    marked = re.findall(r"\[([^]]+?)\s+(\S+)\s+(>?\.\d\d|1)(?:\s+\?)?\]", shown)
    words = [(" ".join(text.split()), label) for text, label, _ in marked]
    assert words == [(row.split("\t")[4], row.split("\t")[3]) for row in plain]
    columns = on_a_terminal(60, "tag", folder / "m.crf", folder / "test.txt", "--print", "columns")
    assert columns == run("tag", folder / "m.crf", folder / "test.txt").stdout


def test_training_on_a_terminal_is_a_table_within_its_width(folder: Path, tmp_path: Path) -> None:
    options = ("--dev", folder / "test.txt", "-o", tmp_path / "t.crf")
    lines = on_a_terminal(60, "train", folder / "train.txt", *options).splitlines()
    spaced = [one for one in lines if str(tmp_path) not in one and str(folder) not in one]
    assert max(map(len, spaced)) <= 60
    names = [line.split()[0] for line in lines if line[:1].strip()]
    for name in ("data", "model", "method", "stopped", "kept", "proved", "next:"):
        assert name in names
    heads = [line.split() for line in lines if "proved within" in line]
    assert heads == [["passes", "objective", "proved", "within", "best", "dev", "time"]]
    rows = [
        line for line in lines if re.match(r" +\d[\d,]* +[\d,.]+ +(-|\S+ %) +(-|0\.\d{4}|1\.0000) ", line)
    ]
    assert 3 <= len(rows) <= 12
    piped = run("train", folder / "train.txt", *options).stderr
    assert "passes  " not in piped
    assert "Stopped: " in piped


def test_mistakes_on_a_terminal_break_between_words(tmp_path: Path) -> None:
    file = tmp_path / "predicted.txt"
    file.write_text("".join(f"{'long' * 7}{n} B-PERSON B-ORGANIZATION\nran O O\n\n" for n in range(3)))
    line = ("evaluate", "--predicted", file, "--errors", 3)
    plain, shown = run(*line).stdout, on_a_terminal(50, *line)
    mistake = next(one for one in plain.splitlines() if "wrong type" in one)
    assert len(mistake) > 60
    assert mistake not in shown
    assert max(map(len, shown.split("precision")[0].splitlines())) <= 50
    assert "".join(shown.split()) == "".join(plain.split())


def test_words_cannot_steer_the_terminal(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("the DT\n\x1b[31mdog\x07 NN\n")
    shown = on_a_terminal(60, "tag", folder / "m.crf", tmp_path / "bad.txt", "--force")
    assert "\\u001b[31mdog\\u0007" in shown
