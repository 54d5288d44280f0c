"""The peer gets the attributes that the recipe makes."""

from bench import sentence
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from tests.cases.templates import names_by_position


def test_features_by_python_are_those_of_the_recipe() -> None:
    words = [*sentence.SENTENCE, "1999", "U.S.", "É"]
    made = Extractor(Recipe.parse(sentence.RECIPE), None)(
        Columns.from_rows([[(w,) for w in words]], ["word"])
    )
    expected = [sorted(names) for names in names_by_position(made)]
    assert [sorted(item) for item in sentence.features(words)] == expected
    assert len(sentence.SENTENCE) == sentence.SIZE
    assert len(Recipe.parse(sentence.RECIPE).templates) == 23
