"""Files of estimators, damaged behind right sums: every damage is refused by the name of the file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit.errors import ModelFileError
from crfkit.models.parts import PARTS
from crfkit.models.store import file_bytes, pack, unpack
from tests.cases.damaged_runs import MISSING, damaged, damages, places
from tests.cases.every_estimator import CASES

NAMES = [
    "BoostedCRF",
    "KernelChainCRF",
    "KernelChainCRF of items",
    "VotedPerceptron",
    "CodeCRF by Hamming",
    "HMM",
    "BayesianCRF",
    "FactorialCRF",
    "SkipChainCRF",
    "GridCRF",
    "MultiLabelCRF",
]
OURS = ("map", "rule", "estimator")


def parts(name: str, folder: Path) -> dict[str, Any]:
    """Return the arrays and the description of a file, by name."""
    CASES[name].fitted().save(folder / "whole")
    arrays, about = unpack(file_bytes(folder / "whole"), "whole")
    return {**{key: np.array(value) for key, value in arrays.items()}, **about}


def write(path: Path, tree: dict[str, Any]) -> bool:
    """Write such a file; return whether it can be written."""
    arrays = {key: value for key, value in tree.items() if isinstance(value, np.ndarray)}
    try:
        data = b"".join(pack(arrays, {key: value for key, value in tree.items() if key not in arrays}))
    except (TypeError, ValueError):  # nan, or an array inside
        return False
    path.write_bytes(data)
    return True


def loaded(name: str, path: Path) -> tuple[Any, str]:
    """Return the estimator of a file, or None and why it is refused; all else is raised."""
    try:
        return type(CASES[name].fitted()).load(path), ""
    except (ModelFileError, TypeError) as error:
        return None, str(error)


def ways(tree: dict[str, Any], rng: np.random.Generator) -> list[tuple[Any, str, Any]]:
    """Return damages of what files of estimators have beside those of models, some of many for each place."""
    found = []
    for at in places(tree):
        if not str(at[0]).startswith(OURS):
            continue
        value: Any = tree
        for step in at:
            value = value[step]
        each = [*damages(value).items()]
        most = 20 if isinstance(value, np.ndarray) else 6 if at[0] == "estimator" else len(each)
        chosen = each if len(each) < most else [each[i] for i in rng.permutation(len(each))[:most]]
        found += [(at, way, change) for way, change in chosen]
    return found


def test_every_part_is_damaged_here(tmp_path: Path) -> None:
    seen = set()
    for name in NAMES:
        tree = parts(name, tmp_path)
        seen |= {(part, tree[part]["kind"]) for part in ("map", "rule") if part in tree}
    assert seen == {*PARTS}


@pytest.mark.parametrize("name", NAMES)
def test_every_damage_is_refused_by_name_or_does_no_harm(name: str, tmp_path: Path) -> None:
    tree, one, path = parts(name, tmp_path), CASES[name], tmp_path / "damaged.crf"
    refused = 0
    for at, way, change in ways(tree, np.random.default_rng(1)):
        if not write(path, damaged(tree, at, change)):
            continue
        again, error = loaded(name, path)
        if again is None:
            assert str(path) in error, f"{at} {way}: {error}"
            refused += 1
            continue
        with suppress(ValueError):  # numbers that overflow: said in words
            again.predict(one.X)
    assert refused > 50


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_part_is_called_by_its_name(name: str, tmp_path: Path) -> None:
    tree, path = parts(name, tmp_path), tmp_path / "less.crf"
    for key in tree:
        if not key.startswith(OURS) or key.startswith("map.edge."):
            continue  # trees of steps may be left out; the names of their leaves are then strange
        assert write(path, damaged(tree, (key,), MISSING))
        what = key.split(".")[0]
        with pytest.raises(ModelFileError, match=rf"less\.crf .*{what}"):
            type(CASES[name].fitted()).load(path)


def test_bytes_that_change_anywhere_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for name in NAMES:
        CASES[name].fitted().save(tmp_path / "m")
        whole = (tmp_path / "m").read_bytes()
        for _ in range(20):
            broken = bytearray(whole)
            broken[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
            (tmp_path / "m").write_bytes(broken)
            again, error = loaded(name, tmp_path / "m")
            assert again is None
            assert str(tmp_path / "m") in error


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"kind": "os.system", "fields": {}}, "os.system' is not a kind of parameter"),
        ({"kind": "objectives.OBJECTIVES", "fields": {}}, "is not a kind of parameter"),
        ({"kind": "cli.app", "fields": {}}, "is not a kind of parameter"),
        ({"call": "print"}, "'call' is not a value of a parameter"),
        ({"array": ["O", [1], [1]]}, "is not a parameter"),
    ],
)
def test_parameters_are_data_of_public_kinds(change: Any, why: str, tmp_path: Path) -> None:
    tree = parts("HMM", tmp_path)
    assert write(tmp_path / "m.crf", damaged(tree, ("estimator", "params", "smoothing"), change))
    with pytest.raises(ModelFileError, match=rf"m\.crf is damaged: .*{why}"):
        type(CASES["HMM"].fitted()).load(tmp_path / "m.crf")
    assert crfkit.load(tmp_path / "m.crf").predict(CASES["HMM"].X)  # a model needs no parameters


def test_older_formats_are_refused_in_one_sentence(tmp_path: Path) -> None:
    tree = parts("HMM", tmp_path)
    assert write(tmp_path / "m.crf", {**tree, "format": 6})
    with pytest.raises(ModelFileError, match=r"m\.crf .*it has format 6 .*train the model again"):
        crfkit.load(tmp_path / "m.crf")
