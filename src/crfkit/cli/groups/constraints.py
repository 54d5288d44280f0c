"""Answers: the constraints that whole labelings keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

from crfkit.cli.groups.compose import option
from crfkit.cli.messages import check_choice

if TYPE_CHECKING:
    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.models.model import Model

__all__ = ["Keeping"]

_FORMS = {
    "once": "once:all or once:PER,LOC",
    "at-most": "at-most:PER:1",
    "at-least": "at-least:PER:1",
    "exactly": "exactly:PER:1",
    "before": "before:author,title",
    "implies": "implies:end,start",
}


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
            help="What labels of a whole sequence keep: once:all, once:A,B (one run or segment of each), "
            "at-most:A:1, at-least:A:1, exactly:A:1, before:A,B (every A before every B), implies:A,B (where "
            "A occurs, B does); may be given again.",
        ),
    ] = None
    infeasible: Annotated[
        str,
        option(
            "Answers",
            "--infeasible",
            help="Of sequences that cannot keep this: raise an error, or free labels.",
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
        return [one for text in self.constraint or () for one in _made(text)]

    def of(self, model: Model) -> Model:
        """Return a model with these constraints; with its own where none are given."""
        _ = self.fallback  # a wrong word is refused before the work begins
        return model.constrained(given) if (given := self.constraints) else model


def _made(text: str) -> list[GlobalConstraint]:
    """Return the constraints of one text; an order of several labels is one for each pair."""
    from crfkit.inference.constrained.kinds import AtLeast, AtMost, AtMostOnce, Before, Exactly, Implies

    kind, _, rest = text.partition(":")
    counts: dict[str, Callable[[str, int], GlobalConstraint]]
    counts = {"at-most": AtMost, "at-least": AtLeast, "exactly": Exactly}
    if kind not in _FORMS:
        raise ValueError(f"--constraint is {text!r}, expected one of {', '.join(_FORMS.values())}")
    if kind in counts:
        label, _, k = rest.rpartition(":")
        if not label or not k.isdecimal():
            _refuse(text, kind)
        return [counts[kind](label, int(k))]
    if kind == "once" and rest == "all":
        return [AtMostOnce(None)]
    names = [name.strip() for name in rest.split(",")]
    if not all(names) or (kind != "once" and len(names) < 2) or (kind == "implies" and len(names) > 2):
        _refuse(text, kind)
    if kind == "once":
        return [AtMostOnce(names)]
    if kind == "implies":
        return [Implies(*names)]
    return [Before(a, b) for a, b in combinations(names, 2)]


def _refuse(text: str, kind: str) -> None:
    raise ValueError(f"--constraint is {text!r}, expected labels as in {_FORMS[kind]}")
