"""The names that options take, from the tables of the rooms that have them.

Help shows what daily work needs; ``crfkit help names`` shows everything, with what only papers compare (the
folders `classic` of the rooms, and variants of an optimizer). A new entry of a table needs no line here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, get_args


class Entry(NamedTuple):
    """A name that an option takes."""

    name: str
    about: str = ""  #: one sentence
    daily: bool = True  #: whether help shows it


def _of(name: str, kind: type, daily: bool = True) -> Entry:
    about = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return Entry(name, " ".join(about.split()), daily and ".classic." not in kind.__module__)


def _objectives() -> Iterator[Entry]:
    from crfkit.objectives.registry import OBJECTIVES, ON_GRAPHS

    for name, kind in OBJECTIVES.items():
        yield _of(name, kind)
    for name, kind in ON_GRAPHS.items():
        yield _of(name, kind, daily=False)


def _optimizers() -> Iterator[Entry]:
    from crfkit import optimize
    from crfkit.training.choose import NAMES, ON_GRAPHS, kind_named

    seen: set[str] = set()
    for name, (kind, options) in {**NAMES, **{k: v for k, v in ON_GRAPHS.items() if k not in NAMES}}.items():
        more = ", ".join(f"{key}={value!r}" for key, value in options.items())
        daily = hasattr(optimize, kind) and kind not in seen and name in NAMES
        one = _of(name, kind_named(kind), daily)
        yield one._replace(about=f"{one.about} {kind}({more})")
        seen.add(kind)


def _open() -> Iterator[Entry]:
    from crfkit.objectives.registry import OBJECTIVES

    return (_of(name, kind) for name, kind in OBJECTIVES.items() if kind.open)


def _blockwise() -> Iterator[Entry]:
    from crfkit.training.blocks.problem import BLOCKWISE
    from crfkit.training.choose import by_name

    return (one for one in _optimizers() if one.daily and not {*by_name(one.name).needs} - {*BLOCKWISE})


def _methods() -> Iterator[Entry]:
    from crfkit.inference.methods.registry import METHODS, method_of

    for name in METHODS:
        yield _of(name, type(method_of(name)))


def _metrics() -> Iterator[Entry]:
    from crfkit.metrics import METRICS

    yield Entry("auto", "the F1 of entities where labels spell them, else accuracy")
    for name in METRICS:
        yield Entry(name, daily=not name.endswith(("_macro", "_weighted")))


def _formats() -> Iterator[Entry]:
    from crfkit.data.formats.registry import names

    yield from map(Entry, names())


def _text_formats() -> Iterator[Entry]:
    from crfkit.text.formats.registry import FORMATS

    yield from map(Entry, FORMATS)


def _schemes() -> Iterator[Entry]:
    from crfkit.tags import SCHEMES

    yield from (Entry(name.lower()) for name in SCHEMES)


def _train_schemes() -> Iterator[Entry]:
    from crfkit.models.encoding import ENCODINGS

    yield from (Entry(name.lower()) for name in ENCODINGS)


def _scored() -> Iterator[Entry]:
    from crfkit.tags.reading import READINGS

    yield from (Entry(name.lower()) for name in READINGS)


def _uncertainties() -> Iterator[Entry]:
    from crfkit.models.active_learning import Uncertainty

    yield from map(Entry, get_args(Uncertainty))


#: What help names in braces, and where it comes from.
LISTS: dict[str, Callable[[], Iterator[Entry]]] = {
    "objectives": _objectives,
    "optimizers": _optimizers,
    "open": _open,
    "blockwise": _blockwise,
    "methods": _methods,
    "metrics": _metrics,
    "schemes": _schemes,
    "trained": _train_schemes,
    "scored": _scored,
    "formats": _formats,
    "text_formats": _text_formats,
    "uncertainties": _uncertainties,
}
_TITLES = {
    "objectives": "--objective",
    "optimizers": "--optimizer",
    "methods": "--inference-method",
    "metrics": "--metric",
    "schemes": "--scheme",
    "trained": "--train-scheme",
    "formats": "--format",
}


def filled(text: str) -> str:
    """Return help with the names that daily work needs in place of braces.

    Examples
    --------
    >>> filled("One of {trained}.")
    'One of io, bio, bioes, bceu.'
    """
    return re.sub(r"\{(\w+)\}", _daily, text)


def _daily(match: re.Match[str]) -> str:
    return ", ".join(one.name for one in LISTS[match[1]]() if one.daily)


def tell_all() -> None:
    """Print all names, each with its option and what it is: ``crfkit help names``."""
    from crfkit._safe.printable import shown

    for kind, option in _TITLES.items():
        for one in LISTS[kind]():
            print(f"{option}\t{one.name}\t{shown(one.about)}".rstrip())
