"""Parameters that name a field of a part, such as l2 of the objective: what `train` and estimators share."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from crfkit.checks import check_number

__all__ = ["seed_of", "threads_of", "with_flat"]

T = TypeVar("T")


def with_flat(name: str, given: object, part: T, **flat: Any) -> T:
    """Return a part with fields that were given as parameters of their own.

    Parameters
    ----------
    name : str
        The parameter that gives the part.
    given : object
        What was given as this parameter: None, a word, or an object, beside which fields are refused.
    part : dataclass
        What that stands for.
    **flat
        Fields; None where they are not given.

    Examples
    --------
    >>> from crfkit import Stop
    >>> with_flat("stop", None, Stop(), max_iterations=3).max_iterations
    3
    >>> with_flat("stop", Stop(), Stop(), max_iterations=3)
    Traceback (most recent call last):
    ValueError: max_iterations=3 is given beside stop=Stop(...), which has max_iterations too: write \
stop=Stop(max_iterations=3)
    """
    asked = {each: value for each, value in flat.items() if value is not None}
    if not asked:
        return part
    kind, own = type(part).__name__, {f.name for f in fields(part) if f.init}  # type: ignore[arg-type]
    for each, value in asked.items():
        if each not in own:
            raise ValueError(f"{each} is {value!r}, but {kind} has no {each}: leave it out")
        if given is not None and not isinstance(given, str):
            raise ValueError(
                f"{each}={value!r} is given beside {name}={kind}(...), which has {each} too: write "
                f"{name}={kind}({each}={value!r})"
            )
    return replace(part, **asked)  # type: ignore[type-var]


def threads_of(n_jobs: int | None) -> int | None:
    """Return how many threads to use; None: all cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    check_number("n_jobs", n_jobs, 1, whole=True)
    return n_jobs


def seed_of(random_state: int | None) -> int:
    """Return where draws begin: anew at each call where the random state is None."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    check_number("random_state", random_state, whole=True)
    return random_state
