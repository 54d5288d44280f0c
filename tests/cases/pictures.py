"""Fixed data for every picture: small ones that people look at, large ones, and hostile ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from crfkit import view
from crfkit.view.frame import framed
from crfkit.view.markup import join

__all__ = ["HOSTILE", "hostile", "large", "small"]

#: What must come out as text: markup, quotes, entities, direction, control characters, half a pair.
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "&amp;</style></title></svg>-->",
    "\u202eevil\u202c\u2066x\u2069",
    "nul\x00bell\x07\x1b[31m\ud800\ufffe",
    "javascript:alert(1)",
    "]]>{{7*7}}",
    "e\u0301l \U0001f469\u200d\U0001f680 שלום",
)
WORDS = ["2121", "St.", "John", "St.,", "Suite", "4B,", "St.", "Paul,", "MN", "55104"]
LABELS = ["number", "street", "street_type", "unit_type", "unit", "city", "state", "zip"]
PATH = [0, 1, 1, 2, 3, 4, 5, 5, 6, 7]
SECOND = [0, 2, 1, 2, 3, 4, 5, 5, 6, 7]
SPANS = [
    *((0, 4, "number", 0.998), (5, 13, "street", 0.53), (14, 18, "street_type", 0.99)),
    *((19, 24, "unit_type", 0.98), (25, 28, "unit", 0.94), (29, 38, "city", 0.9)),
    *((39, 41, "state", 0.9999), (42, 47, "zip", 0.9999)),
]
TEXT = " ".join(WORDS)


def _shares(path: list[int], second: list[int], L: int) -> list[list[float]]:
    """Two paths, the first with 0.7, the second with 0.25."""
    rows = []
    for y, z in zip(path, second, strict=True):
        row = [0.05 / (L - 1)] * L
        row[y] += 0.7
        row[z] += 0.25
        total = sum(row)
        rows.append([p / total for p in row])
    return rows


def _steps(node: list[list[float]]) -> list[list[list[float]]]:
    return [[[p * q for q in after] for p in before] for before, after in pairwise(node)]


def small() -> dict[str, Callable[[], str]]:
    """Every picture of an address, its model and its errors."""
    node = _shares(PATH, SECOND, len(LABELS))
    curve = [26945.3, 9000.0, 4093.2, 3646.5, 3566.3, 3534.7, 3531.5, 3531.2]
    nan = float("nan")
    gap = [nan, nan, nan, 1800.0, 700.0, 134.0, 10.2, 0.312]
    score = [nan, 0.70, 0.74, 0.7577, 0.7530, 0.7533, 0.7531, 0.7531]
    steps = [
        [
            ("word[0]=St.", "", 1.86),
            ("lower(word)[1]=john", "", 0.91),
            ("street → street_type", "[+1]", -1.07),
        ]
    ]
    L = len(LABELS)
    return {
        "entities": lambda: view.entities(TEXT, SPANS, labels=LABELS, title="An address"),
        "compare": lambda: view.compare(
            TEXT,
            {"A": SPANS, "B": [*SPANS[:1], (5, 8, "street_type", 0.4), *SPANS[2:]]},
            gold=SPANS,
            labels=LABELS,
        ),
        "lattice": lambda: view.lattice(WORDS, LABELS, node, _steps(node), PATH, SECOND),
        "segments": lambda: view.segments(
            WORDS,
            [
                (0, 1, "number", 0.99),
                (1, 3, "street", 0.53),
                (1, 2, "street_type", 0.42),
                (6, 8, "city", 0.9),
            ],
            [(0, 1, "number"), (1, 3, "street"), (6, 8, "city")],
            labels=LABELS,
        ),
        "marginals": lambda: view.marginals(WORDS, LABELS, node, PATH, title="Marginals"),
        "waterfall": lambda: view.waterfall("St.", "street", 0.53, "street_type", 0.42, steps[0]),
        "transitions": lambda: view.transitions(
            LABELS, LABELS, [[((3 * y + 5 * x) % 11 - 5) / 2 for x in range(L)] for y in range(L)]
        ),
        "top_features": lambda: view.top_features(
            {
                "city": [("word[0]=Paul,", 2.16), ("suffix(word, 2)[0]=ul", -0.4)],
                "zip": [("shape(word)[0]=D", 4.0)],
            },
            labels=LABELS,
        ),
        "weights": lambda: view.weights(
            ["word[0]=Paul,", "bias"], LABELS[:3], [[0, 2.16, -0.4], [0.25, 0, 0]], title="Weights"
        ),
        "coverage": lambda: view.coverage([0.99, 0.9, 0.8, 0.4], [True, True, False, True], 0.5),
        "intervals": lambda: framed(
            join(
                view.intervals(
                    [
                        ("all", (0.75, 0.73, 0.77), (0.7, 0.68, 0.73)),
                        ("LOC", (0.8, 0.7, 0.9), (0.8, 0.7, 0.9)),
                    ]
                )
            )
        ),
        "learning": lambda: view.learning([(0, 0.4), (20, 0.53), (40, 0.52)], metric="span_f1"),
        "confusion": lambda: view.confusion(
            ["LOC", "ORG", "invented"],
            [[798, 101, 17], [159, 1242, 46], [10, 16, 0]],
            columns=["LOC", "ORG", "missed"],
            border={"LOC": 24, "ORG": 112},
        ),
        "scores": lambda: view.scores(
            ["precision", "recall", "f1", "support"],
            {"LOC": [0.74, 0.81, 0.7735, 985], "macro": [0.7, 0.8, 0.75, None]},
            bar=2,
            labels=["LOC"],
        ),
        "facts": lambda: view.facts({"model": "a chain of order 1", "weights": 488821}, title="names.crf"),
        "reliability": lambda: view.reliability(
            {
                "before": ([0.3, 0.5, 0.7, 0.95], [0.4, 0.45, 0.6, 0.85], [10, 20, 50, 400]),
                "after": ([0.3, 0.5, 0.7, 0.95], [0.31, 0.5, 0.68, 0.94], [10, 20, 50, 400]),
            }
        ),
        "training": lambda: view.training(
            curve, gap=gap, score=score, seconds=[0.2 + i for i in range(8)], kept=4, metric="span_f1"
        ),
        "alignment": lambda: view.alignment(
            {"exact": 3, "expanded": 1}, [("expanded", "'Yo' to 'York' (LOC)")]
        ),
        "graph": lambda: view.graph(
            [("word", w, True) for w in ("D", "N", "V")] + [("pos", None, False)] * 3,
            [("step", [3, 4]), ("step", [4, 5]), ("skip", [3, 5]), *(("word", [i, 3 + i]) for i in range(3))],
            title="A skip-chain",
        ),
        "grid": lambda: view.grid(
            [int((r - 4) ** 2 + (c - 5) ** 2 < 12) for r in range(9) for c in range(11)],
            (9, 11),
            labels=["ground", "figure"],
        ),
    }


def large(T: int = 50, L: int = 25) -> dict[str, Callable[[], str]]:
    """Every picture of T tokens and L labels about which nothing is certain."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(1, 12))) for _ in range(T)]
    labels = [f"LABEL_{y:02}" for y in range(L)]
    node = [[rng.random() for _ in labels] for _ in words]
    node = [[p / sum(row) for p in row] for row in node]
    path = [max(range(L), key=row.__getitem__) for row in node]
    other = [rng.randrange(L) for _ in words]
    text, spans = view.joined(words, [(t, t + 1, labels[y], node[t][y]) for t, y in enumerate(path)])
    pairs = [(f"word[0]={word}", "", rng.uniform(-1, 1)) for word in words]
    table = [[rng.uniform(-5, 5) for _ in labels] for _ in labels]
    curve = [1000.0 / (i + 1) + 5 for i in range(5000)]
    several = [
        (a, b, labels[(a + b) % L], rng.random()) for a in range(T) for b in range(a + 1, min(a + 6, T) + 1)
    ]
    pixels = [rng.randrange(8) for _ in range(100 * 100)]
    return {
        "entities": lambda: view.entities(text, spans, labels=labels),
        "compare": lambda: view.compare(text, {"A": spans, "B": spans[::2]}, gold=spans[1::2], labels=labels),
        "lattice": lambda: view.lattice(words, labels, node, _steps(node), path, other),
        "segments": lambda: view.segments(words, several, [], labels=labels),
        "marginals": lambda: view.marginals(words, labels, node, path),
        "waterfall": lambda: view.waterfall(words[0], labels[0], 0.5, labels[1], 0.4, pairs),
        "transitions": lambda: view.transitions(labels, labels, table),
        "top_features": lambda: view.top_features(
            {y: [(name, w) for name, _, w in pairs] for y in labels}, labels=labels, most=6
        ),
        "weights": lambda: view.weights(words[:26], labels, [[rng.random()] * len(labels)] * 26),
        "coverage": lambda: view.coverage([rng.random() for _ in words], [True] * len(words), 0.5),
        "intervals": lambda: framed(
            join(view.intervals([(y, (0.5, 0.4, 0.6), (0.5, 0.4, 0.6)) for y in labels]))
        ),
        "learning": lambda: view.learning([(n, 1 - 1 / n) for n in range(1, 500)]),
        "confusion": lambda: view.confusion(labels, [[rng.randrange(99) for _ in labels] for _ in labels]),
        "scores": lambda: view.scores(
            ["f1", "n"], {y: [rng.random(), 12345] for y in labels}, bar=0, labels=labels
        ),
        "facts": lambda: view.facts(dict(zip(labels, words, strict=False))),
        "reliability": lambda: view.reliability({"labels": ([0.5] * 99, [0.4] * 99, [7] * 99)}),
        "training": lambda: view.training(curve, gap=[c - 5 for c in curve], score=curve),
        "alignment": lambda: view.alignment(
            {"exact": 999, "expanded": 3}, [("expanded", word) for word in words]
        ),
        "graph": lambda: view.graph(
            [("token", labels[y], False) for y in path], [("step", [t, t + 1]) for t in range(T - 1)]
        ),
        "grid": lambda: view.grid(pixels, (100, 100), labels=labels[:8]),
    }


