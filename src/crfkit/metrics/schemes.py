r"""How labels spell segments: what two neighboring labels say about a segment between them.

Every way of reading is one table over (part before, part here, same type?) with three answers: a segment
starts here, what is open is cut here, and the cut is a proper end. A segment reaches from the first start in
a run without cuts to the cut that ends the run, and counts if that is a proper end. So one vectorized
reader serves every scheme.

=============  ==========================================================================================
conlleval      the Perl script of the CoNLL shared tasks, version 2004-01-26, rule for rule. It does not know
               S, and takes B after E of the same type for a continuation: not for BIOES.
lenient        the same with E, S and what follows them understood, as in seqeval's default mode; also
               L and U of BILOU, M of BMES and C of BCEU. Equal to conlleval on labels of IOB1, IOB2, IOE1
               and IOE2, brackets included, well-formed or not.
IOB1 IOB2 BIO  strict: only segments that are well-formed count, as in seqeval's ``mode="strict"``.
IOE1 IOE2      IOE1 has two patterns more than seqeval 1.2.2, which loses its segments of one ``E``.
BIOES IOBES
BILOU BMES
BCEU
raw            every label but O is a segment of one position, its type is the label (conlleval -r)
=============  ==========================================================================================

Erik Tjong Kim Sang and Jorn Veenstra, Representing text chunks, EACL 1999; https://github.com/chakki-works/seqeval.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit.metrics.encoding import Ints
from crfkit.structures.constraints import Scheme

__all__ = ["CUT", "END", "OUTSIDE", "PARTS", "SCHEMES", "START", "LabelScheme", "Rules", "rules"]

LabelScheme: TypeAlias = str | Scheme

PARTS: Final = tuple("OBIES[].?")  #: the part of a label is a place in here; ? is any other prefix
OUTSIDE: Final = 0
START, CUT, END = np.uint8(1), np.uint8(2), np.uint8(4)

# Part before, part here, types: = the same, ! different, * no matter. A star for a part is any part.
# start, inside and end patterns; all but two (IOE1) are seqeval's.
_IOBES: Final = ("*B* *S*", "BI= BE= II= IE=", "S** E**")
_STRICT: Final = {
    "IOB1": ("OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB="),
    "IOB2": ("*B*", "BI= II=", "IO* II! IB* BO* BI! BB*"),
    "IOE1": ("OI* II! EI* EE= OE* IE!", "II= IE=", "II! IO* IE! EI= EE="),
    "IOE2": ("OI* OE* EI* EE* II! IE!", "IE= II=", "E**"),
    "IOBES": _IOBES,
    "BILOU": _IOBES,
    "BMES": _IOBES,
    "BCEU": _IOBES,
}
_ALIASES: Final = {"BIO": "IOB2", "BIOES": "IOBES"}
SCHEMES: Final = ("lenient", "conlleval", "raw", *_ALIASES, *_STRICT)

_SYNONYMS: Final = {"L": "E", "U": "S", "M": "I", "C": "I"}


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
        if known in SCHEMES:
            return _ALIASES.get(known, known)
    close = difflib.get_close_matches(name, SCHEMES, n=1) or difflib.get_close_matches(name.upper(), SCHEMES)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"scheme {name!r} is not known; expected one of {', '.join(SCHEMES)}{hint}")


def _parse(reading: str, scheme: LabelScheme, label: str) -> tuple[str, str]:
    """Return part and type of a label."""
    if reading == "raw":
        return ("O", "") if label == "O" else ("?", label)
    if reading in _STRICT:
        spelling = scheme
        if not isinstance(spelling, Scheme):
            spelling = Scheme("IOBES" if reading.startswith("IOE") else reading)
        part, kind = spelling.parse(label)
        if reading.startswith("IOE") and part in "BS":
            raise ValueError(f"scheme {reading}: label {label!r} is neither 'O' nor I-TYPE or E-TYPE")
        return part, kind or ""
    prefix, _, kind = label.partition("-")
    if reading == "lenient":
        prefix = _SYNONYMS.get(prefix, prefix)
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
        elif reading in _STRICT:
            start, inside, end = (_matches(text, before, here, bool(same)) for text in _STRICT[reading])
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


def _matches(patterns: str, before: str, here: str, same: bool) -> bool:
    return any(
        pattern[0] in ("*", before) and pattern[1] in ("*", here) and pattern[2] in ("*", "!="[same])
        for pattern in patterns.split()
    )
