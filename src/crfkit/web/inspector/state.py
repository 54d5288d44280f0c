"""The state of a page: all that is in its address, checked as it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import parse_qsl, urlencode

from crfkit._safe.printable import cut

__all__ = ["LONGEST_ADDRESS", "Query", "Wrong"]

LONGEST_ADDRESS = 6000  #: letters; the texts of longer ones are sent in forms


class Wrong(ValueError):  # noqa: N818 - what a page says is wrong with its address
    """An address that says what a page cannot show."""


class Query:
    """The values of an address by name, in order.

    Examples
    --------
    >>> query = Query.of("at=3&fixed=0:O&fixed=2:B")
    >>> query.number("at", 0, 0, 9), query.all("fixed"), query.link(at=4, fixed=None)
    (3, ['0:O', '2:B'], '?at=4')
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = [*pairs]

    @classmethod
    def of(cls, text: str) -> Query:
        """Return the values of the part of an address behind its question mark, or of a form."""
        try:
            return cls(parse_qsl(text, keep_blank_values=True, max_num_fields=4000))
        except ValueError as error:
            raise Wrong(f"the address has too many values: {error}") from None

    def all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return [value for key, value in self.pairs if key == name]

    def get(self, name: str, default: str = "") -> str:
        """Return the first value of a name."""
        return next((value for key, value in self.pairs if key == name), default)

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """Return a whole number within limits."""
        given = self.get(name)
        if not given:
            return default
        try:
            value = int(given[:20])
        except ValueError:
            raise Wrong(f"{name} is {cut(given, 40)!r}, expected a whole number") from None
        if not low <= value <= high:
            raise Wrong(f"{name} is {value}, expected {low} to {high}")
        return value

    def choice(self, name: str, known: Collection[str], default: str) -> str:
        """Return one of the values that are known."""
        given = self.get(name) or default
        if given not in known:
            raise Wrong(f"{name} is {cut(given, 40)!r}, expected one of {', '.join(list(known)[:30])}")
        return given

    def link(self, **changes: str | int | list[str] | None) -> str:
        """Return the address of the same page with other values; None takes one out."""
        kept = [pair for pair in self.pairs if pair[0] not in changes]
        for name, value in changes.items():
            several = value if isinstance(value, list) else [] if value is None else [value]
            kept += [(name, str(one)) for one in several]
        return "?" + urlencode(kept, errors="replace")
