"""The benchmark of raw text: features of the peer, and the text that is made of tokens."""

from __future__ import annotations

from itertools import pairwise

from bench import text
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe

WORDS = ["¿", "Vive", "José", "en", "A-2", "(", "Madrid", ")", "?"]


def test_features_are_those_of_the_recipe() -> None:
    rows = Columns.from_rows([[(word,) for word in WORDS]], ["word"])
    data = Extractor(Recipe.parse(text.RECIPE), None)(rows)
    names, ptr = data.attributes.strings(), data.batch.attr_ptr.tolist()
    attributes = [names[a] for a in data.batch.attr.tolist()]
    assert text.features(WORDS) == [attributes[a:b] for a, b in pairwise(ptr)]


def test_documents_are_written_as_people_write() -> None:
    [doc] = text.documents(iter([[(word, "B-LOC" if word == "Madrid" else "O") for word in WORDS]]))
    assert doc.text == "¿Vive José en A-2 (Madrid)?"
    assert [(span.text, span.label) for span in doc.spans] == [("Madrid", "LOC")]
