"""``crfkit infer``: answers about a graphical model in a file."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit._safe.printable import counted, shown
from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.model import InferenceMethod
from crfkit.cli.groups.output import Running
from crfkit.cli.groups.settings import settings_of, with_settings
from crfkit.cli.messages import check_output, say
from crfkit.inference.methods.registry import METHODS, method_of

if TYPE_CHECKING:
    from crfkit.inference.methods.how import How
    from crfkit.inference.methods.method import Method
    from crfkit.structures.graphs.potentials import GraphPotentials

_QUERIES = ("PR", "MAR", "MPE")


@composed
def infer(
    model: Annotated[
        str, typer.Argument(help="A model: .uai, .LG, .fg, .h5, .wcsp, .cfn or .bif; - for standard input.")
    ],
    evidence: Annotated[
        str | None, option("Data", "--evidence", help="Observed labels: a UAI evidence file.")
    ] = None,
    format: Annotated[
        str | None, option("Data", "--format", "-f", help="uai, lg, fg or opengm. Default: detected.")
    ] = None,
    query: Annotated[
        str, option("Answers", "--query", help="PR: log10 Z; MAR: marginals; MPE: the best labeling.")
    ] = "PR",
    inference_method: InferenceMethod = None,
    set: Annotated[
        list[str] | None,
        option(
            "Model",
            "--set",
            metavar="PART.FIELD=VALUE",
            help="Set an option of the method, such as method.budget=2^27; repeatable.",
        ),
    ] = None,
    seed: Annotated[int | None, option("Model", "--seed", help="Seed for sampling methods.", min=0)] = None,
    output: Annotated[str, option("Output", "--output", "-o", help="Where to write the answer.")] = "-",
    *,
    running: Running,
) -> None:
    """Answer a query about a graphical model.

    It asks for Z, marginals or best labels (--query). The answer has the format of the UAI competitions.
    Standard error says how it was found: the method,
    whether it is exact, and bounds. With --json all of that is in the answer.

    For example:

      crfkit infer grid.uai --evidence grid.uai.evid --query MAR
      crfkit infer model.fg --query MPE --inference-method trws --json
      crfkit infer model.uai.gz --set method.budget=2^27
    """
    task = query.upper()
    if task == "MMAP":
        raise ValueError("--query is MMAP: marginal MAP is not supported; ask for PR, MAR or MPE")
    if task not in _QUERIES:
        raise ValueError(f"--query is {query!r}, expected one of {', '.join(_QUERIES)}")
    chosen = _method(inference_method or "auto", set, seed)
    threads, quiet = running.jobs, running.quiet
    if output != "-":
        check_output(output, read=[model, evidence])
    started = time.perf_counter()
    from crfkit.structures.graphs.files import load

    potentials = load(model, evidence=evidence, format=format)
    read = time.perf_counter()
    batch = potentials.batch
    with _waiting(
        f"{task} of {counted(batch.variables, 'variable')}, {counted(batch.factors, 'factor')} by {chosen}",
        quiet,
    ):
        answer, told, how = _answer(task, potentials, chosen, threads, model, evidence)
    done = time.perf_counter()
    if running.as_json:
        answer = json.dumps(
            {
                "model": model,
                "query": task,
                "variables": batch.variables,
                "factors": batch.factors,
                "observed": 0 if potentials.observed is None else int((potentials.observed >= 0).sum()),
                **told,
                "info": _described(how),
                "seconds": {"read": read - started, "answer": done - read},
            }
        )
        answer += "\n"
    from crfkit.data.sink import write_bytes

    write_bytes(output, [answer.encode()])
    say(f"crfkit: {how}{_bounds(task, how)}; {done - read:.2f} s", quiet)


def _method(name: str, options: Sequence[str] | None, seed: int | None) -> Method:
    """Return the method with its options."""
    if name not in METHODS:
        raise ValueError(f"--inference-method is {name!r}, expected one of {', '.join(METHODS)}")
    given = settings_of(options, ("method",))["method"]
    if seed is not None and not hasattr(made := method_of(name), "seed"):
        has = ", ".join(sorted(field.name for field in fields(made)))
        raise ValueError(f"--seed: the method {name} does not have it; its fields are {has or 'none'}")
    if seed is not None:
        given["seed"] = seed
    return with_settings(method_of(name), "method", given, f"the method {name}")


def _answer(
    task: str,
    potentials: GraphPotentials,
    method: Method,
    threads: int | None,
    model: str,
    evidence: str | None,
) -> tuple[str, dict[str, Any], How]:
    """Return the answer as text, as plain data, and how it was found."""
    from crfkit.data.graphs.results import result_text
    from crfkit.errors import InfeasibleError, MethodError
    from crfkit.inference import graphs

    try:
        if task == "PR":
            total = graphs.log_partition(potentials, method=method, threads=threads)
            log10, ln = float(total) / math.log(10.0), float(total)
            return result_text(task, log10), {"log10_z": _plain(log10), "ln_z": _plain(ln)}, total.info
        if task == "MAR":
            found = graphs.marginals(potentials, cliques=False, method=method, threads=threads)
            rows = found.node["variable"]
            told = {"ln_z": _plain(float(found.log_partition)), "marginals": [row.tolist() for row in rows]}
            return result_text(task, rows), told, found.info
        best = graphs.decode(potentials, method, threads=threads)
        labels = best.labels["variable"].tolist()
        return result_text(task, labels), {"score": best.score, "labels": labels}, best.info
    except MethodError as error:
        raise ValueError(f"{model}: {error} (here: --inference-method, --set method.FIELD=VALUE)") from None
    except InfeasibleError:
        given = "" if evidence is None else f" given {evidence}"
        raise ValueError(
            f"{model}: every labeling has probability 0{given}; look for contradictions in it"
        ) from None


def _plain(number: float) -> float | None:
    """Return a number as JSON can hold it: null where it is infinite or unknown."""
    return number if math.isfinite(number) else None


def _described(how: How) -> dict[str, Any]:
    return {
        "method": str(how.method[0]),
        "exact": bool(how.exact[0]),
        "converged": bool(how.converged[0]),
        "sweeps": int(how.sweeps[0]),
        "lower": _plain(float(how.lower[0])),
        "upper": _plain(float(how.upper[0])),
        "cells": _plain(float(how.cells[0])),
        "notes": list(how.notes),
    }


def _bounds(task: str, how: How) -> str:
    """Return bounds of what is not exact: of log10 Z, or of the best score, a natural logarithm."""
    if how.exact[0]:
        return ""
    what, unit = ("the best score", 1.0) if task == "MPE" else ("log10 Z", math.log(10.0))
    lower, upper = float(how.lower[0]) / unit, float(how.upper[0]) / unit
    said = [f"at least {lower:.8g}"] if math.isfinite(lower) else []
    said += [f"at most {upper:.8g}"] if math.isfinite(upper) else []
    return f"; {what} is {' and '.join(said)}" if said else ""


@contextmanager
def _waiting(what: str, quiet: bool) -> Iterator[None]:
    """Show on a terminal what is being done, and since when."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from crfkit.training.runs.progress import started

    console = Console(stderr=True)
    if console.is_dumb_terminal:
        say(f"crfkit: {what} ...")
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=True)
    progress.add_task(shown(what), total=None)
    live = started(progress)
    try:
        yield
    finally:
        if live:
            progress.stop()
