r"""How tags are read: what two neighboring tags say about a segment between them, and the segments.

Every way of reading is one table over (part before, part here, same type?) with three answers: a segment
starts here, what is open is cut here, and the cut is a proper end. A segment reaches from the first start in
a run without cuts to the cut that ends the run, and counts if that is a proper end. So one vectorized
reader serves every scheme.

=============  ==========================================================================================
conlleval      the Perl script of the CoNLL shared tasks, version 2004-01-26, rule for rule. It does not know
               S, and takes B after E of the same type for a continuation: not for BIOES.
lenient        the same with E, S and what follows them understood, as in seqeval's default mode; also
               L and U of BILOU, M of BMES and C of BCEU. Equal to conlleval on tags of IOB1, IOB2, IOE1
               and IOE2, brackets included, well-formed or not.
a scheme       strict: only segments that are well-formed count, as in seqeval's ``mode="strict"``. IOE1 has
               two patterns more than seqeval 1.2.2, which loses its segments of one ``E``.
raw            every label but O is a segment of one position, its type is the label (conlleval -r)
=============  ==========================================================================================

https://github.com/chakki-works/seqeval
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.tags.schemes import ALIASES, PART_OF, SCHEMES, TABLE, Scheme, matches

LabelScheme: TypeAlias = str | Scheme
Ints: TypeAlias = NDArray[np.int64]

PARTS: Final = tuple("OBIES[].?")  #: the part of a label is a place in here; ? is any other prefix
READINGS: Final = ("lenient", "conlleval", "raw", *SCHEMES)  #: names of ways to read tags
START, CUT, END = np.uint8(1), np.uint8(2), np.uint8(4)
_OUTSIDE: Final = 0  # in PARTS


@dataclass(frozen=True, eq=False)
class Rules:
    """What a scheme means for the labels of a model."""

    part: NDArray[np.intp]  #: [L] places in PARTS
    kind: Ints  #: [L] type of a label, 0 where it has none
    kinds: tuple[str, ...]  #: [K] types; the first is ""
    table: NDArray[np.uint8]  #: [parts * parts * 2] flags, the last axis: same type


@lru_cache(maxsize=64)
def rules(scheme: LabelScheme, names: tuple[str, ...]) -> Rules:
    """Return what a scheme means for labels; raise a ValueError if they are not labels of it.

    Examples
    --------
    >>> bio = rules("BIO", ("O", "B-PER", "I-PER"))
    >>> bio.part.tolist(), bio.kind.tolist(), bio.kinds
    ([0, 1, 2], [0, 1, 1], ('', 'PER'))
    """
    reading = _known(scheme)
    parsed = [_parse(reading, scheme, name) for name in names]
    kinds = ("", *sorted({kind for _, kind in parsed} - {""}))
    number_of = {kind: number for number, kind in enumerate(kinds)}
    return Rules(
        np.array([PARTS.index(part) for part, _ in parsed], np.intp),
        np.array([number_of[kind] for _, kind in parsed], np.int64),
        kinds,
        _table(reading),
    )


def _known(scheme: LabelScheme) -> str:
    name = scheme.name if isinstance(scheme, Scheme) else scheme
    for known in (name, name.upper()):
        if known in READINGS:
            return ALIASES.get(known, known)
    close = difflib.get_close_matches(name, READINGS, n=1) or difflib.get_close_matches(
        name.upper(), READINGS
    )
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"scheme {name!r} is not known; expected one of {', '.join(READINGS)}{hint}")


def _parse(reading: str, scheme: LabelScheme, label: str) -> tuple[str, str]:
    """Return part and type of a label."""
    if reading == "raw":
        return ("O", "") if label == "O" else ("?", label)
    if reading in TABLE:
        part, kind = (scheme if isinstance(scheme, Scheme) else Scheme(reading)).parse(label)
        return part, kind or ""
    prefix, _, kind = label.partition("-")
    if reading == "lenient":
        prefix = PART_OF.get(prefix, prefix)
        if prefix not in PARTS[:-1]:
            raise ValueError(
                f"label {label!r} is neither 'O' nor of the form B-TYPE, I-TYPE, E-TYPE, S-TYPE, ...: labels "
                "without segments have token metrics, or scheme='raw'; scheme='conlleval' takes any label"
            )
    return prefix if prefix in PARTS else "?", kind


@cache
def _table(reading: str) -> NDArray[np.uint8]:
    table = np.zeros((len(PARTS), len(PARTS), 2), np.uint8)
    for (a, before), (b, here), same in product(enumerate(PARTS), enumerate(PARTS), (0, 1)):
        if reading == "raw":
            start, cut, end = here != "O", True, True
        elif reading in TABLE:
            _, *patterns, _ = TABLE[reading]
            start, inside, end = (matches(text, before, here, bool(same)) for text in patterns)
            cut = not inside
        else:
            start, end = _conlleval(before, here, not same, knows_single=reading == "lenient")
            # In senseless mixtures (brackets among other letters, O-A, .-A, an unknown prefix without a
            # type) the script starts a segment, or meets an O, without ending the one that is open, and
            # may lose it from its correct ones: here it is cut.
            cut, end = start or end or here == "O", True
        table[a, b, same] = START * start | CUT * cut | END * end
    return table.ravel()


def _conlleval(before: str, here: str, differs: bool, *, knows_single: bool) -> tuple[bool, bool]:
    """Whether a segment starts here, and whether one ends before: startOfChunk and endOfChunk."""
    pair = before + here
    if knows_single:
        start = here in "BS" or pair in ("EE", "EI", "SE", "SI", "OE", "OI")
        end = before in "ES" or pair in ("BB", "BS", "BO", "IB", "IS", "IO")
    else:
        start = pair in ("BB", "IB", "OB", "OI", "EE", "EI", "OE")
        end = pair in ("BB", "BO", "IB", "IO", "EE", "EI", "EO")
    start = start or (here not in "O." and differs) or here in "[]"
    end = end or (before not in "O." and differs) or before in "[]"
    return start, end


@dataclass(frozen=True, eq=False)
class Spans:
    """Segments of all sequences, in order; no two start at one position."""

    start: Ints  #: [S] in 0 .. P - 1
    end: Ints  #: [S] one past the last position
    kind: Ints  #: [S] type, by number
    sequence: Ints  #: [S]


def find(ids: NDArray[np.integer[Any]], seq_ptr: Ints, reading: Rules) -> Spans:
    """Return the segments that labels by id [P] spell.

    An O is put before the first sequence and after each one, so that a boundary is a pair of neighbors like
    any other; each pair is one look-up in the table.

    Examples
    --------
    >>> found = find(np.array([1, 2, 0, 1]), np.array([0, 4]), rules("BIO", ("O", "B-PER", "I-PER")))
    >>> found.start.tolist(), found.end.tolist()
    ([0, 3], [2, 4])
    """
    lengths = np.diff(seq_ptr)
    # Place q here is between the q-th and the next label of the padded row; padding adds one a sequence.
    sequence = np.repeat(np.arange(len(lengths)), lengths + 1)  # [P + N]
    place = np.arange(1, len(ids) + 1) + np.repeat(np.arange(len(lengths)), lengths)  # [P] in the padded row
    part = np.full(len(sequence) + 1, _OUTSIDE)  # [P + N + 1]
    kind = np.zeros(len(sequence) + 1, np.int64)  # [P + N + 1]
    part[place] = reading.part[ids]
    kind[place] = reading.kind[ids]
    pair = (part[:-1] * len(PARTS) + part[1:]) * 2 + (kind[:-1] == kind[1:])  # [P + N]
    flags = reading.table[pair]  # [P + N]

    cut = (flags & CUT) != 0  # [P + N] true at the last place of each sequence
    cuts = np.flatnonzero(cut)
    run = np.cumsum(cut)  # [P + N] so cuts[run[q]] is the first cut after q
    first = np.flatnonzero(flags & START)
    first = first[np.diff(run[first], prepend=-1) != 0]  # one segment in a run
    last = cuts[run[first]]
    proper = (flags[last] & END) != 0
    first, last = first[proper], last[proper]
    return Spans(first - sequence[first], last - sequence[first], kind[first + 1], sequence[first])
