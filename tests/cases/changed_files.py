"""Model files that are changed in place while models use them: ``python -m tests.cases.changed_files HOW``.

With "overwrite" the process ends with status 0 where every question was answered, or refused by a ValueError;
with "cut", where all of them were refused by one that names the file.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import crfkit
from crfkit import Chain, Features, SemiMarkov, Stop, Tagger, train
from crfkit.compat import pycrfsuite
from crfkit.data.formats.columns import Columns
from crfkit.features import ItemExtractor
from crfkit.models.files.crfsuite_write import crfsuite_bytes
from crfkit.models.files.graphs import graph_pieces
from crfkit.models.graph_columns import column_graphs
from tests.cases.models import graph_model, native_model

Question = Callable[[], object]

WORDS = [[[f"w{(i * 7 + n) % 50}", f"s{i % 9}", "bias"] for i in range(12)] for n in range(20)]
TAGS = [["ABC"[(i * 7 + n) % 3] for i in range(12)] for n in range(20)]


def _trained(**options: Any) -> bytes:
    data = ItemExtractor(options.pop("hashed", None))(WORDS, TAGS)
    return train(data, stop=Stop(max_iterations=3), **options).to_bytes()


FILES: dict[str, Callable[[], bytes]] = {
    "items": _trained,
    "hashed": lambda: _trained(hashed=64),
    "order2": lambda: _trained(structure=Chain(order=2), features=Features(start=True, stop=True)),
    "columns": lambda: native_model().to_bytes(),
    "segments": lambda: _trained(structure=SemiMarkov(max_length=3)),
    "crfsuite": lambda: crfsuite_bytes(train(ItemExtractor()(WORDS, TAGS), stop=Stop(max_iterations=3))),
    "graph": lambda: b"".join(graph_pieces(graph_model(), notes=None, licence=None)),
}


def questions(path: str, kind: str) -> dict[str, Question]:
    """Open a file, and return what may be asked of the model later."""
    if kind == "graph":
        graph = crfkit.load(path)
        rows = [[("The", "DT", "B"), ("York", "NN", "I")]]
        columns = Columns.from_rows(rows, names=["word", "pos", "chunk"])
        return {"predict": lambda: graph.predict(column_graphs(graph.form, columns, graph.graph, threads=1))}
    model = crfkit.load(path)
    X: Any = WORDS
    if kind == "columns":
        X = Columns.from_rows([[("The", "DT", "O"), ("York", "NN", "B")]] * 9, names=["word", "pos", "tag"])
    asked: dict[str, Question] = {
        "predict": lambda: model.predict(X),
        "marginals": lambda: model.marginals(X, threads=1),
        "dataset": lambda: model.dataset(X),
        "pickle": lambda: pickle.loads(pickle.dumps(model)).predict(X),
        "save": lambda: model.to_bytes(),
    }
    if kind != "hashed":
        asked |= {
            "find": lambda: model.attributes.find("w1"),
            "strings": lambda: model.attributes.strings(),
            "name": lambda: [model.attributes[i] for i in range(len(model.attributes))],
        }
    if kind not in ("columns", "segments"):
        asked["tag"] = lambda: [Tagger(model).tag(x) for x in WORDS]
    if kind == "crfsuite":
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        asked["pycrfsuite"] = lambda: [tagger.tag(x) for x in WORDS]
    return asked


def overwritten(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """Yield what a file may become, of any length."""
    n = len(data)
    yield bytes(n)
    yield b"\xff" * n
    yield rng.randbytes(n)
    yield rng.randbytes(2 * n)
    yield data[8:] + data[:8]
    yield data[::-1]
    for high in (0x7F, 0xFF, 0x80):
        yield bytes(high if i % 8 == 7 else b for i, b in enumerate(data))
    for _ in range(12):  # a stretch of small numbers, of large ones, or of other parts of the file
        begin, size = rng.randrange(n), rng.choice([8, 64, 512, n])
        words = np.frombuffer(rng.randbytes(8 * (size // 8 + 1)), dtype=np.uint64)
        words = words >> np.uint64(rng.choice([0, 32, 48, 56]))
        yield data[:begin] + words.tobytes()[: max(min(size, n - begin), 0)] + data[begin + size :]


def ask_all(asked: dict[str, Question], must_fail: str | None = None) -> None:
    """Ask; answers and ValueErrors are good, or else only the error that names a file."""
    for name, question in asked.items():
        said = "an answer"
        try:
            question()
        except ValueError as error:
            said = str(error)
        if must_fail is not None and f"{must_fail} was changed while it was in use" not in said:
            raise AssertionError(f"{name}: {said}")


def overwrite(kind: str, path: str, data: bytes) -> None:
    for i, variant in enumerate(overwritten(data, random.Random(kind))):
        asked = opened(kind, path, data)
        if i % 2:  # what is made by the first question is there
            ask_all(asked)
        change(path, variant)
        ask_all(asked)


def cut(kind: str, path: str, data: bytes) -> None:
    names = [*opened(kind, path, data)]
    for i, name in enumerate(names):
        for j, size in enumerate((0, len(data) // 3, len(data) - 5000)):
            asked = opened(kind, path, data)
            if (i + j) % 2:
                ask_all(asked)
            change(path, data[: max(size, 0)])
            ask_all({name: asked[name]}, must_fail=path)


def opened(kind: str, path: str, data: bytes) -> dict[str, Question]:
    with open(path, "wb") as file:
        file.write(data)
    return questions(path, kind)


def change(path: str, data: bytes) -> None:
    """Overwrite a file, as ``cp`` does."""
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate(len(data))


def main(how: str, *kinds: str) -> None:
    ways = {"overwrite": overwrite, "cut": cut}
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds or FILES:
            ways[how](kind, os.path.join(folder, "m.crf"), FILES[kind]())


if __name__ == "__main__":
    main(*sys.argv[1:])
