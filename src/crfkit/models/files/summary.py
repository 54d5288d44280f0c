"""The summary of a training as a model file keeps it, and back, checked.

How long it took is not in it: the same data, options and version give the same file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.models.store import Array
from crfkit.training.record import TrainingRecord

_NUMBERS = ("loss", "gap", "passes", "score")
_COUNTS = ("iterations", "kept", "random_state")
_TEXTS = ("objective", "certificate", "reason", "optimizer", "why", "metric")


def plain_summary(training: TrainingRecord) -> dict[str, Any]:
    """Return a summary as values that JSON can hold; its history goes into arrays."""
    plain: dict[str, Any] = {name: getattr(training, name) for name in (*_COUNTS, *_TEXTS)}
    for name in _NUMBERS:
        value = float(getattr(training, name))
        plain[name] = value if math.isfinite(value) else str(value)  # JSON has no nan
    return {
        **plain,
        "end": training.end,
        "converged": training.converged,
        "notes": list(training.notes),
        "versions": dict(training.versions),
        "history": list(plain_history(training)),
        **({} if training.alignment is None else {"alignment": training.alignment.to_dict()}),
    }


def plain_history(training: TrainingRecord) -> dict[str, Array]:
    """Return what is kept of each iteration."""
    kept = {k: v for k, v in training.history.items() if k != "seconds"}
    return {name: np.asarray(column, dtype=np.float64) for name, column in kept.items()}


def summary_of(plain: object, arrays: Mapping[str, Array]) -> TrainingRecord | None:
    """Return the summary that `plain_summary` described; raise a ValueError on anything else."""
    if plain is None:
        return None
    if not isinstance(plain, dict):
        raise ValueError("the summary of training is damaged")
    found: dict[str, Any] = {}
    for name in _NUMBERS:
        value = plain[name]
        special = name != "passes" and value in ("nan", "inf", "-inf")
        if not special and (type(value) not in (int, float) or not math.isfinite(value)):
            raise ValueError(f"the summary of training is damaged: {name} is {quoted(str(value))}")
        found[name] = float(value)
    for names, kind in ((_COUNTS, int), (_TEXTS, str)):
        for name in names:
            if type(plain[name]) is not kind:
                raise ValueError(f"the summary of training is damaged: {name} is {quoted(str(plain[name]))}")
            found[name] = plain[name]
    notes, versions, columns = plain["notes"], plain["versions"], plain["history"]
    if not (isinstance(notes, list) and isinstance(versions, dict) and isinstance(columns, list)):
        raise ValueError("the summary of training is damaged")
    if not all(isinstance(text, str) for text in [*notes, *versions.values(), *columns]):
        raise ValueError("the summary of training is damaged: notes, versions and columns are texts")
    history = {name: arrays[f"history.{name}"] for name in columns}
    if any(array.dtype != np.float64 or array.ndim != 1 for array in history.values()):
        raise ValueError("the summary of training is damaged: the history is not a list of numbers")
    found["end"], found["converged"] = plain.get("end", ""), plain.get("converged")
    if type(found["end"]) is not str or found["converged"] not in (None, True, False):
        raise ValueError("the summary of training is damaged: end or converged")
    if plain.get("alignment") is not None:
        from crfkit.text.alignment import Alignment

        found["alignment"] = Alignment.of_dict(plain["alignment"])
    return TrainingRecord(notes=tuple(notes), versions=versions, history=history, seconds=math.nan, **found)
