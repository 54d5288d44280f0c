"""Stopping: when training ends, and which data decide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from crfkit.cli.groups.compose import option

if TYPE_CHECKING:
    from crfkit.training.stop import Stop

_option = partial(option, "Stopping")
_PATIENCE = 10.0


@dataclass(frozen=True)
class Limits:
    """The limits of a training.

    Examples
    --------
    >>> Limits(max_iterations=5).stop().max_iterations
    5
    """

    max_iterations: Annotated[
        int | None, _option("--max-iterations", help="Stop after this many iterations.", min=0)
    ] = None
    max_seconds: Annotated[
        float | None, _option("--max-seconds", help="Stop after this many seconds.", min=0.0)
    ] = None

    def stop(self) -> Stop:
        """Return when training ends."""
        from crfkit.training.stop import Stop

        return Stop(max_seconds=self.max_seconds, max_iterations=self.max_iterations)


@dataclass(frozen=True)
class Stopping(Limits):
    """Options that decide when training ends.

    Examples
    --------
    >>> Stopping(tolerance=1e-3).stop().tolerance
    0.001
    """

    tolerance: Annotated[
        float | None,
        _option(
            "--tolerance",
            help="Stop when the objective is proved to be this close to its optimum, as a fraction. "
            "Default: 1e-4.",
            min=0.0,
        ),
    ] = None

    def stop(self) -> Stop:
        """Return when training ends."""
        from dataclasses import replace

        return replace(super().stop(), tolerance=self.tolerance)


@dataclass(frozen=True)
class JudgedStopping(Stopping):
    """When training ends, by data that it does not learn from.

    Examples
    --------
    >>> JudgedStopping(dev="dev.txt", patience=3).stop().patience
    3
    """

    dev: Annotated[
        str | None,
        _option(
            "--dev",
            "-d",
            help="Held-out data: training stops when the score on them no longer rises, and the best "
            "weights are kept.",
        ),
    ] = None
    metric: Annotated[str | None, _option("--metric", "-m", help="The score on --dev: {metrics}, ...")] = None
    patience: Annotated[
        float,
        _option(
            "--patience",
            metavar="N",
            help="Stop when the dev score has not risen for N passes over the data, and the objective has "
            "settled; 0: never.",
            min=0.0,
        ),
    ] = _PATIENCE

    def stop(self) -> Stop:
        """Return when training ends."""
        from dataclasses import replace

        return replace(super().stop(), patience=self.patience or None)

    def check(self) -> None:
        """Refuse what is for a dev set where there is none."""
        for name, given in (("metric", self.metric is not None), ("patience", self.patience != _PATIENCE)):
            if given and self.dev is None:
                raise ValueError(f"--{name} is for a dev set; give one with --dev FILE")
