"""Options by group: one meaning of a name, panels of the help, settings of objects, short functions."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import crfkit.cli
from crfkit.cli.commands import COMMANDS
from crfkit.cli.groups.compose import PANELS
from tests.cases.cli import folder, options_of, run

__all__ = ["folder"]

LONGEST = 60  # lines of a function, without its docstring


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_a_panel(command: str) -> None:
    panels = [info.rich_help_panel for _, info in options_of(command).values()]
    assert {*panels} <= {*PANELS}
    shown = [line[:-1] for line in run(command, "--help").stdout.splitlines() if line[:-1] in PANELS]
    assert shown == [panel for panel in PANELS if panel in panels]


def test_functions_of_the_command_line_are_short() -> None:
    long: dict[str, int] = {}
    for path in sorted(Path(inspect.getfile(crfkit.cli)).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1:] if ast.get_docstring(node) else node.body
                lines = first[-1].end_lineno - first[0].lineno + 1 if first else 0  # type: ignore[operator]
                if lines > LONGEST:
                    long[f"{path.name}: {node.name}"] = lines
    assert long == {}


def test_training_ends_with_its_certificate_the_result_and_what_to_do_next(
    folder: Path, tmp_path: Path
) -> None:
    model, data, dev = tmp_path / "m.crf", folder / "train.txt", folder / "test.txt"
    proof, result, following = run("train", data, "-o", model, "-j", 1).stderr.splitlines()[-3:]
    assert re.fullmatch(rf"{model}: [\d,]+ weights, {model.stat().st_size:,} bytes", result)
    assert proof.startswith("Within ")
    assert following == f"next: crfkit tag {model} FILE"
    _, result, following = run("train", data, "-o", model, "-d", dev, "-j", 1).stderr.splitlines()[-3:]
    assert re.search(rf", span_f1 [\d.]+ on {dev}$", result)
    assert following == f"next: crfkit evaluate {model} {dev}"
    run(*following.removeprefix("next: crfkit ").split())
    assert run("train", data, "-o", model, "-q", "-j", 1).stderr == ""


def test_settings_are_fields_of_objects(folder: Path, tmp_path: Path) -> None:
    def trained(*more: object) -> Any:
        given = ("-o", tmp_path / "m.crf", "-q", "-j", 1, "--json", *more)
        return json.loads(run("train", folder / "train.txt", *given).stdout)

    plain, one = trained("-a", "lbfgs"), trained("-a", "lbfgs", "--set", "optimizer.memory=1")
    assert one["optimizer"] == plain["optimizer"]
    assert one["passes"] != plain["passes"]
    assert one["loss"] == pytest.approx(plain["loss"], rel=1e-3)
    few = trained("-a", "lbfgs", "--set", "optimizer.max_iterations=2")
    assert few["iterations"] == 2
    l2 = trained("--set", "objective.l2=5")
    assert l2["loss"] == pytest.approx(trained("--l2", 5)["loss"], rel=1e-4)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("memory=1", "expected PART.FIELD=VALUE, such as objective.NAME=1"),
        ("solver.memory=1", "there is no part 'solver' here; the parts are objective, optimizer, "),
        ("optimizer.memory=1", "--set optimizer.memory needs the name of one: --optimizer lbfgs"),
        ("objective.memory=1", "--set objective.memory: the objective likelihood does not have it; its"),
        ("objective.l2=-1", "l2 is -1, expected finite numbers of 0 or more"),
        ("checkpoint.seconds=1", "is for --checkpoint FOLDER"),
        ("method.tol=1", "is for --structure graph"),
        ("induction.rounds=1", "is for --induce"),
    ],
)
def test_wrong_settings_are_told(given: str, why: str, folder: Path, tmp_path: Path) -> None:
    done = run("train", folder / "train.txt", "-o", tmp_path / "m.crf", "--set", given, status=2)
    assert why in done.stderr
    assert not (tmp_path / "m.crf").exists()
