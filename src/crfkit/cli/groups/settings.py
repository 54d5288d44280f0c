"""``--set PART.FIELD=VALUE``: the options of objects that have no option of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

T = TypeVar("T")
_POWER = re.compile(r"(\d+)(?:\^|\*\*)(\d{1,2})")


def settings_of(given: Sequence[str] | None, parts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what --set says of each part.

    Examples
    --------
    >>> settings_of(["method.tol=1e-3", "method.budget=2^24"], ["method"])
    {'method': {'tol': 0.001, 'budget': 16777216}}
    """
    made: dict[str, dict[str, Any]] = {part: {} for part in parts}
    for text in given or ():
        name, equals, value = text.partition("=")
        part, dot, field = name.partition(".")
        if not (equals and dot and field):
            raise ValueError(f"--set is {text!r}, expected PART.FIELD=VALUE, such as {parts[0]}.NAME=1")
        if part not in made:
            raise ValueError(
                f"--set {name}: there is no part {part!r} here; the parts are {', '.join(parts)}"
            )
        if field in made[part]:
            raise ValueError(f"--set {name} is given twice; give one value")
        made[part][field] = _value(value)
    return made


def with_settings(made: T, part: str, given: Mapping[str, Any], who: str = "") -> T:
    """Return an object, a dataclass, with fields of --set; `who` it is for people."""
    if not given:
        return made
    one: Any = made
    known = {f.name: getattr(one, f.name) for f in fields(one) if f.init}
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            has = f"its fields are {', '.join(sorted(known))}" if known else "it has no fields"
            raise ValueError(f"--set {part}.{name}: {who or type(made).__name__} does not have it; {has}")
        whole = isinstance(known[name], int) and isinstance(value, float) and value.is_integer()
        checked[name] = int(value) if whole else value
    try:
        return replace(one, **checked)  # type: ignore[no-any-return]
    except (TypeError, ValueError) as error:  # a value of the wrong type, or out of its range
        raise ValueError(f"--set {part}.{', '.join(checked)}: {error}") from None


def _value(text: str) -> Any:
    """Return a number, true, false or null, or else the text.

    Examples
    --------
    >>> _value("1e-3"), _value("20"), _value("true"), _value("residual"), _value("2^27")
    (0.001, 20, True, 'residual', 134217728)
    """
    power = _POWER.fullmatch(text)
    if power:
        return int(power[1]) ** int(power[2])
    try:
        return json.loads(text)
    except ValueError:
        return text
