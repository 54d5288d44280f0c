"""Files whose parts are missing or of wrong types are read, or refused with file and line, nothing else."""

from __future__ import annotations

import io
import json
import warnings
from random import Random
from typing import Any

import pytest

from crfkit.errors import DataError, DataWarning
from crfkit.text import read
from crfkit.text.formats.registry import find

ODD: list[Any] = [None, True, 3, -1, 1e400, float("nan"), "x", "", [], {}, [[]], [{}], [None], {"a": 1}]
ODD += ["\ud800", 2**70, [1, 2], ["a"], [["a", 1, 2]], [[0, 1, 5]]]


def mutated(given: Any, rng: Random) -> Any:
    if rng.random() < 0.15:
        return rng.choice(ODD)
    if isinstance(given, dict):
        return {key: mutated(value, rng) for key, value in given.items() if rng.random() > 0.07}
    return [mutated(one, rng) for one in given] if isinstance(given, list) else given


def outcome(content: bytes, name: str) -> str:
    """Return what an error says, "" where there is none; anything but a DataError fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            list(read(io.BytesIO(content), name))
        except DataError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("name", ["jsonl", "doccano", "prodigy", "label-studio", "rows"])
def test_objects_with_wrong_parts(name: str) -> None:
    rng = Random(7)
    example = json.loads(str(find(name).example))
    told = [
        outcome(json.dumps([mutated(one, rng) for one in _listed(example)]).encode(), name)
        for _ in range(400)
    ]
    placed = ("line 1: ", "no document has a text", "holds no document")
    assert [one for one in told if one and not any(part in one for part in placed)] == []
    assert {bool(one) for one in told} == {True, False}


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


@pytest.mark.parametrize("name", ["conllu", "parserator", "webanno"])
def test_text_with_wrong_bytes(name: str) -> None:
    rng = Random(7)
    example = str(find(name).example).encode()
    told = []
    for _ in range(400):
        content = bytearray(example)
        for _ in range(rng.randint(1, 6)):
            i, kind = rng.randrange(len(content) + 1), rng.random()
            if kind < 0.4:
                content[i : i + 1] = bytes([rng.choice(b"\t\n\r 0-9_|<>=#&;\\[]\xff\x00")])
            elif kind < 0.7:
                del content[i : i + rng.randint(1, 9)]
            else:
                content[i:i] = example[rng.randrange(len(example)) :][:8]
        told.append(outcome(bytes(content), name))
    assert {bool(one) for one in told} == {True, False}


@pytest.mark.parametrize(
    "name", ["jsonl", "doccano", "prodigy", "label-studio", "rows", "conllu", "parserator"]
)
@pytest.mark.parametrize("other", ["jsonl", "label-studio", "rows", "conllu", "parserator", "webanno"])
def test_a_file_of_another_format(name: str, other: str) -> None:
    """It is refused, or read with what the format knows of it: never an error of another kind."""
    told = outcome(str(find(other).example).encode(), name)
    if name in ("conllu", "parserator") and other != name:
        assert told
