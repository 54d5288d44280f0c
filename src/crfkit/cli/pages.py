"""The pages of help: options by panel, examples that keep their lines, hints for what does not exist."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

import typer
from typer.core import TyperCommand

from crfkit._safe.printable import shown
from crfkit.cli.groups.compose import PANELS

__all__ = ["Command", "kept_lines"]

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
