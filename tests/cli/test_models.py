"""train, tag, evaluate, show, convert and cv as a user meets them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import HiddenChainCRF, load, read
from crfkit.cli.groups.data import Data
from crfkit.cli.tagging import Tagger
from crfkit.data import write
from crfkit.data.formats.columns import Columns
from crfkit.features import ItemExtractor
from crfkit.metrics.mistakes import doubtful
from crfkit.models import SequenceModel
from crfkit.models.files import about
from crfkit.models.files.graphs import graph_pieces
from crfkit.models.store import pack, unpack
from tests.cases.cli import folder, run
from tests.cases.hidden import turning
from tests.cases.models import graph_model, native_model

__all__ = ["folder", "run"]

# ---- train


def test_train_tells_how_it_went(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.crf"
    done = run("train", folder / "train.txt", "-o", out, "--max-iterations", 3, "--json", "--scheme", "bio")
    told = json.loads(done.stdout)
    assert told["model"] == str(out)
    assert told["iterations"] == 3
    assert "certificate" in told
    assert "40 sequences" in done.stderr
    assert SequenceModel.load(out).structure.constraints
    assert [p.name for p in tmp_path.iterdir()] == ["m.crf"]


def test_named_columns_need_no_names_in_tagging(folder: Path) -> None:
    recipe = SequenceModel.load(folder / "m.crf").recipe
    assert recipe is not None
    assert recipe.columns == ("0", "1")
    assert any(name.startswith("word[0]=") for name in SequenceModel.load(folder / "m.crf").attributes)


def test_template_decides_about_transitions(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "u").write_text("U00:%x[0,0]\n")
    run("train", folder / "train.txt", "-o", tmp_path / "m", "-t", tmp_path / "u", "-q", "-a", "lbfgs")
    assert not len(SequenceModel.load(tmp_path / "m").layout.transition_cell)
    assert len(SequenceModel.load(folder / "t.crf").layout.transition_cell) == 9
    assert about(folder / "t.crf").notes == "hi"
    assert about(folder / "t.crf").license == "CC0-1.0"


def test_train_from_several_files_and_a_pipe(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "train.txt").read_text().split("\n\n")
    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_text("\n\n".join(lines[:20]) + "\n\n")
    second.write_bytes(gzip.compress("\n\n".join(lines[20:]).encode()))
    options = ["-q", "-a", "lbfgs", "--columns", "word,pos,chunk"]
    run("train", first, second, "-o", tmp_path / "ab.crf", *options)
    run("train", "-", "-o", tmp_path / "pipe.crf", *options, text=(folder / "train.txt").read_text())
    whole, parts, pipe = (
        SequenceModel.load(path) for path in (folder / "m.crf", tmp_path / "ab.crf", tmp_path / "pipe.crf")
    )
    assert parts.w.tolist() == whole.w.tolist() == pipe.w.tolist()
    twice = [folder / "items.jsonl", folder / "items.jsonl"]
    run("train", *twice, "-o", tmp_path / "i.crf", "-q", "-a", "lbfgs")
    assert (
        SequenceModel.load(tmp_path / "i.crf").attributes.strings()
        == SequenceModel.load(folder / "i.crf").attributes.strings()
    )


def test_dev_init_and_checkpoint(folder: Path, tmp_path: Path) -> None:
    done = run(
        *("train", folder / "train.txt", "-o", tmp_path / "m.crf", "--dev", folder / "test.txt", "--json"),
        *("--metric", "accuracy", "-a", "lbfgs", "--init", folder / "t.crf", "-t", folder / "template"),
        *("--checkpoint", tmp_path / "kept", "--max-iterations", 4, "-q", "--selection", "all", "--l2", 0.5),
    )
    told = json.loads(done.stdout)
    assert told["metric"] == "accuracy"
    assert told["score"] == 1.0
    assert not done.stderr
    assert list((tmp_path / "kept").iterdir())


# ---- tag


def test_tag_adds_a_column(folder: Path) -> None:
    test = (folder / "test.txt").read_text()
    done = run("tag", folder / "m.crf", folder / "test.txt")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [" ".join(row[:3]) for row in rows] == test.splitlines()
    assert [row[-1] for row in rows if row != [""]] == [line.split()[2] for line in test.splitlines() if line]
    assert run("tag", folder / "m.crf", text=test).stdout == done.stdout
    bare = "\n".join(" ".join(line.split()[:2]) for line in test.splitlines())
    labels = run("tag", folder / "m.crf", "-", "--print", "labels", text=bare).stdout
    assert labels.splitlines() == [row[-1] for row in rows]


def test_tag_to_a_packed_file_on_threads(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gz"
    run("tag", folder / "t.crf", folder / "test.txt", "-o", out, "--jobs", 2)
    assert (
        gzip.decompress(out.read_bytes()).decode() == run("tag", folder / "t.crf", folder / "test.txt").stdout
    )


def test_tag_marginals_and_kbest(folder: Path) -> None:
    text = "the DT ?\ndog NN ?\n\na DT ?\n"
    (row, *_) = run("tag", folder / "m.crf", "--print", "proba", text=text).stdout.splitlines()
    found = dict(field.rsplit("/", 1) for field in row.split("\t")[4:])
    assert set(found) == {"B-NP", "I-NP", "O"}
    assert sum(map(float, found.values())) == pytest.approx(1.0, abs=1e-5)
    lines = run("tag", folder / "m.crf", "--kbest", 2, text=text).stdout.splitlines()
    heads = [line for line in lines if line.startswith("#")]
    assert [head.split()[1] for head in heads] == ["1", "2", "1", "2"]
    assert float(heads[0].split()[2]) > float(heads[1].split()[2])
    made = [
        json.loads(line)
        for line in run("tag", folder / "m.crf", "-k", 2, "--json", text=text).stdout.splitlines()
    ]
    assert made[0]["0"] == ["the", "dog"]
    assert made[0]["kbest"][0]["predicted"] == ["B-NP", "I-NP"]
    (one, _) = run("tag", folder / "m.crf", "--print", "proba", "--json", text=text).stdout.splitlines()
    assert json.loads(one)["marginals"][0]["B-NP"] > 0.9


def test_tag_keeps_forced_labels(folder: Path) -> None:
    text = "the DT O\ndog NN ?\n"
    done = run("tag", folder / "m.crf", "--given", "--print", "labels", text=text)
    assert done.stdout.split()[0] == "O"
    assert run("tag", folder / "m.crf", "--print", "labels", text=text).stdout.split()[0] == "B-NP"


def test_tag_attributes(folder: Path) -> None:
    done = run("tag", folder / "i.crf", text='{"items": [["w:the"], {"w": "cat", "n": 0.5}]}\n')
    assert done.stdout == "D\nN\n\n"
    assert run("tag", folder / "i.crf", text="?\tw\\:the\n?\tw\\:dog\n").stdout == "D\nN\n\n"


def test_tag_nothing_and_document_marks(folder: Path) -> None:
    for text in ("", "\n\n"):
        done = run("tag", folder / "m.crf", "-q", text=text, status=2)
        assert not done.stdout
        assert done.stderr == "crfkit: standard input holds no sequence; give data\n"
    marked = run("tag", folder / "m.crf", "--print", "labels", text="-DOCSTART- X O\n\nthe DT O\n").stdout
    assert marked.count("\n") == 4


def test_document_marks_are_skipped_alike_in_training_and_judging(folder: Path, tmp_path: Path) -> None:
    """They are no sentences: nothing is learned or judged by them, and only tag repeats them."""
    plain = (folder / "train.txt").read_text()
    mark = "-DOCSTART- -X- O\n\n"
    (tmp_path / "marked.txt").write_text(mark + plain.rstrip("\n") + "\n\n" + mark)
    asked = ("evaluate", folder / "m.crf")
    expected = run(*asked, folder / "train.txt", "--json").stdout
    assert run(*asked, tmp_path / "marked.txt", "--json").stdout == expected
    assert "no sequence" in run(*asked, "-", text=mark, status=2).stderr
    tagged = run("tag", folder / "m.crf", tmp_path / "marked.txt").stdout
    assert tagged.count("-DOCSTART-") == 2
    judged = json.loads(run("evaluate", "--predicted", "-", "--json", text=tagged).stdout)
    assert judged["labels"] == json.loads(expected)["labels"]


def test_tag_answers_before_the_input_ends(folder: Path) -> None:
    command = [sys.executable, "-m", "crfkit.cli", "tag", str(folder / "m.crf"), "-", "--print", "labels"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as going:
        assert going.stdin is not None
        assert going.stdout is not None
        for text, labels in ((b"the DT\ndog NN\n\n", b"B-NP\nI-NP\n\n"), (b"a DT\n\n", b"B-NP\n\n")):
            going.stdin.write(text)
            going.stdin.flush()
            assert going.stdout.read(len(labels)) == labels
        going.stdin.close()
        assert going.wait(20) == 0


def test_blocks_are_cut_between_sequences(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("the D\r\ndog N\r\n\r\n" * 30_000)  # 480 KB: two blocks
    parts = list(Data().blocks(str(path)))
    assert len(parts) > 1
    assert sum(map(len, parts)) == 30_000
    assert all(
        isinstance(part, Columns) and part.sequence(0) == [("the", "D"), ("dog", "N")] for part in parts
    )
    path.write_text("the D\ndog N\n\n" * 30_000 + "the D\ndog\n")
    with pytest.raises(ValueError, match="line 90002: has 1 column, expected 2"):
        list(Data().blocks(str(path)))


def test_memory_is_given_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = Tagger(str(folder / "m.crf"), threads=1)
    (block,) = Data().blocks(str(folder / "test.txt"))
    first = tagger.model.predict(tagger.batch(block))
    kept = tagger._read._extract
    tagger.batch(block)
    assert tagger._read._extract is kept
    monkeypatch.setattr("crfkit.models.reader._TOKENS", 1)
    assert tagger.model.predict(tagger.batch(block)) == first
    assert tagger._read._extract is not kept


# ---- eval, cv


def test_eval_prints_the_report(folder: Path) -> None:
    done = run("evaluate", folder / "m.crf", folder / "test.txt")
    assert "span_f1 1.0000" in done.stdout
    tagged = run("tag", folder / "m.crf", folder / "test.txt").stdout
    assert run("evaluate", "--predicted", "-", text=tagged).stdout == done.stdout
    made = json.loads(
        run("evaluate", folder / "m.crf", folder / "test.txt", "--json", "-m", "accuracy").stdout
    )
    assert made["kind"] == "labels"
    assert made["accuracy"] == 1.0


def test_eval_prints_what_evaluate_returns(folder: Path, tmp_path: Path) -> None:
    """Mistakes are those that are there; all numbers are those of the report."""
    rows = [line.split() for line in (folder / "test.txt").read_text().splitlines()]
    wrong = [[*row[:-1], "I-NP" if row[-1] == "O" else row[-1]] if row else row for row in rows]
    (tmp_path / "wrong.txt").write_text("\n".join(map(" ".join, wrong)) + "\n")
    model, data = load(folder / "m.crf"), read(tmp_path / "wrong.txt")
    report = model.evaluate(data)
    assert 0.0 < report.accuracy < 1.0
    asked = ("evaluate", folder / "m.crf", tmp_path / "wrong.txt")
    assert run(*asked).stdout == f"{report}\n"
    assert json.loads(run(*asked, "--json").stdout) == report.to_dict()
    text = run(*asked, "--confusion", "--errors", 2).stdout
    assert isinstance(data, Columns)
    assert data.lines is not None
    sequences = [data.sequence(n) for n in range(len(data))]
    names = model.names.labels.strings()
    sure = [
        [float(row[names.index(label)]) for row, (*_, label) in zip(rows, sequence, strict=True)]
        for rows, sequence in zip(model.predict_proba(data), sequences, strict=True)
    ]
    words = [[word for word, *_ in sequence] for sequence in sequences]
    lines = data.lines.begin.tolist()
    worst = report.errors(None, words=words, lines=lines, probability=sure)
    found = doubtful(worst)
    doubts = "".join(f"  {each.name}\n    {one.line(each.words)}\n" for each, one in found[:2])
    title = f"suspected gold errors: {len(found)}; the model gives less than 1 % to the gold label\n"
    assert len(found) > 2
    assert text == f"{report.confusion}\n\n{worst[0]}\n\n{worst[1]}\n\n{title}{doubts}\n{report}\n"
    told = json.loads(run(*asked, "--json", "--errors", 1).stdout)
    assert told.pop("errors") == [worst[0].to_dict()]
    assert told.pop("doubtful") == [{**found[0][1].to_dict(), "sequence": found[0][0].sequence}]
    assert told == report.to_dict()


def test_eval_of_two(folder: Path, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("x N N\n\nx N N\n\n" * 20)
    b.write_text("x N N\n\nx N V\n\n" * 20)
    done = run("evaluate", "--predicted", a, "--predicted", b)
    assert "accuracy 0.5000" in done.stdout
    assert "McNemar: 20 tokens right" in done.stdout
    made = json.loads(run("evaluate", "--predicted", a, "--predicted", b, "--json", "--samples", 50).stdout)
    assert made["bootstrap"]["difference"] == -0.5
    assert (
        "McNemar: 0"
        in run("evaluate", folder / "m.crf", folder / "test.txt", "--against", folder / "m.crf").stdout
    )


def test_cross_validation(folder: Path) -> None:
    done = run(
        "cv", folder / "train.txt", "--folds", 3, "-a", "lbfgs", "--max-iterations", 15, "--jobs", 1, "--json"
    )
    made = json.loads(done.stdout)
    assert len(made["metrics"]["span_f1"]["scores"]) == 3
    assert made["metrics"]["accuracy"]["low"] <= made["metrics"]["accuracy"]["mean"]
    assert "part 3 of 3" in done.stderr


# ---- show, convert


@pytest.mark.parametrize("maker", ["chain", "graph"])
def test_show_of_a_score_that_is_unknown(maker: str, tmp_path: Path) -> None:
    path = tmp_path / "m.crf"
    path.write_bytes(b"".join(pack(*_with_training(maker, metric="F1", score="nan", loss="inf"))))
    assert "F1 unknown" in run("show", path).stdout
    assert json.loads(run("show", path, "--json").stdout)["training"]["score"] is None


def test_training_that_took_no_finite_number_of_passes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.crf"
    path.write_bytes(b"".join(pack(*_with_training("chain", passes="nan"))))
    assert "passes is 'nan'" in run("show", path, status=2).stderr


def _with_training(maker: str, **claims: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arrays and description of a model file that says other things of its training."""
    graph = graph_model() if maker == "graph" else None
    pieces = [native_model().to_bytes()] if graph is None else graph_pieces(graph, notes=None, license=None)
    arrays, described = unpack(b"".join(pieces), "m")
    return arrays, {**described, "training": {**described["training"], **claims}}


