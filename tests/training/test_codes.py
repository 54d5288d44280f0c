"""Codes: which are made and refused, and the product of binary chains as one chain."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from crfkit import FeatureSelection, Likelihood, inference
from crfkit.arrays import Floats
from crfkit.estimators.classic import CodeCRF
from crfkit.linear.move import add_moved, moved
from crfkit.models.classic.codes import Bits, nearest
from crfkit.models.model import SequenceModel
from crfkit.structures import Chain
from crfkit.training.classic.codes import code_of, distance_of

NAMES = [f"y{i}" for i in range(472)]


@pytest.mark.parametrize("L", [2, 3, 4, 7, 12, 13, 49, 472])
@pytest.mark.parametrize("kind", ["random", "one-vs-rest", "minimal"])
def test_codes_have_distinct_words_and_columns(L: int, kind: str) -> None:
    code = code_of(kind, NAMES[:L])
    assert len({word.tobytes() for word in code}) == L
    sides = {(column ^ column[0]).tobytes() for column in code.T}
    assert len(sides) == code.shape[1]  # neither equal nor complements
    assert bytes(L) not in sides
    assert (
        distance_of(code)
        == min(int((code[i] != code[j]).sum()) for i, j in itertools.combinations(range(min(L, 50)), 2))
        or L > 50
    )
    expected = {"one-vs-rest": L if L > 2 else 1, "minimal": int(np.ceil(np.log2(L)))}
    assert code.shape[1] == expected.get(kind, min(int(np.ceil(10 * np.log2(L))), (1 << (L - 1)) - 1))


@pytest.mark.parametrize(("L", "columns"), [(3, 2), (4, 2), (12, 4), (16, 4), (49, 6), (472, 9)])
def test_the_fewest_random_columns_are_enough(L: int, columns: int) -> None:
    assert distance_of(code_of("random", NAMES[:L], columns)) >= 1


def test_random_codes_choose_words_that_are_far_apart() -> None:
    found = [distance_of(code_of("random", NAMES[:20], 30, seed)) for seed in range(5)]
    plain = [
        distance_of(np.random.default_rng(seed).integers(0, 2, (20, 30), dtype=np.int8)) for seed in range(5)
    ]
    assert min(found) > np.mean(plain)
    one, same, other = (code_of("random", NAMES[:20], 30, seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize(
    ("code", "columns", "message"),
    [
        ([[0, 0], [1, 1], [1, 1]], None, "labels 'y1' and 'y2' have the same bits; give each label bits of"),
        ([[0, 1], [0, 0], [0, 1]], None, "column 0 has the same bit for all labels.*leave it out"),
        ([[0], [1], [1]], None, "code has 1 columns, too few to tell 3 labels apart; give 2 or more"),
        (
            [[0, 1], [1, 0]],
            None,
            r"code has shape \(2, 2\), expected a row of 0s and 1s for each of 3 labels",
        ),
        ([[0, 2], [1, 0], [1, 1]], None, "expected a row of 0s and 1s"),
        ([[0, 1], [1], [1, 1]], None, "code is of type list, expected one of random, one-vs-rest, minimal"),
        ({"y0": [0, 0], "y1": [0, 1]}, None, "code has no bits for the label 'y2'"),
        ([[0, 0], [0, 1], [1, 0]], 4, "code has columns of its own; leave columns out"),
        ("minimal", 4, "columns is 4, which only a random code takes"),
        ("random", 1, "columns is 1, too few to tell 3 labels apart; give 2 or more"),
        ("random", 4, "3 labels can be split in 3 ways; give 3 or fewer"),
    ],
)
def test_bad_codes_are_refused(code: Any, columns: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        code_of(code, NAMES[:3], columns)


def test_one_label_needs_no_code() -> None:
    with pytest.raises(ValueError, match="codes are for 2 labels or more, and the data have 1; use ChainCRF"):
        code_of("random", ["a"])


def test_nearest_is_the_least_sum_of_differences() -> None:
    rng = np.random.default_rng(0)
    code = code_of("random", NAMES[:9], 12)
    draws: list[Floats] = [rng.random((40, 12)), rng.integers(0, 2, (40, 12)).astype(float)]
    for bits in draws:
        distance = abs(bits[:, None, :] - code[None]).sum(axis=2)
        found = nearest(code, bits)
        np.testing.assert_allclose(distance[np.arange(40), found], distance.min(axis=1), atol=1e-12)


# ---- the product ----------------------------------------------------------------------------------


def fitted(order: int, code: Any, **features: Any) -> tuple[CodeCRF, list[Any]]:
    rng = np.random.default_rng(0)
    tags = [[str(t) for t in rng.integers(0, 4, rng.integers(1, 5))] for _ in range(25)]
    X = [[[f"{t}{rng.integers(0, 2)}", f"r{rng.integers(0, 4)}"] for t in s] for s in tags]
    features = {"start": True, "stop": True, **features}
    crf = CodeCRF(
        code=code,
        structure=Chain(order=order),
        selection=FeatureSelection(**features),
        objective=Likelihood(l2=0.1),
        n_jobs=1,
    )
    return crf.fit(X, tags), X


def log_score(model: SequenceModel, x: Any, y: Any) -> float:
    """Return log p(y | x)."""
    potentials = model.potentials(model.batch_of([x]))
    path = np.array(y, dtype=np.int32)
    return float(potentials.path_score(path, None)[0] - inference.log_partition(potentials)[0])


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("code", ["random", "minimal"])
def test_the_product_is_one_chain_by_enumeration(order: int, code: str) -> None:
    crf, X = fitted(order, code)
    bits: Bits = crf.code_
    for x in [one for one in X if len(one) == 3][:2]:
        every = list(itertools.product(range(4), repeat=3))
        said = np.array(
            [sum(log_score(one, x, bits[list(y), i]) for i, one in enumerate(crf.columns_)) for y in every]
        )
        mine = np.array([log_score(crf.model_, x, y) for y in every])
        np.testing.assert_allclose(mine, said - np.logaddexp.reduce(said), atol=1e-9)
        best = every[int(np.argmax(said))]
        assert crf.predict([x]) == [[crf.classes_[y] for y in best]]


@pytest.mark.parametrize("options", [{"min_count": 3}, {"transitions": "none"}, {"which": "all"}])
def test_weights_of_the_product_are_sums(options: dict[str, Any]) -> None:
    crf, _ = fitted(1, "random", **options)
    layout = crf.model_.layout
    total = sum(
        moved(one.layout, one.w, layout, crf.code_[:, i].astype(np.int32), {})
        for i, one in enumerate(crf.columns_)
    )
    np.testing.assert_array_equal(crf.model_.w, total)


def test_moving_to_rows_that_are_not_full_is_refused() -> None:
    crf, _ = fitted(1, "minimal")
    column = crf.columns_[0].layout
    with pytest.raises(ValueError, match="the rows of block node are not full"):
        add_moved(column, crf.columns_[0].w, column, np.arange(2, dtype=np.int32), np.zeros(column.weights))
