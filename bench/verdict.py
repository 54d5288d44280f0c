"""What the rows of `bench.grid` say: ratios to CRFsuite, and whether the default training keeps its promises.

A cell is a corpus with an L2 strength. Its target is the objective where CRFsuite ended, or where it stood
when it was cut off. On one thread times are those of the processor. On more threads ours are those of the
wall, and CRFsuite's are again those of its processor: it has one thread, and on an idle machine both agree.

A run that ends above the target (its tolerance allows it, within 1e-4) is compared with the time that
CRFsuite took to come as far, and says so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.runs import PEER, Row

TOLERANCE = 1e-4  # of `crfkit.train`, for optimizers given by name
SLACK = 1.2  # auto may take this many times as long as the best of the optimizers
MEMORY = 2.0, 100.0  # times CRFsuite's peak, where CRFsuite has more than so many MB
EARLY = 100  # iterations of CRFsuite, after which many users stop it
SAME = 1.0 + 1e-9  # objectives that agree to nine digits


def by_cell(rows: Iterable[Row]) -> dict[tuple[str, float], list[Row]]:
    """Return the rows of each corpus and L2 strength, in order of appearance."""
    cells: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        cells.setdefault((row["corpus"], row["l2"]), []).append(row)
    return cells


def points(row: Row) -> Iterator[tuple[float, float, float]]:
    """Yield the clock that counts, passes and the objective that was reported, of each step."""
    for (seconds, passes, objective), cpu in zip(row["curve"], row["cpus"], strict=True):
        yield (cpu if by_processor(row) else seconds), passes, objective


def by_processor(row: Row) -> bool:
    return bool(row["what"] == PEER or row["threads"] == 1)


def whole(row: Row) -> float | None:
    """Return the time of the whole run; for CRFsuite cut off, until its last iteration."""
    if "total" in row:
        return float(row["cpu"] if by_processor(row) else row["total"])
    return max((clock for clock, _, _ in points(row)), default=None) if row["what"] == PEER else None


def reached(peer: Row, objective: float) -> float | None:
    """Return CRFsuite's time until its objective was no more than this, None where it never was."""
    return next((clock for clock, _, f in points(peer) if f <= objective * SAME), None)


def per_evaluation(row: Row) -> float | None:
    """Median time of an evaluation over the iterations; the first has the making of features as well."""
    each = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairwise(points(row)) if b[1] > a[1]]
    return statistics.median(each) if each else None


def compare(rows: list[Row]) -> None:
    """Add the target, times to it and ratios to CRFsuite to all rows."""
    for own in by_cell(rows).values():
        peer = next((row for row in own if row["what"] == PEER and row["curve"]), None)
        lbfgs = next((row for row in own if row["what"] == "lbfgs" and row["threads"] == 1), None)
        for row in own:
            row.update(to_target=None, ratio=None, ratio_whole=None, ratio_early=None, missed=None, cut=False)
            row["whole"] = whole(row)
            if peer is not None:
                _against(row, peer)
        if peer is not None:
            each = [per_evaluation(row) if row is not None else None for row in (peer, lbfgs)]
            peer["evaluation_ratio"] = each[0] / each[1] if each[0] and each[1] else None


def _against(row: Row, peer: Row) -> None:
    row["cut"] = "total" not in peer
    theirs, total = whole(peer), row["whole"]
    if row is peer or theirs is None or total is None:
        return
    row["ratio_whole"] = theirs / total
    if row.get("reached_early") is not None:
        theirs_early = [clock for clock, _, _ in points(peer)][:EARLY][-1]
        row["ratio_early"] = theirs_early / row["reached_early"]["cpu" if by_processor(row) else "seconds"]
    if row["reached"] is not None:
        row["to_target"] = row["reached"]["cpu" if by_processor(row) else "seconds"]
        row["ratio"] = theirs / row["to_target"]
    elif row["ours"] is not None:
        row["missed"] = row["ours"] / target_of(peer) - 1.0
        as_far = reached(peer, row["ours"])
        row["ratio"] = None if as_far is None else as_far / total


