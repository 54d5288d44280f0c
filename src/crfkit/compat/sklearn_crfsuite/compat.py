"""scikit-learn's base class of estimators, or where that is not installed one that does its part."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

__all__ = ["BaseEstimator"]


class _Plain:
    """Parameters by name, as scikit-learn has them."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Any:
        """Set parameters of the constructor."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for {type(self).__name__}")
            setattr(self, name, value)
        return self


if TYPE_CHECKING:
    BaseEstimator = _Plain
else:
    try:
        from sklearn.base import BaseEstimator
    except ModuleNotFoundError as error:
        if error.name != "sklearn":
            raise
        BaseEstimator = _Plain
