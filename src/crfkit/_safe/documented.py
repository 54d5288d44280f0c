"""Parameters that classes inherit are documented once, and stand in the documentation of each."""

from __future__ import annotations

import inspect
import re

_PARAMETERS = "\nParameters\n----------\n"
_SECTION = re.compile(r"\n\n\w+\n-{3,}\n")


class Documented:
    """A base: the documentation of its subclasses has the parameters of what they inherit from too.

    Examples
    --------
    >>> class Options(Documented):
    ...     '''Options.
    ...
    ...     Parameters
    ...     ----------
    ...     seed : int
    ...     '''
    >>> class Others(Options):
    ...     '''More options.'''
    >>> [line for line in Others.__doc__.splitlines() if line]
    ['More options.', 'Parameters', '----------', 'seed : int']
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        base = cls.__mro__[1]
        if base is not Documented and cls.__doc__ is not None and base.__doc__ is not None:  # -OO drops them
            cls.__doc__ = with_parameters(cls.__doc__, base.__doc__)


def with_parameters(own: str, inherited: str) -> str:
    """Return the documentation of a class with the parameters of another one first.

    Those that the class documents itself stand as it has them.
    """
    own, options = inspect.cleandoc(own), _parameters(inspect.cleandoc(inherited))
    known = _names(_parameters(own))
    options = "".join(
        entry for entry in re.split(r"^(?=\S)", options, flags=re.MULTILINE) if not known & _names(entry)
    )
    if not options:
        return own
    before, listed, rest = own.partition(_PARAMETERS)
    if listed:
        return f"{before}{listed}{options}{rest}"
    section = _SECTION.search(own)
    at = section.start() if section else len(own)
    return f"{own[:at].rstrip()}\n{_PARAMETERS}{options}{own[at:].removeprefix(chr(10))}"


def _parameters(text: str) -> str:
    """Return the entries of the parameters, each of which ends with a line break."""
    listed = text.partition(_PARAMETERS)[2]
    section = _SECTION.search(listed)
    listed = (listed[: section.start()] if section else listed).rstrip()
    return f"{listed}\n" if listed else ""


def _names(entries: str) -> set[str]:
    """Return the names that entries begin with."""
    return {name for head in re.findall(r"^\w[\w, ]*", entries, re.MULTILINE) for name in head.split(", ")}
