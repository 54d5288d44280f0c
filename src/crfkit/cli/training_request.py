"""What ``crfkit train`` was asked to do, in one object."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crfkit._safe.printable import counted
from crfkit.cli.groups.data import LabeledData
from crfkit.cli.groups.features import InternalFeatures
from crfkit.cli.groups.model import AnyModel
from crfkit.cli.groups.output import Running, Saving
from crfkit.cli.groups.stopping import JudgedStopping
from crfkit.cli.groups.training import ModelTraining
from crfkit.cli.messages import check_output, say

if TYPE_CHECKING:
    from crfkit._safe.interrupts import Interrupts
    from crfkit.cli.saving import Saver
    from crfkit.training.stop import Stop


@dataclass(frozen=True)
class TrainingRequest:
    """Data, a file to write, and the options of a training."""

    data: Sequence[str]
    output: str
    reading: LabeledData
    features: InternalFeatures
    model: AnyModel
    training: ModelTraining
    stopping: JudgedStopping
    saving: Saving
    running: Running
    report: str | None = None  #: a page of pictures to write

    @property
    def read(self) -> list[str | None]:
        """The files that are read."""
        more = (self.stopping.dev, self.training.unlabeled, self.features.features, self.model.graph)
        return [*self.data, *more, *(() if self.training.init is None else (self.training.init,))]

    def check(self) -> None:
        """Refuse a model file that cannot be written, and settings of what is not asked for."""
        check_output(self.output, read=self.read)
        if self.report is not None:
            check_output(self.report, "--report", read=[*self.read, self.output])
        given = {"checkpoint": self.training.checkpoint is not None, "induction": self.training.induce}
        self.training.check_settings(method=self.model.structure == "graph", **given)

    def say(self, text: str) -> None:
        """Print something that is not a result, unless it shall be quiet."""
        say(text, self.running.quiet)

    def refuse(self, options: Mapping[str, object], why: str) -> None:
        """Refuse options that were given, which are not None."""
        for name, given in options.items():
            if given is not None:
                raise ValueError(f"{name} is not for {why}; leave it out")

    def finish(
        self, model: Any, keeper: Saver, caught: Interrupts, described: Callable[[Any], Mapping[str, Any]]
    ) -> None:
        """Save a model and say what it is; keep the file that is there where nothing was learned."""
        from crfkit._safe.interrupts import interrupts

        if caught.asked and not (model.training and model.training.iterations):
            raise KeyboardInterrupt
        with interrupts():
            keeper.save(model)
            if self.report is not None:
                from crfkit.cli.pictures import write_report

                write_report(self.report, model, self.output)
            self.tell_result(model)
            if self.running.as_json:
                print(json.dumps({"model": self.output, **described(model)}, ensure_ascii=False))

    def tell_result(self, model: Any) -> None:
        """Say what was learned and what to do next; how good it is for certain was the end of training."""
        training = model.training
        sizes = [counted(model.layout.weights, "weight")]
        if self.output != "-":
            sizes.append(f"{os.path.getsize(self.output):,} bytes")
        if self.stopping.dev is not None and training is not None and training.metric:
            sizes.append(f"{training.metric} {training.score:.4f} on {self.stopping.dev}")
        self.say(f"{self.output}: {', '.join(sizes)}")
        if self.output != "-":
            self.say(f"next: {self.next_command}{' --text' * (self._reads_text(model))}")

    def _reads_text(self, model: Any) -> bool:
        """Whether what people do next is to label raw text."""
        text = getattr(model, "text", None)
        return self.stopping.dev is None and text is not None and text.tokenizer.kind != "given"

    @property
    def ending(self) -> tuple[Any, Stop]:
        """The optimizer, a name or an object, and when training ends."""
        stop = self.stopping.stop()
        solver = self.training.solver(self.running.jobs, stop.tolerance)
        if not isinstance(solver, str) and stop.tolerance is None:
            stop = replace(stop, tolerance=1e-4)  # as of optimizers by name; objects have none by default
        return solver, stop

    @property
    def next_command(self) -> str:
        """What people do with a new model."""
        model, dev = shlex.quote(self.output), self.stopping.dev
        return f"crfkit tag {model} FILE" if dev is None else f"crfkit evaluate {model} {shlex.quote(dev)}"
