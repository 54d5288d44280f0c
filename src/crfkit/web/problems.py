"""Errors of the service as RFC 9457 has them: what is wrong, and where in the request."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crfkit._safe.printable import cut
from crfkit.web.asgi import Send, answer

__all__ = ["KIND", "Problem", "problem_response", "send_problem"]

#: The media type of a problem.
KIND = b"application/problem+json"
_LONGEST = 400  # letters of a detail: names in it may have any length


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """A request that cannot be answered.

    Parameters
    ----------
    status : int
        Of HTTP, 400 or more.
    detail : str
        What was given, what is wrong and what to write.
    where : mapping, optional
        The place: the field, the sequence (from 0), the token (from 0), the line of a stream.
    headers : mapping, optional
        Further headers of the answer, such as Retry-After.

    Examples
    --------
    >>> Problem(404, "there is no model en", {"field": "model"}).body().decode()
    '{"title":"Not Found","status":404,"detail":"there is no model en","where":{"field":"model"}}'
    """

    def __init__(
        self,
        status: int,
        detail: str,
        where: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = cut(detail, _LONGEST)
        self.where = dict(where or {})
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """Return the fields of the answer."""
        title = "Unprocessable Entity" if self.status == 422 else HTTPStatus(self.status).phrase
        made = {"title": title, "status": self.status, "detail": self.detail}
        return {**made, "where": self.where} if self.where else made

    def body(self) -> bytes:
        """Return the answer as JSON."""
        return msgspec.json.encode(self.as_dict())


def problem_response(request: Request, problem: Problem) -> Response:
    """Return the answer to a request of Starlette; a handler of its exceptions."""
    return Response(problem.body(), problem.status, headers=problem.headers, media_type=KIND.decode())


async def send_problem(send: Send, problem: Problem) -> None:
    """Answer a request with what is wrong with it."""
    more = [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in problem.headers.items()
    ]
    await answer(send, problem.status, problem.body(), KIND, more)
