"""Whether the service lives, whether it is ready, and what it has done."""

from __future__ import annotations

import sys
from importlib import import_module

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from crfkit.web.state import State

__all__ = ["OPEN", "health_routes"]

#: Paths that need no token.
OPEN = ("/health", "/health/live", "/health/ready")


def health_routes(state: State) -> list[BaseRoute]:
    """Return the routes of health checks and metrics."""

    async def live(request: Request) -> Response:
        request.scope["crfkit.note"].route = "health"
        return JSONResponse({"status": "UP"})

    async def ready(request: Request) -> Response:
        request.scope["crfkit.note"].route = "health"
        if state.ready:
            return JSONResponse({"status": "UP", "models": state.models.names()})
        return JSONResponse({"status": "DOWN", "detail": "the service is about to end"}, 503)

    async def metrics(request: Request) -> Response:
        request.scope["crfkit.note"].route = "metrics"
        if "prometheus_client" not in sys.modules:  # loading it takes some requests' time
            await state.aside(lambda: import_module("prometheus_client"))
        return Response(state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return [
        Route("/health", live),
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/metrics", metrics),
    ]
