"""What stands before an app: hosts, origins, tokens, the size and the time of bodies, an ASGI class each.

=============  ===================================================================================
`Hosts`        the Host header is one of those that are meant: no page of another site can reach
               the service under a name of its own (DNS rebinding)
`SameOrigin`   what changes something comes from a page of this service, or from no browser
`Token`        the request brings a token, as Bearer or, where asked for, as a Basic password
`BodyLimit`    the body is at most so large, whatever its Content-Length says
`Patience`     the body comes within some seconds
=============  ===================================================================================

A guard lets everything but HTTP pass, and answers what it refuses with a problem (RFC 9457). They are nested,
the first to judge outermost: ``Hosts(SameOrigin(Token(BodyLimit(app, 1 << 20), tokens)), ["127.0.0.1"])``.
"""

from __future__ import annotations

import asyncio
import binascii
import hmac
from base64 import b64decode
from collections.abc import Generator, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from crfkit.web.asgi import App, Message, Receive, Scope, Send, header, raw_header
from crfkit.web.problems import Problem, send_problem

__all__ = ["RIGHTS", "BodyLimit", "Hosts", "Patience", "SameOrigin", "Token", "host_name", "is_of_kind"]

#: What a token may allow: tagging, explanations, reloading of models.
RIGHTS = frozenset({"tag", "explain", "admin"})

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def host_name(given: str) -> str:
    """Return the name in a Host header: without its port, in lower case.

    Examples
    --------
    >>> host_name("Example.org:8080"), host_name("[::1]:8080"), host_name("[::1]")
    ('example.org', '[::1]', '[::1]')
    """
    name = given.strip().lower()
    if name.startswith("["):
        return name[: name.find("]") + 1]
    return name.partition(":")[0]


class Hosts:
    """Requests whose Host header names one of the allowed hosts; all others are answered 421.

    Parameters
    ----------
    app : ASGI app
    allowed : iterable of str
        Names or addresses, with or without a port, IPv6 in brackets or not; "*" allows all.
    """

    def __init__(self, app: App, allowed: Iterable[str]) -> None:
        self.app = app
        bare = [f"[{name}]" if name.count(":") > 1 and name[:1] != "[" else name for name in allowed]
        self.allowed = frozenset(map(host_name, bare))
        self.all = "*" in self.allowed
        self._last: bytes | None = None  # that was allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one request."""
        if scope["type"] == "http" and not self.all:
            given = raw_header(scope, b"host")
            if given is None or given != self._last:  # nearly all requests have the Host of the one before
                wrong = self._wrong(given)
                if wrong is not None:
                    await send_problem(send, wrong)
                    return
                self._last = given
        await self.app(scope, receive, send)

    def _wrong(self, given: bytes | None) -> Problem | None:
        if given is None:
            return Problem(400, "there is no Host header")
        name = given.decode("latin-1")
        if host_name(name) in self.allowed:
            return None
        told = f"the Host header is {name!r:.80}, expected {' or '.join(sorted(self.allowed))}"
        return Problem(421, told)


class SameOrigin:
    """Requests that change something only from pages of this service; others are answered 403.

    Unsafe methods (all but GET, HEAD and OPTIONS) must look same-origin: browsers say so by Sec-Fetch-Site,
    older ones by Origin. What sends neither is no browser. No browser sends a Bearer token by itself:
    requests that have one, and no cookies, pass.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one request."""
        if scope["type"] == "http" and scope["method"] not in _SAFE and not _looks_same(scope):
            told = "the request comes from a page of another site; call the service from its own pages"
            await send_problem(send, Problem(403, told))
            return
        await self.app(scope, receive, send)


