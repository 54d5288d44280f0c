"""A directive that shows a picture: the value of an expression, in the program that the page has so far.

    ```{picture}
    crf.explain(doc, at=1)
    ```

The blocks ``python`` above it are run once for each page. `tests/cases/pages.py` runs the same blocks.
"""

from __future__ import annotations

import ast
import io
import os
import re
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

BLOCK = re.compile(r"^```(python|\{picture\})\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def valued(code: str, space: dict[str, Any]) -> Any:
    """Run a program and return the value of the expression that it ends with."""
    *before, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        raise ValueError(f"a picture ends with an expression: {code!r}")
    exec(compile(ast.Module([*before], []), "picture", "exec"), space)
    return eval(compile(ast.Expression(last.value), "picture", "eval"), space)


def drawn(value: Any) -> str:
    """Return the HTML of a picture."""
    from crfkit.view import cell

    shown = getattr(value, "_repr_html_", None)
    return shown() if shown else cell(str(value))


def pictures_of(text: str) -> dict[str, str]:
    """Return the HTML of each picture of a page, by its code."""
    space: dict[str, Any] = {"__name__": "page"}
    found = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for kind, body in BLOCK.findall(text):
                if kind == "python":
                    exec(compile(body, "page", "exec"), space)
                else:
                    found[body.strip()] = drawn(valued(body, space))
        finally:
            os.chdir(here)
    return found


class Picture(SphinxDirective):
    """Shows the value of an expression."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the picture as it is."""
        made = self.env.temp_data.get("pictures")
        if made is None:
            text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
            made = self.env.temp_data["pictures"] = pictures_of(text)
        html = made["\n".join(self.content).strip()]
        return [nodes.raw("", f'<div class="picture">{html}</div>', format="html")]


def setup(app: Any) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
