"""CoNLL-U as it is written; `crfkit.text.formats.conllu` says what it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from crfkit.text.doc import Doc
from crfkit.text.formats.record import Remarks, encoded, needs_tokens

__all__ = ["PIECE", "SPACES", "written"]

#: What stands for what in MISC, behind a backslash.
SPACES: Final = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}
PIECE: Final = re.compile(r"\\(.)", re.DOTALL)
_MARKS = {mark: f"\\{letter}" for letter, mark in SPACES.items()}
_MARKED = re.compile(r"[ \t\r\n|\\]")
_LINE = re.compile(r"[\r\n]+")


def written(doc: Doc, number: int, remarks: Remarks) -> Iterator[bytes]:
    """Yield the lines of a document; its spans must fit its tokens and lie apart."""
    name = f"document {number if doc.id is None else doc.id}"
    offsets = needs_tokens(doc, number, "conllu").tolist()
    if not offsets:
        remarks.add("document without tokens", name)
        return
    tags = doc.to_tags()
    pointers = [0, len(offsets)] if doc.sentences is None else doc.sentences.tolist()
    yield encoded(f"# newdoc{'' if doc.id is None else f' id = {_line(doc.id)}'}\n")
    ends = [a for a, _ in offsets[1:]] + [len(doc.text)]
    for first, last in pairwise(pointers):
        if first == last:
            continue
        text = _LINE.sub(" ", doc.text[offsets[first][0] : offsets[last - 1][1]])
        yield encoded(f"# text = {text}\n")
        for i in range(first, last):
            start, end = offsets[i]
            misc = [f"SpacesBefore={_misc(doc.text[:start])}"] if i == 0 and start else []
            gap, final = doc.text[end : ends[i]], i == len(offsets) - 1
            if gap.strip():
                remarks.add("text outside of tokens", name)
            if gap != " " or (final and gap):
                misc.append(f"SpacesAfter={_misc(gap)}" if gap else "SpaceAfter=No")
            if tags[i] not in ("O", None):
                misc.append(f"NER={_misc(str(tags[i]))}")
            label = "_" if doc.labels is None else doc.labels[i]
            form = doc.text[start:end]
            row = [str(i - first + 1), form, "_", "_" if label is None else label, *"_____"]
            if any("\t" in one or "\n" in one or one.endswith("\r") for one in row):
                raise ValueError(f"{name}: {form!r:.40} holds a TAB or a line end, which CoNLL-U cannot hold")
            yield encoded("\t".join([*row, "|".join(misc) or "_"]) + "\n")
        yield b"\n"


def _misc(given: str) -> str:
    return _MARKED.sub(lambda found: _MARKS[found[0]], given)


def _line(given: str) -> str:
    if _LINE.search(given):
        raise ValueError(f"the id {given!r:.40} holds a line end, which CoNLL-U cannot hold")
    return given
