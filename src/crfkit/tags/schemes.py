"""Every scheme by which tags such as B-PER spell segments: its letters, and which tag may follow which.

A tag is O or a letter, a hyphen and a type. The letter says which part of a segment a position is: the first,
an inner, the last one or the only one. Schemes that leave something out use one letter for several parts.

=============  ===================================================  =========  ========
scheme         rule                                                 not first  not last
=============  ===================================================  =========  ========
BIO, IOB2      I-X only after B-X or I-X                            I
IOB1           B-X only after B-X or I-X: I begins a segment, B     B
               one that directly follows another of its type
IOE2           I-X only before I-X or E-X, which ends a segment                I
IOE1           E-X only before I-X or E-X: E ends a segment that               E
               another of its type directly follows, I the others
BIOES, IOBES   B-X and I-X are followed by I-X or E-X, which        I, E       B, I
               follow nothing else; S-X is a segment of its own
BILOU          BIOES with L for E and U for S                       I, L       B, I
BMES           BIOES with M for I                                   M, E       B, M
BCEU           BIOES with C for I and U for S                       C, E       B, C
IO             none: segments of one type that touch become one
=============  ===================================================  =========  ========

Erik Tjong Kim Sang and Jorn Veenstra, Representing text chunks, EACL 1999.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crfkit.arrays import Bools

__all__ = ["ALIASES", "OUTSIDE", "PART_OF", "SCHEMES", "TABLE", "Notation", "Scheme", "canonical", "matches"]
__all__ += ["steps"]

OUTSIDE: Final = "O"  #: the tag of positions in no segment


class Notation(NamedTuple):
    """One scheme.

    Patterns are of the part before, the part here, and whether types are the same (=), differ (!) or do not
    matter (*); a star for a part is any part. All but two (IOE1) are those of seqeval.
    """

    letters: str  #: of the first, an inner, the last and the only position of a segment
    start: str  #: patterns of a segment that starts here
    inside: str  #: of one that goes on
    end: str  #: of one that ends before
    touching: Literal["", "first", "last"] = ""  #: the letter that only stands between segments of one type


_FOUR: Final = ("*B* *S*", "BI= BE= II= IE=", "S** E**")
TABLE: Final = {
    "BIO": Notation("BIIB", "*B*", "BI= II=", "IO* II! IB* BO* BI! BB*"),
    "IOB1": Notation("BIIB", "OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB=", "first"),
    "IOE2": Notation("IIEE", "OI* OE* EI* EE* II! IE!", "IE= II=", "E**"),
    "IOE1": Notation("IIEE", "OI* II! EI* EE= OE* IE!", "II= IE=", "II! IO* IE! EI= EE=", "last"),
    "BIOES": Notation("BIES", *_FOUR),
    "BILOU": Notation("BILU", *_FOUR),
    "BMES": Notation("BMES", *_FOUR),
    "BCEU": Notation("BCEU", *_FOUR),
    "IO": Notation("IIII", "OI* II!", "II=", "II! IO*"),
}
ALIASES: Final = {"IOB2": "BIO", "IOBES": "BIOES"}
SCHEMES: Final = (*TABLE, *ALIASES)  #: names of schemes
#: The part of a segment that a letter stands for, in every scheme that has it; patterns are of parts.
PART_OF: Final = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S", "M": "I", "C": "I"}
_PARTS: Final = "OBIES"


def canonical(name: str, known: Sequence[str] = SCHEMES) -> str:
    """Return the one name of a scheme, in any case; raise a ValueError where it is not among those known.

    Examples
    --------
    >>> canonical("iobes")
    'BIOES'
    """
    upper = name.upper()
    if upper not in known:
        close = difflib.get_close_matches(upper, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"scheme {name!r} is not known, expected one of {', '.join(known)}{hint}")
    return ALIASES.get(upper, upper)


@dataclass(frozen=True)
class Scheme:
    """Labels are valid tags of a scheme: ``"BIO"``, ``"IOB1"``, ``"BIOES"``, ... (`crfkit.tags.SCHEMES`).

    A label is ``outside`` or prefix + ``separator`` + type; a bare prefix has the empty type.

    Examples
    --------
    >>> from crfkit.structures.constraints import resolve
    >>> resolve([Scheme("BIO")], ["O", "B-PER", "I-PER"]).accepts([0, 2])
    False
    """

    name: str
    outside: str = OUTSIDE
    separator: str = "-"

    def __post_init__(self) -> None:
        canonical(self.name)

    @property
    def notation(self) -> Notation:
        """The letters and patterns of the scheme."""
        return TABLE[canonical(self.name)]

    def parse(self, label: str) -> tuple[str, str | None]:
        """Return part (B, I, E, S or O) and segment type of a label; ``outside`` has no type.

        Examples
        --------
        >>> Scheme("BILOU").parse("L-PER")
        ('E', 'PER')
        """
        if label == self.outside:
            return OUTSIDE, None
        letters = tuple(dict.fromkeys(self.notation.letters))
        prefix, rest = label[:1], label[1:]
        separated = rest == "" or rest.startswith(self.separator)
        if prefix not in letters or not separated:
            forms = ", ".join(f"{letter}{self.separator}TYPE" for letter in letters)
            raise ValueError(
                f"{self!r}: label {label!r} is neither {self.outside!r} nor of the form {forms} "
                f"nor one of {', '.join(letters)}; choose another scheme, outside or separator"
            )
        return PART_OF[prefix], rest.removeprefix(self.separator)


def matches(patterns: str, before: str, here: str, same: bool) -> bool:
    """Return whether two neighboring parts, of the same type or not, fit one of the patterns.

    Examples
    --------
    >>> matches("BI= II=", "B", "I", True), matches("BI= II=", "B", "I", False)
    (True, False)
    """
    return any(
        pattern[0] in ("*", before) and pattern[1] in ("*", here) and pattern[2] in ("*", "!="[same])
        for pattern in patterns.split()
    )


@cache
def _pairs(name: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pairs of parts a scheme allows, and which stay in one segment: [5, 5, 2], same type last.

    What is open must go on or end properly, and what stands here must start or go on.
    """
    scheme, n = TABLE[name], len(_PARTS)
    allowed, inside = np.zeros((n, n, 2), np.bool_), np.zeros((n, n, 2), np.bool_)
    for a, b, same in np.ndindex(n, n, 2):
        start, goes_on, end = (
            matches(patterns, _PARTS[a], _PARTS[b], bool(same))
            for patterns in (scheme.start, scheme.inside, scheme.end)
        )
        inside[a, b, same] = goes_on
        allowed[a, b, same] = (b == 0 or start or goes_on) and (a == 0 or end or goes_on)
    return allowed, inside


