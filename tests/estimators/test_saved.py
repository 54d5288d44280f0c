"""What is saved predicts what the estimator predicts, from the same X; or saving says what else to save."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, HiddenChainCRF, Model
from crfkit.errors import DataWarning, ModelFileError
from crfkit.estimators.classic import CodeCRF
from crfkit.features import ItemExtractor
from crfkit.features.segments import phrase, segment_features
from crfkit.models.files import write_model
from crfkit.models.graph_model import GraphModel
from tests.cases.every_estimator import CASES, ITEMS, Case, same

#: Whose model does not stand alone -> what its refusal names.
PARTS = {
    "BoostedCRF": r"estimator\.save\(path\).*BoostedCRF\.load\(path\)",
    "KernelChainCRF": r"estimator\.save\(path\).*KernelChainCRF\.load\(path\)",
    "KernelChainCRF of items": r"estimator\.save\(path\).*KernelChainCRF\.load\(path\)",
    "VotedPerceptron": r"estimator\.save\(path\).*VotedPerceptron\.load\(path\)",
    "CodeCRF by Hamming": r"estimator\.save\(folder\).*CodeCRF\.load\(folder\).*decoder=\"product\"",
    "CodeCRF by marginals": r"estimator\.save\(folder\).*CodeCRF\.load\(folder\)",
    "BayesianCRF": r"pickle the estimator, or save estimator\.map_",
}


def predicted(name: str, one: Case, model: Any) -> Any:
    """Return what a model that was loaded predicts from the X of its estimator, in the same form."""
    made = one.fitted()
    if isinstance(model, GraphModel):  # graphs are made of X by the estimator, or are X
        return model.predict(made.batch(one.X) if hasattr(made, "batch") else one.X)
    if name == "SemiCRF of functions":  # which no file keeps, and which predict asks for
        with pytest.raises(ValueError, match=r"segment_features\(X, max_length, functions, like=model\)"):
            model.predict(one.X)
        longest = max(model.structure.max_length)
        return model.predict(segment_features(one.X, longest, [phrase], like=model))
    found = model.predict(one.X)
    return np.array([labels[0] for labels in found]) if name == "HiddenSequenceCRF" else found


@pytest.mark.parametrize("name", CASES)
def test_the_file_of_the_model_predicts_the_same_or_is_refused(name: str, tmp_path: Path) -> None:
    one, path = CASES[name], tmp_path / "m.crf"
    made = one.fitted()
    if name in PARTS:
        with pytest.raises(ValueError, match=rf"would lack .*{PARTS[name]}"):
            made.model_.save(path)
        if isinstance(made.model_, Model):
            for write in (made.model_.to_bytes, lambda: write_model(made.model_, path, "crfsuite")):
                with pytest.raises(ValueError, match=PARTS[name]):
                    write()
        assert not path.exists()
        return
    made.model_.save(path)
    model = crfkit.load(path)
    if isinstance(model, GraphModel):
        batch = made.batch(one.X) if hasattr(made, "batch") else one.X
        assert same(made.model_.predict(batch), predicted(name, one, model))
    else:
        assert same(made.predict(one.X), predicted(name, one, model))


#: Estimators with files that only they open; those of others are files of their models.
OWN = ("BoostedCRF", "KernelChainCRF", "VotedPerceptron", "CodeCRF")


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(OWN)])
def test_the_file_of_an_estimator_predicts_the_same(name: str, tmp_path: Path) -> None:
    one, path = CASES[name], tmp_path / "estimator"
    made = one.fitted()
    made.save(path)
    kind = type(made)
    again = kind.load(path)
    assert same(made.predict(one.X), again.predict(one.X))
    assert again.score(one.X, one.y) == made.score(one.X, one.y)
    assert again.model_.lacks == made.model_.lacks  # neither is its model saved by itself
    again.save(tmp_path / "again")
    assert same(made.predict(one.X), kind.load(tmp_path / "again").predict(one.X))
    for door in (crfkit.load, Model.load):
        with pytest.raises(ModelFileError, match=rf"{kind.__name__}.*open it with {kind.__name__}\.load"):
            door(path)


@pytest.mark.parametrize("name", CASES)
def test_a_pickle_predicts_the_same(name: str) -> None:
    one = CASES[name]
    again = pickle.loads(pickle.dumps(one.fitted()))
    assert same(one.fitted().predict(one.X), again.predict(one.X))


def test_the_decision_rule_stays_with_the_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = [[[f"w{rng.integers(6)}"] for _ in range(12)] for _ in range(40)]
    y = [["AB"[rng.integers(2)] for _ in x] for x in X]
    y = [list(labels) for labels in y]
    crf = HiddenChainCRF(states=3, decoding="viterbi").fit(X, y)
    free = crf.model_.predict(X, method="posterior")
    assert crf.predict(X) != free  # else the test shows nothing
    assert crf.predict(X) == crf.model_.predict(X) == crf.model_.predict(X, method="viterbi")
    crf.model_.save(tmp_path / "m.crf")
    again = crfkit.load(tmp_path / "m.crf")
    assert again.decision == "viterbi"
    assert again.predict(X) == crf.predict(X)
    assert again.score(X, y=y) == crf.score(X, y)
    assert crfkit.models.Tagger(again).tag(X[0]) == crf.predict(X)[0]
    crf.set_params(decoding="posterior")
    assert crf.predict(X) == crf.model_.predict(X) == free
    plain = ChainCRF().fit(X, y).model_
    posterior = Model.from_bytes(
        Model(plain.structure, plain.layout, plain.names, plain.w, decision="posterior").to_bytes()
    )
    assert posterior.predict(X) == plain.predict(X, method="posterior")
    assert [crfkit.models.Tagger(posterior).tag(x) for x in X] == posterior.predict(X)
    with pytest.raises(ValueError, match='decision is \'loud\', expected "viterbi" or "posterior"'):
        Model(plain.structure, plain.layout, plain.names, plain.w, decision="loud")  # type: ignore[arg-type]


def test_another_decoder_of_a_code_is_refused_or_not_from_then_on() -> None:
    crf = CodeCRF().fit(ITEMS, CASES["CodeCRF"].y)
    assert crf.model_.to_bytes()
    with pytest.raises(ValueError, match="CodeCRF"):
        crf.set_params(decoder="hamming").model_.to_bytes()
    assert crf.set_params(decoder="product").model_.to_bytes()


def test_leaves_that_nobody_finds_are_not_labeled_without_a_word() -> None:
    model = CASES["BoostedCRF"].fitted().model_
    words = ItemExtractor()([[["the"], ["dog"]] * 120])
    with pytest.warns(DataWarning, match="of 238 .*knows none"):
        model.predict(words)
