"""CRFsuite's binary models (type FOMC), read by their offsets.

Header, features (FEAT), labels and attributes (CQDB), and the lists of features that leave a label (LFRF) and
belong to an attribute (AFRF). Scores follow the lists, as in CRFsuite. The header's number of features is
always 0, that of LFRF two more than there are labels. Weights of pairs that are not there are 0; there are
no start or stop weights.

A file as CRFsuite writes it is used as it lies there: attributes are looked up in its own hash tables, and
one native pass over all of it sees that it is sound and makes rows of weights. Where that pass finds
anything else, the slower readers here say what is wrong, or cope with it.
"""

from __future__ import annotations

import codecs

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit.arrays import ranges
from crfkit.data.alphabet import Alphabet
from crfkit.models.files.assembly import Sorted, Triples, assemble, check_steps, decoded
from crfkit.models.files.cqdb import read_spans, read_strings
from crfkit.models.files.inspect import check_labels
from crfkit.models.model import SequenceModel
from crfkit.native import usable_cores

#: One record of the FEAT chunk.
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1
Integers = NDArray[np.int64]


def read_crfsuite(data: bytes | memoryview, *, encoding: str = "utf-8") -> SequenceModel:
    """Return the model in the bytes of a file; a ValueError says what is wrong with them."""
    if len(data) < 48 or bytes(data[:4]) != b"lCRF":
        raise ValueError("it does not begin with lCRF: this is not a model of CRFsuite")
    if bytes(data[8:12]) != b"FOMC":
        raise ValueError(f"its type is {bytes(data[8:12])!r}, expected FOMC (crf1d)")
    head = np.frombuffer(data[:48], dtype="<u4").tolist()
    size, version, L, A = head[1], head[3], head[5], head[6]
    if size > len(data):
        raise ValueError(f"it claims {size:,} bytes, but has {len(data):,}: the file is cut off")
    if version != 100:
        raise ValueError(f"its version is {version}, expected 100")
    check_labels(L)
    check_steps(L, len(data))
    features = _features(data, head[7])
    labels = decoded(read_strings(data, head[8], L, "labels"), encoding, "label")
    attributes = _attributes(data, head[9], A, encoding)
    source, ids = _references(data, head[10], b"LFRF", L)
    steps = _used(features, source, ids, _TRANSITION, L)
    transition = np.zeros((L, L))
    transition[source, steps["label"]] = steps["weight"]
    node = _states(data, features, head[7] + 12, head[11], A, L)
    return assemble(labels, attributes, node, transition)


def _states(
    data: bytes | memoryview, features: NDArray[np.void], first: int, at: int, attributes: int, labels: int
) -> Sorted | Triples:
    """Return the weights of attributes, where features begin at `first` and lists of them at `at`."""
    if at <= len(data) - 12:
        size, count = _chunk(data, at, b"AFRF")
        if count >= attributes and 12 + 4 * count <= size:
            file = np.frombuffer(data, dtype=np.uint8)
            rows = _native.crfsuite_rows(file, first, len(features), at, size, attributes, labels, _threads())
            if rows is not None:
                return Sorted(*rows)
    if not np.isfinite(features["weight"]).all():
        i = int(np.argmin(np.isfinite(features["weight"])))
        raise ValueError(f"the weight of feature {i} is {features['weight'][i]}; weights must be finite")
    row, ids = _references(data, at, b"AFRF", attributes)
    states = _used(features, row, ids, _STATE, labels)
    return Triples(row, states["label"].astype(np.int64), np.ascontiguousarray(states["weight"]))


def _attributes(data: bytes | memoryview, at: int, count: int, encoding: str) -> Alphabet | list[str]:
    """Return the names of the attributes; as an alphabet where no other encoding asks for strings."""
    if codecs.lookup(encoding).name == "utf-8":
        file = np.frombuffer(data, dtype=np.uint8)
        if (known := _native.FrozenAlphabet.of_database(file, at, count, _threads())) is not None:
            return Alphabet.of_native(known)
        names = _native.Alphabet()
        if names.add_spans(*read_spans(data, at, count, "attributes")) == count:
            return Alphabet.of_native(names)
    return decoded(
        read_strings(data, at, count, "attributes"), encoding, "attribute"
    )  # raises the error with its place


def _threads() -> int:
    """Return how many threads look at a file: more would only wait for memory."""
    return min(4, usable_cores())


def _features(data: bytes | memoryview, at: int) -> NDArray[np.void]:
    size, count = _chunk(data, at, b"FEAT")
    if count * FEATURE.itemsize > size - 12:
        raise ValueError(f"its FEAT chunk of {size:,} bytes claims {count:,} features")
    return np.frombuffer(data[at + 12 : at + 12 + count * FEATURE.itemsize], dtype=FEATURE)


def _chunk(data: bytes | memoryview, at: int, name: bytes) -> tuple[int, int]:
    """Return size and count of a chunk."""
    if at > len(data) - 12 or bytes(data[at : at + 4]) != name:
        raise ValueError(f"there is no {name.decode()} chunk at {at:,}")
    size, count = np.frombuffer(data[at + 4 : at + 12], dtype="<u4").tolist()
    if not 12 <= size <= len(data) - at:
        raise ValueError(f"its {name.decode()} chunk claims {size:,} bytes")
    return size, count


def _references(data: bytes | memoryview, at: int, name: bytes, rows: int) -> tuple[Integers, Integers]:
    """Return row and feature of all references of the first rows, row by row."""
    size, count = _chunk(data, at, name)
    if count < rows or 12 + 4 * count > size:
        raise ValueError(f"its {name.decode()} chunk has {count:,} lists, expected {rows:,}")
    offset = np.frombuffer(data[at + 12 : at + 12 + 4 * rows], dtype="<u4").astype(np.int64)
    filled = np.flatnonzero(offset)
    begin = offset[filled]
    if filled.size and (begin.min() < at + 12 or begin.max() > at + size - 4):
        raise ValueError(f"a list of its {name.decode()} chunk lies outside it")
    if filled.size and ((begin - at) & 3).any():
        raise ValueError(f"a list of its {name.decode()} chunk lies between words")
    words = np.frombuffer(data[at : at + size // 4 * 4], dtype="<u4")
    length = words[(begin - at) >> 2].astype(np.int64)
    ends = (begin - at) // 4 + 1 + length
    if int(length.sum()) > len(words) or ends.max(initial=0) > len(words):
        raise ValueError(f"the lists of its {name.decode()} chunk are longer than it")
    places = ranges(ends - length, length)
    return np.repeat(filled, length), words[places].astype(np.int64)


def _used(features: NDArray[np.void], source: Integers, ids: Integers, kind: int, L: int) -> NDArray[np.void]:
    """Return the features of references, which must fit them."""
    what = "transition" if kind == _TRANSITION else "state"
    if ids.size and ids.max() >= len(features):
        raise ValueError(f"a list names the feature {int(ids.max()):,}, but there are {len(features):,}")
    used = features[ids]
    wrong = (used["kind"] != kind) | (used["source"] != source) | (used["label"] >= L)
    if wrong.any():
        i = int(ids[int(np.argmax(wrong))])
        raise ValueError(f"feature {i} stands in the list of a {what} that it does not belong to")
    return used
