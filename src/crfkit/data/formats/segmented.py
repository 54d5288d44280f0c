"""Text that is cut into words by blanks, a sentence in each line: each character is a position.

Chinese word segmentation (SIGHAN) is written so. The columns are ``character`` and ``tag``: ``B-W`` where a
word begins and ``I-W`` in it, so that words are segments with the label W, or tags for chains. White space of
any kind is between words; lines without a word are skipped. Text that is not cut yet reads as one word.

What is written has one character at each position, not white space, NUL or U+FEFF; the tags are these two,
and the first of a sequence is ``B-W``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.formats.columns import Columns
from crfkit.data.formats.record import Format, FormatOptions
from crfkit.data.lines import Lines

if TYPE_CHECKING:
    from crfkit.data.source import Input

BEGIN, INSIDE = "B-W", "I-W"
_NAMES = ("character", "tag")
_NEVER = ("\0", "\ufeff")


def _parts(source: Input, options: FormatOptions) -> Iterator[Columns]:
    names = tuple(options.columns or _NAMES)
    if len(names) != 2:
        raise source.error(None, f"has 2 columns, character and tag, but {len(names)} names were given")
    alphabets = (Alphabet(), Alphabet([BEGIN, INSIDE]))
    found = False
    for first, block in source.blocks():
        full = [
            (line, words) for line, text in enumerate(block.split("\n"), first) if (words := text.split())
        ]
        sentences = [words for _, words in full]
        if not sentences:
            continue
        found = True
        lengths = [[len(word) for word in words] for words in sentences]
        ids = alphabets[0].ids([character for words in sentences for word in words for character in word])
        tag = np.ones(len(ids), dtype=np.int32)
        tag[pointers([length for one in lengths for length in one])[:-1]] = 0
        seq_ptr = pointers(list(map(sum, lengths)))
        lines = Lines(np.array([line for line, _ in full], dtype=np.int64), 0)
        yield Columns((ids, tag), alphabets, seq_ptr, names, source.name, FORMAT.name, lines)
    if not found:
        raise source.nothing()


def _render(data: Any, options: FormatOptions, first: bool) -> bytes:
    if len(data.names) != 2:
        raise ValueError(
            f"format segmented has 2 columns, character and tag; the data have {len(data.names)}"
        )
    lines = []
    for n, rows in enumerate(data):
        if not rows or rows[0][1] != BEGIN:
            begins = f"begins with {quoted(rows[0][1])}" if rows else "is empty"
            raise ValueError(
                f"sequence {n} {begins}; format segmented takes sequences that begin with {BEGIN}"
            )
        for t, (character, tag) in enumerate(rows):
            if (
                len(character) != 1
                or character.isspace()
                or tag not in (BEGIN, INSIDE)
                or character in _NEVER
            ):
                raise ValueError(
                    f"token {t} of sequence {n} is {quoted(character)} with the tag {quoted(tag)}; format "
                    f"segmented takes one character, not white space, NUL or U+FEFF, with {BEGIN} or {INSIDE}"
                )
        cut = "".join(f" {character}" if tag == BEGIN else character for character, tag in rows)
        lines.append(f"{cut[1:]}\n")
    return "".join(lines).encode()


FORMAT = Format(
    "segmented",
    "columns",
    _parts,
    _render,
    frozenset({"columns"}),
    endings=(".seg",),
    line_by_line=True,
    names_columns=True,
)
