"""Native passes from weights to the loss and its gradient; `FAST` is the table of them.

Each says what it does not cover, and the general path of `crfkit.linear.loss` is its oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from crfkit.arrays import Floats
from crfkit.linear.fast.likelihood import NativeLikelihood

if TYPE_CHECKING:
    from crfkit.linear.loss import LinearLoss

__all__ = ["FAST", "FastPath"]


class FastPath(Protocol):
    """Loss and gradient of one batch in a native pass; made once, evaluated again and again."""

    def __init__(self, loss: LinearLoss, kept: Mapping[str, NDArray[Any]] | None = None) -> None: ...

    @staticmethod
    def covers(loss: LinearLoss) -> str:
        """Tell why this loss cannot be evaluated here; empty where it can."""
        ...

    def value_and_grad(self, w: Floats, gradient: Floats) -> float:
        """Return the loss at w [F]; its gradient goes to `gradient` [F]."""
        ...

    def packed(self) -> dict[str, NDArray[Any]]:
        """Return everything that was made of the batch, as arrays."""
        ...


FAST: tuple[type[FastPath], ...] = (NativeLikelihood,)
