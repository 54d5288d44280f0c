"""Postal addresses with a label for each word, drawn from a small grammar, with errors that people make.

An order of `crfkit.datasets.address_tables` names the parts of an address: ``?`` leaves a part out more often
than not, a comma may stand where it is written. What makes it hard is on purpose: cities, streets, people and
houses share their names (Lincoln, Paris, Berlin), a number of five digits is a house or a postcode, "St" is a
saint or a street, CA is a state or a country. Half of all names are made up from syllables: of 5,000 lines,
the last fifth has 22 to 25 % of the words of its names to itself. Spoilt are case, commas and spelling, and
parts are missing.

The same lines for the same seed, on every machine: only ``Random.random`` is drawn from, which Python keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from crfkit.datasets.address_tables import COMMON, COUNTRIES, LINKS, ORDERS, STYLES
from crfkit.datasets.sample import Sample, doc_of

__all__ = ["LABELS", "Line", "corpus", "make_addresses"]

#: Words with their labels.
Line = list[tuple[str, str]]

LABELS = (
    *("recipient", "building", "number", "street", "street_type", "direction", "unit_type", "unit"),
    *("box_type", "box", "city", "state", "postcode", "country"),
)


def corpus(lines: int, seed: int = 0) -> list[Line]:
    """Return addresses, no two of them the same.

    Examples
    --------
    >>> for line in corpus(3, seed=12)[::2]:
    ...     print(" ".join(f"{word}/{label}" for word, label in line))
    Box/box_type 9881,/box Dunton,/city KV0/postcode 0WM/postcode
    304B/number Lincoln/street Ct/street_type Victoria/city VIC/state 2981/postcode
    """
    rng = Random(seed)
    found: dict[tuple[str, ...], Line] = {}
    while len(found) < lines:
        line = _Writer(rng).line()
        if len(line) > 1:
            found.setdefault(tuple(word for word, _ in line), line)
    return list(found.values())


def make_addresses(n: int = 5000, *, random_state: int = 0) -> Sample:
    """Return made-up postal addresses in the styles of seven countries, a label for each word.

    They have the slips that people make in case, commas and spelling, and cities, streets and people share
    names. The last fifth is the test part.

    Parameters
    ----------
    n : int
        How many, the test part included.
    random_state : int
        The same gives the same addresses on every machine.

    Examples
    --------
    >>> made = make_addresses(50, random_state=12)
    >>> len(made.train), len(made.test), made.train[2].text
    (40, 10, '304B Lincoln Ct Victoria VIC 2981')
    """
    if n < 2:
        raise ValueError(f"n is {n}, expected 2 at least: the last fifth is the test part")
    docs = [doc_of(line, str(number)) for number, line in enumerate(corpus(n, random_state), 1)]
    kept = max(n // 5, 1)
    return Sample(
        "made-up addresses",
        docs[:-kept],
        docs[-kept:],
        about="Postal addresses that `crfkit.datasets.make_addresses` wrote; no real ones.",
        license="MIT",
    )


class _Writer:
    """One address of one country."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.style = self.any(STYLES)
        self.tables = COMMON | COUNTRIES[self.style]

    def any(self, choices: Sequence[str]) -> str:
        return choices[int(self.rng.random() * len(choices))]

    def often(self, chance: float) -> bool:
        return self.rng.random() < chance

    def pick(self, table: str) -> str:
        return self.any(self.any(self.tables[table].split(";")).split("|"))

    def line(self) -> Line:
        """Return the parts of an address, in one of the orders of its country."""
        orders = ORDERS[self.style]
        order = orders[0] if self.often(0.4) else self.any(orders)
        commas = self.often(0.65)
        made: Line = []
        for word in order.split():
            name = word.rstrip("?,")
            if self.often(0.6 if "?" in word else 0.03):
                continue
            made += getattr(self, name)()
            if "," in word and commas and self.often(0.9):
                made[-1] = (f"{made[-1][0]},", made[-1][1])
        return self.spoilt(made)

    def spoilt(self, line: Line) -> Line:
        """Return the line as somebody in a hurry has typed it."""
        if line:
            line[-1] = (line[-1][0].rstrip(","), line[-1][1])
        line = [(self.misspelled(word) if self.often(0.06) else word, label) for word, label in line]
        case = self.rng.random()
        change = str.upper if case < 0.1 else str.lower if case < 0.2 else str
        return [(change(word), label) for word, label in line]

    def misspelled(self, word: str) -> str:
        if len(word) < 5 or not word.isalpha():
            return word
        i = 1 + int(self.rng.random() * (len(word) - 2))
        swapped = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        return self.any((word[:i] + word[i + 1 :], swapped, word[:i] + word[i] + word[i:]))

    def digits(self, pattern: str) -> str:
        """Return a pattern with digits for # and capitals for A."""
        chosen = {"#": "0123456789", "A": "ABCDEGHKLMNPRSTVWY"}
        return "".join(self.any(chosen[c]) if c in chosen else c for c in pattern)

    def count(self, most: int) -> str:
        part = self.rng.random()
        return str(1 + int(most * part * part * part))  # small ones are commoner

    def name(self) -> str:
        """Return a name that a city, street, person or house may have."""
        chance = self.rng.random()
        if chance < 0.25:
            return self.pick("named")
        return self.pick("known") if chance < 0.45 else self.stem() + self.pick("end")

    def stem(self) -> str:
        """Return a syllable to begin a name with: often one of 2,464."""
        if self.often(0.3):
            return self.pick("stem")
        return self.pick("onset") + self.pick("vowel") + self.pick("coda")

    def recipient(self) -> Line:
        if self.often(0.35):
            return _labeled(f"{self.name()} {self.pick('firm')}", "recipient")
        title = f"{self.pick('title')} " if self.often(0.3) else ""
        return _labeled(f"{title}{self.pick('first')} {self.name()}", "recipient")

    def building(self) -> Line:
        the = "The " if self.often(0.15) else ""
        return _labeled(f"{the}{self.name()} {self.pick('house')}", "building")

    def number(self) -> Line:
        number = self.count(20000 if self.style == "us" else 400)
        if self.often(0.08):
            number += self.any("ABCab")
        elif self.often(0.05):
            number = f"{number}-{int(number.rstrip('ABCab')) + 2}"
        elif self.style == "au" and self.often(0.3):
            number = f"{self.count(40)}/{number}"
        return _labeled(number, "number")

    def direction(self) -> Line:
        return _labeled(self.pick("direction"), "direction")

    def street(self) -> Line:
        link = f"{self.any(LINKS[self.style].split('|'))} " if self.style in LINKS and self.often(0.6) else ""
        if self.style == "us" and self.often(0.2):
            number = int(self.count(90))
            last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # codespell:ignore nd
            last = "th" if number // 10 == 1 else last
            return _labeled(f"{number}{last}", "street")
        english = self.style in ("us", "ca", "gb", "au")
        return _labeled(link + (self.pick("plain") if english and self.often(0.3) else self.name()), "street")

    def type(self) -> Line:
        return _labeled(self.pick("street_type"), "street_type")

    def joined(self) -> Line:
        """Return a German street in one word."""
        end = self.any(("straße", "str.", "weg", "allee", "platz", "gasse"))
        return _labeled(self.any((self.stem(), "Haupt", "Bahnhof", "Garten", "Schul")) + end, "street")

    def route(self) -> Line:
        return [*_labeled(self.any(("Highway", "Hwy", "Route", "County Road")), "street_type"),
                *_labeled(self.count(400), "street")]  # fmt: skip

    def unit(self) -> Line:
        unit = (
            self.count(60)
            if self.often(0.6)
            else self.any((self.digits("#A"), self.digits("A"), self.digits("###")))
        )
        kind = self.pick("unit_type")
        return [(f"#{unit}", "unit")] if kind == "#" else [(kind, "unit_type"), (unit, "unit")]

    def box(self) -> Line:
        return [*_labeled(self.pick("box_type"), "box_type"), (self.count(30000), "box")]

    def city(self) -> Line:
        return _labeled(self.name(), "city")

    def state(self) -> Line:
        return _labeled(self.pick("state"), "state")

    def postcode(self) -> Line:
        return _labeled(self.digits(self.pick("postcode")), "postcode")

    def country(self) -> Line:
        return _labeled(self.pick("country"), "country")


def _labeled(text: str, label: str) -> Line:
    return [(word, label) for word in text.split()]
