"""Shows every picture of `crfkit.view` on pages, of the model of `crfkit demo` and of small data.

    python docs/pictures/gallery.py [--png]

writes HTML files to the folder view beside this script; with --png also how Chromium shows them, light and
dark (needs chromium, playwright and pillow, which makes the files small).
"""

from __future__ import annotations

import shutil
import sys
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

from crfkit import Likelihood, SemiMarkov, Stop, metrics, train, view
from crfkit.data import Columns
from crfkit.datasets.generate import Line, corpus
from crfkit.demo.tour import RECIPE
from crfkit.features import Extractor, Recipe
from crfkit.metrics.pictures import calibration_picture, mistake_pictures, report_pictures
from crfkit.models.pictures import decision_picture, lattice_picture, model_pictures, sentence_pictures
from crfkit.text import Doc, align

FOLDER = Path(__file__).parent / "view"
ADDRESS = "Lincoln House 4 St John St Lincoln LN1 3AA UK"
WIDE = 1000


def learned(lines: list[Line], structure: Any = None) -> Any:
    """Return a model of addresses."""
    data = Extractor(Recipe.parse(RECIPE), label=1)(Columns.from_rows(lines))
    goal = Likelihood(l2=0.5)
    return train(data, structure=structure, objective=goal, stop=Stop(tolerance=1e-4), progress=False)


def sentence(model: Any) -> list[str]:
    """One address: in color, its lattice, marginals, and why."""
    words = ADDRESS.split()
    x = [(word,) for word in words]
    labels, node = list(model.structure.labels), model.predict_proba([x])[0]
    doubt = min(model.explain(x), key=lambda one: one.probability)
    found = [*sentence_pictures(model, [x], words, "An address")]
    found.append(view.marginals(words, labels, node, node.argmax(1).tolist(), title="Marginals"))
    return [*found, decision_picture(doubt, words)]


def evaluation(model: Any, held: list[Line]) -> list[str]:
    """How good it is, and where it is wrong."""
    words = [[word for word, _ in line] for line in held]
    X, y = [[(word,) for word in one] for one in words], [[label for _, label in line] for line in held]
    labels, shares = list(model.structure.labels), model.predict_proba(X)
    place = {name: i for i, name in enumerate(labels)}
    gold = [
        [float(row[place[z]]) for row, z in zip(*one, strict=True)] for one in zip(shares, y, strict=True)
    ]
    report = model.evaluate(X, y)
    wrong = report.errors(None, words=words, probability=gold)
    found = {"labels": metrics.calibration(shares.to_dicts(), y)}
    return [
        *report_pictures(report, labels),
        calibration_picture(found),
        *mistake_pictures(report, wrong, 3, labels),
    ]


def others(segments: Any) -> list[str]:
    """Return what the other pages do not have."""
    text = "Ana Ruiz lives in New York, and Exxon does not."
    spans = [(0, 8, "PER", 0.998), (18, 26, "LOC", 0.55), (32, 37, "ORG", 0.81), (18, 21, "ORG", 0.1)]
    hebrew = "דוד בן-גוריון נולד בפלונסק 📞 1886"
    gold = [(0, 5, "ORG"), (11, 25, "ORG"), (32, 36, "LOC")]
    fitted = align([Doc("Ana Ruiz lives in New York.", spans=[(0, 8, "PER"), (19, 25, "LOC")])])[1]
    words, rng = ADDRESS.split(), Random(0)
    disk = [int((r - 10) ** 2 + (c - 12) ** 2 < 50) for r in range(20) for c in range(24)]
    seen = [0.8 * value + 0.2 * rng.random() for value in disk]
    chain: list[tuple[str, str | None, bool]] = [
        ("word", word, True) for word in ("the", "old", "dog", "ran")
    ]
    chain += [("pos", None, False)] * 4
    factors = [("step", [4, 5]), ("step", [5, 6]), ("step", [6, 7]), ("skip", [4, 7])]
    factors += [("word", [i, 4 + i]) for i in range(4)]
    return [
        view.entities(text, spans, title="Text"),
        view.entities(hebrew, [(0, 13, "PER", 0.93), (20, 26, "LOC", 0.6)], title="Right to left"),
        view.compare(
            "Parma, 1 - Inter de Milán, 3 in Rome",
            {"A": [*gold[:2], (32, 36, "LOC", 0.9)], "B": [(20, 25, "LOC", 0.52), (32, 36, "LOC", 0.9)]},
            gold=gold,
            title="Two systems",
        ),
        lattice_picture(segments, [[(word,) for word in words]], words),
        view.alignment({"exact": fitted.exact, "expanded": fitted.expanded}, fitted.examples),
        view.graph(chain, factors, title="Factor graph"),
        view.grid(disk, (20, 24), labels=["ground", "figure"], title="Labels of pixels"),
        view.grid([[1 - p, p] for p in seen], (20, 24), labels=["ground", "figure"], title="Probabilities"),
        view.reliability(
            {
                "before": ([0.3, 0.5, 0.7, 0.9], [0.4, 0.45, 0.6, 0.8], [10, 20, 50, 400]),
                "after": ([0.3, 0.5, 0.7, 0.9], [0.31, 0.5, 0.68, 0.89], [10, 20, 50, 400]),
            }
        ),
    ]


def pages() -> dict[str, str]:
    """Return the pages by name."""
    lines = corpus(1500)
    model, segments = learned(lines[:1200]), learned(lines[:600], SemiMarkov(max_length=8))
    found = {
        "sentence": sentence(model),
        "model": model_pictures(model),
        "evaluation": evaluation(model, lines[1200:]),
        "others": others(segments),
    }
    return {name: view.page(*parts, title=name.capitalize()) for name, parts in found.items()}


def photographed(names: list[str]) -> None:
    """Write how Chromium shows the pages."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as api:
        browser = api.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": WIDE, "height": 300})
            for name in names:
                page.goto((FOLDER / f"{name}.html").as_uri())
                image = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
                image.quantize(256, kmeans=2, dither=Image.Dither.NONE).save(
                    FOLDER / f"{name}-{scheme}.png", optimize=True
                )
        browser.close()


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    made = pages()
    for name, text in made.items():
        (FOLDER / f"{name}.html").write_text(text)
    if "--png" in sys.argv:
        photographed([*made])


if __name__ == "__main__":
    main()
