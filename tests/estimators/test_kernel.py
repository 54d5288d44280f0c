"""KernelChainCRF: the same optimum as weights, what only a kernel can learn, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from crfkit import ChainCRF, Likelihood, Stop
from crfkit.estimators.classic import KernelChainCRF
from crfkit.estimators.classic.kernel import Factor
from crfkit.objectives import MaxMargin
from tests.cases.estimators import X_TEST, Y_TEST, Y
from tests.cases.estimators import X as ITEMS


def exclusive_or(N: int, seed: int) -> tuple[list[Any], list[list[str]]]:
    """Positions in the four quadrants of a plane: equal signs are one label, other signs the other."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(int(T), 2)) for T in rng.integers(2, 6, N)]
    return X, [["same" if a * b > 0 else "other" for a, b in x] for x in X]


X_XOR, Y_XOR = exclusive_or(25, 0)
TEST = exclusive_or(20, 1)


def test_a_kernel_learns_what_weights_cannot() -> None:
    straight = KernelChainCRF(kernel="linear", objective=MaxMargin(l2=0.5)).fit(X_XOR, Y_XOR)
    curved = KernelChainCRF(kernel="rbf", gamma=1.0, objective=MaxMargin(l2=0.5)).fit(X_XOR, Y_XOR)
    assert curved.score(*TEST) > 0.9
    assert straight.score(*TEST) < 0.75
    assert curved.model_.training is not None
    assert curved.model_.training.converged
    assert curved.n_iter_ > 0


@pytest.mark.parametrize("optimizer", ["one-slack", "smo", "exponentiated-margin", "bcfw"])
def test_the_linear_kernel_has_the_optimum_of_weights(optimizer: str) -> None:
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(4, 3)) for _ in range(8)]
    y = [["a" if row[0] + 0.5 * rng.normal() > 0 else "b" for row in x] for x in X]
    margin = MaxMargin(l2=0.5)
    by_kernel = KernelChainCRF(kernel="linear", objective=margin, optimizer=optimizer).fit(X, y)
    by_weights = ChainCRF(objective=margin, optimizer="one-slack", stop=Stop(tolerance=1e-4)).fit(X, y)
    assert by_kernel.support_.shape == (3, 3), "three columns are three independent positions"
    assert by_kernel.model_.training is not None
    assert by_weights.model_.training is not None
    best = float(by_weights.model_.training.history["objective"][-1])
    found = float(by_kernel.model_.training.history["objective"][-1])
    assert found == pytest.approx(best, rel=1.5e-3)
    scores = [crf.model_.potentials(crf._data(X).batch).node for crf in (by_kernel, by_weights)]
    apart = np.sqrt(2.0 * 1.5e-3 * best / 0.5) * np.linalg.norm(np.concatenate(X), axis=1)  # strong convexity
    assert (np.abs(scores[0] - scores[1]) <= apart[:, None]).all()


def test_likelihood_has_the_optimum_of_weights_and_probabilities() -> None:
    X, y = X_XOR[:8], Y_XOR[:8]
    options: dict[str, Any] = {"objective": Likelihood(l2=0.5), "optimizer": "lbfgs"}
    by_kernel = KernelChainCRF(kernel="linear", stop=Stop(tolerance=1e-8), **options).fit(X, y)
    by_weights = ChainCRF(stop=Stop(tolerance=1e-8), **options).fit(X, y)
    for ours, theirs in zip(by_kernel.predict_proba(X), by_weights.predict_proba(X), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
    np.testing.assert_allclose(by_kernel.log_prob(X, y), by_weights.log_prob(X, y), atol=1e-3)


def test_items_become_sparse_rows(tmp_path: Path) -> None:
    crf = KernelChainCRF(kernel="poly", degree=2, gamma=0.1).fit(ITEMS[:10], Y[:10])
    assert crf.score(X_TEST, Y_TEST) > 0.8
    assert crf.predict([[{"w": "the", "other": 1.0}]]) == [["D"]]
    crf.save(tmp_path / "m.kcrf")
    again = KernelChainCRF.load(tmp_path / "m.kcrf")
    assert again.predict(X_TEST) == crf.predict(X_TEST)


def test_a_function_is_the_kernel_that_it_computes(tmp_path: Path) -> None:
    named = KernelChainCRF(kernel="rbf", gamma=0.5).fit(X_XOR, Y_XOR)
    own = KernelChainCRF(kernel=rbf_kernel, kernel_params={"gamma": 0.5}).fit(X_XOR, Y_XOR)
    assert own.predict(TEST[0]) == named.predict(TEST[0])
    with pytest.raises(ValueError, match="kernel is a function, which a file cannot keep"):
        own.save(tmp_path / "m.kcrf")
    assert not list(tmp_path.iterdir())


def test_conventions_of_scikit_learn() -> None:
    search = GridSearchCV(KernelChainCRF(), {"gamma": [1e-4, 1.0]}, cv=2).fit(X_XOR, Y_XOR)
    assert search.best_params_ == {"gamma": 1.0}
    weighted = KernelChainCRF().fit(X_XOR[:4], Y_XOR[:4], sample_weight=[1.0, 2.0, 0.0, 1.0])
    assert weighted.classes_.tolist() == ["other", "same"] or weighted.classes_.tolist() == ["same", "other"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_bytes": 8.0}, r"Gram matrix takes .* GiB, more than max_bytes = .*; give fewer sequences"),
        ({"kernel": "wave"}, "kernel is 'wave', expected a function, or one of"),
        ({"kernel": lambda a, b: -a @ b.T}, "not symmetric and positive semi-definite"),
        ({"kernel": lambda a, b: a}, r"returned an array of shape .*, expected"),
        ({"kernel": lambda a, b: np.full((len(a), len(b)), np.nan)}, "with position 0 is nan, not a number"),
        ({"kernel": lambda a, b: np.zeros((len(a), len(b)))}, "0 for every position"),
        ({"kernel_params": {"gamma": 1.0}}, "kernel_params are for a kernel that is a function"),
        ({"objective": MaxMargin(l2=0.0)}, "needs an L2 penalty above 0"),
    ],
)
def test_what_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        KernelChainCRF(**options).fit(X_XOR[:3], Y_XOR[:3])


def test_data_that_are_refused() -> None:
    with pytest.raises(ValueError, match="KernelChainCRF requires y to be passed"):
        KernelChainCRF().fit(X_XOR)
    with pytest.raises(ValueError, match="takes one gold label at each position"):
        KernelChainCRF().fit([np.eye(2)], [["a", None]])
    crf = KernelChainCRF().fit([np.eye(2)], [["a", "b"]])
    with pytest.raises(ValueError, match="X has 3 real-valued columns, the model was fitted with 2"):
        crf.predict([np.eye(3)])


def test_the_factor_is_that_of_the_gram_matrix() -> None:
    rows = np.random.default_rng(3).normal(size=(30, 4))
    gram = rows @ rows.T
    factor = Factor.of(gram)
    assert factor.columns.shape == (30, 4)
    np.testing.assert_allclose(factor.columns @ factor.columns.T, gram, atol=1e-10)
    weights = np.random.default_rng(4).normal(size=(4, 2))
    np.testing.assert_allclose(
        gram[:, factor.pivots] @ factor.coefficients(weights), factor.columns @ weights, atol=1e-9
    )
