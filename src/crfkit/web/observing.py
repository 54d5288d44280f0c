"""Around all else: request ids, problems as answers, metrics, and a line of the log for each request."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from time import perf_counter, time
from typing import IO

from crfkit.web.asgi import Message, Receive, Scope, Send, answer, raw_headers
from crfkit.web.guards import Guard, admitted
from crfkit.web.problems import Problem, send_problem
from crfkit.web.state import State

__all__ = ["AccessLog", "Answering", "Note", "Observed"]

_GOOD_ID = re.compile(rb"[\w.:-]{1,64}")
_ID = b"x-request-id"
_JSON = b"application/json"

#: Sends its answer as ASGI has it, or returns the body of an answer in JSON.
Answering = Callable[[Scope, Receive, Send], Awaitable[bytes | None]]


class Note:
    """What a route says of its request, for the log and the metrics."""

    route = "other"
    model = ""
    tokens = 0


class Observed:
    """An app behind guards, whose requests are counted, timed and logged, and whose problems become answers.

    Parameters
    ----------
    app : ASGI app
        Finds a `Note` in ``scope["crfkit.note"]``. It may return a body in JSON instead of sending an answer.
    state : State
    log : AccessLog, optional
    *guards : Guard
        In the order in which they judge.
    """

    def __init__(self, app: Answering, state: State, log: AccessLog | None, *guards: Guard) -> None:
        self.app, self.guards = app, guards
        self.state, self.log = state, log
        self._prefix = os.urandom(4).hex().encode() + b"-"
        self._numbers = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = perf_counter()
        given = raw_headers(scope).get(_ID)
        if given is None or not _GOOD_ID.fullmatch(given):
            given = self._prefix + b"%x" % next(self._numbers)
        name = given
        note = scope["crfkit.note"] = Note()
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if not status:
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *self._more(name)]
            await send(message)

        try:
            body = await self.app(scope, admitted(self.guards, scope, receive), sent)
            if body is not None:
                status = 200
                await answer(send, 200, body, _JSON, self._more(name))
        except Problem as problem:
            if not status:
                await send_problem(sent, problem)
        except Exception as error:
            _tell(error, name.decode())
            if not status:
                told = f"a mistake in the service; please report it with the log of request {name.decode()}"
                await send_problem(sent, Problem(500, told))
        finally:
            seconds = perf_counter() - begin
            self.state.metrics.add(note.route, note.model, status, seconds, note.tokens)
            if self.log is not None:
                self.log.add((name, scope["method"], note, status, begin, seconds))

    def _more(self, name: bytes) -> list[tuple[bytes, bytes]]:
        """Return headers that every answer has."""
        return [(_ID, name), (b"connection", b"close")] if self.state.draining else [(_ID, name)]


def _tell(error: Exception, name: str) -> None:
    """Print where a mistake happened; not its message, which may quote a text."""
    places = "".join(traceback.format_tb(error.__traceback__))
    print(f"crfkit: request {name} ended by {type(error).__name__} at\n{places}", file=sys.stderr, flush=True)


class AccessLog:
    """A line of JSON for each request: time, id, route, sizes, seconds; never what it said.

    Lines are written some at a time, at the latest after a fifth of a second.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._records: list[tuple[bytes, str, Note, int, float, float]] = []
        self._waiting = False

    def add(self, record: tuple[bytes, str, Note, int, float, float]) -> None:
        """Keep a request, to be written a little later: id, method, note, status, begin, seconds."""
        self._records.append(record)
        if not self._waiting:
            self._waiting = True
            asyncio.get_running_loop().call_later(0.2, self.flush)

    def flush(self) -> None:
        """Write what there is; a log that cannot be written to is no reason to end."""
        records, self._records, self._waiting = self._records, [], False
        if not records:
            return
        offset = time() - perf_counter()
        # None of the texts in a line can have a quote: ids are checked, routes and models are names.
        lines = [
            f'{{"time":{begin + offset:.3f},"id":"{name.decode()}","method":"{method}",'
            f'"route":"{note.route}","model":"{note.model}","status":{status},'
            f'"ms":{seconds * 1e3:.3f},"tokens":{note.tokens}}}\n'
            for name, method, note, status, begin, seconds in records
        ]
        with suppress(OSError, ValueError):
            self.file.write("".join(lines).encode())
            self.file.flush()
