"""Random bytes against everything that reads bytes: ``python -m tests.whole.fuzz [--seconds 60] [--seed 0]``.

Seeds are valid inputs of each kind; they are cut, doubled, flipped and spliced. Any outcome but a result or a
ValueError with a message is a failure, and a crash of the process is one by itself. Run by `make fuzz`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from crfkit import data, load_graph
from crfkit.data import graphs
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, parse_recipe
from tests.cases.graph_files import opengm_file

COLUMNS = b"The DT B-NP\ndog NN I-NP\r\n\n-DOCSTART- O O\n\nC\xc3\xa9 NN B-NP\n"
CRFSUITE = b"B\tw=a\tv:1.5\t\\::2\nO\tx\n@weight:2\n\nO\ty:-1e3\n"
MALLET = b"the DT O\ndog N B\n\ncat N B\n"
JSON = b'{"items": [{"w": 1.5, "k": ["p"]}, ["q"]], "labels": ["X", "Y"]}\n'
GRAPH = b"MARKOV\n3\n2 3 2\n3\n1 0\n2 0 1\n2 2 1\n2\n0.5 0.5\n6\n1 2 3 4 5 6\n6\n0 1 0 1e3 .5 2\n"
FACTORS = b"2\n\n1\n4\n2\n2\n0 0.5\n1 0.5\n\n# c\n2\n4 9\n2 3\n3\n0 1\n5 2\n2 1e-3\n"
TEMPLATES = [
    b"U00:%x[-2,0]/%x[0,1]\nB01:%x[8,0]\nB\n",
    b'*\nu:%m[ 0,0,"^\\u*.?\\W$"]\nb:%T[@-1,1,"a*b"] # c\n',
    b'bias; word[-2..2]; ngrams(word, 2, 3)[0] & shape(pos)[-9]\nedge: regex(word, "[a-z]+")[1]',
]


def mutate(seed: bytes, rng: random.Random) -> bytes:
    text = bytearray(seed * rng.choice([1, 1, 1, 3]))
    for _ in range(rng.choice([0, 1, 2, 5, 20])):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            text[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 6)))
        elif kind == 1:
            del text[at : at + rng.randrange(1, 9)]
        elif kind == 2 and at < len(text):
            text[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            text[at:at] = rng.choice(
                [b"\n", b"\r\n", b"\t", b" ", b"\\", b":", b"%x[", b'"', b"\0", b"\xff", b"99999999999"]
            )
        else:
            begin = rng.randrange(len(text) + 1)
            text[at:at] = text[begin : begin + rng.randrange(40)]
    return bytes(text)


def read_as(format: str | None) -> Callable[[bytes], object]:
    return lambda text: data.read(io.BytesIO(text), format=format)


def read_compressed(text: bytes) -> object:
    return data.read(io.BytesIO(text), format="columns")


def expand(text: bytes) -> object:
    recipe = parse_recipe(text.decode("utf-8", "replace"))
    rows = [[("The", "DT", "x"), ("dog", "NN", "y")], [("a/b", "", "z")], []]
    return Extractor(recipe, label=None)(Columns.from_rows(rows, names=["word", "pos", "z"]), 2)


def read_graph(format: str) -> Callable[[bytes], object]:
    return lambda text: load_graph(io.BytesIO(text), format=format)


def read_evidence(text: bytes) -> object:
    return graphs.read_evidence(io.BytesIO(text), np.array([2, 3, 2], dtype=np.int32))


def read_result(text: bytes) -> object:
    return graphs.read_result(io.BytesIO(text))


TARGETS: list[tuple[str, Callable[[bytes], object], list[bytes]]] = [
    ("columns", read_as("columns"), [COLUMNS]),
    ("crfpp", read_as("crfpp"), [COLUMNS]),
    ("wapiti", read_as("wapiti"), [COLUMNS]),
    ("crfsuite", read_as("crfsuite"), [CRFSUITE]),
    ("mallet", read_as("mallet"), [MALLET]),
    ("jsonl", read_as("jsonl"), [JSON]),
    ("guess", read_as(None), [COLUMNS, CRFSUITE, MALLET, JSON]),
    ("gzip", read_compressed, [gzip.compress(COLUMNS)]),
    ("template", expand, TEMPLATES),
    ("uai", read_graph("uai"), [GRAPH]),
    ("lg", read_graph("lg"), [GRAPH]),
    ("fg", read_graph("fg"), [FACTORS]),
    ("evidence", read_evidence, [b"2 0 1 2 1\n", b"1 1 0 1"]),
    ("result", read_result, [b"MAR\n2 2 0.5 0.5 1 1\n", b"MPE\n2 0 1\n-BEGIN-\n2 1 1", b"PR\n-1.5"]),
]
if find_spec("h5py"):
    TARGETS.append(("opengm", read_graph("opengm"), [opengm_file()]))


def run(seconds: float, seed: int) -> dict[str, tuple[int, int]]:
    """Fuzz all targets in turn; return how many inputs each took and how many it refused."""
    rng = random.Random(seed)
    counts = {name: [0, 0] for name, _, _ in TARGETS}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, target, seeds in TARGETS:
            text = mutate(rng.choice(seeds), rng)
            counts[name][0] += 1
            try:
                target(text)
            except ValueError as error:
                counts[name][1] += 1
                if not str(error):
                    raise RuntimeError(f"{name}: an error without a message for {text!r}") from error
            except Exception:
                print(f"{name} failed on {text!r}")
                raise
    return {name: (taken, refused) for name, (taken, refused) in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name, (taken, refused) in run(options.seconds, options.seed).items():
        print(f"{name:<10} {taken:>8} inputs, {refused:>8} refused")


if __name__ == "__main__":
    main()
