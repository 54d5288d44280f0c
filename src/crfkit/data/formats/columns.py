"""Columns of text: one token to a line, one column of ids for each field (CoNLL, CoNLL-U, CRF++, Wapiti).

===========  ================================================================================================
``columns``  fields between TABs where every line has one, else between blanks and TABs (runs count once), or
             one given character; blank lines between sequences; a sequence that is a single ``-DOCSTART-``
             line is skipped
``conllu``   CoNLL-U: ten columns between TABs; lines that begin with ``#`` are skipped, and so are multiword
             tokens (``1-2``) and empty nodes (``1.1``), which are not words of the sentence
``crfpp``    as CRF++ reads: a line that begins with a blank or tab ends a sequence too; nothing is skipped
``wapiti``   as Wapiti reads: any white space of C separates fields; nothing is skipped
===========  ================================================================================================

Unlike the originals: CRLF is a line end, a line may have 16,384 columns with up to 1 MiB in each (CRF++ stops
without a word at 8192 bytes), a byte order mark is dropped, text must be valid UTF-8, and a row with other
fields than the first is an error.

A written field cannot hold a line feed or NUL, nor the separator (for blanks: nor be empty); the last of a
row cannot end in CR, a row cannot be all blank, and a file cannot begin with U+FEFF.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crfkit import _native
from crfkit._safe.printable import counted, quoted
from crfkit.arrays import Bools, Ids, Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.lines import Lines
from crfkit.data.source import Input
from crfkit.errors import DataError

#: Names of the columns of CoNLL-U.
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NO_WORD = re.compile(rb"^(?=\d+[-.]\d+\t)", re.MULTILINE)
MOST_COLUMNS = 1 << 14  #: as in cpp/text/columns.hpp: each has an alphabet
_C_SPACE = bytes.maketrans(b"\v\f\r", b"   ")


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """Sequences of tokens, each token with one string in every column.

    Examples
    --------
    >>> data = Columns.from_rows([[("the", "D"), ("dog", "N")], [("dogs", "N")]], names=["word", "tag"])
    >>> len(data), data.sequence(1), data.column("tag").tolist()
    (2, [('dogs', 'N')], [0, 1, 1])
    """

    ids: tuple[Ids, ...]  #: for each column [P]
    alphabets: tuple[Alphabet, ...]  #: for each column
    seq_ptr: Pointers  #: [N + 1]
    names: tuple[str, ...]  #: for each column; "0", "1", ... where none were given
    source: str = ""  #: where the data came from
    format: str = "columns"  #: name of the format that they were in
    lines: Lines | None = None  #: where the sequences stand in the source, where that is known
    headed: bool = False  #: whether the names are those of a header in the source
    label: str | None = None  #: the column of labels, where somebody said which

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "ids", tuple(np.ascontiguousarray(ids, dtype=np.int32) for ids in self.ids))
        put(self, "alphabets", tuple(self.alphabets))
        put(self, "seq_ptr", np.ascontiguousarray(self.seq_ptr, dtype=np.int64))
        put(self, "names", tuple(self.names))
        _check_names(self.names, len(self.ids))
        if self.label is not None:
            self.place(self.label)
        if len(self.alphabets) != len(self.ids):
            raise ValueError(f"there are {len(self.alphabets)} alphabets for {len(self.ids)} columns")
        if not len(self.seq_ptr) or self.seq_ptr[0] != 0 or (np.diff(self.seq_ptr) < 0).any():
            raise ValueError("seq_ptr must begin with 0 and never fall")
        if self.lines is not None and len(self.lines.begin) != len(self):
            raise ValueError(f"there are lines of {len(self.lines.begin)} sequences, expected {len(self)}")
        if not self.ids and self.positions:
            raise ValueError("there are tokens but no columns")
        for name, ids, alphabet in zip(self.names, self.ids, self.alphabets, strict=True):
            if len(ids) != self.positions:
                raise ValueError(f"column {name!r} has {len(ids)} entries, expected {self.positions}")
            if ids.size and not 0 <= ids.min() <= ids.max() < len(alphabet):
                raise ValueError(f"column {name!r} has ids outside its alphabet of {len(alphabet)} strings")

    @classmethod
    def from_rows(
        cls, sequences: Iterable[Iterable[Sequence[str]]], names: Sequence[str] | None = None
    ) -> Columns:
        """Make columns from lists of token rows, each row a tuple of as many strings as there are columns."""
        rows: list[Sequence[str]] = []
        ends = [0]
        for n, sequence in enumerate(sequences):
            for t, row in enumerate(sequence):
                if isinstance(row, str) or not all(isinstance(field, str) for field in row):
                    raise ValueError(f"token {t} of sequence {n} is {row!r:.60}, expected a tuple of strings")
                width = len(rows[0] if rows else row) if names is None else len(names)
                if len(row) != width or not width:
                    raise ValueError(
                        f"token {t} of sequence {n} has {len(row)} columns, expected {width or 1}"
                    )
                rows.append(row)
            ends.append(len(rows))
        if names is None:
            names = [str(c) for c in range(len(rows[0]) if rows else 0)]
        fields = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        alphabets = [Alphabet() for _ in names]
        return cls(
            ids=tuple(alphabet.ids(column) for alphabet, column in zip(alphabets, fields, strict=True)),
            alphabets=tuple(alphabets),
            seq_ptr=np.array(ends, dtype=np.int64),
            names=tuple(names),
        )

    @property
    def positions(self) -> int:
        """Number of tokens, P."""
        return int(self.seq_ptr[-1])

    def column(self, which: str | int) -> Ids:
        """Return the ids of a column, given by its name or its number."""
        return self.ids[self.place(which)]

    def place(self, which: str | int) -> int:
        """Return the number of a column, given by its name or its number (negative: from the last)."""
        if isinstance(which, str):
            if which in self.names:
                return self.names.index(which)
        elif -len(self.names) <= which < len(self.names):
            return which % len(self.names)
        where = f"{self.source}: " if self.source else ""
        raise ValueError(f"{where}there is no column {which!r}; the columns are {_few(self.names) or 'none'}")

    def found(self, name: str | int) -> int:
        """Return the number of a column by its name or number, which may be a string of digits."""
        named = isinstance(name, str) and name in self.names
        return self.place(int(name) if isinstance(name, str) and not named and name.isdecimal() else name)

    def gold(self, which: str | int, labels: Alphabet) -> Ids:
        """Return the ids of a column of labels [P], which are added to a growing alphabet.

        An empty label is an unknown one, -1.

        Examples
        --------
        >>> labels = Alphabet()
        >>> Columns.from_rows([[("a", "X"), ("b", ""), ("c", "Y")]]).gold(-1, labels).tolist()
        [0, -1, 1]
        >>> labels.strings()
        ['X', 'Y']
        """
        place = self.place(which)
        names = self.alphabets[place]
        if names.find("") < 0:
            return labels.merge(names)[self.ids[place]]
        strings = names.strings()
        known = np.array([bool(string) for string in strings])
        made: Ids = np.full(len(strings), -1, dtype=np.int32)
        made[known] = labels.ids(string for string in strings if string)
        return made[self.ids[place]]

    def sequence(self, n: int) -> list[tuple[str, ...]]:
        """Return one sequence as a list of rows (negative: from the last)."""
        if not -len(self) <= n < len(self):
            raise IndexError(f"there is no sequence {n}; there are {len(self)}")
        at = slice(*self.seq_ptr[n % len(self) :][:2].tolist())
        fields = [
            [alphabet[i] for i in ids[at].tolist()]
            for ids, alphabet in zip(self.ids, self.alphabets, strict=True)
        ]
        return list(zip(*fields, strict=True))

    def __len__(self) -> int:
        return len(self.seq_ptr) - 1

    def __iter__(self) -> Iterator[list[tuple[str, ...]]]:
        rows = list(zip(*(strings.tolist() for strings in self.strings()), strict=True))
        ends = self.seq_ptr.tolist()
        return (rows[a:b] for a, b in pairwise(ends))

    def __repr__(self) -> str:
        sizes = f"{counted(len(self), 'sequence')}, {counted(self.positions, 'token')}"
        return f"<Columns {_few(self.names)}: {sizes}>"

    def strings(self) -> list[NDArray[np.object_]]:
        """Return the strings of each column, those of all sequences in one list."""
        return [
            spell(alphabet, used)[places]
            for alphabet, (used, places) in zip(self.alphabets, self._used(), strict=True)
        ]

    def _used(self) -> list[tuple[Ids, Pointers]]:
        return [np.unique(ids, return_inverse=True) for ids in self.ids]


def spell(alphabet: Alphabet, ids: Ids) -> NDArray[np.object_]:
    """Return the strings of some ids."""
    made = np.empty(len(ids), dtype=object)
    if len(ids) * 4 < len(alphabet):
        made[:] = [alphabet[i] for i in ids.tolist()]
    else:
        every = np.empty(len(alphabet), dtype=object)
        every[:] = alphabet.strings()
        made[:] = every[ids]
    return made


def _check_names(names: Sequence[str], columns: int) -> None:
    if len(names) != columns:
        raise ValueError(f"there are {len(names)} column names ({_few(names)}) for {columns} columns")
    if len(set(names)) < len(names):
        raise ValueError(f"two columns have the name {_twice(names)!r}")


def check_columns(names: Sequence[str]) -> None:
    """Refuse columns of a file that have the same name, or are more than can be meant.

    Examples
    --------
    >>> check_columns(["word", "tag", "word"])
    Traceback (most recent call last):
    ValueError: has the same column name twice, 'word'; rename one
    """
    if len(names) > MOST_COLUMNS:
        raise ValueError(f"has {len(names):,} columns, expected {MOST_COLUMNS:,} at most")
    if len(set(names)) < len(names):
        raise ValueError(f"has the same column name twice, {_twice(names)!r}; rename one")


def _twice(names: Sequence[str]) -> str:
    return next(name for name, times in Counter(names).items() if times > 1)


def _few(names: Sequence[str]) -> str:
    """Return names for an error, the first of them where there are many."""
    return ", ".join([*names[:20], *(["..."] if len(names) > 20 else [])])


def parts(
    source: Input,
    format: str = "columns",
    *,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    comment: str = "",
    skip_docstart: bool = True,
) -> Iterator[Columns]:
    """Read columns, and yield finished sequences as soon as there are any."""
    chunks = source.chunks()
    if format == "conllu":
        comment = comment or "#"
        mark = comment.encode()  # lines that are not words become comments, so that lines keep their numbers
        chunks = (_NO_WORD.sub(lambda _: mark, lines) for _, lines in source.whole_lines())
    parser = _native.ColumnParser(separator, comment, skip_docstart, format == "crfpp")
    alphabets: tuple[Alphabet, ...] = ()

    def taken() -> Iterator[Columns]:
        nonlocal alphabets, names
        if not parser.columns:
            return
        if not alphabets:
            alphabets = tuple(Alphabet.of_native(parser.alphabet(c)) for c in range(parser.columns))
            if names is None and format == "conllu":
                names = CONLLU
                if parser.columns != len(names):
                    what = f"has {counted(parser.columns, 'column')}, expected the {len(names)} of CoNLL-U"
                    raise source.error(None, f"{what}; give columns as format")
            if names is not None and len(names) != parser.columns:
                what = f"has {counted(parser.columns, 'column')} but {len(names)} names were given"
                raise source.error(None, f"{what}; give one for each")
        ids, seq_ptr, begin = parser.take()
        if len(seq_ptr) > 1:
            given = names if names is not None else [str(c) for c in range(parser.columns)]
            lines = Lines(begin, None if comment else 1)
            yield Columns(tuple(ids), alphabets, seq_ptr, tuple(given), source.name, format, lines)

    def refused(line: int, what: str, hint: str = "") -> DataError:
        return source.error(line, f"{what}; {source.remedy}" if "not valid UTF-8" in what else what + hint)

    for chunk in chunks:
        bad = parser.feed(chunk.translate(_C_SPACE) if format == "wapiti" else chunk)
        yield from taken()
        if bad:
            raise refused(*bad, "" if comment else comment_hint(chunk))
    bad = parser.finish()
    yield from taken()
    if bad:
        raise refused(*bad)


def comment_hint(text: bytes) -> str:
    """Return a hint to add to an error where lines of the text look like comments."""
    if text.startswith(b"#") or b"\n#" in text:
        return "; if lines that begin with # are comments, give comment='#' (--comment '#')"
    return ""


def render(
    data: Columns, format: str = "columns", *, separator: str | None = None, first: bool = True
) -> str:
    """Return columns as text, an empty line after every sequence; refuse what could not be read back."""
    if (np.diff(data.seq_ptr) == 0).any():
        raise ValueError(f"sequence {int(np.argmin(np.diff(data.seq_ptr)))} is empty; columns cannot hold it")
    fields: list[list[str]] = []
    all_blank: Bools = np.ones(data.positions, dtype=bool)
    for c, (used, places) in enumerate(data._used()):
        strings: list[str] = spell(data.alphabets[c], used).tolist()
        last = c == len(data.ids) - 1
        for string in strings:
            if why := _unfit(string, format, separator, last):
                raise ValueError(f"column {data.names[c]!r} holds {quoted(string)}, which {why}")
        all_blank &= np.array([not s.strip(" \t") for s in strings], dtype=bool)[places]
        fields.append(spell(data.alphabets[c], used)[places].tolist())
    if all_blank.any() and (separator in (" ", "\t") or len(fields) == 1):
        raise ValueError(
            f"token {int(np.argmax(all_blank))} is blank in every column; it would end a sequence"
        )
    if first and fields and fields[0][:1] and fields[0][0].startswith("\ufeff"):
        raise ValueError(
            "the first token begins with U+FEFF, which at the start of a file is a byte order mark"
        )
    joint = " " if separator is None else separator
    rows = list(map(joint.join, zip(*fields, strict=True)))
    ends = data.seq_ptr.tolist()
    return "".join(["\n".join([*rows[a:b], "\n"]) for a, b in pairwise(ends)])


def _unfit(string: str, format: str, separator: str | None, last: bool) -> str:
    if "\n" in string or "\0" in string:
        return "holds a line feed or NUL; columns have no way to write it"
    if last and string.endswith("\r"):
        return "ends in CR; at the end of a line it would be lost"
    if separator is not None:
        return f"holds the separator {separator!r}; choose another one" if separator in string else ""
    if not string or " " in string or "\t" in string:
        return 'is empty or holds a blank; choose a separator, as in separator="\\t", or a name in .tsv'
    if format == "wapiti" and any(c in string for c in "\v\f\r"):
        return "holds white space, at which Wapiti would split it"
    return ""
