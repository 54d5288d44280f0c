"""Requests out of bytes: decoded, with the place of what is wrong, and measured against the limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sized
from typing import Any, Final, TypeVar

import msgspec

from crfkit.web.asgi import Receive
from crfkit.web.messages import ExplainRequest, Line, TagOptions, TagRequest
from crfkit.web.problems import Problem
from crfkit.web.settings import Settings

__all__ = ["INPUTS", "decoded", "measured", "options_of", "size_of_line", "size_of_one", "whole_body"]

#: The fields of which a request has one.
INPUTS: Final = ("text", "texts", "tokens", "columns", "items")
_NOTHING: Final = (None, None, None, None)
_LETTERS: Final = 4  # of a text that count as a token
_PLACE = re.compile(r" - at `(\$.*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")

T = TypeVar("T")


async def whole_body(receive: Receive) -> bytes:
    """Return the body of a request; raise a Problem where the client goes away."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        parts = [body]
        while message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
        body = b"".join(parts)
    if message["type"] == "http.disconnect":
        raise Problem(400, "the body ended before its length")
    return body


def decoded(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return a body as what it stands for; raise a Problem that names the place.

    Examples
    --------
    >>> decoded(msgspec.json.Decoder(TagRequest), b'{"tokens": [["a", 1]]}')
    Traceback (most recent call last):
    crfkit.web.problems.Problem: expected `str`, got `int` - at `$.tokens[0][1]`
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        told = str(error)
        raise Problem(422, told[:1].lower() + told[1:] + _remedy(told), _where(told)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        if body[:2] == b"\x1f\x8b":
            told = "it is compressed; send it without Content-Encoding"
        raise Problem(400, f"the body is not JSON in UTF-8: {told}") from None


def _remedy(told: str) -> str:
    """Return what to write where one sequence is given for a list of them."""
    field, _, place = told.partition("`$.")[2].partition("[")
    if place.count("]") != 1 or not place.endswith("]`"):
        return ""
    if field == "columns":
        return '; columns is a list of sequences: for one write [{"word": ["a", "b"]}]'
    one = {"tokens": "got `str`", "items": "got `object`"}.get(field)
    return f"; {field} is a list of sequences: for one write [[...]]" if one and one in told else ""


def _where(told: str) -> dict[str, Any]:
    """Return the place in a message of msgspec: `$.tokens[0][3]` is token 3 of sequence 0."""
    found = _PLACE.search(told)
    steps = _STEP.findall(found[1]) if found else []
    if not steps or not steps[0][0]:
        return {}
    made: dict[str, Any] = {"field": steps[0][0]}
    names = ["text"] if steps[0][0] == "texts" else ["sequence", "token"]
    for name, (_, number) in zip(names, steps[1:], strict=False):
        if number.isdecimal():
            made[name] = int(number)
    return made


def options_of(given: dict[str, str], settings: Settings) -> TagOptions:
    """Return the options of a stream, from the parameters of its URL."""
    plain: dict[str, Any] = dict(given)
    if "constraints" in plain:
        plain["constraints"] = [plain["constraints"]]
    try:
        made = msgspec.convert(plain, TagOptions, strict=False)
    except msgspec.ValidationError as error:
        told = str(error)
        raise Problem(422, told[:1].lower() + told[1:], _where(told)) from None
    _check_kbest(made.kbest, settings)
    return made


def measured(given: TagRequest, settings: Settings) -> int:
    """Return how many tokens a request has; raise a Problem where it is beyond a limit, or has no input."""
    if given.kbest:
        _check_kbest(given.kbest, settings)
    tokens = given.tokens
    if tokens is not None and (given.text, given.texts, given.columns, given.items) == _NOTHING:
        if len(tokens) == 1 and len(tokens[0]) <= min(settings.longest, settings.max_tokens):
            return len(tokens[0])
        return _sizes("tokens", map(len, tokens), len(tokens), settings)
    name = _only(given, INPUTS)
    if name == "text":
        return _sizes(name, [_tokens_in(given.text or "")], 1, settings)
    values: Sized = getattr(given, name)
    sizes: Iterable[int]
    if name == "texts":
        sizes = map(_tokens_in, given.texts or ())
    elif name == "columns":
        sizes = (max(map(len, one.values()), default=0) for one in given.columns or ())
    else:
        sizes = map(len, given.items or ())
    return _sizes(name, sizes, len(values), settings)


def size_of_one(given: ExplainRequest, settings: Settings) -> int:
    """Return how many tokens one sequence has."""
    if not 0 <= given.top <= settings.max_tokens:
        raise Problem(422, f"top is {given.top}, expected 0 to {settings.max_tokens}", {"field": "top"})
    return size_of_line(given, settings)


def size_of_line(given: ExplainRequest | Line, settings: Settings) -> int:
    """Return how many tokens a line has."""
    name = _only(given, ("text", "tokens", "columns", "items"))
    value = getattr(given, name)
    if name == "text":
        size = _tokens_in(value)
    else:
        size = max(map(len, value.values()), default=0) if name == "columns" else len(value)
    return _sizes(name, [size], 1, settings)


def _only(given: Any, names: Iterable[str]) -> str:
    found = [name for name in names if getattr(given, name) is not None]
    if len(found) != 1:
        have = f"has {' and '.join(found)}" if found else "has none of them"
        raise Problem(422, f"the request {have}, expected one of {', '.join(names)}")
    return found[0]


def _tokens_in(text: str) -> int:
    return len(text) // _LETTERS + 1


def _sizes(name: str, sizes: Iterable[int], count: int, settings: Settings) -> int:
    """Return the sum of sizes, each and all within the limits."""
    if count > settings.max_sequences:
        most = settings.max_sequences
        told = f"{name} has {count:,} entries, expected at most {most:,}; send several requests"
        raise Problem(422, told, {"field": name})
    total = 0
    for n, size in enumerate(sizes):
        if size > settings.longest:
            told = f"entry {n} of {name} has {size:,} tokens, expected at most {settings.longest:,}"
            raise Problem(422, told, {"field": name, "sequence": n})
        total += size
    if total > settings.max_tokens:
        told = f"{name} has {total:,} tokens, expected at most {settings.max_tokens:,}; send several requests"
        raise Problem(422, told, {"field": name})
    return total


def _check_kbest(kbest: int, settings: Settings) -> None:
    if not 0 <= kbest <= settings.max_kbest:
        told = f"kbest is {kbest}, expected 1 to {settings.max_kbest}"
        raise Problem(422, told, {"field": "kbest"})
