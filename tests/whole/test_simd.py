"""All instruction sets give the same answers; each runs in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import crfkit.native
from tests.cases.potential_cases import ENUMERABLE, SWEPT

ROOT = Path(__file__).parents[2]
LEVELS: list[str] = crfkit.native.build_info()["simd_available"]  # type: ignore[assignment]
Answers: TypeAlias = dict[str, dict[str, NDArray[Any]]]

BATTERY = """
import sys
import numpy as np
import crfkit.native
from crfkit import inference
from tests.cases.potential_cases import ENUMERABLE, SWEPT
from tests.cases.queries import QUERIES, flat

# No marginals of the order in which equal scores come: draws and paths are left to the matrix.
names = [n for n in QUERIES if n not in ("sample", "decode", "kbest", "posterior")]
found = {"simd": np.array(crfkit.native.build_info()["simd"])}
for case in [*ENUMERABLE, *SWEPT]:
    batch = case.make(2)
    for name in names:
        if name == "count":
            numbers = [np.array([str(n) for n in inference.count(batch)])]
        else:
            numbers = flat(QUERIES[name](batch))
        for i, number in enumerate(numbers):
            found[f"{case.structure}/{case.name}/{name}/{i}"] = np.asarray(number)
    scores = [y.score for ys in inference.kbest(batch, 4) for y in ys]
    found[f"{case.structure}/{case.name}/kbest"] = np.array(scores)
    found[f"{case.structure}/{case.name}/decode"] = np.array(
        [y.score for y in inference.decode(batch)]
    )
np.savez(sys.argv[1], **found)
"""


def run(level: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "CRFKIT_SIMD": level,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    found = {}
    for level in LEVELS:
        file = tmp_path_factory.mktemp("simd") / f"{level}.npz"
        done = run(level, BATTERY, str(file))
        assert done.returncode == 0, done.stderr
        with np.load(file) as loaded:
            found[level] = dict(loaded)
    return found


def test_each_level_says_what_it_is(answers: Answers) -> None:
    assert [str(answers[level]["simd"]) for level in LEVELS] == LEVELS
    assert LEVELS[0] == "baseline"
    assert len(answers["baseline"]) > 10 * len([*ENUMERABLE, *SWEPT])


@pytest.mark.parametrize("level", LEVELS[1:])
def test_levels_agree(level: str, answers: Answers) -> None:
    one, two = answers["baseline"], answers[level]
    assert one.keys() == two.keys()
    for name in one.keys() - {"simd"}:
        if one[name].dtype.kind in ("b", "U"):
            assert np.array_equal(one[name], two[name]), name
        else:
            # Entropies of huge scores are small differences of large numbers.
            atol = 1e-8 if "large scores/entropy" in name else 1e-12
            np.testing.assert_allclose(
                two[name], one[name], rtol=1e-12, atol=atol, err_msg=f"{level}: {name}"
            )


def test_unknown_level() -> None:
    done = run("sse9", "import crfkit.native; crfkit.native.build_info()")
    assert done.returncode != 0
    assert "ValueError: CRFKIT_SIMD: 'sse9' is not available here" in done.stderr
    assert f"choose from {', '.join(LEVELS)}" in done.stderr


def test_empty_level_is_the_widest() -> None:
    done = run("", "import crfkit.native; print(crfkit.native.build_info()['simd'])")
    assert done.stdout.strip() == LEVELS[-1]
