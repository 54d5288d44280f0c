"""Around all else: request ids, problems as answers, metrics, and a line of the log for each request."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import traceback
from contextlib import suppress
from itertools import count
from time import perf_counter, time
from typing import IO

from crfkit.web.asgi import App, Message, Receive, Scope, Send, header
from crfkit.web.problems import Problem, send_problem
from crfkit.web.state import State

__all__ = ["AccessLog", "Note", "Observed"]

_GOOD_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_ID = b"x-request-id"


class Note:
    """What a route says of its request, for the log and the metrics."""

    route = "other"
    model = ""
    tokens = 0


class Observed:
    """An app whose requests are counted, timed and logged, and whose problems become answers.

    Parameters
    ----------
    app : ASGI app
        Finds a `Note` in ``scope["crfkit.note"]``.
    state : State
    log : AccessLog, optional
    """

    def __init__(self, app: App, state: State, log: AccessLog | None = None) -> None:
        self.app, self.state, self.log = app, state, log
        self._prefix = os.urandom(4).hex()
        self._numbers = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = perf_counter()
        given = header(scope, _ID)
        if given is None or not _GOOD_ID.fullmatch(given):
            given = f"{self._prefix}-{next(self._numbers):x}"
        name = given
        note = scope["crfkit.note"] = Note()
        status = 0
        state = self.state

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (_ID, name.encode())]
                if state.draining:
                    headers.append((b"connection", b"close"))
                message["headers"] = headers
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except Problem as problem:
            if not status:
                await send_problem(sent, problem)
        except Exception as error:
            _tell(error, name)
            if not status:
                told = f"a mistake in the service; please report it with the log of request {name}"
                await send_problem(sent, Problem(500, told))
        finally:
            seconds = perf_counter() - begin
            state.metrics.add(note.route, note.model, status, seconds)
            if note.tokens:
                state.metrics.tokens[note.model] += note.tokens
            if self.log is not None:
                self.log.add((name, scope["method"], note, status, begin, seconds))


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
        self._records: list[tuple[str, str, Note, int, float, float]] = []
        self._waiting = False

    def add(self, record: tuple[str, str, Note, int, float, float]) -> None:
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
            f'{{"time":{begin + offset:.3f},"id":"{name}","method":"{method}","route":"{note.route}",'
            f'"model":"{note.model}","status":{status},"ms":{seconds * 1e3:.3f},"tokens":{note.tokens}}}\n'
            for name, method, note, status, begin, seconds in records
        ]
        with suppress(OSError, ValueError):
            self.file.write("".join(lines).encode())
            self.file.flush()
