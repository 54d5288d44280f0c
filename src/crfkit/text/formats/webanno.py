r"""WebAnno TSV 3, the format of INCEpTION: a document in each file, cut into tokens and sentences.

Offsets count UTF-16 units. Layers of spans are read: the label is the feature ``value``, else the first that
has one, else the name of the layer. The layer of parts of speech gives the labels of tokens. Other features,
slots, relations and chains are counted. Between sentences the file has no text: as INCEpTION does, a line end
and blanks fill the gap. Written are spans as named entities, and labels as parts of speech.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from crfkit._safe.printable import quoted
from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.text.doc import Doc
from crfkit.text.formats.evidence import Said, fitting_unit
from crfkit.text.formats.json_objects import made
from crfkit.text.formats.record import Options, Remarks, TextFormat, placed
from crfkit.text.formats.webanno_written import ENTITY, HEAD, POS, files
from crfkit.text.offsets import Unit, places

__all__ = ["FORMAT"]

#: Layers of what each token has, which are no spans.
_OF_TOKENS: Final = {
    "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Lemma": "lemma",
    "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Stem": "stem",
    "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.morph.MorphologicalFeatures": "morphological feature",
}
_KINDS: Final = {"#T_SP=": "span", "#T_RL=": "relation", "#T_CH=": "chain"}
#: The manual escapes reserved characters of the text, INCEpTION control characters; Java escapes are of 3.1.
_TEXT = re.compile(r"\\((?:u[0-9A-Fa-f]{4}(?:\\u[0-9A-Fa-f]{4})*)|->|.)", re.DOTALL)
_TEXT_MARKS = {"t": "\t", "n": "\n", "f": "\f", "r": "\r", "b": "\b"}
_TEXT_MARKS |= {mark: mark for mark in ("\\", "[", "]", "|", "_", "->", ";", "*", '"')}
_VALUE = re.compile(r"\\(->|[\\\[\]|_;tn*])")
_VALUE_MARKS = {"t": "\t", "n": "\n"}
_STACKED = re.compile(r"(?:[^|\\]|\\.)+", re.DOTALL)
_NUMBERED = re.compile(r"((?:[^\\]|\\.)*?)(?:\[(\d{1,9})\])?", re.DOTALL)
_UNIT = re.compile(r"(\d{1,9})-(\d{1,9})(\.\d{1,9})?")
_ENDS = re.compile(r"(\d{1,18})-(\d{1,18})")


@dataclass
class _Column:
    """A column behind the first three: a feature of a layer."""

    layer: str
    kind: str  #: "span", "relation", "chain", "slot", "label" (of tokens), or what it is of tokens
    feature: str  #: "" where the layer has none
    shows: bool  #: whether the first stands for the annotation itself
    chosen: bool  #: whether it is the label


@dataclass
class _State:
    """What has been read of a document."""

    unit: Unit
    remarks: Remarks
    text: list[str] = field(default_factory=list)
    size: int = 0  #: of the text, in units of the file
    tokens: list[tuple[int, int]] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    sentences: list[int] = field(default_factory=lambda: [0])
    spans: dict[tuple[str, object], list[Any]] = field(default_factory=dict)


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    columns: list[_Column] = []
    state, waiting = _State(options.unit or FORMAT.unit, remarks), []
    for line, written in _lines(source):
        if line == 1 and not written.startswith(f"{HEAD}3"):
            raise source.error(1, f"begins with {quoted(written, 40)}, expected {HEAD}3.3: export it as that")
        with placed(source, line):
            if written.startswith("#Text="):
                waiting.append(_TEXT.sub(_unescaped, written[len("#Text=") :]))
            elif (kind := _KINDS.get(written[:6])) is not None and not state.tokens:
                columns += _columns(kind, written[6:])
            elif written and not written.startswith("#"):
                fields = written.split("\t")
                found = _UNIT.fullmatch(fields[0])
                if found is None or len(fields) < 3 + len(columns):
                    raise ValueError(
                        f"has {quoted(written, 40)}, expected a token: its number, offsets, text and "
                        f"{len(columns)} columns between TABs"
                    )
                if waiting:
                    _add_sentence(state, "\n".join(waiting), fields[1])
                    waiting = []
                _add(state, fields, found[3] is None, columns, f"{source.name}, line {line}")
    if waiting:
        raise source.error(None, "ends behind a text without tokens; export the document again")
    text = "".join(state.text).removesuffix("\n")
    name = os.path.splitext(os.path.basename(source.name))[0]
    unit = options.unit or fitting_unit(text, state.said, state.unit, source.name, remarks)
    yield made(
        source, None, text, options, unit,
        tokens=state.tokens,
        sentences=state.sentences if len(state.sentences) > 2 else None,
        spans=state.spans.values(),
        labels=state.labels if any(one is not None for one in state.labels) else None,
        id=name,
    )  # fmt: skip


def _lines(source: Input) -> Iterator[tuple[int, str]]:
    for first, block in source.blocks():
        yield from enumerate(block.split("\n")[:-1], start=first)


def _columns(kind: str, declared: str) -> list[_Column]:
    """Return the columns of a layer, as its line in the head declares them."""
    layer, *features = [one for one in declared.split("|") if one] or [""]
    if kind != "span":
        return [_Column(layer, kind, one, i == 0, False) for i, one in enumerate(features or [""])]
    plain = [one for one in features if not one.startswith("ROLE_") and "." not in one.partition(":")[0]]
    wanted = "PosValue" if layer == POS else "value"
    label = wanted if wanted in plain else plain[0] if plain else ""
    what = "label" if layer == POS else _OF_TOKENS.get(layer, "span")
    shown = label if plain else features[0] if features else ""
    return [
        _Column(layer, what if one in plain or not features else "slot", one, one == shown, one == label)
        for one in features or [""]
    ]


def _unescaped(found: re.Match[str]) -> str:
    mark = found[1]
    if len(mark) > 2:  # UTF-16 units; half a character stays as it is written
        try:
            return bytes.fromhex(mark.replace("\\u", "")[1:]).decode("utf-16-be")
        except UnicodeDecodeError:
            return found[0]
    return _TEXT_MARKS.get(mark, mark if mark < " " else found[0])


def _said(word: str, ends: tuple[int, int], unit: Unit) -> str:
    """Return the text of a token, in which INCEpTION escapes nothing and others what its manual says."""
    fits = "\\" not in word or int(places(word, unit)[-1]) == ends[1] - ends[0]
    return word if fits else _TEXT.sub(_unescaped, word)


def _offsets(written: str) -> tuple[int, int]:
    ends = _ENDS.fullmatch(written)
    if ends is None:
        raise ValueError(f"has the offsets {quoted(written, 40)}, expected a range such as 0-4")
    return int(ends[1]), int(ends[2])


def _add_sentence(state: _State, text: str, offsets: str) -> None:
    """Take in the text of a sentence, which begins where its first token does."""
    start, _ = _offsets(offsets)
    gap = start - state.size
    if gap < 0 and state.text:  # the line end behind the last sentence is none
        state.text[-1] = state.text[-1].removesuffix("\n")
        gap += 1
    if gap < 0 or gap > 1 << 20:
        raise ValueError(f"begins at {start}, expected an offset behind {state.size}, where the text ends")
    state.text += [" " * gap, text + "\n"]
    state.size = start + int(places(text, state.unit)[-1]) + 1
    state.sentences.append(len(state.tokens))


def _add(state: _State, fields: list[str], is_token: bool, columns: list[_Column], place: str) -> None:
    """Take in the line of a token, or of a part of one."""
    ends = _offsets(fields[1])
    if not state.text:
        raise ValueError("has a token before the first #Text=")
    if is_token:
        state.tokens.append(ends)
        state.said.append((*ends, _said(fields[2], ends, state.unit)))
        state.labels.append(None)
        state.sentences[-1] = len(state.tokens)
    for column, value in zip(columns, fields[3:], strict=False):
        if value != "_":
            _add_value(state, column, value, ends, place)


def _add_value(state: _State, column: _Column, value: str, ends: tuple[int, int], place: str) -> None:
    for position, one in enumerate(_STACKED.findall(value)):
        found = _NUMBERED.fullmatch(one)
        assert found is not None  # the pattern takes any text
        name = _VALUE.sub(lambda mark: _VALUE_MARKS.get(mark[1], mark[1]), found[1])
        nothing = found[1] in ("*", "_") or not name
        if column.kind == "label" and column.chosen:
            state.labels[-1] = None if nothing else name
            continue
        if (column.kind == "span" and column.shows) or (column.kind == "slot" and column.shows):
            key = (column.layer, int(found[2]) if found[2] else (ends, position))
            span = state.spans.setdefault(key, [*ends, column.layer.rpartition(".")[2]])
            span[0], span[1] = min(span[0], ends[0]), max(span[1], ends[1])
            if column.chosen and not nothing:
                span[2] = name
            if column.kind == "span":
                continue
        if nothing:
            continue
        what = {"span": "feature", "label": "feature"}.get(column.kind, column.kind)
        if column.kind not in ("relation", "chain") or column.shows:
            state.remarks.add(what, place)


def _guess(sample: Sample) -> str:
    return "it begins with its name" if sample.data.lstrip(b"\xef\xbb\xbf").startswith(HEAD.encode()) else ""


FORMAT = TextFormat(
    "webanno",
    "WebAnno TSV 3 (INCEpTION), or a folder of them",
    f"{HEAD}3.3\n#T_SP={ENTITY}|value\n\n\n#Text=\U0001f680 New York!\n1-1\t0-2\t\U0001f680\t_\t\n"
    "1-2\t3-6\tNew\tLOC[1]\t\n1-3\t7-11\tYork\tLOC[1]\t\n1-4\t11-12\t!\t_\t\n",
    _read,
    "a folder is written, a file for each document",
    keeps=frozenset({"overlaps", "tokens", "sentences", "labels", "id"}),
    unit="utf16",
    options=frozenset({"unit", "encoding"}),
    guess=_guess,
    endings=(".tsv",),
    files=files,
)
