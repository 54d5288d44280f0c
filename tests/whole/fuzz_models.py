"""Damaged and hostile model files: ``python -m tests.whole.fuzz_models [--variants 20000]``.

Seeds are small models of each kind; they are cut, flipped, spliced and overwritten with numbers that hurt.
crfkit's own files are also changed behind their sums: arrays and descriptions are altered, then packed
soundly. Every outcome must be a model that answers, or a ValueError that names the source, soon and within
2 GB. A crash of the process is a failure by itself.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from crfkit import Model
from crfkit.data.batch import Batch
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.models.files import read_model_bytes
from crfkit.models.files.crfpp_write import crfpp_text
from crfkit.models.files.graphs import graph_pieces
from crfkit.models.files.native import any_model_of
from crfkit.models.files.wapiti_write import wapiti_text
from crfkit.models.graph_columns import column_graphs
from crfkit.models.graph_model import GraphModel
from crfkit.models.store import pack, unpack
from tests.cases import foreign_models
from tests.cases.foreign_models import MALLET, crfpp_binary
from tests.cases.models import crfsuite_model, graph_model, native_model

SLOWEST = 5.0  # seconds for one variant on a busy machine
NUMBERS = [0, 1, 2, 7, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 1 << 24, 4096]
TEXTS = [b"-1", b"99999999999999999999", b"nan", b"inf", b"1e999", b"\0", b"\xff", b"\n", b"\n\n", b":", b"#"]
VALUES: list[Any] = [None, True, 0, -1, 3, 2**31, 2**63, 10**30, 1.5, "", "x", "nan", [], [[]], {}, {"x": 1}]


def mutate(seed: bytes, rng: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 12])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(9)
        if kind == 0:
            del data[at:]
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 3:
            at = at // 4 * 4
            data[at : at + 4] = rng.choice([*NUMBERS, len(data), rng.randrange(len(data) + 1)]).to_bytes(
                4, "little"
            )
        elif kind == 4:
            del data[at : at + rng.randrange(1, 40)]
        elif kind == 5:
            begin = rng.randrange(len(data) + 1)
            data[at:at] = data[begin : begin + rng.randrange(60)]
        elif kind == 6:
            data[at:at] = rng.choice(TEXTS)
        elif kind == 7 and len(data) < 1 << 16:
            begin = rng.randrange(len(data) + 1)
            data[begin : begin + 8] = data[at : at + 8]
        else:
            data[at : at + rng.randrange(1, 30)] = bytes(rng.randrange(1, 30))
        data = data or bytearray(b"x")
    return bytes(data)


def spoil(seed: bytes, rng: random.Random) -> bytes:
    """Change what a sound file of crfkit says, with sums that fit."""
    arrays, about = unpack(seed, "seed")
    arrays = dict(arrays)
    for _ in range(rng.choice([1, 1, 2, 5])):
        name = rng.choice(sorted(arrays))
        array = arrays[name].copy()
        kind = rng.randrange(7)
        if kind == 0:
            del arrays[name]
        elif kind == 1:
            other = rng.choice([np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64])
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(other)
        elif kind == 2:
            arrays[name] = array[: rng.randrange(len(array) + 1)]
        elif kind == 3:
            arrays[name] = np.concatenate([array, array[: rng.randrange(len(array) + 1)]])
        elif kind == 4:
            arrays[name] = array.reshape(1, *array.shape)
        elif array.size:
            flat = array.reshape(-1)
            for _ in range(rng.choice([1, 3])):
                number = rng.choice([*NUMBERS, rng.randrange(60), rng.getrandbits(64)])
                raw = (number % (1 << 8 * array.itemsize)).to_bytes(array.itemsize, "little")
                flat[rng.randrange(array.size)] = np.frombuffer(raw, dtype=array.dtype)[0]
            arrays[name] = array
        if rng.random() < 0.5:
            replace_somewhere(about, rng)
    about.pop("sums", None)
    if not arrays:
        arrays["w"] = np.zeros(0)
    return b"".join(pack(arrays, about))


def replace_somewhere(value: Any, rng: random.Random) -> None:
    """Replace, drop or double one entry of a tree of dicts and lists."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.8:
            value = value[key]
            continue
        if rng.random() < 0.2:
            del value[key]
        elif isinstance(value[key], str) and value[key] and rng.random() < 0.5:
            text = value[key]
            at = rng.randrange(len(text))
            value[key] = (
                text[:at] + rng.choice(['"', "(", "*", "\\", "%x[0,0]", "\n", "{9}", "\ud800"]) + text[at:]
            )
        else:
            value[key] = json.loads(json.dumps(rng.choice(VALUES)))
        return


