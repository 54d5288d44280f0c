"""Making the next item in a thread while the current one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ahead"]

Given = TypeVar("Given")
Made = TypeVar("Made")


def ahead(make: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
    """Yield make(item) for each item; a thread makes the next one meanwhile.

    At most two of them exist at a time if the caller drops one before it asks for the next.

    Examples
    --------
    >>> list(ahead(str.upper, "ab"))
    ['A', 'B']
    """
    with ThreadPoolExecutor(1, "crfkit-ahead") as maker:
        coming: Future[Made] | None = None
        for item in items:
            ready, coming = coming, maker.submit(make, item)
            if ready is not None:
                yield ready.result()
        ready = None
        if coming is not None:
            yield coming.result()
