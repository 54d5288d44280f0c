"""The command line: one file per command, each calls public functions and prints."""

from crfkit.cli.main import app, main

__all__ = ["app", "main"]
