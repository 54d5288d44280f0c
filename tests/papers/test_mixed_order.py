"""The experiment mixed-order: sources, errors of three models, and what follows from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crfkit.papers import Given, Result, named, reproduce
from crfkit.papers.mixed_order import EMITTED, LENGTH, MODELS, NEXT, OPTIMIZERS, Source, claims


def test_quick_runs_to_the_end(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = reproduce(named("mixed-order"), Given(quick=True, threads=1), tmp_path)
    assert [len(one.runs) for one in found] == [2] * (3 * 3 + 2)
    by_name = {one.quantity: one for one in found}
    for seed in ("0", "1"):
        wrong = [by_name[f"error of CRF, alpha {alpha}"].runs[seed] for alpha in ("0", "1")]
        assert wrong[0] < wrong[1]
    fast, slow = found[-2:]
    assert fast.ours < 0.1 < slow.ours
    assert slow.series["0"]["passes"][-1] == 30
    assert np.all(np.diff(slow.series["0"]["excess"]) <= 0.0)
    assert "not decided yet" not in (tmp_path / "report.md").read_text()
    assert (tmp_path / "figure-3.png").is_file()
    assert (tmp_path / "training.png").is_file()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_sequences_follow_the_tables(alpha: float) -> None:
    random = np.random.default_rng(5)
    source = Source.random(alpha, random)
    columns, y = source.draw(3000, random)
    assert np.count_nonzero(source.step[1], axis=-1).tolist() == [[NEXT] * 5] * 5
    assert np.all(np.count_nonzero(source.emission[0], axis=-1) == EMITTED)
    labels = np.array([["abcde".index(one) for one in row] for row in y])
    assert labels.shape == (3000, LENGTH)
    names = columns.alphabets[0].strings()
    symbols = np.array([ord(names[id]) - ord("A") for id in columns.ids[0]]).reshape(labels.shape)
    before, last, now = labels[:, :-2].ravel(), labels[:, 1:-1].ravel(), labels[:, 2:].ravel()
    seen = np.zeros((5, 5, 5))
    np.add.at(seen, (last, before, now), 1.0)
    told = source.step[1] if alpha == 1.0 else np.broadcast_to(source.step[0][:, None], seen.shape)
    often = seen.sum(axis=-1) > 1000
    assert often.any()
    assert np.allclose(
        (seen / np.maximum(seen.sum(axis=-1, keepdims=True), 1))[often], told[often], atol=0.06
    )
    given = symbols[:, :-1].ravel()
    possible = (
        source.emission[1] if alpha == 1.0 else np.broadcast_to(source.emission[0][:, None], (5, 26, 26))
    )
    assert np.all(possible[labels[:, 1:].ravel(), given, symbols[:, 1:].ravel()] > 0.0)


def results(crf: float, hmm: float, memm: float) -> dict[tuple[float, str], Result]:
    wrong = {"CRF": crf, "HMM": hmm, "MEMM": memm}
    return {
        (alpha, name): Result.of("", None, "", {"0": wrong[name] + alpha, "1": wrong[name] + 2 * alpha}, {})
        for alpha in (0.0, 0.5, 1.0)
        for name in MODELS
    }


def test_claims_follow_from_the_numbers() -> None:
    assert [claim.holds for claim in claims(results(1.0, 2.0, 3.0), {})] == [True, True, True, True, None]
    assert [claim.holds for claim in claims(results(3.0, 2.0, 1.0), {})] == [False, False, False, True, None]
    assert [claim.holds for claim in claims({}, {})] == [None] * 5
    assert (
        "50 % fewer errors"
        in claims({k: v for k, v in results(1.0, 1.0, 2.0).items() if k[0] == 0}, {})[0].why
    )
    assert OPTIMIZERS == ("L-BFGS", "Algorithm S")
