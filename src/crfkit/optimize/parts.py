"""Losses whose data lie in parts, which other processes may hold: what methods of sequences ask of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from threading import Lock
from typing import Any, Protocol, TypeVar, runtime_checkable

from crfkit.arrays import Floats, Ids

T = TypeVar("T")


class Held(Protocol):
    """A part in the memory of the process that holds it."""

    kept: dict[str, Any]  #: what methods keep there between calls; it may be lost at any time
    lock: Lock  #: for whoever changes it

    @property
    def loss(self) -> Any:
        """The loss of the part, by the weights that it shows."""
        ...


@runtime_checkable
class Parts(Protocol):
    """A loss that is a sum over parts, in an order that the data give."""

    @property
    def size(self) -> int:
        """Number of weights, F."""
        ...

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F] and write its gradient over `gradient` [F]."""
        ...

    @property
    def whole(self) -> Any:
        """One part by all weights: which of them exist, and their groups."""
        ...

    @property
    def shown(self) -> dict[int, Ids]:
        """The attributes that each part shows; parts without labels are left out."""
        ...

    def ask(
        self,
        function: Callable[..., T],
        given: Callable[[int], tuple[Any, ...]],
        numbers: Collection[int] | None = None,
        keep: bool = False,
    ) -> Iterator[tuple[int, T]]:
        """Yield the number of each part and ``function(held, *given(number))``, in order.

        `numbers` names some parts; `keep`: what the function keeps with a part is wanted again.
        """
        ...

    def take(self, i: int, w: Floats) -> Floats:
        """Return those of all weights [F] that part i shows."""
        ...

    def add(self, i: int, part: Floats, sums: Floats) -> None:
        """Add what belongs to the weights of part i to all weights [F]."""
        ...
