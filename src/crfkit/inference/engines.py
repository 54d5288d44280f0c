"""Who answers queries: the sweep for sequences and trees, methods of `inference.methods` for graphs.

Potentials name their engine; queries of the same names lie in the engine's module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

__all__ = ["for_any_structure"]

#: engine -> the module that answers in place of the sweep
ENGINES = {"factors": "crfkit.inference.graphs"}

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def for_any_structure(query: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Let a query of the sweep be answered by the engine of its potentials, which is its first argument."""

    @wraps(query)
    def ask(*args: Given.args, **options: Given.kwargs) -> Answer:
        potentials: Any = args[0] if args else options.get("potentials")
        home = ENGINES.get(getattr(potentials, "engine", "sweep"))
        if home is None:
            return query(*args, **options)
        answer: Answer = getattr(import_module(home), query.__name__)(*args, **options)
        return answer

    return ask
