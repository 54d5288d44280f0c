"""What commands say, and what they check before the work begins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from crfkit._safe.printable import safe
from crfkit.cli.streams import hush_unwritten
from crfkit.data.sink import try_to_write


def say(text: str, quiet: bool = False) -> None:
    """Print something that is not a result to standard error."""
    if quiet:
        return
    if sys.stderr.isatty():  # the terminal itself would break lines inside words
        import shutil
        import textwrap

        width = max(shutil.get_terminal_size().columns, 1)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    try:
        print(safe(text), file=sys.stderr)
    except OSError:  # nobody reads it
        hush_unwritten(sys.stderr)


def check_output(path: str, name: str = "--output", read: Iterable[str | None] = ()) -> None:
    """Refuse a place that cannot be written to, or that is read, before hours of work."""
    if os.path.isdir(path):
        raise ValueError(f"{name} is {path}, which is a folder; give the name of a file")
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        return  # standard output, a pipe or a device
    for given in read:
        if given and os.path.isfile(given) and os.path.isfile(path) and os.path.samefile(given, path):
            raise ValueError(f"{name} is {path}, which is read too; give the name of another file")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"{name} is {path}, but there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{name} is {path}, but nothing may be written to {folder}; choose another folder")
    try_to_write(path)


def check_choice(option: str, given: str, choices: tuple[str, ...]) -> str:
    """Return the given value if it is one of the choices; else raise an error that lists them."""
    if given.lower() not in choices:
        raise ValueError(f"{option} is {given!r}, expected one of {', '.join(choices)}")
    return given.lower()
