"""The versions that `bench.compare` measures: this tree, and an older commit, built once and kept."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CACHE = ROOT / "build" / "compare"  # make clean forgets it


@dataclass(frozen=True)
class Side:
    """A version: the Python that has it, and where its modules lie if they are not installed there."""

    name: str
    python: str
    path: str = ""  # for PYTHONPATH

    def environment(self) -> dict[str, str]:
        """Return the variables of its processes: this bench, one BLAS thread, compiled files are used."""
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        path = os.pathsep.join(part for part in (self.path, str(ROOT)) if part)
        return {**kept, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}

    def measure(self, job: dict[str, Any], timeout: float = 1800.0) -> dict[str, Any]:
        """Run a measurement of `bench.compare_child`; one that fails has an "error" instead of figures."""
        command = [self.python, "-m", "bench.compare_child", json.dumps({**job, "side": self.name})]
        try:
            done = subprocess.run(
                command, env=self.environment(), cwd=ROOT, capture_output=True, text=True, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return {"error": f"did not end within {timeout:g} s"}
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
            raised = [
                line for line in said if re.match(r"[\w.]*Error\b", line)
            ]  # its message may have more lines
            return {"error": (raised or said)[-1]}
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer


def this_side() -> Side:
    return Side("this", sys.executable, os.environ.get("PYTHONPATH", ""))


def given_side(python: str, source: str | None) -> Side:
    """Return a version that is built already.

    PYTHONPATH, which may name the modules of this tree, is handed on to this same Python only.
    """
    if not Path(python).exists():
        raise SystemExit(f"--base-python: {python} does not exist")
    if source is not None:
        return Side("base", python, str(Path(source).resolve()))
    return Side("base", python, os.environ.get("PYTHONPATH", "") if python == sys.executable else "")


def built_side(revision: str, tell: Callable[[str], object]) -> Side:
    """Return an older commit, with an environment of its own in build/compare; it is built the first time."""
    commit = _git("rev-parse", "--verify", "--short=12", f"{revision}^{{commit}}").decode().strip()
    home = CACHE / commit
    source, python = home / "source", home / "venv" / "bin" / "python"
    if not (home / "venv" / ".built").exists():
        tell(f"building {commit} in {home}: some minutes, once")
        shutil.rmtree(home, ignore_errors=True)
        source.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", commit))) as archive:
            archive.extractall(source, filter="data")
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MAKEFLAGS")}
        make = ["make", "build", f"PYTHON={sys.executable}", "VENV=../venv"]
        done = subprocess.run(make, cwd=source, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{commit} could not be built:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Side("base", str(python))


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(words)}: {done.stderr.decode().strip()}")
    return done.stdout