def hostile(bad: str) -> dict[str, Callable[[], str]]:
    """Every picture with a hostile string in every argument that is text."""
    node = [[0.6, 0.4], [0.3, 0.7]]
    labels, words, span = [bad, f"B-{bad}"], [bad, bad], (0, len(bad), bad, 0.5)
    bins = ([0.5], [0.4], [7])
    return {
        "entities": lambda: view.entities(bad, [span, (0, 1, f"x{bad}", 0.2)], labels=labels, title=bad),
        "compare": lambda: view.compare(
            bad, {bad: [span], f"2{bad}": []}, gold=[(0, 1, bad)], labels=labels, title=bad, note=bad
        ),
        "lattice": lambda: view.lattice(words, labels, node, _steps(node), [0, 1], [1, 0], title=bad),
        "segments": lambda: view.segments(words, [(0, 2, bad, 0.5)], [(0, 2, bad)], labels=labels, title=bad),
        "marginals": lambda: view.marginals(words, labels, node, [0, 1], title=bad),
        "waterfall": lambda: view.waterfall(
            bad, bad, 0.5, f"2{bad}", 0.4, [(f"{bad}={bad}", bad, 1.0), (bad, "", -1.0)]
        ),
        "transitions": lambda: view.transitions(
            labels, labels, [[1.0, -1.0], [0.0, 2.0]], title=bad, note=bad
        ),
        "top_features": lambda: view.top_features(
            {bad: [(f"{bad}={bad}", 1.0)]}, labels=labels, title=bad, note=bad
        ),
        "weights": lambda: view.weights([bad], [bad], [[1.0]], title=bad, note=bad),
        "coverage": lambda: view.coverage([0.5], [True], what=bad, title=bad, note=bad),
        "intervals": lambda: framed(
            join(view.intervals([(bad, (0.5, 0.4, 0.6), (0.5, 0.4, 0.6))], (bad, bad)))
        ),
        "learning": lambda: view.learning([(1, 0.5)], metric=bad, below=bad, title=bad, note=bad),
        "confusion": lambda: view.confusion(
            labels, [[1, 2], [3, 4]], colored=labels, border={bad: 5}, title=bad, note=bad
        ),
        "scores": lambda: view.scores([bad], {bad: [0.5]}, bar=0, labels=labels, title=bad, note=bad),
        "facts": lambda: view.facts({bad: bad}, title=bad, note=bad),
        "reliability": lambda: view.reliability({bad: bins, f"2{bad}": bins}, title=bad, note=bad),
        "training": lambda: view.training([2.0, 1.0], score=[0.1, 0.2], metric=bad, title=bad, note=bad),
        "alignment": lambda: view.alignment({bad: 1}, [(bad, bad)], title=bad, note=bad),
        "graph": lambda: view.graph(
            [(bad, bad, True), (f"2{bad}", bad, False)], [(bad, [0, 1])], title=bad, note=bad
        ),
        "grid": lambda: view.grid([0, 1], (1, 2), labels=labels, title=bad, note=bad),
    }
