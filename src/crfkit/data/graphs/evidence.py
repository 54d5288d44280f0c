"""UAI evidence: the number of observed variables, then pairs of variable and label, on any lines.

The variant of 2010 has the number of samples first, which must be 1 here.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Ids
from crfkit.data.graphs.words import Words
from crfkit.data.source import Place, open_input


def read_evidence(place: Place, width: Ids) -> Ids:
    """Return the observed label of each variable, -1 where there is none.

    Parameters
    ----------
    place : path or open file
    width : array [V]
        Number of labels of each variable of the model.

    Examples
    --------
    >>> import io
    >>> width = np.array([2, 2, 3], dtype=np.int32)
    >>> read_evidence(io.BytesIO(b"2 0 1 2 2"), width).tolist()
    [1, -1, 2]
    >>> read_evidence(io.BytesIO(b"1 2  0 1  2 2"), width).tolist()  # as in 2010
    [1, -1, 2]
    >>> read_evidence(io.BytesIO(b"1 2 3"), width)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    crfkit.errors.DataError: input, line 1: the label of variable 2 is 3, expected ...
    """
    with open_input(place) as source:
        words = Words(source)
    most = len(words)
    count, at = words.whole(0, "the number of observed variables", 0, most), 1
    if len(words) != 1 + 2 * count and len(words) > 1:
        inner = words.whole(1, "the number of observed variables", 0, most)
        if count == 1 and len(words) == 2 + 2 * inner:
            count, at = inner, 2
        elif count > 1 and len(words) > 1 + 2 * count:
            raise words.error(0, f"there are {count} samples of evidence; keep one of them")
    words.many(at, 2 * count, f"{count} pairs of variable and label")
    words.end(at + 2 * count, f"{count} pairs of variable and label")
    observed = np.full(len(width), -1, dtype=np.int32)
    for i in range(at, at + 2 * count, 2):
        if not len(width):
            raise words.error(i, "a variable is observed, but the model has none")
        v = words.whole(i, "an observed variable", 0, len(width) - 1)
        label = words.whole(i + 1, f"the label of variable {v}", 0, int(width[v]) - 1)
        if observed[v] not in (-1, label):
            raise words.error(i, f"variable {v} is observed twice, as {observed[v]} and as {label}")
        observed[v] = label
    return observed


def evidence_text(observed: Ids) -> bytes:
    r"""Return a file of evidence.

    Examples
    --------
    >>> evidence_text(np.array([1, -1, 2], dtype=np.int32))
    b'2\n0 1\n2 2\n'
    """
    at = np.flatnonzero(observed >= 0).tolist()
    return "".join([f"{len(at)}\n", *(f"{v} {observed[v]}\n" for v in at)]).encode()
