"""What stands before an app: hosts, origins, tokens, the size and the time of bodies.

=============  ===================================================================================
`Hosts`        the Host header is one of those that are meant: no page of another site can reach
               the service under a name of its own (DNS rebinding)
`same_origin`  what changes something comes from a page of this service, or from no browser
`Token`        the request brings a token, as Bearer or, where asked for, as a Basic password
`Bodies`       the body is at most so large, whatever its Content-Length says, and comes within
               some seconds
=============  ===================================================================================

A guard looks at a request before the app runs. It raises a `Problem` (RFC 9457), or returns what the app
reads the body with. `Guarded` asks them in order:
``Guarded(app, Hosts(["127.0.0.1"]), same_origin, Bodies(1 << 20))``.
"""

from __future__ import annotations

import asyncio
import binascii
import hmac
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from crfkit.web.asgi import App, Message, RawHeaders, Receive, Scope, Send, raw_headers
from crfkit.web.problems import Problem, send_problem

__all__ = ["RIGHTS", "Bodies", "Guard", "Guarded", "Hosts", "Token", "admitted", "host_name"]
__all__ += ["is_of_kind", "same_origin"]

#: What a token may allow: tagging, explanations, reloading of models.
RIGHTS = frozenset({"tag", "explain", "admin"})

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

#: Judges a request by its scope and its headers; returns how to read its body.
Guard = Callable[[Scope, RawHeaders, Receive], Receive]


class Guarded:
    """An app behind guards. Everything but HTTP passes.

    Parameters
    ----------
    app : ASGI app
    *guards : Guard
        In the order in which they judge.
    """

    def __init__(self, app: App, *guards: Guard) -> None:
        self.app, self.guards = app, guards

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge and run one request; answer what is refused, before the app runs or while it reads."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, admitted(self.guards, scope, receive), sent)
        except Problem as problem:
            if not begun:
                await send_problem(send, problem)


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


def admitted(guards: Iterable[Guard], scope: Scope, receive: Receive) -> Receive:
    """Return what the app reads the body with; raise the Problem of the first guard that refuses."""
    headers = raw_headers(scope)
    for guard in guards:
        receive = guard(scope, headers, receive)
    return receive


class Hosts:
    """Requests whose Host header names one of the allowed hosts; all others are answered 421.

    Parameters
    ----------
    allowed : iterable of str
        Names or addresses, with or without a port, IPv6 in brackets or not; "*" allows all.
    """

    def __init__(self, allowed: Iterable[str]) -> None:
        bare = [f"[{name}]" if name.count(":") > 1 and name[:1] != "[" else name for name in allowed]
        self.allowed = frozenset(map(host_name, bare))
        self.all = "*" in self.allowed
        self._last: bytes | None = None  # that was allowed

    def __call__(self, scope: Scope, headers: RawHeaders, receive: Receive) -> Receive:
        """Judge one request."""
        given = headers.get(b"host")
        if self.all or (given is not None and given == self._last):  # nearly all have that of the one before
            return receive
        if given is None:
            raise Problem(400, "there is no Host header")
        name = given.decode("latin-1")
        if host_name(name) not in self.allowed:
            told = f"the Host header is {name!r:.80}, expected {' or '.join(sorted(self.allowed))}"
            raise Problem(421, told)
        self._last = given
        return receive


def same_origin(scope: Scope, headers: RawHeaders, receive: Receive) -> Receive:
    """Let requests that change something come only from pages of this service; others are answered 403.

    Unsafe methods (all but GET, HEAD and OPTIONS) must look same-origin: browsers say so by Sec-Fetch-Site,
    older ones by Origin. What sends neither is no browser. No browser sends a Bearer token by itself:
    requests that have one, and no cookies, pass.
    """
    site, named = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if (site is None and named is None) or scope["method"] in _SAFE or _looks_same(headers, site, named):
        return receive
    told = "the request comes from a page of another site; call the service from its own pages"
    raise Problem(403, told)


def _looks_same(headers: RawHeaders, site: bytes | None, named: bytes | None) -> bool:
    bearer = headers.get(b"authorization", b"").lower().startswith(b"bearer ")
    if bearer and b"cookie" not in headers:
        return True
    if site is not None or named is None:
        return site in (b"same-origin", b"none")
    try:
        asked = urlsplit(named.decode("latin-1")).netloc.lower()
    except ValueError:
        return False
    return asked != "" and asked == headers.get(b"host", b"").decode("latin-1").lower()


