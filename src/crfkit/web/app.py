"""The app: routes behind guards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crfkit.web.asgi import App
from crfkit.web.guards import RIGHTS, Bodies, Guard, Hosts, Token, same_origin
from crfkit.web.health import OPEN
from crfkit.web.observing import AccessLog, Observed
from crfkit.web.routes import Tagging, dispatched, router
from crfkit.web.state import State
from crfkit.web.streams import KIND
from crfkit.web.tools import tool_routes

__all__ = ["create_app", "tokens_of"]


def create_app(
    state: State, tokens: Mapping[str, Iterable[str]] | None = None, log: AccessLog | None = None
) -> App:
    """Return the ASGI app of a service, which any server can run and tests can call.

    Parameters
    ----------
    state : State
        Models and settings.
    tokens : mapping of token -> rights, optional
        None: none is needed.
    log : AccessLog, optional

    Examples
    --------
    >>> import asyncio, tempfile
    >>> import httpx
    >>> from crfkit import ChainCRF
    >>> from crfkit.web import Models, Settings, State, create_app
    >>> crf = ChainCRF().fit([["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     crf.save(f"{folder}/m.crf")
    ...     state = State(Models({"m": f"{folder}/m.crf"}), Settings(host_names="*"))
    >>> async def tag(tokens):
    ...     transport = httpx.ASGITransport(create_app(state))
    ...     async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
    ...         return (await client.post("/v1/models/m/tag", json={"tokens": tokens})).json()
    >>> asyncio.run(tag([["New", "York"]]))["results"]
    [{'labels': ['B-LOC', 'I-LOC']}]
    """
    settings = state.settings
    guards: list[Guard] = [Hosts(settings.allowed_hosts), same_origin]
    if tokens is not None:
        guards.append(Token(tokens, basic=settings.label_studio, open=OPEN))
    guards.append(Bodies(settings.max_body, settings.body_seconds, streams=[KIND]))
    app = dispatched(Tagging(state), router(state, tool_routes(state)))
    return Observed(app, state, log, *guards)


def tokens_of(text: str, source: str = "the file of tokens") -> dict[str, frozenset[str]]:
    r"""Return the tokens of a file, with their rights.

    Examples
    --------
    >>> found = tokens_of("# of the web page\n8f2c01aa9d1e4b77 tag\n77aa01c28f2c9d1e\n")
    >>> [sorted(rights) for rights in found.values()]
    [['tag'], ['admin', 'explain', 'tag']]
    """
    made: dict[str, frozenset[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        token, *rights = line.partition("#")[0].split()[:4] or [""]
        if not token:
            continue
        if odd := sorted({*rights} - RIGHTS):
            known = ", ".join(sorted(RIGHTS))
            raise ValueError(f"{source}, line {number}: {odd[0]!r} is not a right; expected some of {known}")
        if len(token) < 16:
            raise ValueError(f"{source}, line {number}: the token is short, expected 16 letters or more")
        made[token] = frozenset(rights) or RIGHTS
    if not made:
        raise ValueError(f"{source} has no token; write one to a line")
    return made
