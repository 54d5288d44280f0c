"""Pictures in a notebook, and in a file of their own."""

from __future__ import annotations

from crfkit.view.markup import Markup, join, tag
from crfkit.view.style import style

__all__ = ["cell", "page"]

#: No script, no request: pictures are styled by the sheet of the page, images lie in it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_BODY = (
    "body{margin:0;color-scheme:light dark;background:light-dark(#f5f7f8,#0f1215);"
    "font:15px/1.5 system-ui,sans-serif}"
    "main{max-width:1120px;margin:0 auto;padding:20px 16px}h1{font-size:20px;font-weight:650;margin:0 0 14px;"
    "color:light-dark(#1a1d21,#e8eaed);overflow-wrap:anywhere}"
    ".crfkit{border:1px solid light-dark(#d5dae0,#3b424a);min-width:0}"
    "@media(min-width:860px){main{display:flex;flex-wrap:wrap;gap:12px}h1{width:100%;margin:0}"
    ".crfkit{flex:1 1 auto;margin:0}.crfkit:has(>.text,>.versions){flex-basis:100%}}"
)


def cell(*pictures: str, plain: str = "") -> str:
    """Return pictures with their style, as a cell of a notebook shows them (`_repr_html_`).

    Where a notebook is not trusted, its styles are taken away, and the plain text shows.

    Examples
    --------
    >>> from crfkit.view import entities
    >>> print(cell(entities("Ana", []), plain="Ana"))  # doctest: +ELLIPSIS
    <div><style>...</style><pre class="crfkit-plain">Ana</pre><figure class="crfkit">...
    """
    text = tag("pre", plain, class_="crfkit-plain") if plain else None
    return tag("div", style(), text, *map(Markup, pictures))


def page(*pictures: str, title: str = "crfkit") -> str:
    """Return pictures as a whole HTML file, which runs no script and loads nothing.

    Examples
    --------
    >>> from crfkit.view import entities
    >>> page(entities("Ana", []), title="<Ana>")[:15], "<h1>&lt;Ana&gt;</h1>" in page(title="<Ana>")
    ('<!DOCTYPE html>', True)
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        style(),
        Markup(f"<style>{_BODY}</style>"),
    )
    body = tag("body", tag("main", tag("h1", title), join(map(Markup, pictures))))
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"
