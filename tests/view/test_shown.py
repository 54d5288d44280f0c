"""What shows itself in a notebook, and prints in words."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from crfkit import ChainCRF, Doc, Graph, metrics, train
from crfkit.text import align
from tests.cases.pictures import HOSTILE

WORDS = [["the", "old", "dog"], ["a", "dog"], ["the", "<b>"]]
TAGS = [["D", "A", "N"], ["D", "N"], ["D", "<N>"]]
ITEMS = [[{"w": word} for word in words] for words in WORDS]


def shown() -> dict[str, Any]:
    """Everything that has a picture, of data with markup in them."""
    crf = ChainCRF(features="lower(0)[-1..1]").fit([[(w,) for w in words] for words in WORDS], TAGS)
    graph = Graph({"token": ["D", "<N>"]}, step=["token", "token"])
    batch = graph.batch(labels={"token": ["D", "<N>", "<N>"]}, scopes={"step": [[0, 1], [1, 2]]})
    docs = [Doc("".join(HOSTILE), spans=[(0, 9, "<script>"), (12, 14, "B")])]
    X = [[(w,) for w in words] for words in WORDS]
    return {
        "model": crf.model_,
        "graph model": train(batch, progress=False),
        "training": crf.model_.training,
        "explanation": crf.explain(X[2]),
        "report": crf.evaluate(X, TAGS, groups=["<a>", "b", "b"]),
        "confusion": metrics.Confusion.from_estimator(crf, X, TAGS),
        "calibration": metrics.Calibration.from_estimator(crf, X, TAGS),
        "document": docs[0],
        "alignment": align(docs)[1],
    }


OBJECTS = shown()


@pytest.mark.parametrize("name", OBJECTS)
def test_it_shows_itself_and_prints(name: str) -> None:
    one = OBJECTS[name]
    root = ElementTree.fromstring(one._repr_html_())
    assert [part.get("class") for part in root if part.tag != "style"][:2] == ["crfkit-plain", "crfkit"]
    assert not [part for part in root.iter() if part.tag in ("script", "N", "a")]
    assert str(one).strip()
    assert "object at 0x" not in str(one)


def test_an_explanation_names_the_words() -> None:
    found = OBJECTS["explanation"]
    assert found.tokens == ("the", "<b>")
    assert "“&lt;b&gt;” is &lt;N&gt;" in found._repr_html_()
    assert ChainCRF().fit(ITEMS, TAGS).model_.explain(ITEMS[0]).tokens == ()


def test_from_estimator_is_what_evaluate_and_calibration_say() -> None:
    crf = ChainCRF().fit(ITEMS, TAGS)
    made = metrics.Confusion.from_estimator(crf, ITEMS, TAGS)
    assert made.to_dict() == crf.evaluate(ITEMS, TAGS).confusion.to_dict()
    found = metrics.Calibration.from_estimator(crf, ITEMS, TAGS, bins=4)
    told = metrics.calibration(crf.predict_proba(ITEMS).to_dicts(), TAGS, 4)
    assert found.expected_error == told.expected_error
    assert found.count.tolist() == told.count.tolist()
    assert "expected error" in str(found)
