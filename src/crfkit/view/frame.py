"""What pictures have around them: a caption, a legend, and a box that scrolls where they are wide."""

from __future__ import annotations

from collections.abc import Iterable

from crfkit.view.markup import Markup, join, tag

__all__ = ["drawing", "framed", "keys", "scrolled"]


def framed(body: Markup, title: str = "", note: str = "", legend: Markup | None = None) -> Markup:
    """Return a picture with its caption and legend.

    Examples
    --------
    >>> framed(tag("p", "a"), "Title")
    '<figure class="crfkit"><figcaption><b><bdi>Title</bdi></b></figcaption><p>a</p></figure>'
    """
    caption = None
    if title or note:
        caption = tag(
            "figcaption",
            tag("b", tag("bdi", title)) if title else None,
            tag("span", tag("bdi", note)) if note else None,
        )
    below = tag("div", legend, class_="legend") if legend else None
    return tag("figure", caption, body, below, class_="crfkit")


def scrolled(body: Markup, name: str) -> Markup:
    """Return a box that scrolls sideways, which the keyboard can reach."""
    return tag("div", body, class_="scroll", tabindex="0", role="group", aria_label=name)


def drawing(parts: Iterable[Markup], wide: float, high: float, name: str, role: str = "img") -> Markup:
    """Return an SVG of a size; the name is what is read aloud. The role of one with links is "group"."""
    return tag(
        "svg",
        join(parts),
        xmlns="http://www.w3.org/2000/svg",
        role=role,
        aria_label=name,
        width=round(wide),
        height=round(high),
        viewBox=f"0 0 {round(wide)} {round(high)}",
    )


def keys(classes: dict[str, str], note: str = "") -> Markup:
    """Return a legend: names with the color of their class, and a note."""
    shown = [tag("span", tag("bdi", name), class_=one) for name, one in classes.items()]
    return join([*shown, *([tag("em", note)] if note else [])])
