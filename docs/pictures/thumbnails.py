"""Photographs the first picture of each script of the gallery, for its index.

    python docs/pictures/thumbnails.py

writes PNG files to the folder gallery beside this script (needs chromium, playwright and pillow).
"""

from __future__ import annotations

import ast
import contextlib
import io
import shutil
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE.parent / "gallery").rglob("plot_*.py"))
WIDE, HIGH = 420, 294


def last_value(script: Path) -> Any:
    """Run a script and return the value that its last line shows."""
    *before, last = ast.parse(script.read_text(encoding="utf-8")).body
    assert isinstance(last, ast.Expr), script
    space: dict[str, Any] = {"__name__": "gallery"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(ast.Module([*before], []), str(script), "exec"), space)
        return eval(compile(ast.Expression(last.value), str(script), "eval"), space)


def main() -> None:
    """Write the files."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    folder = HERE / "gallery"
    folder.mkdir(exist_ok=True)
    with sync_playwright() as api:
        browser = api.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(color_scheme="light", viewport={"width": WIDE, "height": HIGH})
        for script in SCRIPTS:
            value = last_value(script)
            html = value._repr_html_() if hasattr(value, "_repr_html_") else str(value)
            page.set_content(f"<body style='margin:0'>{html}")
            figure = page.locator("figure.crfkit").first
            image = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
            image = image.crop((0, 0, min(image.width, WIDE), min(image.height, HIGH)))
            small = image.quantize(128, kmeans=2, dither=Image.Dither.NONE)
            small.save(folder / f"{script.stem}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
