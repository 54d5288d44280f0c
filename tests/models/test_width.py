"""A model that was trained on columns refuses data with more or fewer of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crfkit import ChainCRF
from crfkit.data import Columns
from crfkit.models import SequenceModel
from crfkit.training.stop import Stop
from tests.cases.cli import run

ROWS = [[("the", "D", "X"), ("dog", "N", "Y")], [("a", "D", "X"), ("cat", "N", "Y")]] * 2
TRAINED = ["-a", "lbfgs", "-q", "--max-iterations", "20"]


def text(width: int, sequences: Any = ROWS) -> str:
    return "".join("".join(" ".join(row[:width]) + "\n" for row in rows) + "\n" for rows in sequences)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("width")
    two = [[(row[0], row[2]) for row in rows] for rows in ROWS]
    (made / "two.txt").write_text(text(2, two))
    (made / "three.txt").write_text(text(3))
    run("train", made / "two.txt", "-o", made / "two.crf", *TRAINED)
    run("train", made / "three.txt", "-o", made / "three.crf", "--block-positions", "2", *TRAINED)
    (made / "named.csv").write_text("sequence,word,tag\n1,the,X\n1,dog,Y\n2,a,X\n")
    run("train", made / "named.csv", "-o", made / "named.crf", *TRAINED)
    (made / "first").write_text("U:%x[0,1]\n")
    run(
        "train",
        made / "three.txt",
        "-o",
        made / "first.crf",
        "--label-column",
        "0",
        "-t",
        made / "first",
        *TRAINED,
    )
    return made


def test_a_sentence_on_one_line_is_not_one_token(folder: Path, tmp_path: Path) -> None:
    line = tmp_path / "address.txt"
    line.write_text("\n\n123 Main St Springfield IL 62701\n")
    for command in (["tag"], ["rank"], ["explain"], ["evaluate"]):
        told = run(*command, folder / "two.crf", line, status=2).stderr
        assert f"{line}, line 3: has 6 columns, but {folder}/two.crf was trained on 2, so that 1 or 2" in told
        assert "one token to a line" in told


@pytest.mark.parametrize("width", [1, 2])
def test_the_column_of_labels_may_be_missing(folder: Path, width: int) -> None:
    rows = [[(row[0], row[2]) for row in rows] for rows in ROWS]
    tagged = run("tag", folder / "two.crf", "--print", "labels", text=text(width, rows)).stdout
    assert tagged.split() == ["X", "Y"] * 4


@pytest.mark.parametrize("width", [1, 4])
def test_data_kept_on_disk_know_their_columns_too(folder: Path, width: int) -> None:
    wider = [[(*row, "Z") for row in rows] for rows in ROWS]
    told = run("tag", folder / "three.crf", text=text(width, wider), status=2).stderr
    assert f"line 1: has {width} column{'s' * (width > 1)}, but {folder}/three.crf was trained on 3" in told
    assert "so that 2 or 3 can be read;" in told


def test_columns_are_found_by_name_whatever_else_there_is(folder: Path) -> None:
    for names, line in (("word", "the"), ("x,word", "- the"), ("x,y,z,word", "- - - the")):
        assert run("tag", folder / "named.crf", "--columns", names, text=f"{line}\n").stdout.endswith(
            "\tX\n\n"
        )


def test_without_labels_that_came_first_numbers_would_mean_other_columns(folder: Path) -> None:
    assert run("tag", folder / "first.crf", text=text(3)).stdout
    told = run("tag", folder / "first.crf", text=text(2), status=2).stderr
    assert "has 2 columns" in told
    assert "so that 3 can be read" in told


def test_dev_data_have_the_columns_of_training(folder: Path, tmp_path: Path) -> None:
    given = ["train", folder / "two.txt", "-o", tmp_path / "m", *TRAINED, "--dev", folder / "three.txt"]
    told = run(*given, status=2).stderr
    assert f"{folder}/three.txt, line 1: has 3 columns, but the training data have 2" in told


def test_models_of_files_without_the_number_check_nothing(folder: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    model = SequenceModel.load(folder / "two.crf")
    assert model.extractor is not None
    assert model.extractor.width == 2
    replace(model, extractor=replace(model.extractor, width=None)).save(tmp_path / "old.crf")
    loaded = SequenceModel.load(tmp_path / "old.crf")
    assert loaded.extractor is not None
    assert loaded.extractor.width is None
    assert run("tag", tmp_path / "old.crf", text="the - - - - -\n").stdout


def test_python_rows_and_columns_are_checked(folder: Path) -> None:
    model = SequenceModel.load(folder / "two.crf")
    expected = [["X", "Y"]]
    for rows in (
        [("the", "X"), ("dog", "Y")],
        [("the",), ("dog",)],
        ["the", "dog"],
        [{"0": "the"}, {"0": "dog"}],
    ):
        assert model.predict([rows]) == expected
    wrong = [("the", "D", "X"), ("dog", "N", "Y")]
    for X in ([wrong], Columns.from_rows([wrong])):
        with pytest.raises(
            ValueError, match="X has 3 columns, but the model was trained on 2, so that 1 or 2"
        ):
            model.predict(X)
    with_names = Columns.from_rows([wrong], names=["0", "pos", "tag"])
    with pytest.raises(ValueError, match="has 3 columns"):
        model.predict(with_names)  # "0" is the number of a column


def test_an_estimator_reads_the_columns_of_its_fit() -> None:
    X = [[row[:2] for row in rows] for rows in ROWS]
    y = [[row[2] for row in rows] for rows in ROWS]
    crf = ChainCRF(features="0[0]; 1[0]", stop=Stop(max_iterations=20)).fit(X, y)
    assert crf.predict(X) == y
    assert crf.model_.predict([[*rows] for rows in ROWS]) == y  # a column of labels behind them
    with pytest.raises(ValueError, match="X has 4 columns, but the model was trained on 2, so that 2 or 3"):
        crf.predict([[(*row, "Z") for row in rows] for rows in ROWS])
    words = ChainCRF(features="0[0]", stop=Stop(max_iterations=20)).fit(
        [[w for w, _ in rows] for rows in X], y
    )
    assert words.predict([["the", "cat"]]) == [["X", "Y"]]


@pytest.mark.parametrize("width", [0, -1, "2", 1.5, True, 1 << 40])
def test_a_file_with_a_wrong_number_is_refused(folder: Path, tmp_path: Path, width: object) -> None:
    from crfkit.models.store import pack, unpack

    arrays, described = unpack((folder / "two.crf").read_bytes(), "m")
    described["width"] = width
    (tmp_path / "m.crf").write_bytes(b"".join(pack(arrays, described)))
    with pytest.raises(ValueError, match="number of columns"):
        SequenceModel.load(tmp_path / "m.crf")
