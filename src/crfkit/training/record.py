"""How a model was trained, as models and their files keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isnan
from typing import TYPE_CHECKING, Any

from crfkit._safe.printable import counted

if TYPE_CHECKING:
    from crfkit.arrays import Floats
    from crfkit.text.alignment import Alignment


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """How a model was trained: numbers, strings and arrays only, so that any format can keep it."""

    objective: str  #: the options, as they would be written
    loss: float  #: value of the objective (loss plus penalty) at the weights
    gap: float  #: it is at most so far above the optimum; nan when nothing is known
    certificate: str  #: the same in words
    reason: str  #: why training stopped
    optimizer: str
    why: str  #: why this optimizer
    seconds: float  #: that training took; nan where a file was opened, which does not say
    iterations: int
    passes: float  #: over the data
    kept: int  #: the iteration whose weights were kept
    score: float  #: dev score of these weights; nan without a dev set
    metric: str  #: what the score is; empty without a dev set
    random_state: int  #: what was drawn began here
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    history: Mapping[str, Floats]  #: an array by iteration for each column (`events.COLUMNS`)
    end: str = ""  #: the value of the `crfkit.optimize.End` of the run; empty in files that do not say
    converged: bool | None = None  #: whether the tolerance was met; None in files that do not say
    alignment: Alignment | None = None  #: how spans of documents became those of tokens

    def __str__(self) -> str:
        took = "" if isnan(self.seconds) else f", {self.seconds:.1f} s"
        took = f"{self.optimizer}: {counted(self.iterations, 'iteration')}{took}."
        scored = f"{self.metric} {self.score:.4f}" if self.metric else ""
        judged, whose = f" {scored}." if scored else "", "Objective"
        if self.kept != self.iterations:  # the reason is that of the last weights, all else of those kept
            best = f", whose {scored} is the best" if scored else ""
            judged, whose = f" Kept: the weights of iteration {self.kept}{best}.", "Their objective"
        return (
            f"{took} Stopped: {self.reason}.{judged}\n{whose} {self.loss:,.6g} "
            f"(loss of {self.objective.partition('(')[0]} plus penalty).\n{self.certificate}"
        )

    def _repr_html_(self) -> str:
        from crfkit.models.pictures import training_picture
        from crfkit.view import cell

        return cell(training_picture(self), plain=str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values; the history as a list for each column."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        history = {name: column.tolist() for name, column in self.history.items()}
        if self.alignment is not None:
            plain["alignment"] = self.alignment.to_dict()
        return {**plain, "notes": list(self.notes), "versions": dict(self.versions), "history": history}

    def to_frame(self) -> Any:
        """Return the history as a data frame of pandas: a row for each iteration."""
        from crfkit._safe.frames import frame_of

        rows = zip(*(column.tolist() for column in self.history.values()), strict=True)
        return frame_of(dict(enumerate(rows, 1)), self.history, "iteration")
