"""The app on uvicorn: a socket, signals, reloading, an end that loses no request.

SIGHUP loads all models anew. SIGTERM makes the service not ready, serves on for a while, so that whoever
sends requests notices, then stops accepting and lets requests at work end. Ctrl-C, or a second signal, skips
the wait.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crfkit.web.asgi import App
from crfkit.web.observing import AccessLog
from crfkit.web.settings import Settings
from crfkit.web.state import State

__all__ = ["bound", "reload_all", "run"]

_IDLE: Final = 75  # seconds that a connection may be idle between requests
_CYCLES: Final = 50_000  # objects until cycles are looked for; requests make none
_HEADERS: Final = 1 << 16  # bytes of all headers of a request


def bound(settings: Settings) -> socket.socket:
    """Return a socket that is bound to the address of the service."""
    kind = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
    except OSError as error:
        made.close()
        raise ValueError(
            f"cannot serve on {settings.address}: {error.strerror}; give another --port or --host"
        ) from None
    return made


def run(app: App, state: State, listener: socket.socket, log: AccessLog | None = None) -> None:
    """Serve until a signal ends it."""
    config = uvicorn.Config(
        app,
        http=_Patient,
        loop="uvloop" if sys.platform != "win32" else "auto",
        ws="none",
        lifespan="off",
        access_log=False,
        proxy_headers=False,  # nobody asks for the address of the client
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=max(int(state.settings.grace), 1),
    )
    gc.collect()
    gc.freeze()  # what is loaded stays: nobody need look at it again
    gc.set_threshold(_CYCLES)
    try:
        _Server(config, state).run(sockets=[listener])
    finally:
        state.close()
        if log is not None:
            log.flush()


async def reload_all(
    state: State, names: list[str] | None = None, say: Callable[[str], None] | None = None
) -> None:
    """Load models anew, one after the other, while requests run."""
    for name in state.models.names() if names is None else names:
        try:
            new = await state.aside(lambda name=name: state.models.reload(name))  # type: ignore[misc]
        except (OSError, ValueError) as error:
            state.metrics.reloads["failed"] += 1
            told = f"{error}; the old model {name} serves on"
        else:
            state.metrics.reloads["new" if new else "same"] += 1
            told = f"model {name} is now {state.models[name].version}" if new else ""
        if told and say is not None:
            say(told)


def _say(text: str) -> None:
    print(f"crfkit: {text}", file=sys.stderr, flush=True)


class _Server(uvicorn.Server):
    """A server that hears signals, looks at model files, and ends in two steps."""

    def __init__(self, config: uvicorn.Config, state: State) -> None:
        super().__init__(config)
        self.state = state
        self._watching: asyncio.Task[None] | None = None
        self._reloading: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `startup`."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, and hear signals."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        await super().startup(sockets)
        if self.state.settings.watch:
            self._watching = loop.create_task(self._watch())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and let requests end."""
        if self._watching is not None:
            self._watching.cancel()
        await super().shutdown(sockets)

    def _end(self, number: int) -> None:
        if self.should_exit:
            self.force_exit = True
        again, self.state.draining = self.state.draining, True
        if again or number == signal.SIGINT:
            self.should_exit = True
        else:
            asyncio.get_running_loop().call_later(self.state.settings.drain, self._stop)

    def _stop(self) -> None:
        self.should_exit = True

    def _reload(self) -> None:
        task = asyncio.get_running_loop().create_task(reload_all(self.state, say=_say))
        self._reloading.add(task)
        task.add_done_callback(self._reloading.discard)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.state.settings.watch)
            if changed := self.state.models.changed():
                await reload_all(self.state, changed, _say)


class _Patient(HttpToolsProtocol):
    """A connection whose headers must come in time, and be of a sensible size; one that is idle is closed.

    Uvicorn makes and cancels a timer for each request. Here a connection looks at its clock now and then.
    """

    patience = 10.0  # seconds
    _until = 0.0  # when to give up; infinite while a request is at work
    _open, _bytes = True, 0  # whether headers are awaited, and what came of them

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._until = self.loop.time() + self.patience
        self._look()

    def _look(self) -> None:
        if self.loop.time() > self._until:
            self.transport.close()
        if not self.transport.is_closing():
            self._timer = self.loop.call_later(self.patience / 8, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; headers that come in pieces are counted."""
        super().data_received(data)
        if self._open:
            self._bytes += len(data)
            if self._bytes > _HEADERS:
                self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for headers."""
        super().on_message_begin()
        self._until, self._open, self._bytes = self.loop.time() + self.patience, True, 0

    def on_headers_complete(self) -> None:
        """Wait no more: `crfkit.web.guards.Bodies` waits for the body."""
        self._until, self._open = inf, False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Start the next request that waits, or wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._until == inf:
            self._until = self.loop.time() + _IDLE
