"""What is saved predicts what the estimator predicts, from the same X; the shell reads it or says why not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, HiddenChainCRF
from crfkit.estimators.classic import CodeCRF
from crfkit.models import SequenceModel, Tagger
from crfkit.models.reading import read
from tests.cases.cli import run
from tests.cases.every_estimator import CASES, ITEMS, same


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
    posterior = SequenceModel.from_bytes(
        SequenceModel(plain.structure, plain.layout, plain.names, plain.w, decision="posterior").to_bytes()
    )
    assert posterior.predict(X) == plain.predict(X, method="posterior")
    assert [crfkit.models.Tagger(posterior).tag(x) for x in X] == posterior.predict(X)
    with pytest.raises(ValueError, match='decision is \'loud\', expected "viterbi" or "posterior"'):
        SequenceModel(plain.structure, plain.layout, plain.names, plain.w, decision="loud")  # type: ignore[arg-type]


def test_another_decoder_of_a_code_holds_for_the_model_and_its_file(tmp_path: Path) -> None:
    crf = CodeCRF().fit(ITEMS, CASES["CodeCRF"].y)
    bytes_of = {}
    for decoder in ("product", "hamming", "marginals"):
        crf.set_params(decoder=decoder).save(tmp_path / "m.crf")
        bytes_of[decoder] = (tmp_path / "m.crf").read_bytes()
        found = crfkit.load(tmp_path / "m.crf").predict(ITEMS)
        assert found == crf.predict(ITEMS) == crf.model_.predict(ITEMS)
        assert CodeCRF.load(tmp_path / "m.crf").decoder == decoder
    assert len({*bytes_of.values()}) == 3


def test_a_feature_map_takes_what_the_estimator_takes() -> None:
    boosted, kernel = CASES["BoostedCRF"], CASES["KernelChainCRF of items"]
    for one in (boosted, kernel):
        made = one.fitted()
        model = made.model_
        data = model.dataset(one.X, one.y)
        raw = read(one.X, None)
        assert same(model.predict(raw), made.predict(one.X))  # a Dataset as it is read
        assert same(model.predict(data), made.predict(one.X))  # and as the map makes it
        assert same(model.predict(model.batch_of(one.X)), made.predict(one.X))
        assert model.score(one.X, one.y) == made.score(one.X, one.y)
        assert [Tagger(model).tag(x) for x in one.X[:3]] == made.predict(one.X[:3])
    with pytest.raises(ValueError, match="X has named ones"):
        boosted.fitted().model_.predict([[["the"], ["dog"]]])
    with pytest.raises(ValueError, match="X has 2 real-valued columns, the model was fitted with 3"):
        boosted.fitted().model_.predict([np.zeros((2, 2))])


@pytest.mark.parametrize("name", ["BoostedCRF", "KernelChainCRF", "VotedPerceptron", "CodeCRF by Hamming"])
def test_the_shell_tags_or_refuses_in_one_sentence(name: str, tmp_path: Path) -> None:
    one = CASES[name]
    one.fitted().save(tmp_path / "m.crf")
    items = "\n".join(json.dumps({"items": x}) for x in ITEMS) + "\n"
    (tmp_path / "items.jsonl").write_text(items)
    files = [str(tmp_path / "m.crf"), str(tmp_path / "items.jsonl")]
    if one.X is not ITEMS:
        done = run("tag", *files, status=2)
        assert "m.crf reads arrays of real numbers" in done.output.replace("\n", " ")
        assert "crfkit.load" in done.output
        return
    done = run("tag", *files)
    labels = [line for line in done.output.split("\n") if line and not line.startswith("crfkit")]
    assert labels == [label for labels in one.fitted().predict(ITEMS) for label in labels]
    for command in (["tag", *files, "--json"], ["explain", *files], ["rank", *files]):
        done = run(*command, status=2)
        assert "without probabilities" in done.output.replace("\n", " ")
