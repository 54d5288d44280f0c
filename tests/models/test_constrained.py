"""Constraints on whole labelings in models, their files, taggers and estimators."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

import crfkit
from crfkit import HMM, MEMM, ChainCRF, SemiCRF, inference, train
from crfkit.constraints import AtLeast, AtMost, AtMostOnce, Before, Exactly, Implies, LinearConstraint
from crfkit.errors import InfeasibleError, ModelFileError
from crfkit.features import ItemExtractor
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.inference.constrained.plain import globals_of, plain_globals
from crfkit.models import SequenceModel, Tagger
from crfkit.models.files import write_model
from crfkit.models.store import pack, unpack
from crfkit.tags import spans
from tests.cases.spans import bare

X = [[["the"], ["dog"], ["sees"]], [["a"], ["dog"]], [["the"], ["cat"], ["ran"]]] * 2
Y = [["B-NP", "I-NP", "O"], ["B-NP", "I-NP"], ["B-NP", "I-NP", "O"]] * 2
TWO = [["the"], ["dog"], ["sees"], ["a"], ["cat"]]
EVERY: list[GlobalConstraint] = [
    AtMostOnce(),
    AtMostOnce(["NP"]),
    AtMostOnce([re.compile("N.")]),
    AtMost("NP", 1),
    AtLeast("B-NP", 1),
    Exactly(re.compile("(N|X)P|Q+"), 1),
    Before("B-NP", "O"),
    Implies("I-NP", "B-NP"),
    LinearConstraint({"NP": 1.5, ("O", -1): 0.5}, 2),
]


@pytest.fixture(scope="module")
def model() -> SequenceModel:
    return train(ItemExtractor()(X, Y))


def test_predictions_keep_constraints(model: SequenceModel) -> None:
    assert model.predict([TWO]) == [["B-NP", "I-NP", "O", "B-NP", "I-NP"]]
    (found,) = model.predict([TWO], constraints=[AtMostOnce()])
    assert [tag[0] for tag in found].count("B") == 1
    assert model.constrained([AtMostOnce()]).predict([TWO]) == [found]
    assert model.constrained([AtMostOnce()]).predict([TWO], constraints=[]) == model.predict([TWO])
    assert Tagger(model.constrained([AtMostOnce()])).tag(TWO) == found
    assert bare(model.constrained([AtMostOnce()]).predict_spans([TWO])) == [spans(found)]
    assert [spans(found)] != bare(model.predict_spans([TWO]))
    scores = model.potentials(model.batch_of([TWO]))
    (one,) = inference.constrained(scores, [AtMostOnce()])
    answers = model._decode([TWO, TWO[:2]], [AtMostOnce()])
    assert answers.counts() == {"free": 1, "DP": 1}
    assert answers.score[0] == one.score < answers.free_score[0] == one.free_score
    assert model._decode([], [AtMostOnce()]).counts() == {}


def test_allowed_labels_and_constraints_hold_together(model: SequenceModel) -> None:
    given = [[None] * 4 + ["I-NP"]]
    (found,) = model.predict([TWO], constraints=[AtMostOnce(), AtMost("O", 0)], given=given)
    assert found == ["B-NP", "I-NP", "I-NP", "I-NP", "I-NP"]


def test_parts_of_the_data_are_counted_from_the_beginning(model: SequenceModel) -> None:
    many = [TWO] * 3 + [[["dog"]]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crfkit.models.scoring._CELLS", 1)
        assert len(model.predict(many, constraints=[AtMostOnce()])) == 4
        with pytest.raises(InfeasibleError, match=r"sequence 3 has no labeling .* k=2"):
            model.predict(many, constraints=[AtLeast("NP", 2)])
    with pytest.warns(RuntimeWarning, match=r"1 of 4 sequences \(first: 3\)"):
        found = model.predict(many, constraints=[AtLeast("NP", 2)], infeasible="free")
    assert found[3] == model.predict(many)[3]


def test_posterior_decoding_is_refused(model: SequenceModel) -> None:
    with pytest.raises(ValueError, match='constraints on whole labelings need method="viterbi"'):
        model.predict([TWO], method="posterior", constraints=[AtMostOnce()])
    with pytest.raises(ValueError, match="'VP' matches no label"):
        model.constrained([AtMost("VP", 1)])


def test_a_file_keeps_constraints(model: SequenceModel, tmp_path: Path) -> None:
    kept = model.constrained(EVERY)
    kept.save(tmp_path / "m.crf")
    again = crfkit.load(tmp_path / "m.crf")
    assert again.predict([TWO]) == kept.predict([TWO]) != model.predict([TWO])
    plain = plain_globals(again.constraints, again.structure)
    assert [type(one) for one in again.constraints] == [type(one) for one in EVERY]
    assert json.loads(json.dumps(plain)) == plain
    assert pickle.loads(pickle.dumps(kept)).constraints == kept.constraints


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [3],
        [{"kind": "Never"}],
        [{"kind": "AtMostOnce"}],
        [{"kind": "AtMostOnce", "labels": 3}],
        [{"kind": "AtMost", "label": "NP", "k": "one"}],
        [{"kind": "AtMost", "label": "NP", "k": -1}],
        [{"kind": "AtMost", "label": "VP", "k": 1}],
        [{"kind": "AtMost", "label": {"end": "START"}, "k": 1}],
        [{"kind": "AtMost", "label": {"pattern": "(a*)*", "flags": 32}, "k": 1}],
        [{"kind": "Before", "a": "NP", "b": None}],
        [{"kind": "LinearConstraint", "terms": [["NP", None]], "bound": 1}],
        [{"kind": "LinearConstraint", "terms": [], "bound": 1}],
        [{"kind": "AtMost", "label": "NP", "k": 1}] * 10**7,
    ],
    ids=range(14),
)
def test_damaged_constraints_are_refused(model: SequenceModel, plain: Any) -> None:
    with pytest.raises(ValueError, match=r"constraint|k must be|pattern|values to unpack"):
        globals_of(plain, model.structure)
    arrays, about = unpack(model.to_bytes(), "memory")
    if not isinstance(plain, list) or len(plain) < 9:
        with pytest.raises(ModelFileError, match="does not hold a valid model"):
            SequenceModel.from_bytes(b"".join(pack(arrays, {**about, "format": 4, "constraints": plain})))


def test_other_formats_refuse_constraints(model: SequenceModel, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="constraints on whole labelings, which CRFsuite's format cannot"):
        write_model(model.constrained([AtMostOnce()]), tmp_path / "m", "crfsuite")


@pytest.mark.parametrize("kind", [ChainCRF, MEMM, SemiCRF])
def test_estimators_keep_constraints(kind: Any) -> None:
    made = kind(constraints=[AtMost("NP", 1)])
    assert clone(made).get_params()["constraints"] == [AtMost("NP", 1)]
    fitted = made.fit(X, Y)
    assert [tag[0] for tag in fitted.predict([TWO])[0]].count("B") == 1
    assert [tag[0] for tag in fitted.model_.predict([TWO], constraints=())[0]].count("B") == 2
    for found in cross_val_predict(made, [TWO, *X], [["B-NP", "I-NP", "O", "B-NP", "I-NP"], *Y], cv=2):
        assert sum(tag[0] == "B" for tag in found) <= 1
    with pytest.raises(ValueError, match="kbest does not keep constraints"):
        fitted.kbest([TWO], 2)
    with pytest.raises(ValueError, match="'VP' matches no label"):
        kind(constraints=[AtMost("VP", 1)]).fit(X, Y)


def test_hidden_markov_models_keep_constraints() -> None:
    words = [[word for (word,) in x] for x in X]
    hmm = HMM(features="w[0]").fit(words, Y)
    found = hmm.model_.predict([["the", "dog", "sees", "a", "cat"]], constraints=[AtMostOnce()])[0]
    assert [tag[0] for tag in found].count("B") == 1