def steps(scheme: Scheme, names: Sequence[str]) -> tuple[Bools, Bools, list[str | None]]:
    """Return what a scheme allows, which pairs stay in one segment, and the type of each label.

    Returns
    -------
    allowed : array [L + 1, L + 1]
        From row to column; the last row is the beginning of a sequence, the last column its end.
    continues : array [L, L]
        Whether the column's label goes on with the row's segment.
    types : list of str or None

    Examples
    --------
    >>> allowed, continues, types = steps(Scheme("BIO"), ["O", "B-N", "I-N"])
    >>> allowed[:, 2].tolist(), continues[:, 2].tolist(), types
    ([False, True, True, False], [False, True, True], [None, 'N', 'N'])
    """
    parsed = [scheme.parse(name) for name in names]
    types = [kind for _, kind in parsed]
    number = {kind: i for i, kind in enumerate(dict.fromkeys([*types, None]))}
    part = np.array([*(_PARTS.index(part) for part, _ in parsed), 0])  # [L + 1] beyond the ends is outside
    kind = np.array([*(number[t] for t in types), number[None]])  # [L + 1]
    where = part[:, None], part, (kind[:, None] == kind).astype(np.intp)
    allowed, inside = (table[where] for table in _pairs(canonical(scheme.name)))
    return allowed, inside[:-1, :-1], types
