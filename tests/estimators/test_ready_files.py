"""Ready-made estimators of graphs in files: the same answers, and damage that is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import GraphCRF, GridCRF, MultiLabelCRF, SkipChainCRF
from crfkit.errors import ModelFileError
from tests.cases.ready_made import CASES, FEW, IMAGES, MASKS, ROWS, TAGS, WORDS


@pytest.mark.parametrize("name", CASES)
def test_files_answer_as_the_estimator_does(name: str, tmp_path: Path) -> None:
    made, X, y = CASES[name]
    made.fit(X, y).save(tmp_path / "m.crf")
    for again in (crfkit.load(tmp_path / "m.crf"), type(made).load(tmp_path / "m.crf")):
        assert str(again.predict(X)) == str(made.predict(X))
        assert str(again.predict_proba(X)) == str(made.predict_proba(X))
        assert str(again.kbest(X, 3)) == str(made.kbest(X, 3))
        assert again.log_prob(X, y).tolist() == made.log_prob(X, y).tolist()
        assert str(again.evaluate(X, y)) == str(made.evaluate(X, y))
        assert again.score(X, y) == made.score(X, y)
        assert str(again.explain(X[0])) == str(made.explain(X[0]))
    assert type(again.classes_) is type(made.classes_)
    refitted = again.set_params(stop=FEW).fit(X, y)
    assert str(refitted.predict(X)) == str(made.predict(X))
    other = SkipChainCRF if not isinstance(made, SkipChainCRF) else GraphCRF
    with pytest.raises(TypeError, match=rf"m\.crf holds .*, which is no {other.__name__}: use crfkit\.load"):
        other.load(tmp_path / "m.crf")


def test_types_of_labels_stay_in_files(tmp_path: Path) -> None:
    masks = [mask.astype(np.uint8) for mask in MASKS]
    made = GridCRF(connect=8, tying="same", channels=[0], contrast="exp", void=9, stop=FEW).fit(IMAGES, masks)
    made.save(tmp_path / "m.crf")
    again = GridCRF.load(tmp_path / "m.crf")
    assert again.predict(IMAGES)[0].dtype == np.uint8
    given = {name: again.get_params()[name] for name in ("connect", "tying", "channels", "contrast", "void")}
    assert given == {"connect": 8, "tying": "same", "channels": [0], "contrast": "exp", "void": 9}
    one = MultiLabelCRF(stop=FEW).fit(ROWS, np.where(ROWS[:, 0] > 0, 4, 2))
    one.save(tmp_path / "m.crf")
    assert {*MultiLabelCRF.load(tmp_path / "m.crf").predict(ROWS).ravel().tolist()} == {2, 4}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"equal": str.lower, "where": None}, "equal: functions, which a file cannot keep"),
        ({"where": str.istitle}, "where: functions, which a file cannot keep"),
        ({"pairs": lambda x: [(0, 1)] if len(x) > 1 else []}, "pairs: functions, which a file cannot keep"),
    ],
)
def test_functions_are_refused_by_name(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    made = SkipChainCRF(features="w[0]", stop=FEW).set_params(**options).fit(WORDS, TAGS)
    with pytest.raises(ValueError, match=said):
        made.save(tmp_path / "m.crf")
    assert not [*tmp_path.iterdir()]


DAMAGED: list[tuple[str, dict[str, Any]]] = [
    ("columns", {"columns": ["kind", "tag"]}),
    ("columns", {"form": "labels"}),
    ("columns", {"lines": []}),
    ("columns", {"joined": {"equal": None, "where": None}}),
    ("skip-chain", {"joined": None}),
    ("skip-chain", {"joined": {"equal": 3, "where": None}}),
    ("skip-chain", {"joined": {"equal": "w", "where": "anywhere"}}),
    ("skip-chain", {"lines": [["word", ["token"], [5], True, "last"]]}),
    ("skip-chain", {"kind": "graphs"}),
    ("grid", {"labels": [3, 8]}),
    ("grid", {"dtype": "object"}),
    ("grid", {"features": 2}),
    ("grid", {"contrast": -1.0}),
    ("grid", {"channels": [1]}),
    ("grid", {"connect": 5}),
    ("multi-label", {"values": [1, 0]}),
    ("multi-label", {"features": 3}),
    ("multi-label", {"labels": 2}),
]


@pytest.mark.parametrize(("name", "change"), DAMAGED, ids=lambda each: str(each)[:50])
def test_damaged_groundings_are_refused(
    name: str, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, X, y = CASES[name]
    made.fit(X, y)

    kind: Any = type(made.model_.feature_map)
    whole = kind.plain

    def damaged(grounding: Any) -> Any:
        plain, arrays = whole(grounding)
        return {**plain, **change}, arrays

    monkeypatch.setattr(kind, "plain", damaged)
    made.save(tmp_path / "m.crf")
    with pytest.raises(ModelFileError, match=r"does not hold a valid model: its map (is|has|gives)"):
        crfkit.load(tmp_path / "m.crf")
