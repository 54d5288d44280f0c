"""The options that constrain whole labelings, as one object."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crfkit.cli.options import check_choice

if TYPE_CHECKING:
    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.models.model import Model

__all__ = ["Keeping"]

Count = list[str] | None


@dataclass(frozen=True)
class Keeping:
    """What whole labelings keep, as it was given on the command line; its fields are the options.

    Examples
    --------
    >>> Keeping(once="all", at_most=["PER=2"]).constraints
    [Once(labels=None), AtMost(label='PER', k=2)]
    """

    once: Annotated[
        str | None,
        typer.Option(
            "--once", metavar="LABELS", help="One run or segment at most of each: all, or names and commas."
        ),
    ] = None
    at_most: Annotated[
        Count, typer.Option("--at-most", metavar="LABEL=K", help="LABEL occurs at most K times.")
    ] = None
    at_least: Annotated[
        Count, typer.Option("--at-least", metavar="LABEL=K", help="LABEL occurs at least K times.")
    ] = None
    exactly: Annotated[Count, typer.Option("--exactly", metavar="LABEL=K", help="LABEL occurs K times.")] = (
        None
    )
    before: Annotated[
        list[str] | None,
        typer.Option("--before", metavar="A,B", help="Every A comes before every B; A,B,C for more."),
    ] = None
    implies: Annotated[
        list[str] | None, typer.Option("--implies", metavar="A,B", help="Where A occurs, B occurs too.")
    ] = None
    infeasible: Annotated[
        str,
        typer.Option(
            "--infeasible", help="Of sequences that cannot keep this: raise an error, or free labels."
        ),
    ] = "raise"

    @property
    def fallback(self) -> Literal["raise", "free"]:
        """What becomes of sequences that cannot keep the constraints."""
        return (
            "free" if check_choice("--infeasible", self.infeasible, ("raise", "free")) == "free" else "raise"
        )

    @property
    def constraints(self) -> list[GlobalConstraint]:
        """The constraints, checked."""
        from crfkit.inference.constrained.kinds import AtLeast, AtMost, Before, Exactly, Implies, Once

        made: list[GlobalConstraint] = []
        if self.once is not None:
            made.append(Once(None if self.once == "all" else _names("--once", self.once, 1)))
        kinds = (("--at-most", AtMost, self.at_most), ("--at-least", AtLeast, self.at_least))
        for option, kind, given in (*kinds, ("--exactly", Exactly, self.exactly)):
            for text in given or ():
                label, _, k = text.rpartition("=")
                if not label or not k.isdecimal():
                    raise ValueError(f"{option} is {text!r}, expected a label and a number, such as PER=1")
                made.append(kind(label, int(k)))
        for text in self.before or ():
            made += [Before(a, b) for a, b in combinations(_names("--before", text, 2), 2)]
        for text in self.implies or ():
            a, b, *more = _names("--implies", text, 2)
            if more:
                raise ValueError(f"--implies is {text!r}, expected two labels, such as end,start")
            made.append(Implies(a, b))
        return made

    def of(self, model: Model) -> Model:
        """Return a model with these constraints; with its own where none are given."""
        _ = self.fallback  # a wrong word is refused before the work begins
        return model.constrained(given) if (given := self.constraints) else model


def _names(option: str, text: str, least: int) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(names) < least:
        example = "all, or PER,LOC" if least == 1 else "author,title"
        raise ValueError(f"{option} is {text!r}, expected labels between commas, such as {example}")
    return names
