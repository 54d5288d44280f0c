"""The one rule for whether a run has converged, and the warning where it has not.

A run has converged when its method says so (the gradient, the gap or the fall of the objective is below the
tolerance), or when its weights are certified to be within the tolerance of the optimum, however it ended.

There is a `ConvergenceWarning` when a run that has not converged ends by

- a limit of iterations or passes, the optimizer's or `max_iterations`, as in scikit-learn;
- a line search or an update that finds no better point;
- numbers that are no longer finite.

There is none when the end was asked for: `max_seconds`, `patience`, a listener that raises `StopTraining`,
Ctrl-C and other signals, `max_iterations` of 0, or the passes of the perceptron and its kin, which have no
optimum to reach. The summary reports every end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from typing import Any

from crfkit.errors import warn_about
from crfkit.optimize.problem import End

__all__ = ["MISSED", "WarnedLast", "has_converged", "plain_warnings", "remedy_for"]
__all__ += ["warn_of_convergence", "warn_of_end"]

#: Ends that miss the tolerance without having been asked for.
MISSED = (End.LIMIT, End.STUCK, End.DIVERGED)
_plain: ContextVar[bool] = ContextVar("plain", default=False)
_later: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar("later", default=None)


def has_converged(end: End, excess: float, tolerance: float) -> bool:
    """Return whether a run has met its tolerance.

    Parameters
    ----------
    end : End
    excess : float
        The weights are certified to be at most this fraction above the optimum; nan when nothing is known.
    tolerance : float

    Examples
    --------
    >>> has_converged(End.LIMIT, 2e-5, 1e-4), has_converged(End.LIMIT, float("nan"), 1e-4)
    (True, False)
    """
    return end in (End.CONVERGED, End.SETTLED) or excess <= tolerance


def remedy_for(end: End, optimizer: Any, max_iterations: int | None) -> str:
    """Return what to change so that a run gets further.

    Parameters
    ----------
    end : End
    optimizer
        Whose limits may have ended it.
    max_iterations : int, optional
        The limit of the caller, where that has ended it.

    Examples
    --------
    >>> from crfkit.optimize import LBFGS
    >>> remedy_for(End.LIMIT, LBFGS(), None)
    'Raise the limit, optimizer=LBFGS(max_iterations=2000), or tolerance (--tolerance).'
    >>> remedy_for(End.LIMIT, LBFGS(), 50)
    'Raise max_iterations (--max-iterations), which is 50, or tolerance (--tolerance).'
    """
    looser = "tolerance (--tolerance)"
    if end is End.LIMIT:
        if max_iterations is not None:
            return f"Raise max_iterations (--max-iterations), which is {max_iterations}, or {looser}."
        own = {f.name for f in fields(optimizer)} if is_dataclass(optimizer) else set()
        name = next((name for name in ("max_iterations", "max_passes") if name in own), None)
        if name is None:
            return f"Raise the limit of the optimizer, or {looser}."
        higher = f"{type(optimizer).__name__}({name}={2 * getattr(optimizer, name)})"
        return f"Raise the limit, optimizer={higher}, or {looser}."
    if end is End.STUCK:
        return f"Raise {looser} or l2, scale the values of attributes to about 1, or try another optimizer."
    return "Scale the values of attributes to about 1, raise l2, or try another optimizer, such as lbfgs."


def warn_of_end(end: End, converged: bool, reason: str, remedy: str, known: str = "") -> None:
    """Warn if a run has missed its tolerance; `known` says how far it is from it."""
    if converged or end not in MISSED:
        return
    warn_of_convergence(f"training ended before it converged: {reason}. {remedy} {known}".rstrip())


class WarnedLast:
    """A context whose warnings of convergence come when it is left, once what was learned is held or saved.

    A program may turn warnings into exceptions, which must not cost it the model. Where another exception
    ends the context, that is what there is to say.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with WarnedLast():
    ...         warn_of_convergence("not converged")
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
                _said(text, category)


def _said(text: str, category: type[Warning]) -> None:
    """Warn, or leave that to the context around."""
    held = _later.get()
    if held is None:
        warn_about(text, category)
    else:
        held.append((text, category))


def warn_of_convergence(text: str) -> None:
    """Warn that something has not converged."""
    category: type[Warning] = UserWarning
    if not _plain.get():
        from sklearn.exceptions import ConvergenceWarning

        category = ConvergenceWarning
    _said(text, category)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Warn as UserWarning: the command line shows only the words, and loading scikit-learn is slow."""
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)
