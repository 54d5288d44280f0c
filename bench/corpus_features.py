"""Features of the corpora of `bench.corpora`, as a user of each task would write them in Python.

One sentence at a time; lists of strings, or dicts as python-crfsuite takes them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

Rows = list[list[str]]  # one sentence: the columns of each token, the label last
Items = list[Any]  # its features, token by token: lists of strings, or dicts

Fields = tuple[tuple[int, int], ...]  # (column, offset) of each part


def _grams(column: int, n: int, reach: int = 2) -> list[Fields]:
    """All n-grams of a column that lie within so many tokens of the current one."""
    return [tuple((column, o + i) for i in range(n)) for o in range(-reach, reach + 2 - n)]


# The templates of CRFsuite's example for chunking: fields beyond the sentence leave the feature out.
_PAIRS: list[Fields] = [((0, -1), (0, 0)), ((0, 0), (0, 1))]
_CHUNKING = [*_grams(0, 1), *_PAIRS, *_grams(1, 1), *_grams(1, 2), *_grams(1, 3)]
_TAGGING = [*_grams(0, 1), *_PAIRS]
_ENTITIES = [*_grams(0, 1), *_PAIRS, *_grams(1, 1), *_grams(1, 2, reach=1)]


@lru_cache
def _name(template: Fields) -> str:
    return "|".join(f"{'w' if c == 0 else 'pos'}[{o}]" for c, o in template) + "="


def _joined(rows: Rows, templates: list[Fields]) -> Items:
    T = len(rows)
    items: Items = [[] for _ in rows]
    for template in templates:  # offsets rise, so the first and the last say what lies outside
        name = _name(template)
        for t in range(max(0, -template[0][1]), min(T, T - template[-1][1])):
            items[t].append(name + "|".join([rows[t + o][c] for c, o in template]))
    items[0].append("__BOS__")
    items[-1].append("__EOS__")
    return items


@lru_cache(maxsize=1 << 16)
def _spelling(word: str) -> tuple[str, ...]:
    """Affixes, shape and marks of one word."""
    shape = re.sub(r"(.)\1+", r"\1", re.sub(r"\d", "0", re.sub(r"[^\W\d_]", _case, word)))
    made = [f"shape={shape}", f"lower={word.lower()}"]
    made += [f"pre{n}={word[:n]}" for n in (1, 2, 3) if len(word) > n]
    made += [f"suf{n}={word[-n:]}" for n in (1, 2, 3, 4) if len(word) > n]
    marks = {
        "capital": word[0].isupper(),
        "capitals": word.isupper() and len(word) > 1,
        "digit": any(c.isdigit() for c in word),
        "hyphen": "-" in word,
    }
    return (*made, *(mark for mark, there in marks.items() if there))


def _case(letter: re.Match[str]) -> str:
    return "X" if letter[0].isupper() else "x"


def chunking(rows: Rows) -> Items:
    return _joined(rows, _CHUNKING)


def tagging(rows: Rows) -> Items:
    return [[*item, *_spelling(row[0])] for item, row in zip(_joined(rows, _TAGGING), rows, strict=True)]


def entities(rows: Rows) -> Items:
    return _with_neighbors(rows, _ENTITIES)


def names(rows: Rows) -> Items:
    """Entities without tags of parts of speech."""
    return _with_neighbors(rows, _TAGGING)


def _with_neighbors(rows: Rows, templates: list[Fields]) -> Items:
    T = len(rows)
    items = [[*item, *_spelling(row[0])] for item, row in zip(_joined(rows, templates), rows, strict=True)]
    for t, item in enumerate(items):
        for o in (-1, 1):
            if 0 <= t + o < T:
                item += [f"[{o}]{part}" for part in _spelling(rows[t + o][0]) if part.startswith(("s", "c"))]
    return items


def fields(rows: Rows) -> Items:
    """Fields of mails: names, and where a token stands; columns are token, line, column, label."""
    items = names(rows)
    last = int(rows[-1][1])
    for t, (item, (_, line, column, _)) in enumerate(zip(items, rows, strict=True)):
        item += [f"line={min(int(line), 20)}", f"column={min(int(column) // 8, 10)}"]
        item += [f"part={10 * int(line) // (last + 1)}"]
        item += ["first"] if t == 0 or rows[t - 1][1] != line else []
        item += ["last"] if t + 1 == len(rows) or rows[t + 1][1] != line else []
    return items


_DIRECTIONS = re.compile("(north|south)?(east|west)?|[ns]?[ew]?")
_STREETS = re.compile(
    "st|street|ave|avenue|rd|road|blvd|boulevard|dr|drive|ln|lane|ct|court|pl|place|hwy|highway|pkwy|parkway|way|"
    "cir|circle|ter|terrace|trl|trail|sq|square|pike|route|rt|loop"
)


@lru_cache(maxsize=1 << 14)
def _part(token: str) -> tuple[tuple[str, Any], ...]:
    """What is known about one token of an address: words, marks that are true or false, lengths as words."""
    clean = re.sub(r"(^[\W]*)|([^.\w]*$)", "", token) or token
    abbreviation = re.sub(r"[.]", "", clean.lower())
    digits = (
        "all_digits" if abbreviation.isdigit() else "some_digits" if re.search(r"\d", token) else "no_digits"
    )
    zeros = re.search(r"(0+)$", abbreviation)
    made = {
        "abbrev": clean.endswith("."),
        "digits": digits,
        "word": False if abbreviation.isdigit() else abbreviation,
        "trailing.zeros": zeros[0] if zeros and abbreviation.isdigit() else "",
        "length": f"{'d' if abbreviation.isdigit() else 'w'}:{len(abbreviation)}",
        "endsinpunc": token[-1] if not token[-1].isalnum() else False,
        "directional": bool(_DIRECTIONS.fullmatch(abbreviation)),
        "street_name": bool(_STREETS.fullmatch(abbreviation)),
        "has.vowels": bool(set(abbreviation[1:]) & set("aeiou")),
    }
    return tuple(made.items())


def addresses(rows: Rows) -> Items:
    """Dicts of strings, truth values and the dicts of the neighbors, as the package usaddress has them."""
    parts = [dict(_part(row[0])) for row in rows]
    items = [dict(part) for part in parts]
    for before, after, first, second in zip(items, items[1:], parts, parts[1:], strict=False):
        before["next"], after["previous"] = second, first
    items[0]["address.start"] = items[-1]["address.end"] = True
    if len(items) > 1:
        items[1]["previous"] = {**parts[0], "address.start": True}
        items[-2]["next"] = {**parts[-1], "address.end": True}
    return items


def letters(rows: Rows) -> Rows:
    """The letters of a sentence without spaces, each labeled by its place in its word."""
    made: Rows = []
    for word in (row[0] for row in rows):
        places = "S" if len(word) == 1 else "B" + "I" * (len(word) - 2) + "E"
        made += [[letter, place] for letter, place in zip(word, places, strict=True)]
    return made


def tutorial(rows: Rows) -> Items:
    """The features of sklearn-crfsuite's tutorial: dicts with strings, a number, and truth values."""
    tagged = len(rows[0]) > 2
    items: Items = []
    for t, row in enumerate(rows):
        word = row[0]
        item: dict[str, Any] = {
            "bias": 1.0,
            "word.lower()": word.lower(),
            "word[-3:]": word[-3:],
            "word[-2:]": word[-2:],
            "word.isupper()": word.isupper(),
            "word.istitle()": word.istitle(),
            "word.isdigit()": word.isdigit(),
        }
        if tagged:
            item |= {"postag": row[1], "postag[:2]": row[1][:2]}
        for o, end in ((-1, "BOS"), (1, "EOS")):
            if not 0 <= t + o < len(rows):
                item[end] = True
                continue
            other = rows[t + o]
            item |= {
                f"{o:+d}:word.lower()": other[0].lower(),
                f"{o:+d}:word.istitle()": other[0].istitle(),
                f"{o:+d}:word.isupper()": other[0].isupper(),
            }
            if tagged:
                item |= {f"{o:+d}:postag": other[1], f"{o:+d}:postag[:2]": other[1][:2]}
        items.append(item)
    return items
