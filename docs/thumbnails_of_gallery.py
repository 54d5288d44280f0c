"""What the index of the gallery shows of each script: the picture that `docs/pictures/thumbnails.py` took."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "pictures/gallery"


def scraper(_: Any, variables: dict[str, Any], __: dict[str, Any], **___: Any) -> str:
    """Give sphinx-gallery the picture as the first image of a script, which the page does not show."""
    paths = variables["image_path_iterator"]
    taken = FOLDER / f"{Path(variables['src_file']).stem}.png"
    if len(paths) == 0 and taken.exists():
        shutil.copy(taken, paths.next())
    return ""