def test_show(folder: Path) -> None:
    text = run("show", folder / "t.crf", "--top", 2).stdout
    for part in (
        "B-NP, I-NP, O",
        "U00:the",
        "transitions",
        "certificate",
        "notes        hi",
        "license      CC0-1.0",
    ):
        assert part in text
    made = json.loads(run("show", folder / "t.crf", "--json", "--label", "O").stdout)
    assert list(made["strongest"]) == ["O"]
    assert made["strongest"]["O"][0][1] > 0
    assert len(made["transitions"]) == 3
    few, all_of_them = (
        json.loads(run("show", folder / "t.crf", "--json", "--top", n).stdout)["strongest"] for n in (1, 0)
    )
    assert sum(map(len, all_of_them.values())) > 3 * sum(map(len, few.values()))
    assert "U00:the" not in run("show", folder / "t.crf", "-q").stdout


def test_convert_there_and_back(folder: Path, tmp_path: Path) -> None:
    run("convert", folder / "i.crf", tmp_path / "m.crfsuite", "-q")
    assert (tmp_path / "m.crfsuite").read_bytes().startswith(b"lCRF")
    done = run("convert", tmp_path / "m.crfsuite", tmp_path / "back.crf.gz", "--compact", "--json")
    assert json.loads(done.stdout)["from"] == "crfsuite"
    text = '{"items": [["w:the"], ["w:cat"]]}\n'
    for path in (tmp_path / "m.crfsuite", tmp_path / "back.crf.gz"):
        assert run("tag", path, text=text).stdout == "D\nN\n\n"


