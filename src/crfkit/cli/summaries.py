"""What commands tell of a model and its training: sizes, history, certificate."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from crfkit._safe.printable import counted


def summary_of(model: Any) -> dict[str, Any]:
    """Return sizes and the history of training as plain data; numbers that are not finite become None."""
    made: dict[str, Any] = {
        "labels": len(model.names.labels),
        "attributes": model.layout.attributes,
        "weights": model.layout.weights,
    }
    return made | training_of(model.training)


def training_of(summary: Any) -> dict[str, Any]:
    """Return the history of a training as plain data; none where there was none."""
    made: dict[str, Any] = {}
    if summary is None:
        return made
    for name in (
        *("objective", "optimizer", "why", "iterations", "kept", "passes"),
        *("reason", "end", "converged"),
    ):
        made[name] = getattr(summary, name)
    for name in ("seconds", "loss", "gap", "score"):
        value = float(getattr(summary, name))
        made[name] = value if math.isfinite(value) else None
    versions = dict(summary.versions)
    return made | {
        "metric": summary.metric or None,
        "certificate": summary.certificate,
        "seed": summary.random_state,
        "notes": list(summary.notes),
        "versions": versions,
    }


def training_lines(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what commands print of the history of a training (`training_of`): names and texts."""
    took = counted(training["iterations"], "iteration")
    if training["seconds"] is not None:  # files do not say
        took += f", {training['seconds']:.1f} s"
    made = [("trained by", f"{training['optimizer']}, {took}")]
    given = re.sub(r"(, )?\w+=None", "", training["objective"])  # without what nobody asked for
    loss = "unknown" if training["loss"] is None else f"{training['loss']:,.6g}"
    made.append(("objective", f"{given}: {loss}"))
    if training["metric"]:
        score = "unknown" if training["score"] is None else f"{training['score']:.4f}"
        made.append(("dev", f"{training['metric']} {score}"))
    made += [("stopped", training["reason"]), ("certificate", training["certificate"])]
    return made + [("note", note) for note in training["notes"]]
