"""doccano's auto labeling, as its "Custom REST Request" calls it, at ``/doccano/MODEL``.

The body is ``{"text": "{{ text }}"}`` in doccano's form; the answer is the list that its template takes as it
is, ``{{ input | tojson }}``. Offsets count UTF-16 units, as its browser does (doccano issue 2290). doccano
drops spans that lie over others.
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from crfkit.web.messages import TagRequest
from crfkit.web.reading import decoded, measured, whole_body
from crfkit.web.routes import model_of, need, noted
from crfkit.web.service import results
from crfkit.web.state import State

__all__ = ["doccano_routes"]


class _Text(msgspec.Struct):
    text: str


def doccano_routes(state: State) -> list[BaseRoute]:
    """Return the route of auto labeling."""
    decoder = msgspec.json.Decoder(_Text)

    async def label(request: Request) -> Response:
        need(request.scope, "tag")
        loaded = model_of(state, request.path_params["name"])
        asked = TagRequest(text=decoded(decoder, await whole_body(request.receive)).text, offsets="utf16")
        size = measured(asked, state.settings)
        noted(request.scope, "doccano", loaded.name, size)
        with state.at_work(size):
            [found] = await state.aside(lambda: results(loaded, asked))
        spans = [
            {"label": span.label, "start_offset": span.start, "end_offset": span.end}
            for span in found.spans or ()
        ]
        return Response(msgspec.json.encode(spans), media_type="application/json")

    return [Route("/doccano/{name}", label, methods=["POST"])]
