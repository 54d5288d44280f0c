"""Writes docs/pictures/inspect/*.png: the pages of `crfkit inspect`, with models of addresses, in Chromium.

    python docs/pictures/inspect_pages.py

needs chromium, playwright and pillow, which makes the files small.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import socket
import tempfile
import threading
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

from crfkit import ChainCRF
from crfkit.datasets import load_addresses
from crfkit.tags.segments import runs_of
from crfkit.web import create_inspector
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.opened import Opened

HERE = Path(__file__).parent / "inspect"
TEXT = "Attn+Smith+128+N+Main+St+Apt+4+St+Paul+MN+55101"
#: Files: an address, a scheme, and the width of the window.
PAGES = {
    "sentence-light": (f"/sentence?text={TEXT}&at=7", "light", 1280),
    "sentence-dark": (f"/sentence?text={TEXT}&at=7", "dark", 1280),
    "sentence-phone": (f"/sentence?text={TEXT}&at=7", "light", 390),
    "errors-light": ("/errors?coverage=80", "light", 1280),
    "errors-dark": ("/errors?coverage=80", "dark", 1280),
    "compare-light": ("/compare", "light", 1280),
    "compare-dark": ("/compare", "dark", 1280),
    "queue-light": ("/queue", "light", 1280),
    "queue-dark": ("/queue", "dark", 1280),
    "queue-phone": ("/queue", "dark", 390),
    "model-light": ("/model?find=main", "light", 1280),
    "model-dark": ("/model?find=main", "dark", 1280),
}


def app(folder: str) -> Any:
    """Return an inspector of two models of addresses."""
    sample = load_addresses()
    X, y = ([doc.words() for doc in sample.train], [[*doc.labels] for doc in sample.train])
    judged = [doc.words() for doc in sample.test], [[*doc.labels] for doc in sample.test]
    models = [ChainCRF(l2=0.5).fit(X[:size], y[:size]).model_ for size in (1000, 300)]
    named = [Opened(one, name) for one, name in zip(models, ("addresses.crf", "small.crf"), strict=True)]
    pool = Material("raw.txt", X[1000:], X[1000:])
    dev = Material("dev.txt", judged[0], judged[0], judged[1])
    return create_inspector(*named, data=dev, pool=pool, labels=f"{folder}/raw.labels.sqlite", edit=True)


def label(at: str, many: int) -> None:
    """Give some sentences of the pool their gold labels, as a browser would, and wait for the trainings."""
    gold = {
        " ".join(doc.words()): [*runs_of([*map(str, doc.labels or ())])] for doc in load_addresses().train
    }
    for _ in range(many):
        page = httpx.get(f"{at}/queue").text
        key = re.findall(r'name="key" value="(\w+)"', page)[0]
        words = json.loads(html.unescape(re.findall(r'data-sentence="([^"]*)"', page)[0]))["words"]
        form = {
            "key": key,
            "seen": "0",
            "spans": json.dumps(gold[" ".join(words)]),
            "kept": str(len(words) * 4 // 5),
        }
        httpx.post(f"{at}/queue/label", data=form)
        while 'data-running="1"' in httpx.get(f"{at}/queue").text:
            time.sleep(0.1)


def main() -> None:
    """Write all pictures."""
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app(folder), log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        at = f"http://127.0.0.1:{listening.getsockname()[1]}"
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--force-color-profile=srgb"]
        )
        label(at, 60)
        for name, (path, scheme, wide) in PAGES.items():
            page = browser.new_page(color_scheme=scheme, viewport={"width": wide, "height": 860})
            for _ in range(3):  # the first time, models are still made ready
                page.goto(at + path)
            page.wait_for_timeout(400)
            image = Image.open(BytesIO(page.screenshot())).convert("RGB")
            small = image.quantize(256, kmeans=2, dither=Image.Dither.NONE)
            small.save(HERE / f"{name}.png", optimize=True)
            page.close()
        browser.close()
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
