"""The results of `bench.grid` as Markdown: every run, and one line for each cell."""

from __future__ import annotations

from bench.corpora import CORPORA
from bench.runs import PEER, Row, table, text
from bench.verdict import by_cell, certified, judge

RUNS = "data|l2|method|threads|passes|objective|seconds|to target|× CRFsuite|× whole|peak MB|certified|end"
SPEED = (
    "data|labels|l2|CRFsuite s|auto s|×|all of auto s|× |two threads s|×  |best optimizer|auto / best|"
    "MB|CRFsuite MB|one evaluation ×|certified"
)


def runs_table(rows: list[Row]) -> str:
    """Return every run."""
    made = []
    for row in rows:
        passes, objective = row["curve"][-1][1:] if row["curve"] else (None, None)
        cells = [row["corpus"], f"{row['l2']:g}", row["what"], str(row["threads"]), text(passes, ".0f")]
        cells += [text(row.get("ours", objective), ".3f"), text(row["whole"], ".2f")]
        cells += [text(row["to_target"], ".2f"), ratio(row), text(row["ratio_whole"], ".2f")]
        cells += [text(row.get("peak_mb"), ".0f"), text(row.get("excess"), ".1e"), end(row)]
        made.append(cells)
    return "\n".join(table(RUNS, 3, made))


def end(row: Row) -> str:
    """Return in a few words why a run ended, and what it warned of."""
    words = str(row.get("stopped") or row.get("why"))
    short = words if words.startswith("failed") else words.split(":")[0]
    return (short + (f"; warned: {row['warned'][0]}" if row.get("warned") else "")).replace("|", "/")


def ratio(row: Row) -> str:
    """Return the ratio to CRFsuite, marked where one of both did not get to the other's end."""
    if row["ratio"] is None:
        return text(None)
    return f"{row['ratio']:.2f}{'†' if row['missed'] is not None else ''}{'‡' if row['cut'] else ''}"


NOTES = """\
Seconds of the processor on one thread; on two threads, of the wall. × is CRFsuite's time by ours until the
objective is where CRFsuite ended (†: ours ended above it, and × is CRFsuite's time to come as far by our
whole run. ‡: CRFsuite was cut off, and the target is where it stood). Best optimizer: the fastest of crfkit's
that is certified. One evaluation: CRFsuite's time by that of lbfgs. Certified: at most this fraction above
the optimum."""


def speed_table(rows: list[Row]) -> str:
    """Return one line for each cell, for docs/speed.md; `compare` must have seen the rows."""
    made = []
    for (corpus, l2), own in by_cell(rows).items():
        found: dict[tuple[str, int], Row] = {(row["what"], row["threads"]): row for row in own}
        peer, auto, double = (found.get(key, {}) for key in ((PEER, 1), ("auto", 1), ("auto", 2)))
        if not auto:
            continue
        others = {
            name: row["whole"]
            for (name, threads), row in found.items()
            if name not in (PEER, "auto") and threads == 1 and row["whole"] is not None and certified(row)
        }
        best = min(others, key=lambda name: others[name]) if others else None
        to_end, to_end_two = (run.get("to_target") or run.get("whole") for run in (auto, double))
        cells = [CORPORA[corpus].title, text(auto.get("labels"), "d"), f"{l2:g}"]
        cells += [text(peer.get("whole"), ".1f"), text(to_end, ".2f"), ratio(auto)]
        cells += [text(auto["whole"], ".2f"), text(auto["ratio_whole"], ".2f")]
        cells += [text(to_end_two, ".2f"), ratio(double) if double else text(None)]
        cells += [f"{best} {others[best]:.2f}" if best else text(None)]
        cells += [text(auto["whole"] / others[best] if best and auto["whole"] else None, ".2f")]
        cells += [text(auto.get("peak_mb"), ".0f"), text(peer.get("peak_mb"), ".0f")]
        cells += [text(peer.get("evaluation_ratio"), ".1f")]
        cells += [text(auto.get("excess"), ".1e") if "total" in auto else end(auto)]
        made.append(cells)
    return "\n".join([NOTES, *table(SPEED, 1, made)])


def verdict(rows: list[Row]) -> str:
    """Return the checks as a list."""
    return "\n".join(f"- {check}" for check in judge(rows))
