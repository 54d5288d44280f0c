"""Streams: lines of JSON in, lines of JSON out, each answered while the next ones come.

A line that is wrong is answered by a line with its problem, and the stream goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

import msgspec

from crfkit.web import service
from crfkit.web.asgi import Receive, Send
from crfkit.web.messages import Line, Result, TagOptions, TagRequest
from crfkit.web.models import Loaded
from crfkit.web.observing import Note
from crfkit.web.problems import Problem
from crfkit.web.reading import decoded, size_of_line
from crfkit.web.state import INLINE, State

__all__ = ["KIND", "stream"]

#: The media type of streams.
KIND: Final = "application/x-ndjson"
_MANY = {"text": "texts", "tokens": "tokens", "columns": "columns", "items": "items"}
_decoder = msgspec.json.Decoder(Line)
_encode = msgspec.json.Encoder().encode
_FIELDS = TagOptions.__struct_fields__


class _Given:
    """A line: its number, what it holds or what is wrong with it, and how many tokens it has."""

    __slots__ = ("line", "number", "problem", "tokens")

    def __init__(self, number: int, text: bytes, state: State) -> None:
        self.number, self.tokens = number, 0
        self.line: Line | None = None
        self.problem: Problem | None = None
        try:
            self.line = decoded(_decoder, text)
            self.tokens = size_of_line(self.line, state.settings)
        except Problem as problem:
            self.line, self.problem = None, problem

    @property
    def kind(self) -> str:
        """The field that it has."""
        return (
            "" if self.line is None else next(name for name in _MANY if getattr(self.line, name) is not None)
        )


async def stream(
    loaded: Loaded, options: TagOptions, state: State, note: Note, receive: Receive, send: Send
) -> None:
    """Answer the lines of a body as they come."""
    headers = [(b"content-type", KIND.encode()), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    rest, number, more = b"", 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message.get("more_body", False)
        *lines, rest = (rest + message.get("body", b"")).split(b"\n")
        if not more and rest:
            lines, rest = [*lines, rest], b""
        if too_long := max(map(len, [*lines, rest])) > state.settings.max_body:
            lines, more = [one for one in lines if len(one) <= state.settings.max_body], False
        given = [_Given(number + n, one, state) for n, one in enumerate(lines) if one.strip()]
        number += len(lines)
        for part in _parts(given):
            note.tokens += sum(one.tokens for one in part)
            body = await _answered(loaded, options, part, state)
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await asyncio.sleep(0)  # others have their turn
        if too_long:
            told = f"a line has more than {state.settings.max_body} bytes; the stream ends here"
            await send(
                {"type": "http.response.body", "body": _told(Problem(413, told), None), "more_body": True}
            )
    await send({"type": "http.response.body", "body": b""})


def _parts(given: list[_Given]) -> Iterator[list[_Given]]:
    """Yield lines some at a time, so that each part is soon done."""
    part: list[_Given] = []
    size = 0
    for one in given:
        if part and size + one.tokens > INLINE:
            yield part
            part, size = [], 0
        part.append(one)
        size += one.tokens
    if part:
        yield part


async def _answered(loaded: Loaded, options: TagOptions, part: list[_Given], state: State) -> bytes:
    """Return the answers to some lines."""
    size = sum(one.tokens for one in part)

    def work() -> bytes:
        return b"".join(_each(loaded, options, part))

    try:
        with state.at_work(size):
            swift = size <= INLINE and service.is_plain(options)
            return work() if swift else await state.aside(work)
    except Problem as problem:  # too much at work
        return b"".join(_told(problem, one) for one in part)


def _each(loaded: Loaded, options: TagOptions, part: list[_Given]) -> Iterator[bytes]:
    """Yield the answer to each line; those of one kind are labeled together, unless one is wrong."""
    for kind, group in groupby(part, key=lambda one: one.kind):
        several = [*group]
        if not kind:
            yield from (_told(one.problem, one) for one in several if one.problem is not None)
            continue
        try:
            for one, result in zip(several, _found(loaded, options, kind, several), strict=True):
                yield _line(one, result)
        except Problem:
            for one in several:
                try:
                    yield _line(one, _found(loaded, options, kind, [one])[0])
                except Problem as problem:
                    yield _told(problem, one)


def _found(loaded: Loaded, options: TagOptions, kind: str, several: list[_Given]) -> list[Result]:
    asked: dict[str, Any] = {name: getattr(options, name) for name in _FIELDS}
    asked[_MANY[kind]] = [getattr(one.line, kind) for one in several]
    return service.results(loaded, TagRequest(**asked))


def _line(given: _Given, result: Result) -> bytes:
    assert given.line is not None
    result.id = given.line.id
    return _encode(result) + b"\n"


def _told(problem: Problem, given: _Given | None) -> bytes:
    """Return a line that says what is wrong, and in which line."""
    made = problem.as_dict()
    if given is not None:
        made["where"] = {**made.get("where", {}), "line": given.number + 1}
    line: dict[str, Any] = {"problem": made}
    if given is not None and given.line is not None and given.line.id is not None:
        line["id"] = given.line.id
    return _encode(line) + b"\n"
