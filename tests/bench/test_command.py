"""`bench.command`: phases, the text that it writes, tables."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from bench import command
from bench.command_child import Phases
from bench.corpora import CORPORA


def test_a_phase_counts_without_those_within() -> None:
    class Work:
        def inner(self) -> None:
            time.sleep(0.03)

        def outer(self) -> None:
            time.sleep(0.01)
            self.inner()

    phases = Phases(time.perf_counter())
    phases.watch(Work, "inner", "inner")
    phases.watch(Work, "outer", lambda work: type(work).__name__)
    Work().outer()
    phases.change()
    assert phases.open == ["imports"]
    assert phases.spent["inner"][0] >= 0.03
    assert phases.spent["Work"][0] >= 0.01
    assert {"interpreter", "imports", "inner", "Work"} == {*phases.spent}


def test_attributes_are_written_so_that_crfsuite_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Few:
        name = "few"

        def featured(self) -> Any:
            return iter([[["a:b", "c\\d"], ["e"]]]), iter([["X", ":"]])

    monkeypatch.setattr(command, "MADE", tmp_path)
    few: Any = Few()
    assert command.text_of(few).read_text() == "X\ta\\:b\tc\\\\d\n\\:\te\n\n"


def test_tables() -> None:
    row = {"corpus": "few", "threads": 2, "wall": 2.0, "cpu": 3.0, "crfsuite": 60.0, "times": 30.0}
    made = command.tables([{**row, "phases": {"reading": [0.5, 0.75]}}])
    assert "| few, 2 threads; CRFsuite 60.0 s, 30.0x | wall s | processor s |" in made
    assert "| reading | 0.50 | 0.75 |" in made
    assert json.dumps(made)


def test_corpora_have_known_evaluations() -> None:
    assert "conll2000" in command.WITH_PEER
    assert all(CORPORA[name].peer is not None for name in command.WITH_PEER)
