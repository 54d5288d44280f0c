"""``crfkit COMMAND``: exit status 0, 2 for wrong input, 1 where something else went wrong.

Ctrl-C ends a command with status 130, SIGTERM with 143, SIGHUP (the terminal is gone) with 129;
``crfkit train`` saves the model so far first. An error is one line on standard error that says what was
expected, what came, and where. Commands import what they need when they run, so that ``crfkit tag`` starts at
once.
"""

from __future__ import annotations

import errno
import gc
import inspect
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from crfkit._safe.interrupts import Interrupts, listening
from crfkit._safe.printable import cut, shown
from crfkit.cli.groups.compose import PANELS
from crfkit.cli.messages import say
from crfkit.cli.plain_arguments import arguments_of
from crfkit.cli.streams import hush_unwritten, ready_streams, safe_streams

_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")  # where click would break a line: mixed-cg
_VALUES = {"str": "TEXT", "int": "INTEGER", "float": "NUMBER"}  # what options take
_UsageError: Any = typer.BadParameter.__mro__[1]  # typer keeps click's under a private name
_NoSuchOption: Any = sys.modules[_UsageError.__module__].__dict__["NoSuchOption"]


class Command(TyperCommand):
    """A command, whose help has arguments and values in capitals, and words in one piece."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters as the help shows them."""
        made: list[Any] = super().get_params(ctx)
        for one in made:
            one.help = one.help or ""
            if one.metavar is None and one.param_type_name == "argument":
                one.metavar = one.name.upper()
            elif one.metavar is None and hasattr(one, "display_type"):  # since typer 0.29
                kind = re.sub(r"^<(?:list\[)?(\w+).*", r"\1", one.display_type(ctx))  # list[str], int range
                one.metavar = _VALUES.get(kind, f"<{kind}>")
            if one.param_type_name == "argument":
                one.display_type_rich = _nothing  # MODEL, not MODEL <str>
        return made

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; of an option that does not exist, say what to write."""
        given = list(args)
        try:
            made: list[str] = super().parse_args(ctx, args)
        except _NoSuchOption as error:
            from crfkit.cli.hints import option_hint

            options = {word for one in self.get_params(ctx) for word in one.opts if word.startswith("-")}
            hint = option_hint(error.option_name, given, options)
            told = f"there is no option {shown(error.option_name)}{'; ' if hint else ''}{hint}"
            raise _UsageError(told, ctx) from None
        return made

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, and options by panel."""
        from crfkit.cli.groups.lists import filled

        found: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *PANELS, "Options")}
        for one in self.get_params(ctx):
            one.help = _HYPHEN.sub("\u2011", filled(one.help))
            record = one.get_help_record(ctx)
            if record is not None:
                place = "Arguments" if one.param_type_name == "argument" else "Options"
                found[getattr(one, "rich_help_panel", None) or place].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def get_help(self, ctx: Any) -> str:
        """Return the help as it is printed."""
        made: str = super().get_help(ctx)
        return made.replace("\u2011", "-")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the pieces of the line of usage, without braces, which nobody should type."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


def _nothing(ctx: Any) -> None:
    return None


def kept_lines(docstring: str) -> str:
    r"""Return a docstring whose indented paragraphs, examples, keep their lines: click's mark is a backspace.

    Examples
    --------
    >>> kept_lines("Print\nlabels.\n\n  crfkit a\n  crfkit b")
    'Print\nlabels.\n\n\x08\n  crfkit a\n  crfkit b'
    """
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(f"\b\n{p}" if p.startswith(" ") else p for p in paragraphs)


