"""Answers in the format of the UAI competitions: ``PR``, ``MAR`` or ``MPE``, and behind it the answer.

``PR`` is log10 Z. ``MAR`` is the number of variables, then for each its number of labels and its marginals.
``MPE`` is the number of variables and their labels. ``-BEGIN-`` stands between answers, of which the last one
counts. In 2010 each answer began with the number of samples of evidence, which must be 1 here.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import Floats, Ids, Pointers, pointers
from crfkit.data.graphs.words import Words
from crfkit.data.source import Input, Place, open_input
from crfkit.errors import DataError


@dataclass(frozen=True, eq=False)
class Result:
    """An answer: of "PR" the `value`, of "MAR" `marginals`, of "MPE" `labels`."""

    task: str
    value: float = math.nan  #: log10 Z
    label_ptr: Pointers | None = None  #: [V + 1] where the marginals of each variable begin
    marginals: Floats | None = None  #: flat
    labels: Ids | None = None  #: [V]


def read_result(place: Place) -> Result:
    r"""Read an answer.

    Examples
    --------
    >>> import io
    >>> read_result(io.BytesIO(b"PR\n-1.25\n-BEGIN-\n-1.5\n")).value
    -1.5
    >>> found = read_result(io.BytesIO(b"MAR\n2 2 0.5 0.5 3 0.1 0.2 0.7"))
    >>> found.label_ptr.tolist(), found.marginals[2:].tolist()
    ([0, 2, 5], [0.1, 0.2, 0.7])
    >>> read_result(io.BytesIO(b"MPE\n1\n3 0 1 0")).labels.tolist()
    [0, 1, 0]
    """
    with open_input(place) as source:
        name, data = source.name, source.whole(text=True)
    words = data.split(None, 1)
    task = words[0][:80].decode(errors="replace").upper() if words else ""
    if task == "MMAP":
        raise DataError(name, 1, "marginal MAP (MMAP) is not supported; give PR, MAR or MPE")
    if task not in ("PR", "MAR", "MPE"):
        begins = f"begins with {words[0][:40].decode(errors='backslashreplace')!r}" if words else "is empty"
        raise DataError(name, None, f"the file {begins}, expected PR, MAR or MPE")
    head, begun, last = data.rpartition(b"-BEGIN-")
    lines = b"\n" * head.count(b"\n") if begun else b""  # so that errors name the line of the file
    text = lines + last if begun else data.replace(words[0], b" ", 1)
    answer = Words(Input(name, io.BytesIO(text).read))
    read = {"PR": _value, "MAR": _marginals, "MPE": _labels}[task]
    if answer.value[0] == 1 and (found := read(answer, 1)) is not None:  # as in 2010
        return found
    found = read(answer, 0)
    if found is None:
        raise answer.error(0, f"the answer is not a whole {task}: {_EXPECTED[task]}")
    return found


_EXPECTED = {
    "PR": "expected one number, log10 Z",
    "MAR": "expected the number of variables, then for each its number of labels and that many numbers",
    "MPE": "expected the number of variables, and a label for each",
}


def _value(words: Words, at: int) -> Result | None:
    return Result("PR", float(words.value[at])) if len(words) == at + 1 else None


def _labels(words: Words, at: int) -> Result | None:
    value = words.value[at:]
    if not len(value) or value[0] != len(value) - 1:
        return None
    if not ((value[1:] >= 0) & (value[1:] < 2**31) & (value[1:] == np.floor(value[1:]))).all():
        return None
    return Result("MPE", labels=value[1:].astype(np.int32))


def _marginals(words: Words, at: int) -> Result | None:
    value = words.value[at:].data
    if not len(value) or not 0 <= value[0] <= len(value):
        return None
    begin, width = 1, []
    for _ in range(int(value[0])):
        if begin >= len(value) or not 1 <= value[begin] <= len(value):
            return None
        width.append(int(value[begin]))
        begin += 1 + width[-1]
    if begin != len(value):
        return None
    ptr = pointers(width)
    kept = np.ones(len(value), dtype=np.bool_)
    kept[0] = False
    kept[1 + ptr[:-1] + np.arange(len(width))] = False
    return Result("MAR", label_ptr=ptr, marginals=words.value[at:][kept])


def result_text(task: str, answer: Any) -> str:
    r"""Return an answer as text: of PR log10 Z, of MAR arrays of marginals, of MPE labels.

    Examples
    --------
    >>> result_text("PR", -1.5), result_text("MPE", [0, 1])
    ('PR\n-1.5\n', 'MPE\n2 0 1\n')
    >>> result_text("MAR", [[0.5, 0.5], [1.0]])
    'MAR\n2 2 0.5 0.5 1 1.0\n'
    """
    if task == "PR":
        return f"PR\n{float(answer)!r}\n"
    rows: Sequence[Any] = answer
    words = [str(len(rows))]
    for one in rows:
        words += map(str, [len(one), *map(float, one)]) if task == "MAR" else [str(int(one))]
    return f"{task}\n{' '.join(words)}\n"
