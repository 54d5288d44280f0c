"""Where the sentences of a text begin: a rule as plain data, kept in the model file beside the tokenizer.

===============  =================================================================================
`"lines"`        each line is a sentence
`"blank-lines"`  so is each paragraph: lines up to an empty one
`"rule"`         Unicode's rule (UAX #29), which no abbreviation or initial ends
`"none"`         the whole text is one
===============  =================================================================================

A model labels one sentence at a time. What has no token is no sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from crfkit import _native
from crfkit._safe.cached import once
from crfkit.arrays import Pointers
from crfkit.checks import check_choice

__all__ = ["ABBREVIATIONS", "SENTENCES", "Sentences"]

SENTENCES: Final = ("lines", "blank-lines", "rule", "none")
_USUAL: Final = """
abs adj adm approx apt art ave avda av bros bd bldg blvd bzw ca cap capt cf chap cie cía cmdr co col corp
dept d.h dipl dr dra drs ed eds e.g ej esp etc ex excmo fig figs gen gob gov hon hwy i.e ibid inc ing ir
jr lic lt ltd maj max messrs min mlle mme mmes mr mrs ms mt mtro no nos nr núm núms op p.ej p pág págs
ph.d pp prof profa pto ref rep rev s.a sec sen sgt sr sra sras sres srta sta ste sto st str tel u.a
univ usw v viz vol vols vs z.b dhr mevr mej bijv resp
"""
#: Words before a full stop that ends no sentence, in lower case: English, Spanish, French, German and Dutch.
ABBREVIATIONS: Final = tuple(_USUAL.split())
_BLANK_LINE: Final = re.compile(r"(?:\r\n|\n|\r(?!\n))[ \t]*[\r\n]\s*")
_LINE: Final = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
_INITIALS: Final = re.compile(r"[^\W\d_](?:[.-][^\W\d_])*")  #: J or J.R of "J.R. Smith"
_BEFORE: Final = 40  #: characters before a break in which an abbreviation is looked for
_OPENING: Final = "([{\"'\u201c\u2018\u00ab\u00bf\u00a1-\u2013\u2014"


@dataclass(frozen=True)
class Sentences:
    """A rule that says where the sentences of a text begin.

    Parameters
    ----------
    rule : str
        One of `SENTENCES`.
    abbreviations : sequence of str
        Of "rule": words without their full stop, in lower case.

    Examples
    --------
    >>> text = "Dr. Ana Ruiz met J. Smith at 3 p.m. on Monday. They left."
    >>> [text[a:b] for a, b in zip(Sentences("rule")(text), Sentences("rule")(text)[1:])]
    ['Dr. Ana Ruiz met J. Smith at 3 p.m. on Monday. ', 'They left.']
    """

    rule: str = "lines"
    abbreviations: tuple[str, ...] = ABBREVIATIONS

    def __post_init__(self) -> None:
        check_choice("sentences", self.rule, SENTENCES)
        given: Any = self.abbreviations
        if isinstance(given, str) or not all(isinstance(one, str) for one in given):
            raise TypeError(f"abbreviations is {given!r:.60}, expected a sequence of strings")
        object.__setattr__(self, "abbreviations", tuple(given))

    @once
    def _known(self) -> frozenset[str]:
        """The abbreviations, to look up."""
        return frozenset(self.abbreviations)

    def __call__(self, text: str) -> Pointers:
        """Return where sentences begin, and the end of the text; only that of an empty text."""
        if self.rule == "rule":
            return self._by_rule(text)
        found = {"lines": _LINE, "blank-lines": _BLANK_LINE}.get(self.rule)
        inner = [] if found is None else [match.end() for match in found.finditer(text)]
        return np.unique(np.array([0, *inner, len(text)], np.int64))

    def _by_rule(self, text: str) -> Pointers:
        found = _native.text_breaks(text, "sentences")
        if len(found) < 3:
            return found if len(found) else np.zeros(1, np.int64)
        kept = [at for at in found[1:-1].tolist() if not self._abbreviated(text, at)]
        return np.array([0, *kept, len(text)], np.int64)

    def _abbreviated(self, text: str, at: int) -> bool:
        """Whether the full stop before a break belongs to an abbreviation or an initial."""
        before = text[max(at - _BEFORE, 0) : at]
        stripped = before.rstrip(" \t\u00a0\u2009\u202f")
        if not stripped.endswith("."):
            return False
        word = stripped[:-1].split()[-1:] or [""]
        bare = word[0].lstrip(_OPENING)
        return bare.lower() in self._known or (bare.isupper() and _INITIALS.fullmatch(bare) is not None)

    def pointers(self, text: str, tokens: Pointers) -> Pointers | None:
        """Return pointers into the tokens, [sentences + 1]; None where there is one sentence at most."""
        if self.rule == "none" or (self.rule == "lines" and not _LINE.search(text)):
            return None
        begins = self(text)
        made: Pointers = np.unique(np.append(np.searchsorted(tokens[:, 0], begins[:-1]), len(tokens)))
        return made if len(made) > 2 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data; abbreviations only where they matter and are not the usual ones."""
        plain: dict[str, Any] = {"rule": self.rule}
        if self.rule == "rule" and self.abbreviations != ABBREVIATIONS:
            plain["abbreviations"] = list(self.abbreviations)
        return plain

    @classmethod
    def of(cls, given: Sentences | str | Mapping[str, Any]) -> Sentences:
        """Return a rule: itself, by its name, or from plain data of `to_dict`.

        Examples
        --------
        >>> Sentences.of("none") == Sentences.of({"rule": "none"})
        True
        """
        if isinstance(given, Sentences):
            return given
        if isinstance(given, str):
            return cls(given)
        if odd := sorted(set(given) - {"rule", "abbreviations"}):
            raise ValueError(f"sentences have no option {odd[0]!r:.40}, expected rule and abbreviations")
        options: dict[str, Any] = dict(given)
        if "abbreviations" in options:
            options["abbreviations"] = tuple(options["abbreviations"])
        return cls(**options)
