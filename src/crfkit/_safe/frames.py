"""Tables of pandas, which is imported only where somebody asks for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def frame_of(rows: Mapping[Any, Sequence[Any]], columns: Iterable[Any], name: str | None = None) -> Any:
    """Return a pandas DataFrame of rows by their names.

    Examples
    --------
    >>> frame_of({"N": [1, 2]}, ["found", "support"], "label").loc["N", "support"].item()
    2
    """
    try:
        from pandas import DataFrame, Index
    except ImportError:
        raise ImportError("to_frame needs pandas; install it with: pip install 'crfkit[tables]'") from None
    return DataFrame([*rows.values()], index=Index([*rows], name=name), columns=[*columns])
