"""Probabilities that were corrected by isotonic regression: two rising curves, kept as their knots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from crfkit._safe.pickling import Restored
from crfkit.arrays import Floats


@dataclass(frozen=True, eq=False)
class Isotonic(Restored):
    """What the probabilities of labels and of segments become; between knots, curves are straight lines.

    Examples
    --------
    >>> curve = np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.3, 0.9])
    >>> made = Isotonic(*curve, *curve)
    >>> made.segments(np.array([0.25, 1.0])).tolist()
    [0.2, 0.9]
    >>> made.labels(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()  # rows add up to 1
    [[0.5, 0.5], [0.9, 0.1]]
    """

    label_from: Floats  #: [k]
    label_to: Floats  #: [k]
    segment_from: Floats  #: [m]; empty where segments were not calibrated
    segment_to: Floats  #: [m]

    def __post_init__(self) -> None:
        for name in ("label", "segment"):
            x, y = getattr(self, f"{name}_from"), getattr(self, f"{name}_to")
            if x.ndim != 1 or x.shape != y.shape or (name == "label" and not len(x)):
                raise ValueError(f"the curve of the {name}s has knots of the shapes {x.shape} and {y.shape}")
            for knots in (x, y):
                if not (np.all(np.diff(knots) >= 0.0) and np.all((knots >= 0.0) & (knots <= 1.0))):
                    raise ValueError(f"the curve of the {name}s does not rise from 0 to 1")

    def labels(self, shares: Floats) -> Floats:
        """Return the probabilities of the labels of each position, [P, L]; a row adds up to 1 again."""
        found = np.interp(shares, self.label_from, self.label_to)
        total = found.sum(axis=1, keepdims=True)
        made: Floats = np.divide(found, total, out=shares.copy(), where=total > 0.0)
        return made

    def segments(self, p: Floats) -> Floats:
        """Return the probabilities of segments, [K]."""
        return np.interp(p, self.segment_from, self.segment_to) if len(self.segment_from) else p

    def arrays(self) -> dict[str, Floats]:
        """Return the knots by name, for files."""
        return {f"calibration.{f.name}": getattr(self, f.name) for f in fields(self)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> Isotonic | None:
        """Return the curves that `arrays` were made of; None where there are none."""
        names = [f"calibration.{f.name}" for f in fields(cls)]
        if not any(name in arrays for name in names):
            return None
        return cls(*(np.asarray(arrays[name], dtype=np.float64) for name in names))
