"""What the command line says of itself: help, version, wrong usage, and pages of any width."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

import crfkit
from crfkit import metrics
from crfkit.cli.commands import COMMANDS, command_named
from crfkit.cli.groups.training import objective_of
from crfkit.data.formats import registry as formats
from crfkit.inference.methods.registry import METHODS
from crfkit.objectives.registry import OBJECTIVES
from crfkit.training.choose import NAMES
from tests.cases.cli import on_a_terminal, run


def help_of(name: str) -> str:
    """Return the help of a command, which click's runner takes for a page of 80 columns."""
    text: str = run(name, "--help").stdout
    return text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_keeps_examples_and_lets_text_flow(name: str) -> None:
    text = help_of(name)
    assert max(map(len, text.splitlines())) <= 80
    assert "<bool>" not in text
    written = inspect.cleandoc(command_named(name).__doc__ or "").split("For example:")
    examples = [line.strip() for line in written[1].splitlines() if line.strip()]
    assert all(f"crfkit {name}" in line for line in examples)
    shown = [line.strip() for line in text.splitlines()]
    assert [line for line in shown if line in examples] == examples
    about = written[0].split("\n\n")[1].split() if "\n\n" in written[0].strip() else []
    assert " ".join(about) in " ".join(text.split())
    for full, following in pairwise(shown[4:]):  # of the first paragraph
        if not following or full in examples:
            break
        assert len(full) + 1 + len(following.split()[0]) > 80 - 6


def test_no_summary_of_a_command_is_cut() -> None:
    summaries = run("--help").stdout.split("Commands:")[1]
    assert "Serve models" in summaries
    assert "..." not in summaries


def test_help_uses_a_wider_page() -> None:
    lines = on_a_terminal(120, "train", "--help").splitlines()
    assert 90 < max(map(len, lines)) <= 100


def test_help_names_what_daily_work_needs() -> None:
    for name in ("train", "cv", "forecast"):
        words = set(re.findall(r"[\w-]+", help_of(name)))
        assert {"auto", "lbfgs", "dual", "perceptron", "likelihood", "max-margin", "jsonl", "bioes"} <= words
        assert not {"gis", "rprop-minus", "smo", "exponential"} & words
    for name in ("train", "cv", "evaluate"):
        assert {"auto", "span_f1", "accuracy"} <= set(re.findall(r"[\w-]+", help_of(name)))
        assert re.search("^  --json +Print JSON", help_of(name), re.MULTILINE)


def test_a_list_has_all_names_each_with_its_option() -> None:
    rows = [line.split("\t") for line in run("help", "names").stdout.splitlines()]
    found: dict[str, list[str]] = {}
    for option, one, *_ in rows:
        found.setdefault(option, []).append(one)
    assert {*found["--objective"]} >= {*OBJECTIVES}
    assert {*found["--optimizer"]} >= {*NAMES}
    assert found["--inference-method"] == [*METHODS]
    assert {*found["--metric"]} == {"auto", *metrics.METRICS}
    assert found["--format"] == [*formats.names()]
    assert all(option in help_of("train") for option in found)
    assert all(len(row) == 3 and row[2] for row in rows if row[0] in ("--objective", "--optimizer"))


def test_a_new_objective_is_listed_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OBJECTIVES, "ridge", cast(Any, Ridge))
    assert "--objective\tridge\tAn objective with one penalty.\n" in run("help", "names").stdout
    assert "for the objectives entropy, posterior, ridge." in " ".join(help_of("train").split())


def test_version() -> None:
    assert run("--version").stdout == f"crfkit {crfkit.__version__}\n"
    for words in (("--version", "--json"), ("--json", "--version")):
        assert json.loads(run(*words).stdout) == crfkit.native.build_info()


def test_wrong_usage_is_one_sentence() -> None:
    wrong = ("nothing", "--nothing", "tag", "tag m -k 0", "tag m --nothing")
    for arguments in map(str.split, wrong):
        told = run(*arguments, status=2).stderr
        assert told.count("\n") == 1
        assert re.fullmatch(r"crfkit: .*; see crfkit( tag)? --help\n", told)


def test_optimizers_that_learn_from_mistakes_need_no_objective(tmp_path: Path) -> None:
    data = tmp_path / "train.txt"
    data.write_text("the D\ndog N\n\n" * 3)
    for name in ("perceptron", "pa", "arow"):
        run("train", data, "-o", tmp_path / "m", "-a", name, "--max-iterations", 2, "-q")
        run(
            "cv",
            data,
            "--folds",
            2,
            "-a",
            name,
            "--max-iterations",
            2,
            "-q",
            "--max-seconds",
            9,
            "--tolerance",
            0.1,
        )
    told = run("train", data, "-o", tmp_path / "m", "-a", "pa", "--l2", 2, status=2).stderr
    assert "Perceptron() has none: leave --l2 out" in told


@dataclass(frozen=True)
class Ridge:
    """An objective with one penalty."""

    l2: float = 7.0
    open: ClassVar[bool] = True
    bind: ClassVar[object] = None
    penalty: ClassVar[object] = None


def test_penalties_are_for_every_objective_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OBJECTIVES, "ridge", cast(Any, Ridge))
    found: list[Any] = [objective_of("ridge", "auto", None, l2) for l2 in (None, 0.5)]
    assert found == [Ridge(7.0), Ridge(0.5)]
    with pytest.raises(ValueError, match="--l1 is for objectives with an L1 penalty; Ridge"):
        objective_of("ridge", "auto", 1.0, 0.5)


def test_tables_fit_a_terminal_and_are_whole_in_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # short names: a long one is cut in the table
    data, model = Path("train.txt"), Path("m.crf")
    labels = [f"label-{n:02}-of-thirteen" for n in range(13)]
    data.write_text("".join(f"w{n} {y}\n" for n, y in enumerate(labels)))
    run("train", data, "-o", model, "-q", "--max-iterations", 2)
    piped = run("show", model).stdout
    head = next(line for line in piped.splitlines() if "from \\ to" in line)
    assert all(label in head for label in labels)
    assert "..." not in piped.split("strongest")[0]
    page = on_a_terminal(80, "show", model)
    assert max(map(len, page.splitlines())) <= 80
    heads = [line for line in page.splitlines() if "from \\ to" in line]
    assert len(heads) > 3
    assert re.findall(r"label-\d\d-of-thirteen", "".join(heads)) == labels
    assert "…" not in page


def test_messages_break_between_words_on_a_terminal_only(tmp_path: Path) -> None:
    missing = tmp_path / "model.crf"
    told = run("show", missing, status=2).stderr
    assert told == f"crfkit: {missing}: No such file or directory; check the name\n"
    page = on_a_terminal(40, "show", missing)
    assert page.split() == told.split()
    assert all(len(line) <= 40 or str(missing) in line for line in page.splitlines())


def test_a_local_chain_can_be_trained(tmp_path: Path) -> None:
    data, model = tmp_path / "train.txt", tmp_path / "m.crf"
    data.write_text("the D\ndog N\n\na D\ncat N\n\n" * 3)
    run("train", data, "-o", model, "-q", "--structure", "local-chain")
    shown = run("show", model, "--json").stdout
    assert '"structure": "local-chain"' in shown
    assert run("tag", model, data, "--print", "labels").stdout.split() == ["D", "N", "D", "N"] * 3
    told = run("train", data, "-o", model, "--structure", "ring", status=2).stderr
    assert "--structure is 'ring', expected chain, local-chain or semi" in told
    told = run("train", data, "-o", model, "--structure", "local-chain", "--order", 2, status=2).stderr
    assert "a local chain has order 1" in told
