"""WebAnno TSV 3.3 as it is written; `crfkit.text.formats.webanno` says what it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from crfkit.text.doc import Doc
from crfkit.text.formats.record import Options, Remarks, encoded, needs_tokens
from crfkit.text.offsets import from_unit

__all__ = ["ENTITY", "HEAD", "POS", "files"]

HEAD: Final = "#FORMAT=WebAnno TSV "
ENTITY: Final = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
POS: Final = "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS"
_TEXT = re.compile(r"[\x00-\x07\t\f\r\x08\x0e-\x1f\\]")
_TEXT_MARKS = {"\t": "t", "\f": "f", "\r": "r", "\b": "b"}
_VALUE = re.compile(r"->|[\\\[\]|_;\t\n*]")
_VALUE_MARKS = {"\t": "t", "\n": "n"}
_NOT_ONE_FIELD = re.compile(r"[\t\n]")
_GAP = re.compile(r"\n *\Z")


def files(doc: Doc, options: Options, remarks: Remarks) -> Mapping[str, bytes]:
    """Return the file of a document whose offsets are those of the file."""
    tokens = needs_tokens(doc, 1, "webanno")
    text = doc.text
    ends = from_unit(text, tokens, doc.unit).reshape(-1, 2).tolist()
    lines = [f"{HEAD}3.3", f"#T_SP={ENTITY}|value"]
    lines += [f"#T_SP={POS}|PosValue"] if doc.labels is not None else []
    lines += ["", ""] if ends else [""]
    units = _units(doc, tokens.tolist(), remarks)
    if ends and text[: ends[0][0]].strip(" "):
        remarks.add("document whose first blanks became others", f"document {doc.id or doc.text[:20]!r}")
    for number, (first, last, sentence) in enumerate(_sentences(doc, ends), 1):
        lines += [f"#Text={_TEXT.sub(_escaped, one)}" for one in sentence.split("\n")]
        for i in range(first, last):
            name = f"{number}-{i - first + 1}"
            word = _NOT_ONE_FIELD.sub(" ", text[ends[i][0] : ends[i][1]])
            label = (
                "" if doc.labels is None else f"\t{'_' if doc.labels[i] is None else _value(doc.labels[i])}"
            )
            start, end = tokens[i].tolist()
            lines.append(f"{name}\t{start}-{end}\t{word}\t{units[i].pop((start, end), '_')}{label}\t")
            none = label and "\t_"
            for part, ((a, b), value) in enumerate(sorted(units[i].items()), 1):
                word = _NOT_ONE_FIELD.sub(" ", doc.with_spans([(a, b, "x")]).spans[0].text)
                lines.append(f"{name}.{part}\t{a}-{b}\t{word}\t{value}{none}\t")
        lines.append("")
    return {".tsv": encoded("\n".join(lines) + "\n")}


def _sentences(doc: Doc, ends: list[list[int]]) -> Iterator[tuple[int, int, str]]:
    """Yield the tokens and the text of each sentence: up to the next one, but for a line end and blanks."""
    pointers = [0, len(ends)] if doc.sentences is None else doc.sentences.tolist()
    kept = [(a, b) for a, b in pairwise(pointers) if a < b]
    for (first, last), following in zip(kept, [*kept[1:], None], strict=True):
        end = len(doc.text) if following is None else ends[following[0]][0]
        sentence = doc.text[ends[first][0] : end]
        yield first, last, sentence if following is None else _GAP.sub("", sentence)


def _units(doc: Doc, tokens: list[list[int]], remarks: Remarks) -> list[dict[tuple[int, int], str]]:
    """Return for each token the values of itself and of its parts, by where they are."""
    pieces: list[dict[tuple[int, int], list[int]]] = [{} for _ in tokens]
    for number, span in enumerate(doc.spans):
        found = 0
        for i in range(*span.tokens):
            at = (max(span.start, tokens[i][0]), min(span.end, tokens[i][1]))
            if at[0] < at[1]:
                pieces[i].setdefault(at, []).append(number)
                found += 1
        if not found:
            remarks.add("span without a token", f"document {doc.id or doc.text[:20]!r}")
    times: dict[int, int] = {}
    for one in pieces:
        for numbers in one.values():
            for number in numbers:
                times[number] = times.get(number, 0) + (2 if len(numbers) > 1 else 1)
    ids: dict[int, int] = {}
    for number, count in times.items():
        if count > 1:
            ids[number] = len(ids) + 1

    def value(number: int) -> str:
        return _value(doc.spans[number].label) + (f"[{ids[number]}]" if number in ids else "")

    return [{at: "|".join(map(value, numbers)) for at, numbers in one.items()} for one in pieces]


def _value(label: str | None) -> str:
    if label is None:
        return "_"
    return _VALUE.sub(lambda mark: "\\" + _VALUE_MARKS.get(mark[0], mark[0]), label)


def _escaped(found: re.Match[str]) -> str:
    return "\\" + _TEXT_MARKS.get(found[0], found[0])