def graph_bytes(model: GraphModel) -> bytes:
    return b"".join(graph_pieces(model, notes=None, licence=None))


def use(model: Model | GraphModel) -> None:
    """Ask everything of a model that reading may have let through."""
    if isinstance(model, GraphModel):
        if model.form is not None:
            names = [*model.form.columns] or ["0", "1", "2"]
            columns = Columns.from_rows([[["The"] * len(names), ["York"] * len(names)]], names=names)
            graphs = column_graphs(model.form, columns, model.graph, threads=1)
            model.predict(graphs, threads=1)
            model.predict_marginals(graphs, threads=1)
        any_model_of(graph_bytes(model), "again")
        return
    L, A, E = model.layout.labels, model.layout.attributes, model.layout.edge_attributes
    edges = {"edge_ptr": [0, 0, min(E, 2)], "edge_attr": list(range(min(E, 2)))} if E else {}
    if model.layout.dense * L < 1 << 20:
        batch = Batch([0, 2], [0, min(A, 2), min(A, 2)], list(range(min(A, 2))),  # type: ignore[arg-type]
                      dense=np.zeros((2, model.layout.dense)) if model.layout.dense else None, **edges)  # type: ignore[arg-type]  # fmt: skip
        model.predict(batch, threads=1)
        model.marginals(batch, threads=1)
    if model.recipe is not None:
        names = [c for c in dict.fromkeys(model.recipe.columns) if c] or ["word"]
        if len(names) < 50 and not any(name.isdigit() and int(name) > 50 for name in names):
            columns = Columns.from_rows([[["The"] * len(names), ["York"] * len(names)]], names=names)
            model.predict(Extractor(model.recipe, label=None)(columns), threads=1)
    model.attributes.find("word[0]=The")
    model.attributes.strings()
    read_model_bytes(model.to_bytes(compact=True))
    for write in (crfpp_text, wapiti_text):
        try:
            written = write(model)
        except ValueError:  # it has something that such a file cannot hold
            continue
        try:
            read_model_bytes(written)
        except ValueError as error:
            raise RuntimeError("what was written cannot be read") from error


NATIVE = native_model().to_bytes()
GRAPHS = graph_bytes(graph_model())
TARGETS: dict[str, tuple[bytes, Callable[[bytes, random.Random], bytes]]] = {
    "crfkit": (NATIVE, mutate),
    "crfkit, sums right": (NATIVE, spoil),
    "graph": (GRAPHS, mutate),
    "graph, sums right": (GRAPHS, spoil),
    "crfsuite": (crfsuite_model(), mutate),
    "crfpp text": (foreign_models.crfpp_text(), mutate),
    "crfpp binary": (crfpp_binary(), mutate),
    "wapiti": (foreign_models.wapiti_text(), mutate),
    "wapiti memm": (foreign_models.wapiti_text(kind=1), mutate),
    "mallet": (MALLET.encode(), mutate),
}


def run(variants: int, seed: int, targets: list[str] | None = None) -> dict[str, tuple[int, int, float]]:
    """Read variants of every seed; return how many there were, how many were refused, and the slowest."""
    counts = {}
    for name, (data, change) in TARGETS.items():
        if targets and name not in targets:
            continue
        rng = random.Random(f"{name} {seed}")
        refused, slowest = 0, 0.0
        for i in range(variants):
            try:
                variant = change(data, rng)
            except ValueError:  # what even the writer refuses
                continue
            begun = time.perf_counter()
            try:
                if data is GRAPHS:
                    model = any_model_of(variant, "variant.file")
                else:
                    model = read_model_bytes(variant, source="variant.file")
            except ValueError as error:
                refused, slowest = refused + 1, max(slowest, time.perf_counter() - begun)
                if "variant.file" not in str(error):
                    raise RuntimeError(f"{name}, variant {i}: the error does not name the file") from error
                continue
            try:
                use(model)
            except ValueError:  # it answers, but not with every number: overflow, no labelling
                pass
            finally:
                slowest = max(slowest, time.perf_counter() - begun)
            if slowest > SLOWEST:
                raise RuntimeError(f"{name}, variant {i} took {slowest:.1f} s")
        counts[name] = (variants, refused, slowest)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--variants", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    for name in options.only or TARGETS:
        taken, refused, slowest = run(options.variants, options.seed, [name])[name]
        told = f"{name:<20} {taken:>8} variants, {refused:>8} refused, slowest {1e3 * slowest:.0f} ms"
        print(told, flush=True)


if __name__ == "__main__":
    main()
