"""How Sphinx makes the site (`make docs`): Markdown, the API from docstrings, commands from their help."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

project = "crfkit"
author = "The crfkit authors"
copyright = "The crfkit authors, MIT license"
release = version = version_of("crfkit")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "math_in_pages",
    "pictures_in_pages",
    "reference_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["site", "pictures", "gallery"]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "ref.python"]  # fields of many classes have the same name
default_role = "code"
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = False
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "gallery-pages",
    "capture_repr": ("_repr_html_",),
    "abort_on_example_error": True,
    "image_scrapers": ("thumbnails_of_gallery.scraper",),
    "reset_modules": (),
    "min_reported_time": 60,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "show_signature": False,
    "thumbnail_size": (420, 294),
}
toc_object_entries_show_parents = "hide"
html_theme = "pydata_sphinx_theme"
html_title = "crfkit"
html_static_path = ["_static"]
html_css_files = ["crfkit.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_nav_level": 1,
    "collapse_navigation": True,  # else each page has links to all others, which takes minutes
    "navigation_depth": 3,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "icon_links": [
        {"name": "Source", "url": "https://github.com/crfkit/crfkit", "icon": "fa-brands fa-github"}
    ],
}
FORGE = "https://github.com/crfkit/crfkit/blob/main/"


def _linked(name: str, text: str) -> str:
    """Return a page whose links to files beside the pages lead to the repository."""
    here = (ROOT / "docs" / name).parent

    def replace(match: re.Match[str]) -> str:
        path, _, anchor = match[1].partition("#")
        file = (here / path).resolve()
        if not file.exists() or file.is_relative_to(ROOT / "docs"):
            return match[0]
        inside = file.relative_to(ROOT).as_posix() + (f"#{anchor}" if anchor else "")
        return f"]({FORGE}{inside})"

    return re.sub(r"\]\(((?!https?:|#|mailto:)[^)\s]+)\)", replace, text)


def _present(name: str, text: str) -> str:
    """Return a page without the patterns of its toctree that no page matches."""
    here = (ROOT / "docs" / name).parent
    lines = text.split("\n")
    return "\n".join(
        line for line in lines if not re.fullmatch(r"[\w-]+\*", line) or any(here.glob(f"{line}.md"))
    )


def setup(app: Any) -> None:
    """Have links mended before pages are read."""

    def read(_: Any, name: str, source: list[str]) -> None:
        source[0] = _present(name, _linked(name, source[0]))

    def skip(_: Any, what: str, name: str, *__: Any) -> bool | None:
        # scikit-learn adds these to every estimator; its own pages describe them
        return True if re.fullmatch(r"get_metadata_routing|set_\w+_request|__sklearn\w*", name) else None

    app.connect("source-read", read)
    app.connect("autodoc-skip-member", skip)
    import_module("crfkit")
