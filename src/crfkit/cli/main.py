"""``crfkit COMMAND``: exit status 0, 2 for a mistake in what was given, 1 where something else went wrong.

Ctrl-C ends a command with status 130; ``crfkit train`` saves the model so far first, also on SIGTERM (143).
A mistake is one line on standard error that says what was expected, what came, and where. Commands import
what they need when they run, so that ``crfkit tag`` starts at once.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from crfkit.cli.quick import arguments_of

#: What a user cannot mend by giving something else.
_NOT_THE_INPUT = {errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENOMEM}


@contextmanager
def mistakes() -> Iterator[None]:
    """Turn mistakes into a message and an exit status, never a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            yield
    except BrokenPipeError:
        raise  # whoever read the output has had enough
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None and error.strerror else ""
        _fail(f"{where}{error.strerror or error}", 1 if error.errno in _NOT_THE_INPUT else 2)
    except (ValueError, ImportError) as error:
        _fail(str(error), 2)
    except TypeError as error:
        if not _is_ours(error):
            raise
        _fail(str(error), 2)
    except (MemoryError, FloatingPointError) as error:
        _fail(str(error) or "there is not enough memory", 1)


class Commands(TyperGroup):
    """The group of commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with mistakes():
            return super().invoke(ctx)


def _is_ours(error: BaseException) -> bool:
    """Tell a check of crfkit's arguments from a slip in its code: checks raise in crfkit with a message."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith("crfkit.")


def _warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    print(f"crfkit: warning: {message}", file=sys.stderr)


def _fail(message: str, status: int) -> None:
    print(f"crfkit: {' '.join(message.splitlines())}", file=sys.stderr)
    raise typer.Exit(status)


#: Commands by name, each a module here and a function in it; a new one is a file and a line in this table.
COMMANDS = {
    "train": ("train", "train"),
    "tag": ("tag", "tag"),
    "eval": ("eval", "evaluate"),
    "cv": ("cv", "cross_validate"),
    "show": ("show", "show"),
    "explain": ("explain", "explain"),
    "features": ("features", "features"),
    "convert": ("convert", "convert"),
    "demo": ("demo", "demo"),
}


def command_named(name: str) -> Callable[..., None]:
    """Return the function of a command; the others are not imported."""
    module, function = COMMANDS[name]
    found: Callable[..., None] = getattr(import_module(f"crfkit.cli.{module}"), function)
    return found


@cache
def typer_app() -> typer.Typer:
    """Return the command line as typer has it, with all commands."""
    made = typer.Typer(
        name="crfkit",
        cls=Commands,
        help="Conditional random fields for chains, segments and graphs.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    for name in COMMANDS:
        made.command(name)(command_named(name))
    made.callback()(_commands)
    return made


def _commands() -> None:
    """Conditional random fields for chains, segments and graphs."""


def main() -> None:
    """Run the command line: at once where it is plain, through typer where it is not."""
    command = command_named(sys.argv[1]) if sys.argv[1:] and sys.argv[1] in COMMANDS else None
    given = None if command is None else arguments_of(command, sys.argv[2:])
    if command is None or given is None:
        typer_app()()
        return
    try:
        with mistakes():
            command(**given)
        sys.stdout.flush()
    except typer.Exit as ended:
        raise SystemExit(ended.exit_code) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more is said at exit
        raise SystemExit(1) from None
