"""What the service can do, as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from crfkit import __version__
from crfkit.web.messages import CompareAnswer, ExplainAnswer, ExplainRequest, Line, TagAnswer, TagRequest
from crfkit.web.state import State

__all__ = ["openapi", "openapi_routes"]

_MODEL: Final = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
_WITH: Final = {"name": "with", "in": "query", "required": True, "schema": {"type": "string"}}
_REF: Final = "#/components/schemas/{name}"
_PROBLEM: Final = {
    "type": "object",
    "description": "What is wrong (RFC 9457), and where.",
    "required": ["title", "status", "detail"],
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "where": {"type": "object", "description": "field, sequence, token, line"},
    },
}
#: (method, path, what it does, request, answer, parameters)
_ROUTES: Final[tuple[tuple[str, str, str, str, str, tuple[Any, ...]], ...]] = (
    (
        "post",
        "/v1/models/{model}/tag",
        "Label texts or sequences. Lines of application/x-ndjson are answered line by line, with the options "
        "in the URL.",
        "TagRequest",
        "TagAnswer",
        (_MODEL,),
    ),
    (
        "post",
        "/v1/models/{model}/explain",
        "Tell why labels of one sequence won.",
        "ExplainRequest",
        "ExplainAnswer",
        (_MODEL,),
    ),
    (
        "post",
        "/v1/models/{model}/compare",
        "Label by two models.",
        "TagRequest",
        "CompareAnswer",
        (_MODEL, _WITH),
    ),
    ("get", "/v1/models", "List the models.", "", "", ()),
    ("get", "/v1/models/{model}", "Tell what a model is.", "", "", (_MODEL,)),
    ("post", "/v1/models/{model}/reload", "Load the file of a model again.", "", "", (_MODEL,)),
    ("get", "/health/live", "Tell that the process lives.", "", "", ()),
    ("get", "/health/ready", "Tell whether requests should be sent here; 503 before the end.", "", "", ()),
    ("get", "/metrics", "Counts and times for Prometheus.", "", "", ()),
)


def openapi() -> dict[str, Any]:
    """Return the description of the service.

    Examples
    --------
    >>> made = openapi()
    >>> made["openapi"], made["paths"]["/v1/models/{model}/tag"]["post"]["operationId"]
    ('3.1.0', 'tag')
    """
    types = [TagRequest, TagAnswer, ExplainRequest, ExplainAnswer, CompareAnswer, Line]
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    paths: dict[str, Any] = {}
    for method, path, told, asked, answered, parameters in _ROUTES:
        wrong = {
            "description": "a problem",
            "content": {"application/problem+json": {"schema": _ref("Problem")}},
        }
        ok: dict[str, Any] = {"description": "the answer"}
        if answered:
            ok["content"] = {"application/json": {"schema": _ref(answered)}}
        one: dict[str, Any] = {
            "summary": told,
            "operationId": "_".join(
                part for part in path.split("/") if part and part[0] not in "v{"
            ).removeprefix("models_"),
            "responses": {"200": ok, "default": wrong},
        }
        if path == "/v1/models/{model}":
            one["operationId"] = "model"
        if parameters:
            one["parameters"] = [*parameters]
        if asked:
            content = {"application/json": {"schema": _ref(asked)}}
            if asked == "TagRequest" and path.endswith("/tag"):
                content["application/x-ndjson"] = {"schema": _ref("Line")}
            one["requestBody"] = {"required": True, "content": content}
        paths.setdefault(path, {})[method] = one
    return {
        "openapi": "3.1.0",
        "info": {"title": "crfkit", "version": __version__, "description": "Labels of sequences and texts."},
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


def openapi_routes(state: State) -> list[BaseRoute]:
    """Return the routes of the description and of its page."""

    async def described(request: Request) -> Response:
        request.scope["crfkit.note"].route = "docs"
        return Response(msgspec.json.encode(openapi()), media_type="application/json")

    async def shown(request: Request) -> Response:
        from crfkit.web.docs_page import POLICY, docs_page  # few ask for it, and the service starts sooner

        request.scope["crfkit.note"].route = "docs"
        made = docs_page(openapi(), state.models.names(), request.url.netloc)
        return HTMLResponse(made, headers={"Content-Security-Policy": POLICY})

    return [Route("/openapi.json", described), Route("/docs", shown), Route("/", shown)]
