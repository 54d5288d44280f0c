"""Pictures in Chromium, light and dark: contrast, themes, nothing said, asked for or run; and a notebook."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crfkit import view
from tests.cases.pictures import HOSTILE, hostile, large, small

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
ROOT = Path(__file__).parents[2]
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium")
    with api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page, and whatever it said or asked for."""

    def __init__(self, browser: Any, scheme: str, wide: int = 1000) -> None:
        self.page = browser.new_page(color_scheme=scheme, viewport={"width": wide, "height": 700})
        self.heard: list[str] = []
        self.page.on("console", lambda one: self.heard.append(f"console: {one.text}"))
        self.page.on("pageerror", lambda one: self.heard.append(f"error: {one}"))
        self.page.on("dialog", self.dialog)
        self.page.on("request", self.request)

    def request(self, one: Any) -> None:
        if not one.url.startswith(("file:", "data:image/png")):
            self.heard.append(f"request: {one.url[:80]}")

    def dialog(self, one: Any) -> None:
        self.heard.append("dialog")
        one.dismiss()

    def open(self, text: str, folder: Path) -> Any:
        file = folder / "page.html"
        file.write_text(text)
        self.page.goto(file.as_uri())
        return self.page


def whole() -> str:
    return view.page(*(make() for make in small().values()), title="Pictures")


def hostile_page() -> str:
    return view.page(*(make() for bad in HOSTILE for make in hostile(bad).values()), title=HOSTILE[0])


@pytest.mark.parametrize("text", [whole, hostile_page], ids=["fixed", "hostile"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_no_violation(chromium: Any, scheme: str, text: Any, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    seen = Watched(chromium, scheme)
    page = seen.open(text(), tmp_path)
    found = axe.run(page).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []
    assert seen.heard == []


def test_axe_would_find_bad_contrast(chromium: Any, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    pale = whole().replace("</head>", "<style>.crfkit{color:#ccc!important}</style></head>")
    found = axe.run(Watched(chromium, "light").open(pale, tmp_path)).response["violations"]
    assert "color-contrast" in [one["id"] for one in found]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_words_of_pictures_have_contrast(chromium: Any, scheme: str, tmp_path: Path) -> None:
    """What axe leaves out: words in SVG, on the page's color, with whatever color they come out with."""
    page = Watched(chromium, scheme).open(whole(), tmp_path)
    found = page.evaluate("""() => {
      const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
      const rgb = color => { paint.fillStyle = color; paint.fillRect(0, 0, 1, 1);
        return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3); };
      return [...document.querySelectorAll('svg text, svg tspan')].map(one => {
        const box = one.closest('g') && one.closest('g').querySelector('.box');
        return [one.textContent, rgb(getComputedStyle(one).fill),
          rgb(box ? getComputedStyle(box).fill : getComputedStyle(one.closest('.crfkit')).backgroundColor)];
      });
    }""")
    assert len(found) > 100
    assert [(text, ink, behind) for text, ink, behind in found if contrast(ink, behind) < 4.5] == []


def contrast(one: list[int], other: list[int]) -> float:
    """Return the ratio of WCAG 2."""

    def light(color: list[int]) -> float:
        parts = [c / 255 for c in color]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("theme", "dark"),
    [
        ('<html data-theme="dark"', True),
        ('<html data-theme="light"', False),
        ('<html><body data-jp-theme-light="false"', True),
        ('<html><body data-jp-theme-light="true"', False),
        ('<html><body class="vscode-dark"', True),
        ("<html", None),
    ],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_theme_of_a_page_goes_before_that_of_the_system(
    chromium: Any, scheme: str, theme: str, dark: bool | None, tmp_path: Path
) -> None:
    text = f"<!doctype html>{theme}>{view.cell(small()['entities'](), plain='plain')}"
    page = Watched(chromium, scheme).open(text, tmp_path)
    color = page.evaluate("getComputedStyle(document.querySelector('.crfkit')).backgroundColor")
    assert (color == "rgb(22, 25, 29)") == (scheme == "dark" if dark is None else dark)
    assert not page.is_visible("pre")


@pytest.mark.parametrize("wide", [390, 1000])
def test_pictures_scroll_within_their_box(chromium: Any, wide: int, tmp_path: Path) -> None:
    text = view.page(*(make() for make in large().values()), *(make() for make in small().values()))
    page = Watched(chromium, "light", wide).open(text, tmp_path)
    assert page.evaluate("document.documentElement.scrollWidth") <= wide


def test_right_to_left_stays_in_its_mark(chromium: Any, tmp_path: Path) -> None:
    """In a Hebrew line the first word stands right of the second, and the tag reads from left to right."""
    text = view.page(view.entities("דוד גר בחיפה", [(0, 3, "PER", 0.998), (7, 12, "LOC", 0.9)]))
    page = Watched(chromium, "light").open(text, tmp_path)
    first, second = (page.locator("mark").nth(i).bounding_box() for i in (0, 1))
    assert first["x"] > second["x"]
    label, share = (page.locator(f"mark >> nth=0 >> {one}").bounding_box() for one in ("b > bdi", "i"))
    assert label["x"] < share["x"]


def test_the_notebook_of_addresses_runs_and_shows_pictures(tmp_path: Path) -> None:
    pytest.importorskip("nbconvert")
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--output-dir", str(tmp_path)]
    notebook = str(ROOT / "docs/notebooks/addresses.ipynb")
    done = subprocess.run([*command, notebook], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "addresses.html").read_text()
    shown = re.findall(r'<figure class="crfkit">(?:<figcaption><b><bdi>([^<]*))?', text)
    assert {"Training", "Transitions", "Strongest features", "Gold by predicted", "Calibration"} <= {*shown}
    assert "lattice of" in text
    assert any(one.startswith("“") for one in shown)
