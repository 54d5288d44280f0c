"""A file that belongs to an object and travels with its pickles."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from typing import Any

__all__ = ["FileResource"]

_DATA = "__FILE_RESOURCE_DATA__"


class FileResource:
    """A named file, or a temporary one that goes when its owner does.

    Pickles hold the contents of a temporary file, and only the name of a named one.

    Parameters
    ----------
    filename : str, optional
        Default: a temporary file, made when its name is asked for with `ensure_name`.
    keep_tempfiles : bool
        Leave temporary files behind.
    suffix, prefix : str
        Suffix and prefix of the names of temporary files.

    Examples
    --------
    >>> resource = FileResource(suffix=".crfsuite")
    >>> resource.name is None
    True
    >>> resource.refresh()
    >>> os.path.exists(resource.name)
    True
    >>> resource.cleanup()
    """

    def __init__(
        self, filename: str | None = None, keep_tempfiles: bool = False, suffix: str = "", prefix: str = ""
    ) -> None:
        self.name = filename
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix, self.prefix = suffix, prefix

    def ensure_name(self) -> None:
        """Make a temporary file, unless there is a name."""
        if self.name is not None:
            return
        if not self.auto:
            raise ValueError("File name is not provided")
        handle, self.name = tempfile.mkstemp(self.suffix, self.prefix)
        os.close(handle)

    def cleanup(self) -> None:
        """Remove the temporary file."""
        if self.keep_tempfiles or not self.auto or self.name is None:
            return
        with suppress(OSError):
            os.unlink(self.name)
        self.name = None

    def refresh(self) -> None:
        """Begin with a new file."""
        self.cleanup()
        self.ensure_name()

    def __del__(self) -> None:
        with suppress(Exception):  # at exit, what it needs may be gone
            self.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self.auto and self.name is not None:
            with suppress(OSError), open(self.name, "rb") as file:
                state[_DATA] = file.read()
            state["name"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = dict(state)
        data = given.pop(_DATA, None)
        given.pop("fd", None)  # pickles of the original have the number of a file that is long closed
        self.__dict__.update(given)
        if data is not None:
            self.ensure_name()
            assert self.name is not None
            with open(self.name, "wb") as file:
                file.write(data)
