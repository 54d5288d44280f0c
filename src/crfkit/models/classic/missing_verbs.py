"""Verbs that a kind of model does not have: `hasattr` says no, and asking for one says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

__all__ = ["AbsentError", "without"]

T = TypeVar("T", bound=type)


class AbsentError(AttributeError):
    """A verb that a kind of model does not have."""


class _Absent:
    """A verb that is there unless a reason is given; the reason depends on the model."""

    def __init__(self, owner: type, name: str, why: Callable[[Any], str]) -> None:
        self.owner, self.name, self.why = owner, name, why

    def __get__(self, model: Any, kind: type) -> Any:
        if model is None:
            return getattr(super(self.owner, kind), self.name)
        why = self.why(model)
        if why:
            raise AbsentError(f"{kind.__name__} has no {self.name}: {why}")
        return getattr(super(self.owner, model), self.name)


def without(names: Sequence[str], why: Callable[[Any], str]) -> Callable[[T], T]:
    """Return what takes verbs from a class of models, where `why` gives a reason.

    Examples
    --------
    >>> class Model:
    ...     def entropy(self): ...
    >>> @without(["entropy"], lambda model: "votes have none")
    ... class Voted(Model): ...
    >>> hasattr(Voted(), "entropy")
    False
    """

    def taken(kind: T) -> T:
        for name in names:
            setattr(kind, name, _Absent(kind, name, why))
        return kind

    return taken
