"""CRF++ models, text and binary.

Each string that a U template made owns one weight for each label, each of a B template one for each step from
* L + to, all from one array; the cost factor scales every score, so it is folded into the weights. The
template runs natively, with exactly CRF++'s strings. B templates without fields are plain transitions.

Binary models have a double array (Darts, old form), whose strings are all read without walking it. A unit is
(base, check). From a unit with base b the byte c leads to unit b + c + 1 if that one's check is b; unit b
itself, where its check is b and its base negative, ends a string with the id -base - 1. Bases are unique, so
each unit knows its parent by its check: all strings are followed back from their ends at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats
from crfkit.features.crfpp import parse_crfpp
from crfkit.models.files.assembly import Triples, assemble, check_steps, decoded
from crfkit.models.files.inspect import check_labels
from crfkit.models.files.plain import edge_strings, plain_transitions
from crfkit.models.model import SequenceModel

_LONGEST = 1 << 14  # bytes of a string: CRF++ reads lines of half as many

#: One unit of a double array.
UNIT = np.dtype([("base", "<i4"), ("check", "<u4")])


def strings_of(units: NDArray[np.void], most: int) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return all strings with their ids; a ValueError where they have more than `most` bytes or none.

    Examples
    --------
    >>> units = np.zeros(102, dtype=UNIT)
    >>> units[0], units[99], units[2] = (1, 0), (2, 1), (-8, 2)  # "a" is 97
    >>> strings_of(units, 10)
    ([b'a'], array([7]))
    """
    n = len(units)
    if not n:
        return [], np.zeros(0, dtype=np.int64)
    base, check = units["base"].astype(np.int64), units["check"].astype(np.int64)
    used = check > 0
    used[0] = True
    inner = np.flatnonzero(used & (base > 0))  # units that others can hang on
    if inner.size and base[inner].max() >= 1 << 31:
        raise ValueError("its dictionary is damaged: a base is too large")
    by_base = np.sort(base[inner])
    if (by_base[1:] == by_base[:-1]).any():
        raise ValueError("its dictionary is damaged: two units have the same base")
    places = np.argsort(base[inner])
    # [n] the unit that a unit hangs on; -1: none
    found = np.searchsorted(by_base, check)
    hangs = used & (found < len(by_base))
    hangs[hangs] = by_base[found[hangs]] == check[hangs]
    parent = np.full(n, -1, dtype=np.int64)
    parent[hangs] = inner[places[found[hangs]]]
    byte = np.arange(n) - check - 1
    parent[(byte > 255) | ((byte < 0) & (np.arange(n) != check))] = -1

    ends = np.flatnonzero((base < 0) & (check == np.arange(n)) & (parent >= 0))
    at = parent[ends]  # units whose bytes come next
    found_bytes: list[NDArray[np.uint8]] = []
    found_ends: list[NDArray[np.int32]] = []
    alive, total = np.arange(len(ends)), 0
    length = np.zeros(len(ends), dtype=np.int64)
    reached = np.zeros(len(ends), dtype=np.bool_)
    while alive.size:
        done = at == 0
        reached[alive[done]] = True
        going = ~done & (at > 0)
        going[going] = byte[at[going]] > 0
        alive, at = alive[going], at[going]
        total += len(at)
        if total > most or len(found_bytes) > _LONGEST:
            raise ValueError("its dictionary is damaged: strings without end")
        found_bytes.append(byte[at].astype(np.uint8))
        found_ends.append(alive.astype(np.int32))
        length[alive] += 1
        at = parent[at]
    end = np.cumsum(length)
    flat = np.zeros(int(length.sum()), dtype=np.uint8)
    for back, (some, letters) in enumerate(zip(found_ends, found_bytes, strict=True)):
        flat[end[some] - 1 - back] = letters
    text, stops = flat.tobytes(), end.tolist()
    starts = (end - length).tolist()
    keep = np.flatnonzero(reached).tolist()
    return [text[starts[i] : stops[i]] for i in keep], -base[ends[keep]] - 1


Integers = NDArray[np.int64]
_BLOCK = 1 << 20  # bytes


def read_crfpp(data: bytes | memoryview, *, encoding: str = "utf-8") -> SequenceModel:
    """Return the model of a file, text or binary."""
    read = read_crfpp_text if bytes(data[:8]) == b"version:" else read_crfpp_binary
    return read(data, encoding=encoding)


def read_crfpp_text(data: bytes | memoryview, *, encoding: str = "utf-8") -> SequenceModel:
    """Return the model of a text file (``crf_learn -t``)."""
    text = bytes(data).replace(b"\r\n", b"\n")
    head, rest = _section(text, 0)
    fields = dict(line.partition(b": ")[::2] for line in head)
    wanted = (b"version", b"cost-factor", b"maxid", b"xsize")
    if set(fields) != set(wanted):
        raise ValueError("its first four lines are not version, cost-factor, maxid and xsize")
    if fields[b"version"] != b"100":
        raise ValueError(f"its version is {fields[b'version'].decode('ascii', 'replace')}, expected 100")
    if not fields[b"maxid"].isdigit() or len(fields[b"maxid"]) > 18:
        raise ValueError(f"its maxid is {quoted(fields[b'maxid'], 40)}, expected a number of weights")
    cost, maxid = float(fields[b"cost-factor"]), int(fields[b"maxid"])
    labels, rest = _section(text, rest)
    templates, rest = _section(text, rest)
    lines, rest = _section(text, rest)
    weights = _numbers(text, rest)
    if len(weights) != maxid:
        raise ValueError(f"it has {len(weights):,} weights, but maxid is {maxid:,}: the file is cut off")
    ids, names = [], []
    for line in lines:
        number, _, name = line.partition(b" ")
        if not number.isdigit() or len(number) > 18 or not name:
            raise ValueError(f"the line {quoted(line)} is not an id and string")
        ids.append(int(number))
        names.append(name)
    check_steps(len(labels), len(data))
    return _model(labels, templates, names, np.array(ids, dtype=np.int64), weights * cost, encoding)


