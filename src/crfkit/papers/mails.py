"""Seminar announcements with the input features of Sutton & McCallum (2006) Table 1.1.

Words, their capitals, lists of names, times and dates, each at the offsets -4 to 4. The tags of Brill's
tagger are not to be had; the last three letters of words stand in for them.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from crfkit._safe.cached import once
from crfkit.arrays import Bools, Ids, Pointers, pointers, ranges
from crfkit.graphs import scopes
from crfkit.papers.experiment import Given

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FIELDS = ("stime", "etime", "location", "speaker")
OFFSETS = range(-4, 5)
MOST = 5000  # names of a list; the most frequent come first
#: Table 1.1; several may match.
SHAPES = {
    "Aa": "[A-Z][a-z]+",
    "AA": "[A-Z][A-Z]+",
    "A": "[A-Z]",
    "A+": "[A-Z]+",
    "AaAa": "[A-Z]+[a-z]+[A-Z]+[a-z]+",
    "digits": "[0-9]+",
    "2 digits": "[0-9]{1,2}",
}
HONORIFICS = frozenset(("dr", "prof", "professor", "mr", "mrs", "ms", "miss", "sir", "dean", "phd"))
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
DAYS = frozenset(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
#: In, so that several tokens may match: a time, and a date.
_PM = r"(?:[ap] \. m(?: \.)?|[ap]m\b)"
_TIME = rf"(?:\d{{1,2}} : \d\d\b(?: {_PM})?|\d{{1,2}} {_PM}|noon\b)"
_DASH = r"(?:-+|to|until)"
_MONTH = "(?:" + "|".join(f"{month}|{month[:3]}" for month in MONTHS) + ")"
#: What words with blanks between them appear to be; what is in brackets, where there are some.
SPANS = {
    "time": rf"\b({_TIME})",
    "time before a dash": rf"\b({_TIME}|\d{{1,2}}) {_DASH} (?={_TIME})",
    "time after a dash": rf"\b(?:{_TIME}|\d{{1,2}}) {_DASH} ({_TIME})",
    "date": rf"\b({_MONTH} (?:\. )?\d{{1,2}}|\d{{1,2}} (?:- )?{_MONTH}|\d{{1,2}} / \d{{1,2}})\b",
}


@dataclass(frozen=True, eq=False)
class Mails:
    """Mails, their tokens one after the other."""

    about: str
    words: list[str]  #: [P]
    label: Ids  #: [P] 0: no field; else 1 + the number of the field
    ptr: Pointers  #: [N + 1]
    names: dict[str, frozenset[str]]  #: lists of names, lower case
    fields: tuple[str, ...] = FIELDS

    def __len__(self) -> int:
        """Return the number of mails, N."""
        return len(self.ptr) - 1

    @once
    def word(self) -> Ids:
        """The number of each word, [P]."""
        return np.unique(np.array(self.words), return_inverse=True)[1].astype(np.int32)

    @once
    def capital(self) -> Bools:
        """Whether each word begins with a capital, [P]."""
        return np.array([word[0].isupper() for word in self.words])

    def tokens(self, mails: Pointers) -> Pointers:
        """Return the positions of some mails."""
        return ranges(self.ptr[mails], np.diff(self.ptr)[mails])

    def skips(self, mails: Pointers) -> Ids:
        """Return the pairs of identical capitalized words within each of some mails, [M, 2]."""
        at = self.tokens(mails)
        return scopes.same(self.word[at], self.ptr_of(mails), where=self.capital[at])

    def ptr_of(self, mails: Pointers) -> Pointers:
        """Return where each of some mails begins among their tokens."""
        return pointers(np.diff(self.ptr)[mails])

    @once
    def attributes(self) -> csr_array:
        """The input features of each token, with those of its neighbors: [P, A] of 0 and 1."""
        from scipy.sparse import csr_array, hstack

        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(name, len(numbers)) for name in each] for each in self._own()]
        ptr = pointers(np.array([len(row) for row in rows]))
        ids = np.fromiter((i for row in rows for i in row), dtype=np.int32, count=int(ptr[-1]))
        P, mail = len(rows), np.repeat(np.arange(len(self)), np.diff(self.ptr))
        own = csr_array((np.ones(len(ids)), ids, ptr), shape=(P, len(numbers)))
        moved = []
        for offset in OFFSETS:
            here = np.arange(max(0, -offset), P - max(0, offset))
            here = here[mail[here] == mail[here + offset]]
            move = csr_array((np.ones(len(here)), (here, here + offset)), shape=(P, P))
            moved.append(move @ own)
        made: csr_array = hstack(moved).tocsr()
        return made

    def _own(self) -> list[list[str]]:
        """Return the names of the features of each token."""
        shapes = {name: re.compile(text) for name, text in SHAPES.items()}
        spans = {name: re.compile(text, re.IGNORECASE) for name, text in SPANS.items()}
        known: dict[str, list[str]] = {}
        for word in set(self.words):
            low = word.lower()
            known[word] = [f"word={word}", f"end={low[-3:]}"]
            known[word] += [f"shape={name}" for name, each in shapes.items() if each.fullmatch(word)]
            known[word] += [f"list={name}" for name, each in self.names.items() if low in each]
        rows = [list(known[word]) for word in self.words]
        for first, last in pairwise(self.ptr.tolist()):
            words = self.words[first:last]
            text, begin = " ".join(words), np.cumsum([0, *(len(word) + 1 for word in words)])
            for name, each in spans.items():
                for found in each.finditer(text):
                    low, high = np.searchsorted(begin, [found.start(1), found.end(1)]).tolist()
                    for i in range(first + low, first + high):
                        rows[i].append(name)
        return rows


def seminar_mails(given: Given) -> Mails:
    """Return the 484 mails of the corpus; labels B- and I- of a field are one."""
    label = {"O": 0, **{f"{b}-{name}": 1 + i for i, name in enumerate(FIELDS) for b in "BI"}}
    words, labels, lengths = [], [], []
    with gzip.open(given.file("seminars/columns.txt.gz"), "rt", encoding="utf-8") as file:
        for filled, block in groupby(file, key=lambda line: bool(line.strip())):
            if filled:
                rows = [line.split() for line in block]
                words += [row[0] for row in rows]
                labels += [label[row[-1]] for row in rows]
                lengths.append(len(rows))
    names = {
        "first name": ("names_male.txt", "names_female.txt", "nicknames.txt"),
        "last name": ("us_census_last_names.txt.gz",),
    }
    lists = {name: _listed(given, *files) for name, files in names.items()}
    about = f"seminars: {len(lengths)} mails, {len(words):,} tokens"
    return Mails(
        about,
        words,
        np.array(labels, dtype=np.int32),
        pointers(np.array(lengths)),
        {**lists, "honorific": HONORIFICS, "month": frozenset(MONTHS), "day": DAYS},
    )


def _listed(given: Given, *files: str) -> frozenset[str]:
    found: set[str] = set()
    for name in files:
        path = given.file(f"gazetteers/{name}")
        read = path.read_bytes()
        text = (gzip.decompress(read) if path.suffix == ".gz" else read).decode()
        lines = [line.split()[0].lower() for line in text.splitlines() if line.strip() and line[0] != "#"]
        found |= {*lines[:MOST]}
    return frozenset(found)


def generated_mails(n: int = 40) -> Mails:
    """Return small mails in which a speaker is announced once, and named again where nothing tells so."""
    rng = np.random.default_rng(0)
    people = np.array([f"P{c}{d}" for c in "abcdefgh" for d in "aeiou"])
    places = np.array([f"Q{c}{d}" for c in "abcdefgh" for d in "aeiou"])
    words: list[str] = []
    labels: list[int] = []
    lengths = []
    for _ in range(n):
        # The same names are speakers in one mail, and thanked in another.
        who, other = rng.choice(people, 2, replace=False).tolist()
        mail = [
            ("Speaker", 0),
            (who, 4),
            ("at", 0),
            (f"{rng.integers(1, 9)}", 1),
            ("pm", 1),
            ("until", 0),
            ("noon", 2),
        ]
        mail += [("in", 0), (str(rng.choice(places)), 3), ("thanks", 0), ("to", 0), (other, 0)]
        for _ in range(3):
            name, label = (who, 4) if rng.random() < 0.6 else (other, 0)
            mail += [("then", 0), (str(rng.choice(["we", "all", "some"])), 0), ("meet", 0), (name, label)]
            mail += [("and", 0)] * int(rng.integers(1, 4))
        words += [word for word, _ in mail]
        labels += [label for _, label in mail]
        lengths.append(len(mail))
    label_of = np.array(labels, dtype=np.int32)
    return Mails(f"generated: {n} mails", words, label_of, pointers(np.array(lengths)), {})
