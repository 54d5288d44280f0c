"""Warnings that several rooms raise, and how they are raised."""

import os
import sys
import warnings
from contextvars import ContextVar

__all__ = ["DataWarning", "WarnedLast", "warn_about"]

_later: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("later", default=None)

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


class DataWarning(UserWarning):
    """Data look different from what was meant; the message says what to write.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DataWarning)  # in a program that wants to be sure
    """


def warn_about(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn, as if from the line of the program that called crfkit; see `WarnedLast`."""
    held = _later.get()
    if held is not None:
        held.append((text, category))
        return
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


class WarnedLast:
    """A context whose warnings come when it is left, once what was learned is held or saved.

    A program may turn warnings into exceptions, which must not cost it the model. Where another exception
    ends the context, that is what there is to say.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with WarnedLast():
    ...         warn_about("not converged")
    ...         before = len(caught)
    ...     before, len(caught)
    (0, 1)
    """

    def __enter__(self) -> None:
        self._held: list[tuple[str, type[Warning]]] = []
        self._token = _later.set(self._held)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _later.reset(self._token)
        if kind is None:
            for text, category in self._held:
                warn_about(text, category)
