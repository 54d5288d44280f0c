"""How a command gets the options of groups: dataclasses whose fields are options of one panel of the help."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import typer

#: The panels of the help, in their order; options without one stand under Options.
PANELS = ("Data", "Features", "Model", "Training", "Stopping", "Answers", "Judging", "Service", "Output")


def option(panel: str, *names: str, help: str, **more: Any) -> Any:
    """Return an option of a panel, for `typing.Annotated`.

    Names in braces, as in ``{formats}``, are filled in by `crfkit.cli.groups.lists` where help is shown.
    """
    assert panel in PANELS
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def composed(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a group, which is a dataclass, where it has a parameter of that type.

    Examples
    --------
    >>> from crfkit.cli.groups.data import Data
    >>> @composed
    ... def show(path: str, *, given: Data) -> None:
    ...     print(path, given.comment)
    >>> show(path="a.txt", comment="#")
    a.txt #
    >>> list(inspect.signature(show).parameters)[:4]
    ['path', 'format', 'columns', 'separator']
    """
    hints = typing.get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, one in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(one.replace(kind=one.KEYWORD_ONLY, annotation=hints[name]))
            continue
        options = typing.get_type_hints(groups[name], include_extras=True)
        for f in fields(groups[name]):
            hint = options[f.name]
            parameters.append(inspect.Parameter(f.name, one.KEYWORD_ONLY, default=f.default, annotation=hint))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {
            place: kind(**{f.name: given.pop(f.name) for f in fields(kind) if f.name in given})
            for place, kind in groups.items()
        }
        command(**given, **made)

    made: Any = run
    made.__signature__ = inspect.Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    return run
