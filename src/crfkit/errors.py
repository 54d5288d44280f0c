"""Warnings that several rooms raise, and how they are raised."""

from __future__ import annotations

import os
import sys
import warnings

__all__ = ["DataWarning", "UnknownAttributesWarning", "warn_about"]

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


class DataWarning(UserWarning):
    """Data look different from what was meant; the message says what to write.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DataWarning)  # in a program that wants to be sure
    """


class UnknownAttributesWarning(DataWarning):
    """A model knows next to none of the attributes that it is given, and answers from transitions alone."""


def warn_about(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn, as if from the line of the program that called crfkit."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
