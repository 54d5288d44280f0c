"""Views of a loss: what optimizers may ask of it beside values and gradients, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from crfkit.arrays import Floats
from crfkit.errors import NotCoveredError
from crfkit.linear.objective import Objective
from crfkit.optimize.problem import Convex, Differentiable
from crfkit.optimize.sequential.sequences import Prepared

__all__ = ["View", "ViewedLoss", "itself"]

V = TypeVar("V")


class View(NamedTuple):
    """When a loss has a view, and how it is made."""

    lacks: Callable[[Any], str]  #: of a loss: why it has no such view; empty where it has one
    make: Callable[[Any], Any]


def itself(loss: Any) -> Any:
    """Return the loss, where it is its own view."""
    return loss


class ViewedLoss:
    """A loss with views: `VIEWS` is the table of them, beside those that every loss has."""

    VIEWS: ClassVar[Mapping[type, View]] = {}
    _one: ClassVar[str] = "sequences"  #: what has weights, and what a missing view does not take

    objective: Objective
    weight: Floats  #: [N]

    @property
    def convex(self) -> bool:
        """Whether every local optimum is a global one."""
        raise NotImplementedError

    def lacks(self, kind: type) -> str:
        """Return why this loss has no such view; empty where it has one."""
        if kind is Prepared:
            return ""
        if kind is Differentiable:
            return "" if self.objective.smooth else "a loss with kinks"
        if kind is Convex:
            if (self.weight < 0.0).any():
                return f"negative weights of {self._one}"
            return "" if self.convex else "a loss that is not convex"
        return self.VIEWS[kind].lacks(self) if kind in self.VIEWS else self._one

    def view(self, kind: type[V]) -> V:
        """Return this loss as an optimizer wants to see it.

        Raises
        ------
        NotCoveredError
            This loss has no such view; the message says why.
        """
        against = self.lacks(kind)
        if against:
            raise NotCoveredError(against)
        made: V = (self.VIEWS[kind].make if kind in self.VIEWS else itself)(self)
        return made
