"""How unsure a model is of sequences: against enumeration, and as a guide to what to label."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from crfkit import ChainCRF, HiddenChainCRF, SemiCRF, inference
from crfkit.arrays import Floats
from crfkit.models.active_learning import Uncertainty

LABELS = ["A", "B", "C"]


def pool(N: int, seed: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Four words in each sequence, most of them common; each word has one label."""
    random = np.random.default_rng(seed)
    words = np.minimum(random.zipf(1.4, (N, 4)), 60) - 1
    return [[[f"w{w}"] for w in x] for x in words], [[LABELS[w * 7 % 3] for w in x] for x in words]


def logs(model: Any, x: Any) -> Floats:
    """log p(y | x) of all labelings, the highest first."""
    scores = model.potentials(model.batch_of([x])).sequence(0)
    every = [inference.score(scores, list(path)) for path in product(range(3), repeat=len(x))]
    return np.sort(np.array(every) - np.logaddexp.reduce(every))[::-1]


def test_methods_are_their_formulas() -> None:
    X, y = pool(30, 0)
    crf = ChainCRF(n_jobs=1).fit(X, y)
    new = [x[: n + 1] for n, x in enumerate(pool(4, 1)[0])]
    log_p = [logs(crf.model_, x) for x in new]
    p = [np.exp(one) for one in log_p]
    near: Any = {"rel": 1e-9, "abs": 1e-12}
    assert crf.uncertainty(new, "least-confidence") == pytest.approx([1 - one[0] for one in p], **near)
    assert crf.uncertainty(new, "margin") == pytest.approx([1 - (one[0] - one[1]) for one in p], **near)
    entropy = [-float(one @ log) for one, log in zip(p, log_p, strict=True)]
    assert crf.uncertainty(new) == pytest.approx(entropy, **near)
    scaled = [one[:3] / one[:3].sum() for one in p]
    expected = [-float(one @ np.log(one)) for one in scaled]
    assert crf.uncertainty(new, "nbest-entropy", k=3) == pytest.approx(expected, **near)
    shares = crf.predict_proba(new)
    expected = [-float((one * np.log(one)).sum() / len(one)) for one in shares]
    assert crf.uncertainty(new, "token-entropy") == pytest.approx(expected, **near)
    known = set(crf.model_.attributes)
    vectors = np.array([[sum(w == [name] for w in x) for name in known] for x in new], dtype=float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    similar = (vectors @ vectors.T).mean(axis=1)
    assert crf.uncertainty(new, "density") == pytest.approx(entropy * similar, **near)


def test_parts_and_empty_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = pool(30, 0)
    for crf in (ChainCRF(n_jobs=1).fit(X, y), SemiCRF(n_jobs=1).fit(X, y)):
        for method in get_args(Uncertainty):
            whole = crf.uncertainty([*X, []], method)
            assert whole.shape == (31,)
            assert whole[-1] == pytest.approx(0.0, abs=1e-12)
            assert (whole >= -1e-12).all()
            with monkeypatch.context() as small:
                small.setattr("crfkit.models.scoring._CELLS", 30)
                np.testing.assert_allclose(crf.uncertainty([*X, []], method), whole, atol=1e-12)
    assert crf.uncertainty([]).shape == (0,)


def accuracy(method: str | None, seed: int) -> float:
    """Label five sequences at a time, the most uncertain ones or (None) random ones."""
    (X, y), random = pool(200, seed), np.random.default_rng(seed)
    labeled = list(range(5))
    for _ in range(6):
        crf = ChainCRF(n_jobs=1).fit([X[n] for n in labeled], [y[n] for n in labeled])
        left = np.setdiff1d(np.arange(200), labeled)
        worth = random.random(len(left)) if method is None else crf.uncertainty([X[n] for n in left], method)  # type: ignore[arg-type]
        labeled += left[np.argsort(-worth)[:5]].tolist()
    crf = ChainCRF(n_jobs=1).fit([X[n] for n in labeled], [y[n] for n in labeled])
    return float(np.mean([crf.score(*pool(300, 1000))]))


def test_uncertain_sequences_teach_more_than_random_ones() -> None:
    seeds = range(1, 4)
    plain = np.mean([accuracy(None, seed) for seed in seeds])
    for method in ("entropy", "least-confidence"):
        assert np.mean([accuracy(method, seed) for seed in seeds]) > plain + 0.02


def test_what_is_refused() -> None:
    X, y = pool(20, 0)
    crf = ChainCRF().fit(X, y)
    with pytest.raises(ValueError, match="method is 'variance'"):
        crf.uncertainty(X, "variance")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="k is 1, expected 2 or more"):
        crf.uncertainty(X, "nbest-entropy", k=1)
    hidden = HiddenChainCRF(n_jobs=1).fit(X, y)
    with pytest.raises(ValueError, match="uncertainty by entropy is not for models with hidden states"):
        hidden.uncertainty(X)
    log_p = hidden.log_prob(X, hidden.predict(X))
    assert hidden.uncertainty(X, "least-confidence") == pytest.approx(1.0 - np.exp(log_p), rel=1e-9)
