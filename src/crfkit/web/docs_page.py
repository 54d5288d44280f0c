"""What the service can do, as a page that needs nothing but itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from crfkit.view.frame import framed
from crfkit.view.markup import Markup, join, tag
from crfkit.view.page import page
from crfkit.web.reading import INPUTS

#: What the page may load: nothing.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_REFS = re.compile(r"'#/components/schemas/(\w+)'")


def docs_page(made: Mapping[str, Any], models: list[str], host: str = "127.0.0.1:8080") -> str:
    """Return a page of all routes of a description, with their fields and an example.

    Examples
    --------
    >>> from crfkit.web.openapi import openapi
    >>> "<h1>crfkit</h1>" in docs_page(openapi(), ["en"])
    True
    """
    first = models[0] if models else "MODEL"
    example = (
        f"curl -s http://{host}/v1/models/{first}/tag "
        """-d '{"text": "Ana lives in New York"}'"""
    )
    top = [
        tag("p", "Models: ", join(_commas(tag("code", name) for name in models))),
        tag("pre", tag("code", example)),
        tag("p", "All of this as ", tag("a", "openapi.json", href="/openapi.json"), "."),
    ]
    parts = [framed(join(top), "The service")]
    for path, methods in made["paths"].items():
        for method, one in methods.items():
            parts.append(framed(_route(one, made["components"]["schemas"]), f"{method.upper()} {path}"))
    return page(*parts)


def _commas(parts: Any) -> Any:
    for n, part in enumerate(parts):
        if n:
            yield ", "
        yield part


def _route(one: dict[str, Any], schemas: dict[str, Any]) -> Markup:
    made = [tag("p", one["summary"])]
    if "requestBody" in one:
        made.append(_fields("Request", one["requestBody"]["content"]["application/json"]["schema"], schemas))
    content = one["responses"]["200"].get("content")
    if content:
        made.append(_fields("Answer", content["application/json"]["schema"], schemas))
    return join(made)


def _fields(title: str, schema: dict[str, str], schemas: dict[str, Any]) -> Markup:
    name = schema["$ref"].rpartition("/")[2]
    fields = schemas[name]["properties"].items()
    rows = []
    for field, about in sorted(fields, key=lambda one: one[0] not in INPUTS):
        rows.append(tag("dt", tag("code", field), ": ", _type(about)))
        if "description" in about:
            rows.append(tag("dd", about["description"]))
    named = [one for one in _REFS.findall(str(schemas[name])) if one != "ModelName"]
    inner = [_fields(one, {"$ref": one}, schemas) for one in named]
    return join([tag("p", tag("b", title)), tag("dl", *rows), *inner])


def _type(about: dict[str, Any]) -> str:
    """Return a type as people read it."""
    if "$ref" in about:
        return str(about["$ref"].rpartition("/")[2])
    if "anyOf" in about:
        return " or ".join(_type(one) for one in about["anyOf"] if one.get("type") != "null")
    if "enum" in about:
        return " or ".join(map(str, about["enum"]))
    if about.get("type") == "array":
        inner = about.get("items")
        return f"list of {_type(inner)}" if inner else "list"
    if about.get("type") == "object" and isinstance(about.get("additionalProperties"), dict):
        return f"object of {_type(about['additionalProperties'])}"
    return str(about.get("type", "any"))
