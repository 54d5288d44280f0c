"""Runs of `bench.train_child`, each in a process of its own; what `bench.train` and `bench.grid` share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.child import Task
from bench.corpora import folder

PEER = "crfsuite"
Row = dict[str, Any]


def run(task: Task, kill_after: float, tell: Callable[[str], object]) -> Row:
    """Run a task in a process of its own; what it said until it ended or was ended is the row."""
    name = {"peer": PEER, "evaluation": "evaluation"}.get(task.kind, task.optimizer)
    row: Row = {"corpus": task.corpus, "what": name, "threads": task.threads, "curve": [], "cpus": []}
    given = {k: v for k, v in asdict(task).items() if v not in (None, float("inf"))}
    late = threading.Event()
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.train_child", json.dumps(given)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=Path(__file__).parents[1],
            env={**os.environ, "CRFKIT_DATA": str(folder().resolve())},
            start_new_session=True,  # Ctrl-C is for the parent to hear
        )
        assert child.stdout is not None

        def kill() -> None:
            late.set()
            child.kill()

        killer = threading.Timer(kill_after, kill)
        try:
            tell("features")
            for line in child.stdout:
                said = json.loads(line)
                event = said.pop("event")
                if event == "start":
                    killer.start()
                    tell("training")
                elif event == "step":
                    row["curve"].append([said["seconds"], said["passes"], said["objective"]])
                    row["cpus"].append(said.get("cpu"))
                    row["peak_mb"] = said["peak_mb"]
                    tell(f"{said['seconds']:.1f} s, {said['passes']:g} passes, {text(said['objective'])}")
                else:
                    row.update(said)
            code = child.wait()
        finally:
            killer.cancel()
            child.kill()
            child.wait()
            child.stdout.close()
        errors.seek(0)
        last = [f"exit code {code}", *errors.read().split("\n")[:-1]][-1]
    row["crashed"] = bool(code) and not late.is_set()
    if code:
        row["stopped"] = "time limit" if late.is_set() else f"failed: {last}"
    if row["curve"]:
        row["seconds"], row["passes"], row["objective"] = row["curve"][-1]
        row["seconds"] = row.get("total", row["seconds"])
    return row


def text(value: Any, form: str = ".1f", unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"


def table(head: str, names: int, rows: list[list[str]]) -> list[str]:
    columns = head.split("|")
    rule = ["---"] * names + ["--:"] * (len(columns) - names)
    return ["", *("| " + " | ".join(cells) + " |" for cells in [columns, rule, *rows]), ""]


def chosen(given: str, known: list[str], what: str) -> list[str]:
    names = known if given == "all" else given.split(",")
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"{unknown[0]} is not a {what}: all, or some of {','.join(known)}")
    return names
