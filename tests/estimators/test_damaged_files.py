"""Files of estimators, damaged behind right sums: every damage is refused by the name of the file."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import BoostedCRF
from crfkit.errors import ModelFileError
from crfkit.estimators.classic import CodeCRF, KernelChainCRF, VotedPerceptron
from crfkit.models.store import file_bytes, pack, unpack
from tests.cases.damaged_runs import MISSING, damaged, damages, places
from tests.cases.every_estimator import CASES

KINDS = {
    "BoostedCRF": "crfkit boosted",
    "KernelChainCRF": "crfkit kernel chain",
    "KernelChainCRF of items": "crfkit kernel chain",
    "VotedPerceptron": "crfkit voted perceptron",
}
CLASSES: dict[str, Any] = {
    "BoostedCRF": BoostedCRF,
    "KernelChainCRF": KernelChainCRF,
    "KernelChainCRF of items": KernelChainCRF,
    "VotedPerceptron": VotedPerceptron,
}


def parts(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    CASES[name].fitted().save(folder / "whole")
    arrays, about = unpack(file_bytes(folder / "whole"), "whole", kind=KINDS[name])
    return {key: np.array(value) for key, value in arrays.items()}, about


def loaded(name: str, path: Path) -> tuple[Any, str]:
    """Return the estimator of a file, or None and why it is refused; all else is raised."""
    try:
        return CLASSES[name].load(path), ""
    except ModelFileError as error:
        return None, str(error)


def ways(tree: dict[str, Any], rng: np.random.Generator) -> list[tuple[Any, str, Any]]:
    """Return all damages of small values, and some of arrays that have many."""
    found = []
    for at in places(tree):
        value: Any = tree
        for step in at:
            value = value[step]
        each = [*damages(value).items()]
        chosen = each if len(each) < 20 else [each[i] for i in rng.permutation(len(each))[:20]]
        found += [(at, way, change) for way, change in chosen]
    return found


@pytest.mark.parametrize("name", KINDS)
def test_every_damage_is_refused_by_name_or_does_no_harm(name: str, tmp_path: Path) -> None:
    arrays, about = parts(name, tmp_path)
    tree, one, path = {**arrays, **about}, CASES[name], tmp_path / "damaged.crf"
    refused = 0
    for at, way, change in ways(tree, np.random.default_rng(1)):
        made = damaged(tree, at, change)
        of_arrays = {key: value for key, value in made.items() if isinstance(value, np.ndarray)}
        try:
            data = b"".join(
                pack(of_arrays, {k: v for k, v in made.items() if k not in of_arrays}, kind=KINDS[name])
            )
        except (TypeError, ValueError):
            continue  # nan, or an array inside: such a file cannot be written
        path.write_bytes(data)
        again, error = loaded(name, path)
        if again is None:
            assert str(path) in error, f"{at} {way}: {error}"
            refused += 1
            continue
        with suppress(ValueError):  # numbers that overflow: said in words
            again.predict(one.X)
    assert refused > 50


def test_a_missing_part_is_called_by_its_name(tmp_path: Path) -> None:
    for name in KINDS:
        arrays, about = parts(name, tmp_path)
        for key in {**arrays, **about}:
            tree = damaged({**arrays, **about}, (key,), MISSING)
            of_arrays = {k: v for k, v in tree.items() if isinstance(v, np.ndarray)}
            path = tmp_path / "less.crf"
            plain = {k: v for k, v in tree.items() if k not in of_arrays}
            path.write_bytes(b"".join(pack(of_arrays, plain, kind=KINDS[name])))
            if key == "edge.ptr":
                continue  # trees of steps may be left out; their names are then strange
            with pytest.raises(ModelFileError, match=rf"less\.crf is damaged: .*{key.split('.')[0]}"):
                CLASSES[name].load(path)


def test_bytes_that_change_anywhere_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for name in KINDS:
        CASES[name].fitted().save(tmp_path / "m")
        whole = (tmp_path / "m").read_bytes()
        for _ in range(40):
            broken = bytearray(whole)
            broken[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
            (tmp_path / "m").write_bytes(broken)
            again, error = loaded(name, tmp_path / "m")
            assert again is None
            assert str(tmp_path / "m") in error


NESTED = b"[" * 100_000


@pytest.mark.parametrize(
    "said",
    [
        NESTED,
        b"",
        b"[]",
        b"7",
        b'{"decoder": 3, "code": {}}',
        b'{"decoder": "hamming"}',
        b'{"decoder": "hamming", "code": []}',
        b'{"decoder": "hamming", "code": {"a": 3, "b": "01", "c": "10"}}',
        b'{"decoder": "hamming", "code": {"a": "0", "b": "1"}}',
        b'{"decoder": "hamming", "code": {"a": "00", "b": "00", "c": "11"}}',
        b'{"decoder": "loud", "code": {"a": "00", "b": "01", "c": "11"}}',
        b"\xff\xfe",
        b'{"decoder": "hamming", "code": {"a": "' + b"9" * 5000 + b'"}}',
    ],
)
def test_a_code_that_is_something_else_is_refused_by_name(said: bytes, tmp_path: Path) -> None:
    CASES["CodeCRF by Hamming"].fitted().save(tmp_path)
    (tmp_path / "code.json").write_bytes(said)
    with pytest.raises(ModelFileError, match=r"code\.json"):
        CodeCRF.load(tmp_path)


def test_files_of_a_code_that_are_missing_or_others_are_refused_by_name(tmp_path: Path) -> None:
    made = CASES["CodeCRF by Hamming"].fitted()
    made.save(tmp_path)
    columns = len(made.columns_)
    for name in ("code.json", "product.crf", "column-0.crf", f"column-{columns - 1}.crf"):
        path = tmp_path / name
        data = path.read_bytes()
        path.unlink()
        with pytest.raises(ModelFileError, match=rf"{name} is missing"):
            CodeCRF.load(tmp_path)
        os.mkfifo(path)  # opening it would wait for ever
        with pytest.raises(ModelFileError, match=rf"{name} is not a file"):
            CodeCRF.load(tmp_path)
        path.unlink()
        path.write_bytes(data)
    said = json.loads((tmp_path / "code.json").read_text())
    CASES["SemiCRF"].fitted().model_.save(tmp_path / "column-0.crf")
    with pytest.raises(ModelFileError, match=r"column-0\.crf is damaged: its model is .*, not a chain"):
        CodeCRF.load(tmp_path)
    CASES["ChainCRF"].fitted().model_.save(tmp_path / "column-0.crf")
    with pytest.raises(ModelFileError, match=r"column-0\.crf is damaged: its labels are not the bits"):
        CodeCRF.load(tmp_path)
    assert said["decoder"] == "hamming"
