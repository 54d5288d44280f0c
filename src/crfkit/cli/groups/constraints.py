"""Answers: the constraints that whole labelings keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from crfkit.cli.groups.compose import option
from crfkit.cli.messages import check_choice

if TYPE_CHECKING:
    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.models.model import SequenceModel


@dataclass(frozen=True)
class Keeping:
    """What whole labelings keep, as it was given on the command line; its fields are the options.

    Examples
    --------
    >>> Keeping(["once:all", "at-most:PER:2"]).constraints
    [AtMostOnce(labels=None), AtMost(label='PER', k=2)]
    """

    constraint: Annotated[
        list[str] | None,
        option(
            "Answers",
            "--constraint",
            metavar="KIND:LABELS",
            help="Rule for the labels of a whole sequence: once:all, once:A,B (one run or segment of "
            "each), at-most:A:1, at-least:A:1, exactly:A:1, before:A,B (every A before every B), "
            "implies:A,B (where A occurs, B does); repeatable.",
        ),
    ] = None
    infeasible: Annotated[
        str,
        option(
            "Answers",
            "--infeasible",
            help="What to do if no label sequence satisfies the constraints: raise an error, or ignore "
            "them (free).",
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
        if not self.constraint:
            return []
        from crfkit.inference.constrained.spelled import constraints_of

        return [one for text in self.constraint for one in constraints_of(text, "--constraint")]

    def of(self, model: SequenceModel) -> SequenceModel:
        """Return a model with these constraints; with its own where none are given."""
        _ = self.fallback  # a wrong word is refused before the work begins
        return model.constrained(given) if (given := self.constraints) else model
