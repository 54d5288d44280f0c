"""The app of the inspector: addresses to pages, and what stands before them.

Pages are computed on threads of their own (Starlette's), so that a slow one holds up no other. A page is
asked for by GET; only POST changes something, and only where the inspector may edit. No page loads or runs
what is not this server's: the policy says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from crfkit import __version__
from crfkit._safe.printable import cut
from crfkit.view.text import share, signed
from crfkit.web.asgi import App
from crfkit.web.guards import Bodies, Guarded, Hosts, same_origin
from crfkit.web.inspector import compare, errors, model, queue, sentence
from crfkit.web.inspector.inspector import Inspector
from crfkit.web.inspector.state import LONGEST_ADDRESS, Query
from crfkit.web.problems import Problem, problem_response

__all__ = ["LOCAL", "app_of"]

LOCAL = ("127.0.0.1", "localhost", "::1")
_LARGEST_BODY = 2 << 20
#: Pages by their tab: what computes what they show.
PAGES: dict[str, Callable[[Inspector, Query], dict[str, Any]]] = {
    "sentence": sentence.page,
    "errors": errors.page,
    "queue": queue.page,
    "model": model.page,
    "compare": compare.page,
}
_STATIC = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src-attr 'unsafe-inline'; base-uri 'none'; "
    "object-src 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def app_of(inspector: Inspector, hosts: Iterable[str] = LOCAL) -> App:
    """Return the ASGI app of an inspector, for requests whose Host header is one of these."""
    pages = _Pages(inspector)
    routes = [
        Route("/", pages.first),
        *(Route(f"/{name}", partial(pages.page, name), methods=["GET"], name=name) for name in PAGES),
        Route("/sentence", pages.typed, methods=["POST"]),
        Route("/errors/suspects.jsonl", partial(pages.download, errors.suspects)),
        Route("/compare/disagreements.jsonl", partial(pages.download, compare.disagreements)),
        Route("/queue/export", partial(pages.download, queue.export)),
        Route("/queue/label", pages.changed, methods=["POST"]),
        Route("/training/events", partial(model.events, inspector)),
        Route("/static/{name}", pages.static),
    ]

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(inspector.close)

    handlers: Any = {404: pages.missing, 405: pages.missing, 500: pages.failed, Problem: problem_response}
    app = Starlette(
        routes=routes,
        lifespan=life,
        exception_handlers=handlers,
    )
    return Guarded(app, Hosts(hosts), same_origin, Bodies(_LARGEST_BODY))


class _Pages:
    """Requests to answers."""

    def __init__(self, inspector: Inspector) -> None:
        self.inspector = inspector
        self.templates = Environment(
            loader=PackageLoader("crfkit.web.inspector"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters |= {"share": share, "signed": signed, "cut": cut}
        self.assets = _assets()
        self.templates.globals |= {"asset": self._address, "version": __version__}

    def _address(self, name: str) -> str:
        """Return the address of a static file, which changes with its content."""
        return f"/static/{name}?{hashlib.sha256(self.assets[name]).hexdigest()[:12]}"

    async def first(self, request: Request) -> Response:
        """Answer the bare address: with the queue where there is one to label, else with a sentence."""
        return RedirectResponse("/sentence" if self.inspector.data is None else "/sentence?n=1", 307)

    async def page(self, name: str, request: Request) -> Response:
        """Answer with a page."""
        return await run_in_threadpool(self._made, name, request.url.query)

    async def typed(self, request: Request) -> Response:
        """Answer what is typed; the address of the page follows, while it is short enough."""
        body = (await request.body()).decode("utf-8", "replace")
        return await run_in_threadpool(self._made, "sentence", body, True)

    async def changed(self, request: Request) -> Response:
        """Give a label, and answer with the queue."""
        body = (await request.body()).decode("utf-8", "replace")
        return await run_in_threadpool(self._made, "queue", body, False, queue.change)

    async def download(
        self, make: Callable[[Inspector, Query], tuple[str, str, bytes]], request: Request
    ) -> Response:
        """Answer with a file."""
        return await run_in_threadpool(self._download, make, request.url.query)

    async def static(self, request: Request) -> Response:
        """Answer with a file of the pages themselves."""
        name = request.path_params["name"]
        if name not in self.assets:
            return self._refused(404, f"there is no file {name!r:.60}")
        kind = _STATIC[name.rpartition(".")[2]]
        headers = {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
        return Response(self.assets[name], media_type=kind, headers=headers)

    async def missing(self, request: Request, error: Exception) -> Response:
        """Answer an address that there is not."""
        status = getattr(error, "status_code", 404)
        pages = ", ".join(f"/{name}" for name in PAGES)
        return self._refused(
            status, f"there is no page {request.url.path!r:.60} for {request.method}; there are {pages}"
        )

    async def failed(self, request: Request, error: Exception) -> Response:
        """Answer what no page foresaw; the server logs where it was."""
        return self._refused(500, f"a mistake in crfkit, please report it: {type(error).__name__}")

    def _made(
        self, name: str, given: str, typed: bool = False,
        change: Callable[[Inspector, Query], Query] | None = None,
    ) -> Response:  # fmt: skip
        status, headers = 200, {**_HEADERS, "Cache-Control": "no-store"}
        query, wrong, made = Query(), "", {}
        try:
            query = Query.of(given)
            if change is not None:
                query = change(self.inspector, query)
            made = PAGES[name](self.inspector, query)
        except queue.Refused as error:
            status, wrong = error.status, str(error)
        except ValueError as error:
            status, wrong = 400, str(error)
        if typed:
            address = f"/{name}" + query.link()
            headers["HX-Replace-Url"] = address if len(address) <= LONGEST_ADDRESS else f"/{name}"
        shown = {"page": name, "inspector": self.inspector, "query": query, "wrong": wrong, "pages": [*PAGES]}
        text = self.templates.get_template(f"{name}.html").render(**made, **shown, made=bool(made))
        return HTMLResponse(_whole(text), status, headers)

    def _download(self, make: Callable[[Inspector, Query], tuple[str, str, bytes]], given: str) -> Response:
        try:
            name, kind, content = make(self.inspector, Query.of(given))
        except ValueError as error:
            return self._refused(400, str(error))
        headers = {
            **_HEADERS,
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
        }
        return Response(content, media_type=kind, headers=headers)

    def _refused(self, status: int, wrong: str) -> Response:
        shown = {"page": "", "inspector": self.inspector, "query": Query(), "pages": [*PAGES]}
        text = self.templates.get_template("refused.html").render(**shown, wrong=wrong, made=False)
        return HTMLResponse(_whole(text), status, _HEADERS)


def _whole(text: str) -> str:
    """Return a page that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _assets() -> dict[str, bytes]:
    """Return all static files by name: those of the pages, and the style sheet of the pictures."""
    folder = files("crfkit.web.inspector") / "static"
    found = {one.name: one.read_bytes() for one in folder.iterdir() if one.name.rpartition(".")[2] in _STATIC}
    return found | {"pictures.css": (files("crfkit.view") / "style.css").read_bytes()}
