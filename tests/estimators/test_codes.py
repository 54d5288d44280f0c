"""CodeCRF: three decoders, folders, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import Chain, FeatureSelection
from crfkit.estimators.classic import CodeCRF
from crfkit.models import SequenceModel
from crfkit.models.classic.codes import nearest
from crfkit.structures import LocalChain
from crfkit.structures.constraints import Forbid
from tests.cases.estimators import W_TEST, X_TEST, Y_TEST, W, X, Y

DECODERS = ("product", "marginals", "hamming")


def coded(**options: Any) -> CodeCRF:
    return CodeCRF(**{"n_jobs": 2, **options})


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(
    "code", ["random", "one-vs-rest", "minimal", {"D": [0, 0], "N": [0, 1], "V": [1, 0]}]
)
def test_learns_and_is_kept_in_a_file(decoder: str, code: Any, tmp_path: Path) -> None:
    made = coded(code=code, decoder=decoder).fit(X, Y)
    assert made.score(X_TEST, Y_TEST) > 0.9
    made.save(tmp_path / "m.crf")
    again = CodeCRF.load(tmp_path / "m.crf")
    assert again.decoder == decoder
    assert again.predict(X_TEST) == made.predict(X_TEST)
    assert (again.code_ == made.code_).all()
    one = SequenceModel.load(tmp_path / "m.crf")
    assert one.predict(X_TEST) == one.predict(one.batch_of(X_TEST)) == made.predict(X_TEST)
    assert hasattr(one, "predict_proba") == (decoder == "product")


def test_decoders_do_what_they_say() -> None:
    rng = np.random.default_rng(1)
    y = [[str(t) for t in rng.integers(0, 5, 6)] for _ in range(30)]
    X = [[[f"{k}{t if rng.random() < 0.4 else rng.integers(0, 5)}" for k in "abc"] for t in s] for s in y]
    made = coded(columns=4).fit(X, y)
    bits = {
        "hamming": np.stack([c._path(c.dataset(X)).label for c in made.columns_], axis=1),
        "marginals": np.stack(
            [np.concatenate(c.predict_proba(c.dataset(X)))[:, 1] for c in made.columns_], axis=1
        ),
    }
    found = {}
    for decoder in DECODERS:
        made.set_params(decoder=decoder)
        found[decoder] = np.concatenate(made.predict(X))
        accuracy = float(np.mean(found[decoder] == np.concatenate(y)))
        assert made.score(X, y) == pytest.approx(accuracy)
    for decoder, given in bits.items():
        assert found[decoder].tolist() == made.classes_[nearest(made.code_, given.astype(float))].tolist()
    assert (found["hamming"] != found["product"]).any()


def test_same_bits_for_any_number_of_threads() -> None:
    one, many = coded(n_jobs=1).fit(X, Y), coded(n_jobs=3).fit(X, Y)
    np.testing.assert_array_equal(one.model_.w, many.model_.w)


def test_partial_labels_and_templates() -> None:
    y: list[list[Any]] = [list(one) for one in Y]
    y[0][0], y[1][0] = {"D", "N"}, None
    made = coded(features="w[-1..1]; edge: w[0]").fit(W, y)
    assert made.predict(W_TEST) == Y_TEST


def test_constraints_hold_in_the_product() -> None:
    from itertools import pairwise

    single = [[x] for s in X for x in s], [[y] for s in Y for y in s]
    made = coded(structure=Chain(constraints=(Forbid("D", "N"),))).fit(*single)
    assert not any(pair == ("D", "N") for y in made.predict(X_TEST) for pair in pairwise(y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decoder": "best"}, "decoder is 'best', expected"),
        ({"code": "gray"}, 'code is \'gray\', expected "random", "one-vs-rest", "minimal" or the bits'),
        ({"columns": 0}, "columns is 0, expected 1 or more"),
        ({"columns": 1}, "columns is 1, too few to tell 3 labels apart"),
        ({"structure": LocalChain()}, "CodeCRF has columns that are chains, not"),
        (
            {"structure": Chain(constraints=(Forbid("N", "D"),)), "decoder": "hamming"},
            "the decoder 'hamming' chooses each label by itself and keeps no constraints",
        ),
        (
            {"selection": FeatureSelection(max_weights=20)},
            "the product of the columns has a weight for every attribute and label: .* max_weights = 20",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_before_training(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        coded(**options).fit(X, Y)


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is a folder; give the file of a model"):
        CodeCRF.load(tmp_path)
