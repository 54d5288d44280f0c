"""What `crfkit check` finds in labeled data: counts, and findings with the line where each is first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crfkit._safe.printable import counted, cut
from crfkit.cli.origins import place_in
from crfkit.data.dataset import Dataset
from crfkit.features.stock_recipes import label_of
from crfkit.tags.detection import follow_scheme
from crfkit.tags.schemes import OUTSIDE, SCHEMES, TABLE, Scheme, steps

if TYPE_CHECKING:
    from crfkit.text.doc import Doc

_MOST: Final = 5  #: lines of a kind of finding
_FEW: Final = 0.01  #: share of labels that may be no tags, where others are
_SEEN: Final = 5_000_000  #: sequences whose words are remembered


@dataclass
class File:
    """What has been seen of a file."""

    sequences: int = 0
    positions: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)  #: where a label occurs first
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)  #: neighbors; "" beyond the ends
    at: dict[tuple[str, str], list[str]] = field(default_factory=dict)  #: where pairs occur
    repeated: list[str] = field(default_factory=list)  #: where sequences stand that the first file has
    copies: int = 0


class Findings:
    """What is found in files, the first of which is what a model would be trained on.

    Examples
    --------
    >>> from crfkit.data.formats.columns import Columns
    >>> findings = Findings()
    >>> findings.add("a.txt", Columns.from_rows([[("Ana", "B-PER"), ("ran", "O")], [("Bo", "I-PER")]]), None)
    >>> findings.end("a.txt")
    >>> findings.found
    [('invalid step', 'a.txt, sequence 2: I-PER begins a sequence, which BIO does not have')]
    """

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.found: list[tuple[str, str]] = []
        self._words: dict[int, str] = {}  #: of the first file, by the hash of the words: where

    def warn(self, path: str, what: str) -> None:
        """Take in a warning of a reader."""
        self.found.append(("suspicious", what if path in what else f"{path}: {what}"))

    def add(self, path: str, part: Any, label: str | int | None) -> None:
        """Take in a part of a file."""
        file, first = self.files.setdefault(path, File()), len(self.files) == 1
        if isinstance(part, Dataset):
            self._attributes(file, path, part)
            return
        place = part.place(label_of(part, label))
        if len(part.names) < 2:
            raise ValueError(
                f"{path} has one column, expected tokens and labels; add one of labels, or say what lies "
                "between columns (--separator)"
            )
        names = part.alphabets[place].strings()
        ids, others = part.ids[place].tolist(), [ids for c, ids in enumerate(part.ids) if c != place]
        strings = [alphabet.strings() for c, alphabet in enumerate(part.alphabets) if c != place]
        ends = part.seq_ptr.tolist()
        for n in range(len(part)):
            a, b = ends[n], ends[n + 1]
            where = place_in(part, path, n, file.sequences + n)
            self._tags(file, [names[i] for i in ids[a:b]], where)
            words = tuple(text[i] for text, column in zip(strings, others, strict=True) for i in column[a:b])
            self._sequence(file, first, words, b - a, where(0))
        file.sequences += len(part)
        file.positions += part.positions

    def _attributes(self, file: File, path: str, part: Dataset) -> None:
        """Take in labels of data whose tokens are attributes."""
        if part.batch.label is None:
            raise ValueError(f"{path} has no labels; give labeled data")
        names, ids = part.labels.strings(), part.batch.label.tolist()
        for n, (a, b) in enumerate(pairwise(part.batch.seq_ptr.tolist()), file.sequences + 1):
            where = f"{path}, sequence {n}"
            self._tags(file, [names[i] for i in ids[a:b] if i >= 0], lambda t, where=where: where)
        file.sequences += len(part)
        file.positions += part.batch.positions

    def _tags(self, file: File, tags: list[str], where: Any) -> None:
        file.labels.update(tags)
        before = ""
        for t, tag in enumerate([*tags, ""]):
            if tag and tag not in file.first:
                file.first[tag] = where(t)
            pair = (before, tag)
            file.pairs[pair] += 1
            known = file.at.setdefault(pair, [])
            if len(known) < _MOST:
                known.append(where(min(t, len(tags) - 1)))
            before = tag

    def _sequence(self, file: File, first: bool, words: Any, size: int, where: str) -> None:
        """Notice a sequence of more than two words that the first file has."""
        key = hash(words)
        if first:
            if len(self._words) < _SEEN:
                self._words.setdefault(key, where)
        elif size > 2 and key in self._words:
            file.copies += 1
            if len(file.repeated) < _MOST:
                file.repeated.append(f"{where} (as {self._words[key]})")

    def end(self, path: str) -> None:
        """Find what can be said when a file has been read."""
        file = self.files.get(path)
        if file is None:
            raise ValueError(f"{path} holds no sequence; give data that have some")
        train = next(iter(self.files.values()))
        if file is not train:
            for label in [one for one in file.labels if one not in train.labels]:
                times = counted(file.labels[label], "position")
                self.found.append(
                    ("unknown label", f"{file.first[label]}: {label} ({times}) is not in the first file")
                )
            if file.copies:
                told = f"{counted(file.copies, 'sequence')} of {file.sequences:,} stand in the first file"
                self.found.append(("overlap", f"{path}: {told}: {', '.join(file.repeated)}"))
        self._steps(file, train)

    def _steps(self, file: File, train: File) -> None:
        """Find neighbors that the scheme of the tags does not have."""
        labels = train.labels + file.labels
        odd = [one for one in labels if one not in ("", OUTSIDE) and not follow_scheme([OUTSIDE, one])]
        names = [one for one in labels if one and one not in odd]
        if sum(labels[one] for one in odd) > _FEW * labels.total() or not follow_scheme(names):
            return
        usual = next(one for one in names if one != OUTSIDE)
        for label in (one for one in odd if one in file.labels):
            said = f"{label} ({counted(file.labels[label], 'position')}) is not a tag"
            self.found.append(
                ("odd label", f"{file.first[label]}: {said}, where others are, such as {usual}")
            )
        name, wrong = _scheme(file, names)
        for (before, tag), times in wrong:
            said = f"{tag} after {before}" if before and tag else f"{tag} begins a sequence"
            said = said if tag else f"{before} ends a sequence"
            more = f" ({times:,} times: {', '.join(file.at[before, tag])})" if times > 1 else ""
            self.found.append(
                ("invalid step", f"{file.at[before, tag][0]}: {said}, which {name} does not have{more}")
            )

    def add_documents(self, path: str, docs: Iterable[Doc]) -> None:
        """Take in documents of text, and find what is wrong with their spans and what the first file has."""
        from crfkit.text.alignment import Aligner

        first = not self.files
        file = self.files.setdefault(path, File())
        words, given = Aligner("words"), Aligner("given")
        for doc in docs:
            made = (words if doc.tokens is None else given)(doc)
            file.sequences += 1
            file.positions += len(made.words())
            where = f"{path}, document {file.sequences if doc.id is None else doc.id}"
            for label in [span.label for span in doc.spans] or [one for one in doc.labels or () if one]:
                file.labels[label] += 1
                file.first.setdefault(label, where)
            self._sequence(file, first, tuple(made.words()), len(made.words()), where)
        for report in (words.report, given.report):
            for kind, told in _SPANS.items():
                if times := getattr(report, kind):
                    shown = "; ".join(what for name, what in report.examples if name == kind)
                    verb = told[times > 1]
                    self.found.append(("span", f"{path}: {counted(times, 'span')} {verb}: {shown}"))
        if file.sequences:
            self.end(path)
        else:
            raise ValueError(f"{path} holds no document; give data that have some")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        files = {
            path: {"sequences": one.sequences, "positions": one.positions, "labels": dict(one.labels)}
            for path, one in self.files.items()
        }
        return {
            "files": files,
            "findings": [{"kind": kind, "what": cut(what, 500)} for kind, what in self.found],
        }


_SPANS: Final = {
    "expanded": ("cuts tokens", "cut tokens"),
    "overlapping": ("lies over another", "lie over another"),
    "blank": ("holds no token", "hold no token"),
    "out_of_range": ("lies outside of its text", "lie outside of their texts"),
}


def _scheme(file: File, names: list[str]) -> tuple[str, list[tuple[tuple[str, str], int]]]:
    """Return the scheme that the fewest steps break, and those that break it."""
    place: dict[str, int] = {name: i for i, name in enumerate(names)} | {"": len(names)}
    best: tuple[str, list[tuple[tuple[str, str], int]]] | None = None
    for name in dict.fromkeys(one for one in SCHEMES if one in TABLE):
        try:
            allowed = np.asarray(steps(Scheme(name), names)[0])
        except ValueError:  # labels that the scheme does not have
            continue
        known = ((pair, n) for pair, n in file.pairs.items() if {*pair} <= place.keys())
        wrong = [(pair, n) for pair, n in known if not allowed[place[pair[0]], place[pair[1]]]]
        if best is None or sum(n for _, n in wrong) < sum(n for _, n in best[1]):
            best = name, wrong
    return best or ("no scheme", [])
