"""Objects whose copies and pickles hold their fields alone, and come back through their constructors.

Pickles can run code: open only those that you trust. What is in one is not checked beyond that.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, eq=False)
class Restored:
    """A frozen dataclass whose copies and pickles leave out what was made of its fields since.

    Examples
    --------
    >>> import copy
    >>> @dataclass(frozen=True)
    ... class Words(Restored):
    ...     text: str
    ...
    ...     def __post_init__(self) -> None:
    ...         self.__dict__["made"] = self.text.split()
    >>> Words("a b").__getstate__()
    {'text': 'a b'}
    >>> copy.copy(Words("a b")).made
    ['a', 'b']
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without what was made of them since."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields, as the constructor does."""
        type(self).__init__(self, **state)
