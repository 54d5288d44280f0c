r"""CoNLL-U: a token to a line in ten columns, with the text of each sentence and what stands between tokens.

Documents begin with ``# newdoc``; where a file has none, each sentence is a document. The text is that of
``# text`` where its tokens stand in it; else it is made of the tokens and of ``SpaceAfter=No``,
``SpacesAfter=\s\n`` and ``SpacesBefore`` in MISC, as UDPipe writes them. Labels are of the column UPOS, or of
XPOS where that one is empty. Spans are the tags of ``NER=B-PER`` in MISC (also ``ner``, ``NE``, ``name``), or
of an eleventh column; ``# global.columns`` may name it. The words of a multiword token are tokens where they
spell it; else it is one, whose labels are joined with +. Empty nodes, which are nowhere in the text, are
counted, and so are entities in brackets (``Entity=``). Lemmas, features and dependencies are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from crfkit._safe.printable import quoted
from crfkit.data.formats.columns import CONLLU
from crfkit.data.formats.record import Sample
from crfkit.data.source import Input
from crfkit.tags.segments import spans as spelled
from crfkit.text.doc import Doc
from crfkit.text.formats.conllu_written import PIECE, SPACES, written
from crfkit.text.formats.record import Options, Remarks, TextFormat, placed

__all__ = ["FORMAT"]

_NUMBER = re.compile(r"\d{1,9}(?:([-.])\d{1,9})?")
_COMMENT = re.compile(r"#\s*([^=]*?)\s*(?:=\s?(.*))?")
_TAGS: Final = ("NER", "ner", "NE")
_TAG = re.compile("O|[BIESLU]-.+")  #: a tag in MISC, not a name
_COLUMNS: Final = ("ner", "ne")  #: behind the tenth
_SPREAD: Final = {"B": "BII", "I": "III", "E": "IIE", "S": "BIE", "L": "IIL", "U": "BIL"}
_FORM, _UPOS, _XPOS, _MISC = (CONLLU.index(name) for name in ("form", "upos", "xpos", "misc"))


@dataclass
class _Token:
    """A token of the text, and the words of the sentence that lie in it."""

    form: str
    before: str
    after: str
    loose: bool  #: whether nothing says what is behind it
    covers: int  #: how many of its words are still to come
    tag: str | None = None  #: of all its words
    labels: list[str | None] = field(default_factory=list)  #: of its words
    parts: list[str] = field(default_factory=list)  #: the forms of its words
    tags: list[str] = field(default_factory=list)


@dataclass
class _Sentence:
    """The lines of a sentence."""

    line: int = 0
    text: str | None = None
    told: dict[str, str] = field(default_factory=dict)  #: comments
    tokens: list[_Token] = field(default_factory=list)
    exact: bool = False  #: whether it says what its spaces are


@dataclass
class _State:
    """What has been read of a document."""

    text: str = ""
    tokens: list[tuple[int, int]] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    sentences: list[int] = field(default_factory=lambda: [0])
    spans: list[tuple[int, int, str]] = field(default_factory=list)
    id: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    line: int = 0
    loose: bool = False  #: whether the last blank is only likely


def _read(source: Input, options: Options, remarks: Remarks) -> Iterator[Doc]:
    state: _State | None = None
    several = False
    columns = [*CONLLU, "ner"]
    for sentence in _sentences(source, columns, remarks):
        if sentence.told.keys() & {"newdoc", "newdoc id"}:
            if state is not None:
                yield _made(source, state)
            several = True
            state = _State(id=sentence.told.get("newdoc id") or None, line=sentence.line)
        elif not several:
            if state is not None:
                yield _made(source, state)
            meta = dict(sentence.told)
            state = _State(id=meta.pop("sent_id", None) or None, meta=meta, line=sentence.line)
        assert state is not None
        with placed(source, sentence.line):
            _add(state, sentence, f"{source.name}, line {sentence.line}", remarks)
    if state is None:
        raise source.error(None, "holds no sentence; give a file that has some")
    yield _made(source, state)


def _sentences(source: Input, columns: list[str], remarks: Remarks) -> Iterator[_Sentence]:
    sentence = _Sentence()
    for first, block in source.blocks():
        for line, given in enumerate(block.split("\n")[:-1], start=first):
            if not given.strip(" \t\r"):
                if sentence.tokens:
                    yield sentence
                    sentence = _Sentence()
                continue
            sentence.line = sentence.line or line
            if given.startswith("#"):
                with placed(source, line):
                    _comment(sentence, given, columns)
                continue
            fields = given.split("\t")
            found = _NUMBER.fullmatch(fields[0])
            if found is None or len(fields) not in (len(CONLLU), len(columns)):
                raise source.error(
                    line, f"has {quoted(given, 40)}, expected a number and 9 other columns between TABs"
                )
            if not fields[_FORM]:
                raise source.error(line, "has an empty form, which is not a token")
            if found[1] == ".":
                remarks.add("empty node", f"{source.name}, line {line}")
                continue
            if "Entity=" in fields[_MISC]:
                remarks.add("Entity in MISC", f"{source.name}, line {line}")
            with placed(source, line):
                _add_word(sentence, fields, found[1] == "-", columns)
    if sentence.tokens:
        yield sentence


def _comment(sentence: _Sentence, given: str, columns: list[str]) -> None:
    found = _COMMENT.fullmatch(given)
    assert found is not None  # the pattern takes any line
    name, value = found[1], found[2]
    if name == "global.columns":
        columns[:] = (value or "").lower().split()
        if columns[: len(CONLLU)] != list(CONLLU):
            raise ValueError(
                f"names {value!r:.80}, expected {' '.join(CONLLU).upper()} and others behind them"
            )
    elif name == "text":
        sentence.text = value
    else:
        sentence.told[name] = value or ""


def _add_word(sentence: _Sentence, fields: list[str], several: bool, columns: list[str]) -> None:
    """Take in the line of a word, or of a token that stands for several words."""
    misc = dict(one.partition("=")[::2] for one in fields[_MISC].split("|")) if fields[_MISC] != "_" else {}
    after = "" if misc.get("SpaceAfter") == "No" else " "
    if "SpacesAfter" in misc or "SpacesBefore" in misc:
        sentence.exact = True
        after = _unescaped(misc["SpacesAfter"]) if "SpacesAfter" in misc else after
    before = _unescaped(misc.get("SpacesBefore", ""))
    form = fields[_FORM]
    tag = next((_unescaped(misc[name]) for name in _TAGS if name in misc), None)
    if tag is None and _TAG.fullmatch(misc.get("name", "")):
        tag = _unescaped(misc["name"])
    for name, value in zip(columns[len(CONLLU) :], fields[len(CONLLU) :], strict=False):
        if name.rpartition(":")[2] in _COLUMNS and value not in ("_", "*"):
            tag = tag or value
    if several:
        a, b = (int(part) for part in fields[0].split("-"))
        if not a <= b <= a + 1000:
            raise ValueError(f"has the number {fields[0]}, expected a range such as 3-4")
        loose = "SpaceAfter" not in misc and "SpacesAfter" not in misc
        sentence.tokens.append(_Token(form, before, after, loose, b - a + 1, tag))
        return
    label = next((fields[at] for at in (_UPOS, _XPOS) if fields[at] != "_"), None)
    if not sentence.tokens or not sentence.tokens[-1].covers:
        loose = "SpaceAfter" not in misc and "SpacesAfter" not in misc
        sentence.tokens.append(_Token(form, before, after, loose, 1))
    token = sentence.tokens[-1]
    token.covers -= 1
    token.labels.append(label)
    token.parts.append(form)
    token.tags.append(tag or "O")
    if not token.covers and token.tag is not None and {*token.tags} == {"O"}:
        letters, rest = _SPREAD.get(token.tag[:1], ""), token.tag[1:]  # B-PER of two words: B-PER, I-PER
        if letters:
            inner = len(token.parts) - 2
            spread = letters[0] + letters[1] * inner + letters[2] if inner >= 0 else token.tag[0]
            token.tags = [letter + rest for letter in spread]


def _unescaped(given: str) -> str:
    return PIECE.sub(lambda found: SPACES.get(found[1], found[0]), given)


def _add(state: _State, sentence: _Sentence, place: str, remarks: Remarks) -> None:
    """Take in a sentence: its text, its tokens, and the spans that its tags spell."""
    if sentence.tokens[-1].covers:
        raise ValueError(f"the token {sentence.tokens[-1].form!r:.40} stands for words that do not follow")
    found = None if sentence.exact or sentence.text is None else _within(sentence.text, sentence.tokens)
    if found is None:
        if not sentence.exact and sentence.text is not None:
            remarks.add("sentence with a text that its tokens do not spell", place)
        text, found = "", []
        for one in sentence.tokens:
            text += one.before
            found.append(len(text))
            text += one.form + one.after
    else:
        text = (sentence.text or "") + sentence.tokens[-1].after
    begin, first = len(state.text), len(state.tokens)
    where: list[int] = []  # of each word, its token
    for one, start in zip(sentence.tokens, found, strict=True):
        at, labels, parts = begin + start, one.labels, one.parts
        if len(parts) > 1 and "".join(parts) == one.form:
            for part, label in zip(parts, labels, strict=True):
                where.append(len(state.tokens) - first)
                state.tokens.append((at, at + len(part)))
                state.labels.append(label)
                at += len(part)
            continue
        if len(parts) > 1:
            remarks.add("multiword token whose labels are joined", place)
        where += [len(state.tokens) - first] * len(parts)
        state.tokens.append((at, at + len(one.form)))
        state.labels.append("+".join(label or "_" for label in labels) if any(labels) else None)
    tags = [tag for one in sentence.tokens for tag in one.tags]
    for a, b, label in spelled(tags):
        start, end = state.tokens[first + where[a]][0], state.tokens[first + where[b - 1]][1]
        if state.spans and start < state.spans[-1][1]:
            remarks.add("span that shares a token with the one before", place)
            continue
        state.spans.append((start, end, str(label)))
    state.text += text
    state.loose = sentence.tokens[-1].loose
    state.sentences.append(len(state.tokens))


def _within(text: str, tokens: list[_Token]) -> list[int] | None:
    """Return where tokens stand in a text, with nothing but blanks between them; None where they do not."""
    at, found = 0, []
    for one in tokens:
        while not text.startswith(one.form, at):
            if at >= len(text) or not text[at].isspace():
                return None
            at += 1
        found.append(at)
        at += len(one.form)
    return found if not text[at:].strip() else None


def _made(source: Input, state: _State) -> Doc:
    text = state.text[:-1] if state.loose else state.text
    with placed(source, state.line):
        return Doc(
            text,
            state.tokens,
            state.sentences if len(state.sentences) > 2 else None,
            state.spans,
            state.labels if any(one is not None for one in state.labels) else None,
            state.id,
            state.meta,
        )


def _guess(sample: Sample) -> str:
    rows = [line for line in sample.lines if not line.startswith("#")]
    fits = bool(rows) and all(
        one.count("\t") >= 9 and _NUMBER.fullmatch(one.partition("\t")[0]) for one in rows
    )
    return "its lines are numbered and have ten columns" if fits else ""


def _write(docs: Iterable[Doc], options: Options, remarks: Remarks) -> Iterator[bytes]:
    for number, doc in enumerate(docs, 1):
        yield from written(doc, number, remarks)


FORMAT = TextFormat(
    "conllu",
    "CoNLL-U, with spans as NER=B-PER in MISC",
    "# newdoc id = 1\n# text = Ana's in Rome.\n1-2\tAna's\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tAna\tAna\tPROPN\t_\t_\t_\t_\t_\tNER=B-PER\n2\t's\tbe\tAUX\t_\t_\t_\t_\t_\t_\n"
    "3\tin\tin\tADP\t_\t_\t_\t_\t_\t_\n4\tRome\tRome\tPROPN\t_\t_\t_\t_\t_\tSpaceAfter=No|NER=B-LOC\n"
    "5\t.\t.\tPUNCT\t_\t_\t_\t_\t_\t_\n\n",
    _read,
    _write,
    keeps=frozenset({"tokens", "sentences", "labels", "id"}),
    options=frozenset({"encoding"}),
    guess=_guess,
    endings=(".conllu", ".conllup"),
)
