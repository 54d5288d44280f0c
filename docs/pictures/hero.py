"""Draws the picture at the top of the README: an address in color beside times of training.

    python docs/pictures/hero.py

trains the model of `crfkit demo` on 1,500 lines, asks it for the address, writes its answer to measured.json
beside this script, and draws hero.svg from that file. The times there are those of a row of the README's
table; `python -m bench.command` measures them. tests/whole/test_pictures.py holds all against each other.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crfkit.view.markup import Markup, join, tag
from crfkit.view.text import share, width

_SURE = 0.7
HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
#: Label: what people call it, and its class of color.
NAMES = {
    "number": ("number", "a"),
    "street": ("street", "b"),
    "street_type": ("street type", "c"),
    "unit_type": ("unit type", "d"),
    "unit": ("unit", "d"),
    "city": ("city", "e"),
    "state": ("state", "f"),
    "postcode": ("zip", "g"),
}
STYLE = """
.card{fill:#fff;stroke:#d5dae0}.ink{fill:#1a1d21}.soft{fill:#565f69}.line{stroke:#dfe3e8}.bar{fill:#0072b2}
.other{fill:#a3abb4}.go{fill:#00609a}.chk{stroke:#007a55;fill:none;stroke-width:2.4;stroke-linecap:round}
.a{--k:#e69f00;--t:#7d5600}.b{--k:#0072b2;--t:#00548a}.c{--k:#56b4e9;--t:#14608e}.d{--k:#cc79a7;--t:#85436a}
.e{--k:#009e73;--t:#00674b}.f{--k:#8c6bb1;--t:#5d4184}.g{--k:#d55e00;--t:#963f00}
.bg{fill:var(--k);fill-opacity:.15}.doubt .bg{fill-opacity:.07}
.ul{stroke:var(--k);stroke-width:3;stroke-linecap:round}
.doubt .ul{stroke-dasharray:5 6}.lab{fill:var(--t);font-weight:650;font-size:12px}.strong{font-weight:650}
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;
font-size:13px}
.tok{font-size:21px}.head{font-size:16px;font-weight:650}.small{font-size:12px}.big{font-size:19px;font-weight:700}
@media(prefers-color-scheme:dark){.card{fill:#161a1e;stroke:#30373e}.ink{fill:#e8eaed}.soft{fill:#a3adb7}
.line{stroke:#2b3239}.bar{fill:#56b4e9}.other{fill:#6b747e}.go{fill:#7cc4ee}.chk{stroke:#4fc9a2}.bg{fill-opacity:.24}
.a{--t:#f2c057}.b{--k:#2f8fce;--t:#7cc0f0}.c{--t:#9ad3f5}.d{--t:#e6add0}.e{--k:#17ab80;--t:#62d3b0}
.f{--k:#a98bd0;--t:#c9b3e6}.g{--k:#e0702a;--t:#f3a06c}}
"""


def measured() -> dict[str, Any]:
    """Return what the model of the demonstration says of the address, and the times of the table."""
    from crfkit import Likelihood, Stop, train
    from crfkit.data import Columns
    from crfkit.datasets.generate import corpus
    from crfkit.demo.tour import RECIPE
    from crfkit.features import Extractor, Recipe

    found: dict[str, Any] = json.loads(MEASURED.read_text())
    data = Extractor(Recipe.parse(RECIPE), label=1)(Columns.from_rows(corpus(1500)))
    model = train(data, objective=Likelihood(l2=0.5), stop=Stop(tolerance=1e-4), progress=False)
    words = found["address"].split()
    spans = model.predict_spans([[(word,) for word in words]])[0]
    found["spans"] = [[" ".join(words[a:b]), label, round(p, 3)] for a, b, label, p in spans]
    return found


def draw(found: dict[str, Any]) -> str:
    """Return the picture."""
    spans, training = found["spans"], found["training"]
    doubt = " Dashed: in doubt." if any(p < _SURE for *_, p in spans) else ""
    parts = [
        tag("title", "crfkit labels an address, with probabilities, and trains fast"),
        tag("desc", f"{_said(spans)} Training: {training['what']}, {_times(training)}."),
        Markup(f"<style>{STYLE}</style>"),
        tag("rect", class_="card", x=".5", y=".5", width="899", height="319", rx="14"),
        tag("text", "Which “St” is which?", class_="ink head", x=36, y=48),
        tag("text", "A label and a probability for every part of an address", class_="soft", x=36, y=69),
        *_address(spans),
        tag("text", f"A street, its type, a city.{doubt}", class_="soft", x=36, y=294),
        tag("line", class_="line", x1=522, x2=522, y1=36, y2=284),
        tag("text", training["title"], class_="ink head", x=550, y=48),
        tag("text", training["what"], class_="soft", x=550, y=69),
        *_bars(training["seconds"]),
        tag("path", class_="chk", d="M551 257l5 5 9-11"),
        tag("text", "And proves how near the optimum it is", class_="ink strong", x=574, y=262),
    ]
    return tag(
        "svg", join(parts), xmlns="http://www.w3.org/2000/svg", width=900, height=320, viewBox="0 0 900 320",
        role="img",
    ) + "\n"  # fmt: skip


def told(seconds: float) -> str:
    """Return a time as the README's table has it."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def _said(spans: list[Any]) -> str:
    return ", ".join(f"{text.strip(',')} {NAMES[label][0]}" for text, label, _ in spans) + "."


def _times(training: dict[str, Any]) -> str:
    return ", ".join(f"{name} {told(seconds)}" for name, seconds in training["seconds"].items())


def _address(spans: list[Any]) -> list[Markup]:
    made, x, y = [], 36.0, 92.0
    for text, label, p in spans:
        name, color = NAMES[label]
        wide = max(width(text, 21.0), width(name, 13.0)) + 20
        if x + wide > 512:
            x, y = 36.0, y + 94
        middle = x + wide / 2
        words = [
            tag("tspan", word, " ", class_="strong" if word.strip(".,") == "St" else None)
            for word in text.split()
        ]
        made.append(
            tag(
                "g",
                tag("rect", class_="bg", x=x, y=y, width=wide, height=38, rx=6),
                tag("line", class_="ul", x1=x + 4, x2=x + wide - 4, y1=y + 38, y2=y + 38),
                tag("text", *words, class_="tok ink", x=middle, y=y + 26, text_anchor="middle"),
                tag("text", name, class_="lab", x=middle, y=y + 56, text_anchor="middle"),
                tag("text", share(p), class_="soft small", x=middle, y=y + 72, text_anchor="middle"),
                class_=color if p >= _SURE else f"{color} doubt",
            )
        )
        x += wide + 9
    return made


def _bars(seconds: dict[str, float]) -> list[Markup]:
    made, most = [], max(seconds.values())
    for n, (name, took) in enumerate(seconds.items()):
        y, ours = 110 + 68 * n, name == "crfkit"
        wide = 248 * took / most
        made += [
            tag("text", name, class_="ink strong" if ours else "ink", x=550, y=y),
            tag("rect", class_="bar" if ours else "other", x=550, y=y + 9, width=wide, height=26, rx=3),
            tag("text", told(took), class_="go big" if ours else "ink", x=560 + wide, y=y + 28),
        ]
    return made


def main() -> None:
    """Ask the model, and draw."""
    found = measured()
    MEASURED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    (HERE / "hero.svg").write_text(draw(found))


if __name__ == "__main__":
    main()
