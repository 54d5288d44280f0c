"""Constraints on whole labelings as a line of text has them: ``once:all``, ``at-most:PER:1``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Final

from crfkit.inference.constrained.kinds import (
    AtLeast,
    AtMost,
    AtMostOnce,
    Before,
    Exactly,
    GlobalConstraint,
    Implies,
)

_FORMS: Final = {
    "once": "once:all or once:PER,LOC",
    "at-most": "at-most:PER:1",
    "at-least": "at-least:PER:1",
    "exactly": "exactly:PER:1",
    "before": "before:author,title",
    "implies": "implies:end,start",
}
_COUNTS: Final[dict[str, Callable[[str, int], GlobalConstraint]]] = {
    "at-most": AtMost,
    "at-least": AtLeast,
    "exactly": Exactly,
}


def constraints_of(text: str, name: str = "constraint") -> list[GlobalConstraint]:
    """Return the constraints of one text; an order of several labels is one for each pair.

    Parameters
    ----------
    text : str
    name : str
        What messages call it.

    Examples
    --------
    >>> constraints_of("once:all"), constraints_of("at-most:PER:2")
    ([AtMostOnce(labels=None)], [AtMost(label='PER', k=2)])
    >>> constraints_of("before:a,b,c")
    [Before(a='a', b='b'), Before(a='a', b='c'), Before(a='b', b='c')]
    """
    kind, _, rest = text.partition(":")
    if kind not in _FORMS:
        raise ValueError(f"{name} is {text!r}, expected one of {', '.join(_FORMS.values())}")
    wrong = f"{name} is {text!r}, expected labels as in {_FORMS[kind]}"
    if kind in _COUNTS:
        label, _, k = rest.rpartition(":")
        if not label or not k.isdecimal():
            raise ValueError(wrong)
        return [_COUNTS[kind](label, int(k))]
    if kind == "once" and rest == "all":
        return [AtMostOnce(None)]
    names = [one.strip() for one in rest.split(",")]
    if not all(names) or (kind != "once" and len(names) < 2) or (kind == "implies" and len(names) > 2):
        raise ValueError(wrong)
    if kind == "once":
        return [AtMostOnce(names)]
    if kind == "implies":
        return [Implies(*names)]
    return [Before(a, b) for a, b in combinations(names, 2)]