#: Errors that other input cannot avoid.
_NOT_THE_INPUT = {errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENOMEM}
_REMEDIES = {
    errno.ENOENT: "; check the name",
    errno.EACCES: "; ask for the right to it, or give another file",
    errno.ENOSPC: "; make room, or write elsewhere",
    errno.EDQUOT: "; make room within your quota, or write elsewhere",
    errno.EFBIG: "; raise the limit of file sizes (ulimit -f), or write elsewhere",
    errno.EIO: "; check the disk, or use another",
    errno.EROFS: "; write elsewhere",
    errno.ELOOP: "; remove the links that lead to each other",
    errno.ENAMETOOLONG: "; give a shorter one",
    errno.ENOTDIR: "; a part of the name is no folder",
    errno.EMFILE: "; raise the limit of open files (ulimit -n)",
}
_SMALLER = (
    "crfkit forecast says what training takes, --block-positions learns from data on disk, and "
    "--transitions observed or a higher --min-count makes a smaller model"
)
_CYCLES = 50_000  # objects until cycles are looked for; with Python's 700 that is 8 % of the start
_LONGEST = 2000  # letters of a message
_ClickError: Any = _UsageError.__mro__[1]
_NO_ARGUMENTS: Any = getattr(sys.modules[_UsageError.__module__], "NoArgsIsHelpError", ())


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors and signals into a message and an exit status, never a traceback."""
    with listening() as caught, _told(caught):
        yield


@contextmanager
def _told(caught: Interrupts) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            with safe_streams():
                yield
    except BrokenPipeError:  # the reader of the output has closed it
        hush_unwritten(sys.stdout)
        raise typer.Exit(1) from None
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        with caught.waiting():
            _fail("interrupted" if caught.status == 130 else caught.why, caught.status)
    except _UsageError as error:
        if isinstance(error, _NO_ARGUMENTS):
            raise
        asked = "crfkit" if error.ctx is None else error.ctx.command_path
        _fail(f"{error.format_message().rstrip('.')}; see {asked} --help", 2)
    except OSError as error:
        if error.errno == errno.ENOENT and error.filename is None:
            _fail("the folder that crfkit was started in is gone; change to another", 2)
        where = f"{error.filename}: " if error.filename is not None and error.strerror else ""
        number = error.errno or 0
        bare = error.strerror == os.strerror(number)  # where we wrote the words, they name a remedy
        remedy = _REMEDIES.get(number, "") if bare else ""
        _fail(f"{where}{error.strerror or error}{remedy}", 1 if number in _NOT_THE_INPUT else 2)
    except (ValueError, ImportError) as error:
        counted = getattr(error, "after", None)  # of sequences by their index; people count from 1
        _fail(str(error if counted is None else counted(1)), 2)
    except MemoryError as error:
        _fail(f"{str(error) or 'there is not enough memory'}; {_SMALLER}", 1)
    except FloatingPointError as error:
        _fail(str(error), 1)
    except Warning as error:  # where the user wants warnings to be errors
        _fail(str(error), 1)
    except Exception as error:
        if isinstance(error, _ClickError) or sys.flags.dev_mode:
            raise
        where = "a mistake in crfkit, please report it; python -X dev -m crfkit shows where"
        _fail(f"{type(error).__name__}: {error} ({where})", 1)


class Commands(TyperGroup):
    """The group of commands."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read what stands before the command."""
        with reported():
            return super().make_context(*given, **more)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the command; ``crfkit help train`` is ``crfkit train --help``."""
        if args == ["help", "names"]:
            from crfkit.cli.groups.lists import tell_all

            tell_all()
            raise typer.Exit
        made: list[str] = super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)
        return made

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; of one that does not exist, say what to write."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from crfkit.cli.hints import command_hint

            hint = command_hint(args[0], COMMANDS)
            told = f"there is no command {shown(args[0])}{'; ' if hint else ''}{hint}"
            raise _UsageError(told, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with reported():
            return super().invoke(ctx)


def _warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    say(f"crfkit: warning: {_line(str(message))}")


def _fail(message: str, status: int) -> None:
    hush_unwritten(sys.stdout)
    say(f"crfkit: {_line(message)}")
    raise typer.Exit(status)


def _line(message: str) -> str:
    """Return a message in one line, without the middle of one that quotes a whole file."""
    return " ".join(cut(message, _LONGEST).splitlines())


#: Commands by name, each a module here and a function in it; a new one is a file and a line in this table.
COMMANDS = {
    "train": ("train", "train"),
    "forecast": ("forecast", "forecast"),
    "tag": ("tag", "tag"),
    "evaluate": ("evaluate", "evaluate"),
    "cv": ("cv", "cross_validate"),
    "show": ("show", "show"),
    "explain": ("explain", "explain"),
    "rank": ("rank", "rank"),
    "inspect": ("inspect", "inspect"),
    "infer": ("infer", "infer"),
    "calibrate": ("calibrate", "calibrate"),
    "features": ("features", "features"),
    "check": ("check", "check"),
    "convert": ("convert", "convert"),
    "convert-data": ("convert_data", "convert_data"),
    "card": ("card", "card"),
    "serve": ("serve", "serve"),
    "new": ("new", "new"),
    "demo": ("demo", "demo"),
    "reproduce": ("reproduce", "reproduce"),
}


def command_named(name: str) -> Callable[..., None]:
    """Return the function of a command; the others are not imported."""
    module, function = COMMANDS[name]
    found: Callable[..., None] = getattr(import_module(f"crfkit.cli.{module}"), function)
    return found


@cache
def typer_app(*names: str) -> typer.Typer:
    """Return the command line as typer has it, with these commands, or with all: each is an import."""
    made = typer.Typer(
        name="crfkit",
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain text: boxes waste half of 80 columns, and loading rich takes time
        context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    for name in names or COMMANDS:
        command = command_named(name)
        made.command(name, cls=Command, help=kept_lines(command.__doc__ or ""))(command)
    made.callback(help=kept_lines(_commands.__doc__ or ""))(_commands)
    return made


def _tell_version(ctx: typer.Context, asked: bool) -> None:
    if asked:
        from crfkit import __version__, native

        print(json.dumps(native.build_info()) if ctx.params.get("as_json") else f"crfkit {__version__}")
        raise typer.Exit


def _commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, help="Print the version.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", is_eager=True, help="With --version: the build too, as JSON.")
    ] = False,
) -> None:
    """Conditional random fields: learn labels of sequences, tag, evaluate, explain.

    For example:

      crfkit demo
      crfkit train train.txt -o model.crf
      crfkit tag model.crf new.txt
      crfkit evaluate model.crf test.txt
    """


def run() -> None:
    """Run the command line: directly where it is plain, through typer where it is not."""
    gc.set_threshold(_CYCLES)
    ready_streams()
    try:
        with reported():
            names = [name for name in sys.argv[1:2] if name in COMMANDS]
            if names == ["tag"] and "numpy" not in sys.modules:
                # No product of matrices is worth the threads of OpenBLAS, which spin when NumPy is loaded.
                os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            command = command_named(names[0]) if names else None
            given = None if command is None else arguments_of(command, sys.argv[2:])
            if command is not None and given is not None:
                command(**given)
                return
            app = typer_app(*names)
        app(prog_name="crfkit")  # reports errors itself
    except typer.Exit as ended:
        raise SystemExit(ended.exit_code) from None
