"""The command line: one file per command, each calls public functions and prints."""

from typing import TYPE_CHECKING, Any

from crfkit.cli.main import main

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name == "app":  # loads all commands; running one command does not wait for the others
        from crfkit.cli.main import typer_app

        return typer_app()
    raise AttributeError(f"module 'crfkit.cli' has no attribute {name!r}")
