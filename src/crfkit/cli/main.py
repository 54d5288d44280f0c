"""``crfkit COMMAND``: exit status 0, or 2 for a mistake in the input, with one line that says which."""

from __future__ import annotations

import sys

import typer

from crfkit.cli.features import features

app = typer.Typer(
    name="crfkit",
    help="Conditional random fields for chains, segments and graphs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
app.command()(features)


@app.callback()
def _commands() -> None:
    """Conditional random fields for chains, segments and graphs."""


def main() -> None:
    """Run the command line; mistakes become a message and exit status 2."""
    try:
        app()
    except (ValueError, OSError, ImportError) as error:
        print(f"crfkit: {error}", file=sys.stderr)
        raise SystemExit(2) from None