def _numbers(text: bytes, at: int) -> Floats:
    """Return the numbers from a place on, made in blocks: words of all of them would take much memory."""
    blocks: list[Floats] = [np.zeros(0)]
    try:
        while at < len(text):
            end = text.find(b"\n", at + _BLOCK) + 1 or len(text)
            words = text[at:end].split()
            blocks.append(np.fromiter(map(float, words), np.float64, len(words)))
            at = end
    except ValueError:
        raise ValueError("a line of its weights is not a number") from None
    return np.concatenate(blocks)


def _section(text: bytes, at: int) -> tuple[list[bytes], int]:
    """Return the lines up to the next empty one, and where the text goes on."""
    end = text.find(b"\n\n", at)
    if end < 0:
        raise ValueError("a section is missing: the file is cut off")
    return text[at:end].split(b"\n") if end > at else [], end + 2


def read_crfpp_binary(data: bytes | memoryview, *, encoding: str = "utf-8") -> SequenceModel:
    """Return the model of a binary file."""
    if len(data) < 36:
        raise ValueError("it is too short: the file is cut off")
    version, kind = np.frombuffer(data[:8], dtype="<i4").tolist()
    if version != 100 or kind != 0:
        raise ValueError(f"its version is {version} and its type {kind}, expected 100 and 0")
    cost = float(np.frombuffer(data[8:16], dtype="<f8")[0])
    maxid, _, units = np.frombuffer(data[16:28], dtype="<u4").tolist()
    labels, at = _texts(data, 28, "labels")
    templates, at = _texts(data, at, "templates")
    if units % 8 or at + units + 4 * maxid != len(data):
        raise ValueError(
            f"it has {len(data):,} bytes, but its parts need {at + units + 4 * maxid:,}: the file is cut off "
            "or damaged"
        )
    array = np.frombuffer(data[at : at + units], dtype=UNIT)
    weights = np.frombuffer(data[at + units :], dtype="<f4").astype(np.float64)
    names, ids = strings_of(array, most=8 * len(data))
    order = np.argsort(ids, kind="stable")
    names = [names[i] for i in order.tolist()]
    check_steps(len(labels), len(data))
    return _model(labels, templates, names, ids[order], weights * cost, encoding)


def _texts(data: bytes | memoryview, at: int, what: str) -> tuple[list[bytes], int]:
    """Return the NUL-ended strings of a block, and where the data go on."""
    if at + 4 > len(data):
        raise ValueError(f"its {what} are missing: the file is cut off")
    size = int.from_bytes(data[at : at + 4], "little")
    if size > len(data) - at - 4:
        raise ValueError(f"its {what} claim {size:,} bytes: the file is cut off or damaged")
    block = bytes(data[at + 4 : at + 4 + size])
    return [text for text in block.split(b"\0") if text], at + 4 + size


def _model(
    labels: Sequence[bytes],
    templates: Sequence[bytes],
    names: Sequence[bytes],
    ids: Integers,
    weights: Floats,
    encoding: str,
) -> SequenceModel:
    L = len(labels)
    check_labels(L)
    recipe = parse_crfpp("\n".join(decoded(templates, encoding, "template")), source="its template")
    strings = decoded(names, encoding, "string")
    wrong = next((name for name in strings if name[:1] not in ("U", "B")), None)
    if wrong is not None:
        raise ValueError(f"the string {quoted(wrong)} begins with neither U nor B")
    unary = np.array([name[0] == "U" for name in strings], dtype=np.bool_)
    sizes = np.where(unary, L, L * L)
    if ids.size and (ids.min() < 0 or (ids + sizes).max() > len(weights) or sizes.sum() > len(weights)):
        raise ValueError(f"its strings own more than the {len(weights):,} weights that it has")
    if not np.isfinite(weights).all():
        raise ValueError(f"weight {int(np.argmin(np.isfinite(weights)))} is not finite")
    unigrams = [name for name, mine in zip(strings, unary.tolist(), strict=True) if mine]
    bigrams = [name for name, mine in zip(strings, unary.tolist(), strict=True) if not mine]
    place = dict(zip(bigrams, ids[~unary].tolist(), strict=True))
    table = np.zeros(L * L)
    for name, times in plain_transitions(recipe).items():
        if name in place:
            table += times * weights[place[name] : place[name] + L * L]
    edged = edge_strings(recipe, bigrams)
    return assemble(
        decoded(labels, encoding, "label"),
        unigrams,
        _blocks(ids[unary], weights, L),
        table.reshape(L, L),
        edge_attributes=[name for name, mine in zip(bigrams, edged.tolist(), strict=True) if mine],
        edge=_blocks(ids[~unary][edged], weights, L * L),
        recipe=recipe,
        label_column=-1,
    )


def _blocks(ids: Integers, weights: Floats, width: int) -> Triples:
    """Return the weights that each id owns: `width` from it on."""
    count = len(ids)
    return Triples(
        np.repeat(np.arange(count), width),
        np.tile(np.arange(width), count),
        weights[ids[:, None] + np.arange(width)].ravel(),
    )