class Token:
    """Requests that bring one of the tokens; others are answered 401.

    Parameters
    ----------
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
        tokens: Iterable[str] | Mapping[str, Iterable[str]],
        *,
        basic: bool = False,
        open: Iterable[str] = (),
    ) -> None:
        given = tokens if isinstance(tokens, Mapping) else dict.fromkeys(tokens, RIGHTS)
        if not given or not all(given):
            raise ValueError("tokens is empty or has an empty one, expected one token or more")
        self.basic, self.open = basic, frozenset(open)
        self._known = [(_digest(token.encode()), frozenset(rights)) for token, rights in given.items()]
        self._ask = 'Basic realm="crfkit"' if basic else "Bearer"

    def __call__(self, scope: Scope, headers: RawHeaders, receive: Receive) -> Receive:
        """Judge one request."""
        if scope["path"] not in self.open:
            rights = self._rights(headers.get(b"authorization", b"").decode("latin-1"))
            if rights is None:
                told = "the request brings no known token; send the header Authorization: Bearer TOKEN"
                raise Problem(401, told, headers={"WWW-Authenticate": self._ask})
            scope["crfkit.rights"] = rights
        return receive

    def _rights(self, given: str) -> frozenset[str] | None:
        """Return what a request may do by its Authorization header; None where it brings no known token."""
        kind, _, value = given.partition(" ")
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


class Bodies:
    """Requests whose body is small and soon there; others are answered 413 or 408, and cut off.

    Parameters
    ----------
    limit : int
        Bytes.
    seconds : float, optional
        Until the whole body is there.
    streams : iterable of str
        Media types whose bodies the app reads piece by piece: it bounds their size, and each piece may take
        `seconds`.

    Notes
    -----
    One timer looks at all requests whose bodies are awaited, ten times in `seconds`.
    """

    def __init__(self, limit: int, seconds: float | None = None, *, streams: Iterable[str] = ()) -> None:
        self.limit, self.seconds, self.streams = limit, seconds, frozenset(streams)
        self._waiting: dict[asyncio.Task[Any], float] = {}  # until when
        self._late: set[asyncio.Task[Any]] = set()
        self._looking = False

    def __call__(self, scope: Scope, headers: RawHeaders, receive: Receive) -> Receive:
        """Judge one request by what it announces; by what comes, when the app reads it."""
        pieces = _media_type(headers.get(b"content-type")) in self.streams
        announced = headers.get(b"content-length", b"")
        if not pieces and announced.isdigit() and int(announced) > self.limit:
            raise self._too_large()
        size, until, more = 0, 0.0, True

        async def bounded() -> Message:
            nonlocal size, until, more
            if not more:  # the body was read: the app waits for the client to go
                return await receive()
            if self.seconds is None:
                message = await receive()
            else:
                if pieces or not until:
                    until = monotonic() + self.seconds
                task = self._awaited(until)
                try:
                    message = await receive()
                except asyncio.CancelledError:
                    if task not in self._late:
                        raise
                    raise self._too_late(task) from None
                finally:
                    self._waiting.pop(task, None)
            more = message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > self.limit and not pieces:
                raise self._too_large()
            return message

        return bounded

    def _too_large(self) -> Problem:
        told = f"the body has more than {self.limit} bytes; send less at a time"
        return Problem(413, told, headers={"Connection": "close"})

    def _too_late(self, task: asyncio.Task[Any]) -> Problem:
        self._late.discard(task)
        if hasattr(task, "uncancel"):
            task.uncancel()
        told = f"the body did not come within {self.seconds:g} seconds"
        return Problem(408, told, headers={"Connection": "close"})

    def _awaited(self, until: float) -> asyncio.Task[Any]:
        """Note that the present task waits for a piece; return the task."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = until
        if not self._looking:
            self._look_again(task.get_loop())
        return task

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give up what is late, a little later, as long as there is something to wait for."""
        assert self.seconds is not None
        self._looking = True
        loop.call_later(self.seconds / 10, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = monotonic()
        for task, until in [*self._waiting.items()]:
            if until < now:
                del self._waiting[task]
                self._late.add(task)
                task.cancel()
        self._looking = False
        if self._waiting:
            self._look_again(loop)


def is_of_kind(scope: Scope, kinds: frozenset[str]) -> bool:
    """Return whether a request has one of these media types."""
    return _media_type(raw_headers(scope).get(b"content-type")) in kinds


@lru_cache(maxsize=64)  # nearly all requests have the same header
def _media_type(given: bytes | None) -> str:
    return (given or b"").decode("latin-1").partition(";")[0].strip().lower()
