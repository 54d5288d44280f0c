"""Paths to what they do. Tagging is a bare ASGI app, the others are routes of Starlette."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from crfkit.web import service
from crfkit.web.asgi import App, Receive, Scope, Send
from crfkit.web.guards import is_of_kind
from crfkit.web.health import health_routes
from crfkit.web.messages import ExplainRequest, TagRequest
from crfkit.web.models import Loaded
from crfkit.web.observing import Answering, Note
from crfkit.web.openapi import openapi_routes
from crfkit.web.problems import Problem, problem_response
from crfkit.web.reading import decoded, measured, options_of, size_of_one, whole_body
from crfkit.web.state import INLINE, State
from crfkit.web.streams import KIND as STREAM
from crfkit.web.streams import stream

__all__ = ["Tagging", "dispatched", "model_of", "need", "noted", "router"]

_JSON: Final = b"application/json"
_STREAMS: Final = frozenset({STREAM})
_BEFORE, _AFTER = "/v1/models/", "/tag"
_tag = msgspec.json.Decoder(TagRequest)
_explain = msgspec.json.Decoder(ExplainRequest)
_encode = msgspec.json.Encoder().encode


def need(scope: Scope, right: str) -> None:
    """Refuse a request whose token does not have a right."""
    rights = scope.get("crfkit.rights")
    if rights is not None and right not in rights:
        raise Problem(403, f"the token does not have the right {right!r}")


def model_of(state: State, name: str) -> Loaded:
    """Return a model by its name."""
    found = state.models.get(name)
    if found is None:
        have = ", ".join(state.models.names())
        raise Problem(404, f"there is no model {name!r:.60}; the models are {have}", {"field": "model"})
    return found


def noted(scope: Scope, route: str, model: str = "", tokens: int = 0) -> Note:
    """Return what the log and the metrics will know of a request, with these."""
    note: Note = scope["crfkit.note"]
    note.route, note.model, note.tokens = route, model, tokens
    return note


class Tagging:
    """``POST /v1/models/{m}/tag``: one JSON body, or a stream of lines."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> bytes | None:
        """Return the answer to one body; send the lines that answer a stream."""
        state, note = self.state, scope["crfkit.note"]
        need(scope, "tag")
        loaded = model_of(state, scope["path"][len(_BEFORE) : -len(_AFTER)])
        note.route, note.model = "tag", loaded.name
        state.check_room()
        if is_of_kind(scope, _STREAMS):
            options = options_of(dict(parse_qsl(scope["query_string"].decode("latin-1"))), state.settings)
            await stream(loaded, options, state, note, receive, send)
            return None
        given = decoded(_tag, await whole_body(receive))
        tokens = note.tokens = measured(given, state.settings)
        state.begin(tokens)
        try:
            if tokens <= INLINE and service.is_plain(given):
                return _encode(service.tag(loaded, given))
            return await state.aside(lambda: _encode(service.tag(loaded, given)))
        finally:
            state.in_flight -= tokens


def dispatched(tagging: Tagging, others: App) -> Answering:
    """Return an app that sends requests to tag to one app, and all others to another."""

    def dispatch(scope: Scope, receive: Receive, send: Send) -> Awaitable[bytes | None]:
        path: str = scope["path"] if scope["type"] == "http" and scope["method"] == "POST" else ""
        hot = path.startswith(_BEFORE) and path.endswith(_AFTER)
        return (tagging if hot else others)(scope, receive, send)

    return dispatch


class _Api:
    """What the other paths under ``/v1/models`` answer."""

    def __init__(self, state: State) -> None:
        self.state = state

    async def models(self, request: Request) -> Response:
        """List the models."""
        noted(request.scope, "models")
        return _json({"models": [one.card() for one in self.state.models]})

    async def model(self, request: Request) -> Response:
        """Tell what a model is."""
        loaded = model_of(self.state, request.path_params["name"])
        noted(request.scope, "model", loaded.name)
        return _json(loaded.card())

    async def explain(self, request: Request) -> Response:
        """Tell why labels of one sequence won."""
        need(request.scope, "explain")
        loaded = model_of(self.state, request.path_params["name"])
        given = decoded(_explain, await whole_body(request.receive))
        size = size_of_one(given, self.state.settings)
        noted(request.scope, "explain", loaded.name, size)
        with self.state.at_work(size):
            return _json(await self.state.aside(lambda: service.explain(loaded, given)))

    async def compare(self, request: Request) -> Response:
        """Label by two models."""
        need(request.scope, "explain")
        first = model_of(self.state, request.path_params["name"])
        name = request.query_params.get("with")
        if name is None:
            raise Problem(422, "compare needs the other model: /compare?with=NAME", {"field": "with"})
        second = model_of(self.state, name)
        given = decoded(_tag, await whole_body(request.receive))
        size = measured(given, self.state.settings)
        noted(request.scope, "compare", first.name, size)
        with self.state.at_work(size):
            return _json(await self.state.aside(lambda: service.compare(first, second, given)))

    async def reload(self, request: Request) -> Response:
        """Load the file of a model again."""
        need(request.scope, "admin")
        state = self.state
        loaded = model_of(state, request.path_params["name"])
        noted(request.scope, "reload", loaded.name)
        try:
            new = await state.aside(lambda: state.models.reload(loaded.name))
        except (OSError, ValueError) as error:
            state.metrics.reloads["failed"] += 1
            raise Problem(409, f"the old model serves on: {error}") from None
        state.metrics.reloads["new" if new else "same"] += 1
        return _json({"new": new, "model": state.models[loaded.name].told})


def router(state: State, more: list[BaseRoute]) -> Starlette:
    """Return the routes of the service; `more` are those of tools."""
    api, one = _Api(state), "/v1/models/{name}"
    made: list[BaseRoute] = [
        Route("/v1/models", api.models),
        Route(one, api.model),
        Route(f"{one}/tag", Tagging(state), methods=["POST"]),
        Route(f"{one}/explain", api.explain, methods=["POST"]),
        Route(f"{one}/compare", api.compare, methods=["POST"]),
        Route(f"{one}/reload", api.reload, methods=["POST"]),
        *health_routes(state),
        *openapi_routes(state),
        *more,
    ]
    handlers: Any = {HTTPException: _told_by_starlette, Problem: problem_response}
    return Starlette(routes=made, exception_handlers=handlers)


def _json(plain: Any) -> Response:
    return Response(_encode(plain), media_type="application/json")


def _told_by_starlette(request: Request, error: HTTPException) -> Response:
    told = {
        404: f"there is nothing at {request.url.path!r:.80}; /docs lists what there is",
        405: f"{request.method} is not for {request.url.path!r:.80}; /docs lists what is",
    }.get(error.status_code, str(error.detail))
    return problem_response(request, Problem(error.status_code, told, headers=dict(error.headers or {})))