def target_of(peer: Row | None) -> float | None:
    """Return the objective where CRFsuite ended, or stood when it was cut off."""
    return peer["curve"][-1][2] if peer is not None and peer["curve"] else None


def early_of(peer: Row | None) -> float | None:
    """Return the objective of CRFsuite after a hundred iterations, or where it ended before."""
    return peer["curve"][:EARLY][-1][2] if peer is not None and peer["curve"] else None


# ---- the verdict ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One promise."""

    name: str
    holds: bool | None  #: None: a figure, or nothing to judge
    detail: str

    def __str__(self) -> str:
        mark = {True: "yes", False: "NO", None: "-"}[self.holds]
        return f"{mark:3} {self.name}: {self.detail}"


def certified(row: Row) -> bool:
    return row.get("excess") is not None and row["excess"] <= TOLERANCE * SAME


def judge(rows: list[Row]) -> list[Check]:
    """Return what holds and what does not; `compare` must have seen the rows."""
    runs = [row for row in rows if row["what"] != PEER]
    done = [row for row in runs if "total" in row]
    autos = [row for row in done if row["what"] == "auto"]
    single = [row for row in autos if row["threads"] == 1]
    double = [row for row in autos if row["threads"] == 2]
    cells = by_cell(rows)
    peers = {(row["corpus"], row["l2"]): row for row in rows if row["what"] == PEER and "total" in row}
    return [
        _all(
            "CRFsuite minimizes the same function of the same weights",
            [row for row in done if (row["corpus"], row["l2"]) in peers],
            lambda r: _same(r, peers[r["corpus"], r["l2"]]),
            lambda r: f"{r['weights']} weights; CRFsuite: {peers[r['corpus'], r['l2']]['stopped']}",
        ),
        _all("no run crashes or has to be cut off", runs, lambda r: "total" in r, lambda r: r["stopped"]),
        _all(
            f"certified to {TOLERANCE:g}, or warned",
            done,
            lambda r: certified(r) or bool(r["warned"]),
            lambda r: r["stopped"],
        ),
        _all(
            "the objective that is reported is that of the weights",
            done,
            lambda r: r["ours"] is not None and abs(r["reported"] - r["ours"]) <= 1e-7 * abs(r["ours"]),
            lambda r: f"{r['reported']}, is {r['ours']}",
        ),
        _all(
            "no certificate promises more than the best objective of all runs allows",
            [row for row in done if row["excess"] is not None and row["ours"] is not None],
            lambda r: r["ours"] / (1.0 + r["excess"]) <= _best(cells[r["corpus"], r["l2"]]) * SAME,
            lambda r: f"{r['ours']} with {r['excess']:.1e}",
        ),
        _rivals("the whole run", single, cells, "whole", certified),
        _rivals("to CRFsuite's end", single, cells, "to_target", lambda row: True),
        _faster(single),
        _early(single),
        _mean("processor time, one thread", single),
        _mean("wall, two threads", double),
        _all(
            f"auto's peak memory is at most {MEMORY[0]:g} times CRFsuite's, if that is over {MEMORY[1]:g} MB",
            [row for row in autos if (_peer_mb(cells, row) or 0.0) > MEMORY[1]],
            lambda r: r["peak_mb"] <= MEMORY[0] * (_peer_mb(cells, r) or math.inf),
            lambda r: f"{r['peak_mb']:.0f} MB, CRFsuite {_peer_mb(cells, r):.0f} MB",
        ),
    ]


def name_of(row: Row) -> str:
    return f"{row['corpus']} l2={row['l2']:g} {row['what']} on {row['threads']}"


def _all(name: str, rows: list[Row], good: Callable[[Row], bool], why: Callable[[Row], Any]) -> Check:
    if not rows:
        return Check(name, None, "no such run")
    bad = [row for row in rows if not good(row)]
    listed = "".join(f"; {name_of(row)} ({why(row)})" for row in bad)
    return Check(name, not bad, f"{len(rows) - len(bad)} of {len(rows)} runs{listed}")


