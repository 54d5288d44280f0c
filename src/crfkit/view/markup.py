"""Markup from strings: everything is escaped but what `tag` made itself.

HTML that is well-formed XML, so that one parser checks it all. What no XML may hold, and what would steer the
direction of the text around it, is spelled out: a control character, half of a surrogate pair, an override of
the direction of writing. Marks of direction alone (U+200E, U+200F) stay, which Hebrew and Arabic need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

__all__ = ["Markup", "join", "plain", "tag"]

_NEVER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
_EMPTY = frozenset(["br", "col", "hr", "img", "meta", "path", "rect", "circle", "line", "polyline"])


class Markup(str):
    """A string that is markup already; in a notebook it shows itself."""

    __slots__ = ()

    def __html__(self) -> str:
        return self  # templates of Jinja2 take it as it is

    def _repr_html_(self) -> str:
        from crfkit.view.page import cell

        return cell(self)


def plain(text: object) -> str:
    r"""Return a text as a picture can show it: what is invisible and harmful is spelled out.

    Examples
    --------
    >>> print(plain("a\x00b\u202ec"))
    a\u0000b\u202ec
    """
    return _NEVER.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element: children are escaped, unless they are Markup; those that are None are left out.

    Underscores in names of attributes are hyphens, but one at the end; attributes that are None are left out.

    Examples
    --------
    >>> tag("b", "1 < 2", tag("i", "x"), class_="k0", title='"', id=None)
    '<b class="k0" title="&quot;">1 &lt; 2<i>x</i></b>'
    >>> tag("line", x1=0, x2=12.345, stroke_width=2)
    '<line x1="0" x2="12.3" stroke-width="2"/>'
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None:
            told = number(value) if isinstance(value, float) else escape(plain(value))
            parts.append(f' {key.rstrip("_").replace("_", "-")}="{told}"')
    if not children and name in _EMPTY:
        return Markup("".join([*parts, "/>"]))
    inner = [one if isinstance(one, Markup) else escape(plain(one)) for one in children if one is not None]
    return Markup("".join([*parts, ">", *inner, f"</{name}>"]))


def join(parts: Iterable[str]) -> Markup:
    """Return several in one; strings are escaped.

    Examples
    --------
    >>> join([tag("br"), "<"])
    '<br/>&lt;'
    """
    return Markup("".join(one if isinstance(one, Markup) else escape(plain(one)) for one in parts))


def number(value: float) -> str:
    """Return a length in a picture, to a tenth.

    Examples
    --------
    >>> number(3.0), number(3.14159), number(-0.01)
    ('3', '3.1', '0')
    """
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0", 1 if abs(value) < 0.05 else 0)
