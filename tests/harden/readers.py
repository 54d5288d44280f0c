"""Random bytes against everything that reads texts.

Seeds are valid inputs of each kind; they are cut, doubled, flipped and spliced. Any outcome but a result or a
ValueError with a message is a failure.
"""

from __future__ import annotations

import gzip
import io
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import crfkit
from crfkit.data import graphs
from crfkit.data.formats.columns import Columns
from crfkit.errors import DataWarning
from crfkit.features import Extractor
from crfkit.features.dialects import parse_recipe
from crfkit.graphs import load as load_graph
from tests.cases.graph_files import opengm_file
from tests.harden.case import FailureError, Input, Outcome

COLUMNS = b"The DT B-NP\ndog NN I-NP\r\n\n-DOCSTART- O O\n\nC\xc3\xa9 NN B-NP\n"
CRFSUITE = b"B\tw=a\tv:1.5\t\\::2\nO\tx\n@weight:2\n\nO\ty:-1e3\n"
MALLET = b"the DT O\ndog N B\n\ncat N B\n"
TABLE = b'sentence_id,word,tag\n1,"a,""b""",X\n,c\xc3\xa9,Y\n\n2,"d\n",Z\n'
ARRAY = b'[\n {"tokens": ["a", "\\\\\\"}"], "labels": [1, 2]},\n {"tokens": [], "labels": []}\n]\n'
JSON = b'{"items": [{"w": 1.5, "k": ["p"]}, ["q"]], "labels": ["X", "Y"]}\n'
GRAPH = b"MARKOV\n3\n2 3 2\n3\n1 0\n2 0 1\n2 2 1\n2\n0.5 0.5\n6\n1 2 3 4 5 6\n6\n0 1 0 1e3 .5 2\n"
FACTORS = b"2\n\n1\n4\n2\n2\n0 0.5\n1 0.5\n\n# c\n2\n4 9\n2 3\n3\n0 1\n5 2\n2 1e-3\n"
TEMPLATES = (
    b"U00:%x[-2,0]/%x[0,1]\nB01:%x[8,0]\nB\n",
    b'*\nu:%m[ 0,0,"^\\u*.?\\W$"]\nb:%T[@-1,1,"a*b"] # c\n',
    b'bias; word[-2..2]; ngrams(word, 2, 3)[0] & shape(pos)[-9]\nedge: regex(word, "[a-z]+")[1]',
)


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


def read_as(format: str | None, **options: Any) -> Callable[[bytes], object]:
    def read(text: bytes) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            return crfkit.read(io.BytesIO(text), format=format, **options)

    return read


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


@dataclass(frozen=True)
class Reader:
    """Variants of texts, and a function that reads them."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]

    def make(self, chance: random.Random) -> bytes:
        return mutate(chance.choice(self.seeds), chance)

    def judge(self, data: bytes) -> Outcome:
        try:
            self.read(data)
        except ValueError as error:
            if not str(error):
                raise FailureError("an error without a message") from error
            return Outcome.REFUSED
        return Outcome.ACCEPTED


READERS: dict[str, Reader] = {
    "columns": Reader(read_as("columns"), (COLUMNS,)),
    "crfpp": Reader(read_as("crfpp"), (COLUMNS,)),
    "wapiti": Reader(read_as("wapiti"), (COLUMNS,)),
    "crfsuite": Reader(read_as("crfsuite"), (CRFSUITE,)),
    "mallet": Reader(read_as("mallet"), (MALLET,)),
    "jsonl": Reader(read_as("jsonl"), (JSON,)),
    "array": Reader(read_as("jsonl"), (ARRAY,)),
    "csv": Reader(read_as("csv"), (TABLE,)),
    "header": Reader(
        read_as("columns", separator=",", header=True, sequence="0"), (TABLE, COLUMNS.replace(b" ", b","))
    ),
    "encoding": Reader(
        read_as(None), tuple(text.decode().encode("utf-16") for text in (COLUMNS, TABLE, ARRAY))
    ),
    "line ends": Reader(read_as(None), tuple(one.replace(b"\n", b"\r") for one in (COLUMNS, JSON, ARRAY))),
    "guess": Reader(read_as(None), (COLUMNS, CRFSUITE, MALLET, JSON)),
    "gzip": Reader(read_as("columns"), (gzip.compress(COLUMNS, mtime=0),)),
    "template": Reader(expand, TEMPLATES),
    "uai": Reader(read_graph("uai"), (GRAPH,)),
    "lg": Reader(read_graph("lg"), (GRAPH,)),
    "fg": Reader(read_graph("fg"), (FACTORS,)),
    "evidence": Reader(read_evidence, (b"2 0 1 2 1\n", b"1 1 0 1")),
    "result": Reader(read_result, (b"MAR\n2 2 0.5 0.5 1 1\n", b"MPE\n2 0 1\n-BEGIN-\n2 1 1", b"PR\n-1.5")),
}
if find_spec("h5py"):
    READERS["opengm"] = Reader(read_graph("opengm"), (opengm_file(),))


@dataclass(frozen=True)
class All:
    """All readers in turn; an input begins with the name of its reader."""

    def make(self, i: int, chance: random.Random) -> Input:
        name = sorted(READERS)[i % len(READERS)]
        return Input(name, name.encode() + b":" + READERS[name].make(chance))

    def judge(self, data: bytes) -> Outcome:
        name, _, text = data.partition(b":")
        return READERS[name.decode()].judge(text)