def _rivals(
    name: str,
    autos: list[Row],
    cells: dict[tuple[str, float], list[Row]],
    key: str,
    sound: Callable[[Row], bool],
) -> Check:
    """Auto against the fastest sound optimizer of its cell."""
    name = f"auto takes at most {SLACK:g} times the best of the optimizers, {name}"
    worst, slow, judged = 0.0, [], 0
    for auto in autos:
        others = [row for row in cells[auto["corpus"], auto["l2"]] if row["what"] not in (PEER, "auto")]
        times = {r["what"]: r[key] for r in others if r["threads"] == 1 and r[key] is not None and sound(r)}
        if not times or auto[key] is None:
            continue
        best = min(times, key=lambda what: times[what])
        times_best = auto[key] / times[best]
        judged, worst = judged + 1, max(worst, times_best)
        if times_best > SLACK:
            slow.append(f"; {auto['corpus']} l2={auto['l2']:g} {times_best:.2f} times {best}")
    if not judged:
        return Check(name, None, "no cell where both get there")
    detail = f"{judged - len(slow)} of {judged} cells, at most {worst:.2f} times{''.join(slow)}"
    return Check(name, not slow, detail)


def _faster(autos: list[Row]) -> Check:
    name = "auto is never slower than CRFsuite"
    judged = [row for row in autos if row["ratio"] is not None]
    if not judged:
        return Check(name, None, "CRFsuite did not run")
    least = min(judged, key=lambda row: row["ratio"])
    slow = "".join(f"; {r['corpus']} l2={r['l2']:g} {r['ratio']:.2f}" for r in judged if r["ratio"] < 1.0)
    short = [row["missed"] for row in judged if row["missed"] is not None]
    whole = [row["ratio_whole"] for row in judged if not row["cut"]]
    detail = f"{len(judged)} cells, least ratio {least['ratio']:.2f} ({least['corpus']} l2={least['l2']:g})"
    detail += f"; {len(short)} end above CRFsuite's end, by {max(short):.1e} at most" if short else ""
    detail += f"; least ratio of whole runs {min(whole):.2f}" if whole else ""
    return Check(name, not slow, detail + slow)


def _early(autos: list[Row]) -> Check:
    """Auto until the objective that CRFsuite has after a hundred iterations."""
    judged = [row for row in autos if row["ratio_early"] is not None]
    name = f"auto reaches what CRFsuite has after {EARLY} iterations no later"
    if not judged:
        return Check(name, None, "no cell")
    least = min(judged, key=lambda row: row["ratio_early"])
    mean = statistics.geometric_mean(row["ratio_early"] for row in judged)
    where = f"{least['ratio_early']:.2f} ({least['corpus']} l2={least['l2']:g})"
    return Check(name, least["ratio_early"] >= 1.0, f"{len(judged)} cells, mean {mean:.2f}, least {where}")


def _mean(name: str, autos: list[Row]) -> Check:
    """Geometric means; cells where CRFsuite was cut off would depend on where, so they are left out."""
    judged = [row for row in autos if row["ratio"] is not None and not row["cut"]]
    title = f"CRFsuite's time by auto's, geometric mean, {name}"
    if not judged:
        return Check(title, None, "no cell")
    to_end = statistics.geometric_mean(row["ratio"] for row in judged)
    total = statistics.geometric_mean(row["ratio_whole"] for row in judged)
    return Check(title, None, f"{to_end:.2f} to CRFsuite's end, {total:.2f} whole runs, {len(judged)} cells")


def _same(row: Row, peer: Row) -> bool:
    return bool(peer["ended"] and peer["weights"] == row["weights"])


def _best(rows: list[Row]) -> float:
    return min(float(row["ours"]) for row in rows if row.get("ours") is not None)


def _peer_mb(cells: dict[tuple[str, float], list[Row]], row: Row) -> float | None:
    own = cells[row["corpus"], row["l2"]]
    return next((peer["peak_mb"] for peer in own if peer["what"] == PEER and "peak_mb" in peer), None)
