"""What ``crfkit train`` was asked to do, in one object."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crfkit._safe.printable import counted
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import InternalFeatures
from crfkit.cli.groups.model import AnyModel
from crfkit.cli.groups.output import Kept
from crfkit.cli.groups.stopping import JudgedStopping
from crfkit.cli.groups.training import ModelTraining
from crfkit.cli.messages import check_output, say

if TYPE_CHECKING:
    from crfkit.training.stop import Stop

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """Data, a file to write, and the options of a training."""

    data: Sequence[str]
    output: str
    reading: LabeledData
    features: InternalFeatures
    model: AnyModel
    training: ModelTraining
    stopping: JudgedStopping
    kept: Kept

    @property
    def read(self) -> list[str | None]:
        """The files that are read."""
        more = (self.stopping.dev, self.training.unlabeled, self.features.features, self.model.graph)
        return [*self.data, *more, *(() if self.training.init is None else (self.training.init,))]

    def check_output(self) -> None:
        """Refuse a model file that cannot be written."""
        check_output(self.output, read=self.read)

    def say(self, text: str) -> None:
        """Print something that is not a result, unless it shall be quiet."""
        say(text, self.kept.quiet)

    def refuse(self, options: Mapping[str, object], why: str) -> None:
        """Refuse options that were given, which are not None."""
        for name, given in options.items():
            if given is not None:
                raise ValueError(f"{name} is not for {why}; leave it out")

    def tell_result(self, model: Any) -> None:
        """Say in three lines what was learned, how good it is for certain, and what to do next."""
        training = model.training
        sizes = [counted(model.layout.weights, "weight")]
        if self.output != "-":
            sizes.append(f"{os.path.getsize(self.output):,} bytes")
        if self.stopping.dev is not None and training is not None and training.metric:
            sizes.append(f"{training.metric} {training.score:.4f} on {self.stopping.dev}")
        self.say(f"{self.output}: {', '.join(sizes)}")
        if training is not None and training.certificate:
            self.say(f"certificate: {training.certificate}")
        if self.output != "-":
            self.say(f"next: {self.next_command}")

    @property
    def ending(self) -> tuple[Any, Stop]:
        """The optimizer, a name or an object, and when training ends."""
        stop = self.stopping.stop()
        solver = self.training.solver(self.kept.jobs, stop.tolerance)
        if not isinstance(solver, str) and stop.tolerance is None:
            stop = replace(stop, tolerance=1e-4)  # as of optimizers by name; objects have none by default
        return solver, stop

    @property
    def next_command(self) -> str:
        """What people do with a new model."""
        model, dev = shlex.quote(self.output), self.stopping.dev
        return f"crfkit tag {model} FILE" if dev is None else f"crfkit evaluate {model} {shlex.quote(dev)}"
