"""What answers queries: the sweep for sequences and trees, methods of `inference.methods` for graphs.

Potentials name their engine; queries of the same names lie in the engine's module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from crfkit.structures.graphs.potentials import GraphPotentials

#: engine -> the module that answers in place of the sweep
ENGINES = {"factors": "crfkit.inference.graphs"}

Given = ParamSpec("Given")
Answer = TypeVar("Answer", covariant=True)


class Query(Protocol[Given, Answer]):
    """A query of the sweep that takes graphs as well."""

    @overload
    def __call__(self, potentials: GraphPotentials, /, *args: Any, **options: Any) -> Any: ...
    @overload
    def __call__(self, *args: Given.args, **options: Given.kwargs) -> Answer: ...


def only_of_graphs(**options: tuple[Any, Any]) -> None:
    """Refuse options of graphs for sequences and trees, given (what was given, the default) of each.

    Examples
    --------
    >>> only_of_graphs(method=("bp", None))
    Traceback (most recent call last):
    TypeError: method is 'bp', an option of graphs; sequences and trees have one exact answer, leave it out
    """
    for name, (given, default) in options.items():
        if given is not default:
            raise TypeError(
                f"{name} is {given!r}, an option of graphs; sequences and trees have one exact answer, "
                "leave it out"
            )


def for_any_structure(query: Callable[Given, Answer]) -> Query[Given, Answer]:
    """Let a query of the sweep be answered by the engine of its potentials, which are its first argument."""

    @wraps(query)
    def ask(*args: Any, **options: Any) -> Any:
        potentials: Any = args[0] if args else options.get("potentials")
        home = ENGINES.get(getattr(potentials, "engine", "sweep"))
        if home is None:
            return query(*args, **options)
        answered = getattr(import_module(home), query.__name__, None)
        if answered is None:
            raise TypeError(f"{query.__name__} is a query about sequences and trees, not about graphs")
        return answered(*args, **options)

    return ask
