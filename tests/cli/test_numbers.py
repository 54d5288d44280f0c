"""Errors of a command count sequences from the beginning of the input, whatever part it was working on."""

from __future__ import annotations

from pathlib import Path

import pytest

import crfkit
from crfkit import Chain, Stop, train
from crfkit.data.formats.columns import Columns
from crfkit.errors import InfeasibleError
from crfkit.features import Extractor, Recipe
from crfkit.structures.constraints import SegmentLength
from tests.cases.cli import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose segments have two tokens at least, and a text where the last sequence has one."""
    made = tmp_path_factory.mktemp("numbers")
    rows = [[("a", "X"), ("b", "X"), ("c", "Y"), ("d", "Y")]] * 3
    data = Extractor(Recipe.parse("w[0]"), label="y")(Columns.from_rows(rows, names=["w", "y"]))
    rules = [SegmentLength(None, minimum=2)]
    train(data, structure=Chain(constraints=rules), stop=Stop(max_iterations=2)).save(made / "m.crf")
    (made / "text").write_text("a\nb\n\n" * 4 + "a\n")
    return made


@pytest.mark.parametrize("how", [(), ("--print", "proba"), ("--kbest", 2), ("--json",)])
@pytest.mark.parametrize("at_a_time", [4, 10, 1000])
def test_no_labeling(
    folder: Path, how: tuple[object, ...], at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crfkit.models.scoring._CELLS", at_a_time)
    done = run("tag", folder / "m.crf", folder / "text", "--columns", "w", *how, status=2)
    assert "text, line 13: sequence 5 has no labeling above -inf: relax the constraints" in done.output


def test_the_error_is_typed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crfkit.models.scoring._CELLS", 6)
    model = crfkit.load(folder / "m.crf")
    text = Columns.from_rows([[("a",), ("b",)]] * 3 + [[("a",)], [("b",)]], names=["w"])
    with pytest.raises(InfeasibleError) as raised:
        model.predict(text)
    assert raised.value.sequence == 3
