"""Formulas as MathML, which browsers show by themselves: no script, and nothing from another server."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def _inline(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<span class="math">{convert(node.astext())}</span>')
    raise nodes.SkipNode


def _display(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Make the renderer known."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_display, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