def test_train_from_mistakes(folder: Path, tmp_path: Path) -> None:
    given = ("train", folder / "train.txt", "-o", tmp_path / "p.crf", "--objective", "perceptron", "-q")
    made = json.loads(run(*given, "--max-iterations", 5, "--json").output)
    assert made["optimizer"] == "AveragedPerceptron"
    assert "span_f1 1.0000" in run("evaluate", tmp_path / "p.crf", folder / "test.txt").output
    assert "--l2 is for objectives with an L2 penalty" in run(*given, "--l2", 0.5, status=2).output
    assert "objectives are: likelihood, max-margin, perceptron" in run(*given[:5], "hinge", status=2).output


def test_convert_keeps_and_changes_what_a_model_says(folder: Path, tmp_path: Path) -> None:
    run("convert", folder / "t.crf", tmp_path / "kept.crf", "-q")
    run("convert", folder / "t.crf", tmp_path / "changed.crf", "-q", "--license", "MIT", "--notes", "small")
    said = [about(tmp_path / name) for name in ("kept.crf", "changed.crf")]
    assert [(one.notes, one.license) for one in said] == [("hi", "CC0-1.0"), ("small", "MIT")]


def test_hidden_states_are_tagged_as_labels(tmp_path: Path) -> None:
    (x, y), out = turning(20), tmp_path / "m.crf"
    crf = HiddenChainCRF(n_jobs=1).fit(x, y)
    crf.model_.save(out)
    write(tmp_path / "d.jsonl", ItemExtractor()(x[:2], y[:2]))
    told = [json.loads(line) for line in run("tag", out, tmp_path / "d.jsonl", "--json").stdout.splitlines()]
    assert [one["predicted"] for one in told] == crf.predict(x[:2])
    log_p = crf.log_prob(x[:2], crf.predict(x[:2]))
    assert [one["probability"] for one in told] == pytest.approx(np.exp(log_p).tolist())
    lines = run("tag", out, tmp_path / "d.jsonl", "--print", "proba").stdout.splitlines()
    assert {cell.partition("/")[0] for cell in lines[0].split("\t")} == {"A", "B"}
    refused = run("tag", out, tmp_path / "d.jsonl", "-k", 2, status=2)
    assert "not for models with hidden states" in refused.output
