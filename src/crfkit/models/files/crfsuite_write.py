"""Models as files that CRFsuite reads, byte by byte as it writes them.

Such a file has weights for (attribute, label) and (label, label) pairs and nothing else. What else a model
has and would be lost is an error, not a silent change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Pointers, pointers
from crfkit.models.files.assembly import check_steps
from crfkit.models.files.compact import compacted
from crfkit.models.files.cqdb import write_strings
from crfkit.models.files.crfsuite import FEATURE
from crfkit.models.files.refusals import refuse_lost
from crfkit.models.model import SequenceModel


def crfsuite_bytes(model: SequenceModel) -> bytes:
    """Return the bytes of a CRFsuite model; a ValueError says what CRFsuite cannot hold.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
    >>> crfsuite_bytes(model)[8:12]
    b'FOMC'
    """
    refuse_lost(model, "CRFsuite")
    model = compacted(model)
    layout, L, A = model.layout, len(model.names.labels), model.layout.attributes
    kept = len(layout.node_label)
    if kept + len(layout.transition_cell) >= 1 << 27:
        raise ValueError("the model has too many weights for CRFsuite's format, which ends at 4 GiB")
    features = np.zeros(kept + len(layout.transition_cell), dtype=FEATURE)
    features["source"][:kept] = np.repeat(np.arange(A), np.diff(layout.node_ptr))
    features["label"][:kept] = layout.node_label
    features["kind"][kept:] = 1
    features["source"][kept:] = layout.transition_cell // L
    features["label"][kept:] = layout.transition_cell % L
    features["weight"] = model.w
    labels = write_strings(encoded(model.names.labels.strings(), "label"))
    attributes = write_strings(encoded(model.attributes.strings(), "attribute"))
    feat = b"FEAT" + _words(12 + features.nbytes, len(features)) + features.tobytes()
    at_labels = 48 + len(feat)
    at_attributes = at_labels + len(labels)
    strings = labels + attributes
    strings += bytes(-len(strings) % 4)
    at_lists = at_labels + len(strings)
    leaving = np.bincount(layout.transition_cell // L, minlength=L)
    step_ptr = kept + pointers(leaving)
    lfrf = _references(b"LFRF", at_lists, step_ptr, extra=2)
    at_states = at_lists + len(lfrf)
    afrf = _references(b"AFRF", at_states, layout.node_ptr)
    size = at_states + len(afrf)
    if size >= 1 << 32:
        raise ValueError("the file would have 4 GiB or more, which CRFsuite's format cannot hold")
    check_steps(L, size)  # what cannot be read back is not written
    head = b"lCRF" + _words(size) + b"FOMC" + _words(100, 0, L, A)
    head += _words(48, at_labels, at_attributes, at_lists, at_states)
    return b"".join([head, feat, strings, lfrf, afrf])


def encoded(names: Sequence[str], what: str) -> list[bytes]:
    """Return names as bytes; a ValueError names one that CRFsuite's format cannot hold.

    Examples
    --------
    >>> encoded(["the", "dog", "the"], "attribute")
    Traceback (most recent call last):
    ValueError: the attribute 'the' occurs twice, which CRFsuite's format cannot hold
    """
    seen: set[str] = set()
    for name in names:
        if "\0" in name or name in seen:
            wrong = "occurs twice" if name in seen else "holds a NUL"
            raise ValueError(f"the {what} {quoted(name)} {wrong}, which CRFsuite's format cannot hold")
        seen.add(name)
    return [name.encode() for name in names]


def _words(*numbers: int) -> bytes:
    return np.array(numbers, dtype="<u4").tobytes()


def _references(name: bytes, at: int, ptr: Pointers, extra: int = 0) -> bytes:
    """Return a chunk of lists: features ptr[i] to ptr[i + 1] - 1 for each i."""
    n = len(ptr) - 1
    length = np.diff(ptr)
    head = 12 + 4 * (n + extra)
    begin = pointers(length + 1)  # in words
    words = np.zeros(int(begin[-1]), dtype="<u4")
    words[begin[:-1]] = length
    inside = np.ones(len(words), dtype=np.bool_)
    inside[begin[:-1]] = False
    words[inside] = np.arange(ptr[0], ptr[-1])
    offsets = np.zeros(n + extra, dtype="<u4")
    offsets[:n] = at + head + 4 * begin[:-1]
    size = head + words.nbytes
    return name + _words(size, n + extra) + offsets.tobytes() + words.tobytes()