def _looks_same(scope: Scope) -> bool:
    site, named = raw_header(scope, b"sec-fetch-site"), raw_header(scope, b"origin")
    if site is None and named is None:
        return True
    origin = header(scope, b"origin")
    bearer = (header(scope, b"authorization") or "").lower().startswith("bearer ")
    if bearer and header(scope, b"cookie") is None:
        return True
    if site is not None or origin is None:
        return site in (b"same-origin", b"none")
    try:
        asked = urlsplit(origin).netloc.lower()
    except ValueError:
        return False
    return asked != "" and asked == (header(scope, b"host") or "").lower()


class Token:
    """Requests that bring one of the tokens; others are answered 401.

    Parameters
    ----------
    app : ASGI app
    tokens : iterable of str, or mapping of token -> rights
        Rights are names of `RIGHTS`; without them a token allows all. The app finds those of the request in
        ``scope["crfkit.rights"]``.
    basic : bool
        Whether the token may come as the password of Basic too, with any user name: browsers and Label Studio
        know no other way.
    open : iterable of str
        Paths that need no token, such as those of health checks.

    Notes
    -----
    Tokens are compared by their digests, all of them, in constant time.
    """

    def __init__(
        self,
        app: App,
        tokens: Iterable[str] | Mapping[str, Iterable[str]],
        *,
        basic: bool = False,
        open: Iterable[str] = (),
    ) -> None:
        given = tokens if isinstance(tokens, Mapping) else dict.fromkeys(tokens, RIGHTS)
        if not given or not all(given):
            raise ValueError("tokens is empty or has an empty one, expected one token or more")
        self.app, self.basic, self.open = app, basic, frozenset(open)
        self._known = [(_digest(token.encode()), frozenset(rights)) for token, rights in given.items()]
        self._ask = b'Basic realm="crfkit"' if basic else b"Bearer"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one request."""
        if scope["type"] == "http" and scope["path"] not in self.open:
            rights = self._rights(header(scope, b"authorization"))
            if rights is None:
                told = "the request brings no known token; send the header Authorization: Bearer TOKEN"
                asked = {"WWW-Authenticate": self._ask.decode()}
                await send_problem(send, Problem(401, told, headers=asked))
                return
            scope["crfkit.rights"] = rights
        await self.app(scope, receive, send)

    def _rights(self, given: str | None) -> frozenset[str] | None:
        """Return what a request may do by its Authorization header; None where it brings no known token."""
        kind, _, value = (given or "").partition(" ")
        token = b""
        if kind.lower() == "bearer":
            token = value.strip().encode("latin-1")
        elif kind.lower() == "basic" and self.basic:
            try:
                token = b64decode(value.strip(), validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                token = b""
        found, asked = None, _digest(token)
        for digest, rights in self._known:
            if hmac.compare_digest(asked, digest):
                found = rights
        return found


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()


class BodyLimit:
    """Requests whose body has at most `limit` bytes; others are answered 413, and the connection is closed.

    Parameters
    ----------
    app : ASGI app
    limit : int
        Bytes.
    streams : iterable of str
        Media types whose bodies the app reads piece by piece and bounds itself.
    """

    def __init__(self, app: App, limit: int, *, streams: Iterable[str] = ()) -> None:
        self.app, self.limit, self.streams = app, limit, frozenset(streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one request: by what it announces, and by what comes."""
        if scope["type"] != "http" or is_of_kind(scope, self.streams):
            await self.app(scope, receive, send)
            return
        announced = raw_header(scope, b"content-length")
        if announced is not None and announced.isdigit():
            if int(announced) > self.limit:
                await self._refuse(send)
            else:  # the server delivers no more than was announced
                await self.app(scope, receive, send)
            return
        await self._counted(scope, receive, send)

    async def _refuse(self, send: Send) -> None:
        told = f"the body has more than {self.limit} bytes; send less at a time"
        await send_problem(send, Problem(413, told, headers={"Connection": "close"}))

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app on a body of unknown size; beyond the limit it sees the client gone."""
        size, over, begun = 0, False, False

        async def counted() -> Message:
            nonlocal size, over
            if over:
                return {"type": "http.disconnect"}
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.limit:
                over = True
                if not begun:
                    await self._refuse(send)
                return {"type": "http.disconnect"}
            return message

        async def sent(message: Message) -> None:
            nonlocal begun
            if not over:
                begun = True
                await send(message)

        try:
            await self.app(scope, counted, sent)
        except Exception:
            if not over:
                raise


class Patience:
    """Requests whose body comes within some seconds; others are answered 408.

    Parameters
    ----------
    app : ASGI app
    seconds : float
    streams : iterable of str
        Media types of which each piece may take as long.

    Notes
    -----
    A body that is there with its headers, as nearly all are, is not timed. One timer looks at all requests
    whose bodies are awaited, ten times in `seconds`.
    """

    def __init__(self, app: App, seconds: float, *, streams: Iterable[str] = ()) -> None:
        self.app, self.seconds, self.streams = app, seconds, frozenset(streams)
        self._waiting: dict[asyncio.Task[Any], float] = {}  # until when
        self._late: set[asyncio.Task[Any]] = set()
        self._looking = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request, and give it up where its body does not come."""
        if scope["type"] != "http" or scope["method"] in _SAFE:
            await self.app(scope, receive, send)
            return
        coming: Any = receive()
        started: _Started | None = None
        ready: Message | None = None
        try:
            started = _Started(coming, coming.send(None))
        except StopIteration as ended:  # it is there
            ready = ended.value
        timed = ready is None or ready.get("more_body", False)

        async def replayed() -> Message:
            nonlocal ready, started
            if ready is not None:
                message, ready = ready, None
                return message
            if started is not None:
                waiting, started = started, None
                return await waiting
            return await receive()

        if timed:
            await self._timed(scope, replayed, send)
        else:
            await self.app(scope, replayed, send)

    async def _timed(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        pieces = is_of_kind(scope, self.streams)
        begun = False
        self._wait_for(task)

        async def timed() -> Message:
            if pieces:
                self._wait_for(task)
            message = await receive()
            if pieces or not message.get("more_body"):
                self._waiting.pop(task, None)
            return message

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, timed, sent if pieces else send)
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            if hasattr(task, "uncancel"):
                task.uncancel()
            if not begun:
                told = f"the body did not come within {self.seconds:g} seconds"
                await send_problem(send, Problem(408, told, headers={"Connection": "close"}))
        finally:
            self._waiting.pop(task, None)
            self._late.discard(task)

    def _wait_for(self, task: asyncio.Task[Any]) -> None:
        self._waiting[task] = monotonic() + self.seconds
        if not self._looking:
            self._looking = True
            task.get_loop().call_later(self.seconds / 10, self._look, task.get_loop())

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give up what is late, and look again while there is something to wait for."""
        now = monotonic()
        for task, until in [*self._waiting.items()]:
            if until < now:
                del self._waiting[task]
                self._late.add(task)
                task.cancel()
        self._looking = bool(self._waiting)
        if self._looking:
            loop.call_later(self.seconds / 10, self._look, loop)


class _Started:
    """A coroutine that is waiting for something already, to be awaited from there."""

    def __init__(self, coming: Any, waits_for: Any) -> None:
        self.coming, self.waits_for = coming, waits_for

    def __await__(self) -> Generator[Any, Any, Message]:
        waits_for = self.waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:
                    waits_for = self.coming.throw(error)
                else:
                    waits_for = self.coming.send(sent)
        except StopIteration as ended:
            message: Message = ended.value
            return message


def is_of_kind(scope: Scope, kinds: frozenset[str]) -> bool:
    """Return whether a request has one of these media types."""
    return _media_type(raw_header(scope, b"content-type")) in kinds


@lru_cache(maxsize=64)  # nearly all requests have the same header
def _media_type(given: bytes | None) -> str:
    return (given or b"").decode("latin-1").partition(";")[0].strip().lower()
