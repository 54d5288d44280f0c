"""Recipes that were written to take time or memory are refused, or cost what their text costs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Recipe
from crfkit.features.dialects import guess_dialect, parse_recipe, read_recipe
from crfkit.features.fields import parse_field
from crfkit.features.limits import LONGEST_LINE, MOST_CHARACTERS, MOST_FIELDS, MOST_TEMPLATES
from crfkit.features.quoted import arguments_of
from crfkit.features.recipe import Dialect
from crfkit.features.views import make_view
from crfkit.models.files.recipes import plain_recipe, recipe_of
from tests.cases.growth import check_growth, peak_of

LINES: dict[Dialect, str] = {"crfpp": "U:%x[0,0]\n", "wapiti": "u:%x[0,0]\n", "crfkit": "word[0]\n"}


def extracted(recipe: str, *tokens: str, resources: dict[str, object] | None = None) -> list[str]:
    columns = Columns.from_rows([[(token,) for token in tokens]], names=["word"])
    return Extractor(Recipe.parse(recipe, resources), label=None)(columns).attributes.strings()


@pytest.mark.parametrize("dialect", LINES)
def test_many_lines_are_refused_early(dialect: Dialect) -> None:
    """200,000 lines took 2.3 GB before they were refused."""
    text = LINES[dialect] * 200_000

    def refused() -> None:
        for given in (dialect, None):
            with pytest.raises(ValueError, match=r"t, line 20001: there are more than 20,000"):
                parse_recipe(text, given, source="t")

    assert peak_of(refused) < 120e6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word[0];" * (MOST_TEMPLATES + 1), "characters, more than 100,000; break it up"),
        ("word[-1000..1000]\n" * 11, "line 10: there are more than 20,000 templates"),
        ("&".join(["word[0]"] * (MOST_FIELDS + 1)), "more than 100 fields; break it up"),
        ("U:" + "%x[0,0]" * (MOST_FIELDS + 1), "t, line 1: a template has more than 100 fields"),
        ("u:" + "%x[ 0,0]" * (MOST_FIELDS + 1), "t, line 1: a template has more than 100 fields"),
        ("x" * (MOST_CHARACTERS + 1), "characters, more than 2,097,152; shorten it"),
        ("U:%x[0,0]\nU:" + "x" * LONGEST_LINE, "t, line 2 has 100,002 characters"),
        ("U:%x[" + "1" * 5000 + ",0]", "t, line 1: .*is not a macro of CRF"),
        ("U:%x[2147483648,0]", "rows of CRF.. templates go from -8 to 8"),
        ("u:%x[ " + "1" * 5000 + ",0]", "t, line 1: .*is not a command of Wapiti"),
        ("u:%x[ 2147483648,0]", "offsets go from -1000 to 1000"),
        ("word[" + "1" * 5000 + "]", "is not a field"),
        ("word[2147483648]", "offsets go from -1000 to 1000"),
        ("prefix(word, " + "1" * 5000 + ")[0]", "are not numbers or quoted strings"),
        ("f" * 5000 + "(word)[0]", "is not a view"),
        ("(" * 5000 + ")" * 5000 + "[0]", "neither a column nor view"),
    ],
)
def test_large_recipes_are_refused_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        parse_recipe(text, source="t")
    assert len(str(refused.value)) < 600


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "t", "wb") as file:
        file.truncate(1 << 32)
    with pytest.raises(ValueError, match="characters, more than"):
        read_recipe(tmp_path / "t")


def test_model_files_have_the_same_limits() -> None:
    plain, arrays = plain_recipe(Recipe.parse("word[0]"))
    for text in ("word[0]\n" * (MOST_TEMPLATES + 1), "&".join(["word[0]"] * 101)):
        with pytest.raises(ValueError, match="more than"):
            recipe_of(plain | {"text": text}, arrays)
    field = ["word", 0, "same", [], False, False]
    many = {"kind": "node", "fields": [field] * 101, "literals": [""] * 102}
    one = {"kind": "node", "fields": [field], "literals": ["", ""]}
    for templates in ([many], [one] * (MOST_TEMPLATES + 1)):
        with pytest.raises(ValueError, match="more than"):
            recipe_of(plain | {"templates": templates}, arrays)
    long = one | {"fields": [["0", 0, "match", ["a*" * 9999], False, False]]}
    with pytest.raises(ValueError, match="bytes, more than 1,000"):
        recipe_of(plain | {"dialect": "wapiti", "templates": [long]}, arrays)


def _quietly(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse_recipe(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: '"' + '\\"' * n,
        lambda n: 'is(word, "' + '\\"' * n + '")[0]',
        lambda n: "word[" + " " * n + "x",
        lambda n: "word[..".ljust(n) + "x]",
        lambda n: "word[0]&" * n,
        lambda n: "is(word" + " " * n,
        lambda n: "is(word," + " " * n + ")[0]",
        lambda n: "a" * n,
        lambda n: "U" + "%x[" * n,
        lambda n: "U:%x[0,0" + " " * n,
        lambda n: "u" + '%m[0,0,"' * n,
        lambda n: "U:%x[" + "%x[0 " * n,
        lambda n: "U:" + "%x[0,0]" * n + "%",
        lambda n: "word[0]" + "#" * n,
        lambda n: "word[0]:" + ":" * n,
    ],
)
def test_lines_cost_what_their_length_is(make: Callable[[int], str]) -> None:
    check_growth(make, _quietly, 5000)


def test_parts_of_lines_cost_what_their_length_is() -> None:
    def refused(call: Callable[[str], object], text: str) -> None:
        with pytest.raises(ValueError, match=r"is not a field|are not numbers"):
            call(text)

    check_growth(lambda n: " " * n + "[" + " " * n + "1" * n, lambda text: refused(parse_field, text), 20_000)
    check_growth(lambda n: "1" * n + "x", lambda text: refused(arguments_of, text), 20_000)
    check_growth(lambda n: "U" + "%x[" * n, guess_dialect, 10_000)


def test_ngrams_of_a_long_token_are_refused() -> None:
    view = make_view("ngrams", (1, 1000), {})
    assert len(view(["word"])[0] or ()) == 21
    with pytest.raises(ValueError, match=r"ngrams of 1 to 1000 characters of 'aaaaaaaaaaaaaaaaaaaa'... have"):
        view(["a" * 5000])


def test_values_that_multiply_are_refused() -> None:
    """Two values for each of 40 fields made 2^40 names, of which none was the last."""
    table = {"x": ["a", "b"]}
    names = extracted(" & ".join(['lookup(word, "t")[0]'] * 3), "x", resources={"t": table})
    assert len(names) == 8
    for recipe in (" & ".join(['lookup(word, "t")[0]'] * 40), " & ".join(["ngrams(word, 1, 9)[0]"] * 9)):
        with pytest.raises(ValueError, match="more than 100000 attributes at one position"):
            extracted(recipe, "x" * 20 if "ngrams" in recipe else "x", resources={"t": table})


def test_values_of_segments_that_multiply_are_refused() -> None:
    columns = Columns.from_rows([[("x",)]], names=["word"])
    text = "segment: " + " & ".join(['lookup(word, "t")[begin]'] * 40)
    recipe = Recipe.parse(text, {"t": {"x": ["a", "b"]}})
    with pytest.raises(ValueError, match="at position 0 of sequence 0 have more than 16777216"):
        Extractor(recipe, label=None, longest=1)(columns)


def test_names_are_bounded_where_they_are_kept() -> None:
    token = "a" * (1 << 20)
    assert extracted("length(word)[0]", token) == ["length(word)[0]=9"]
    with pytest.raises(ValueError, match=r"the attribute 'word\[0\]=a.*bytes, more than 1048576"):
        extracted("word[0]", token)
    known = Columns.from_rows([[("b",)]], names=["word"])
    extract = Extractor(Recipe.parse("\n".join(f"word[{i}]" for i in range(-8, 9))), label=None)
    extract(known)
    found = extract.freeze()(Columns.from_rows([[(token,), (token + "b",), ("b",)]], names=["word"]))
    assert np.diff(found.batch.attr_ptr)[-1] > 0


def test_names_of_a_position_are_bounded_together() -> None:
    """A token of a megabyte and 1,000 templates made a gigabyte of names."""
    recipe = "\n".join(f"word[0] & word[{i}]" for i in range(1, 1001))
    token = "a" * (1 << 19)

    def refused() -> None:
        with pytest.raises(ValueError, match="at position 1 of sequence 0 have more than 16777216 bytes"):
            extracted(recipe, "b", token)

    assert peak_of(refused) < 100e6
    assert len(extracted(recipe, "b" * 10_000)) == 1000
    assert len(extracted("word[0]\nword[-1]", token, token)) == 3


def test_names_of_several_values_are_bounded_together() -> None:
    """Each of the values made a name with the whole of the token after it."""
    recipe, table = 'lookup(word, "t")[0] & word[1]', {"x": [f"v{i}" for i in range(100)]}
    assert len(extracted(recipe, "x", "a", resources={"t": table})) == 100
    with pytest.raises(ValueError, match="at position 0 of sequence 0 have more than 16777216 bytes"):
        extracted(recipe, "x", "a" * 200_000, resources={"t": table})


@pytest.mark.parametrize("threads", [1, 4])
def test_names_are_refused_alike_by_any_number_of_threads(threads: int) -> None:
    """Names that are known already count too, as other threads may not know them."""
    rows = [[("a" * 300_000,)], *[[("c",)]] * 3000, [("c",), ("a" * 300_000,), ("b" * 600_000,)]]
    recipe = Recipe.parse("\n".join(f"word[0] & word[{i}]" for i in range(-20, -1)) + "\nword[-1]")
    columns = Columns.from_rows(rows, names=["word"])
    found = Extractor(recipe, label=None)(columns, threads)
    assert len(found.batch.attr) == 20 * columns.positions
    recipe = Recipe.parse("\n".join(f"word[0] & word[{i}]" for i in range(-60, -1)) + "\nword[-1]")
    with pytest.raises(ValueError, match="at position 0 of sequence 0 have more"):
        Extractor(recipe, label=None)(columns, threads)


def test_names_of_segments_are_bounded_together() -> None:
    columns = Columns.from_rows([[("a" * 100_000,)] * 40], names=["word"])
    recipe = Recipe.parse("\n".join(f"segment: word[..] & word[begin-{i}]" for i in range(1, 9)))
    with pytest.raises(ValueError, match="at position 0 of sequence 0 have more than 16777216 bytes"):
        Extractor(recipe, label=None, longest=9)(columns)


def test_many_columns_cost_what_they_are() -> None:
    def made(n: int) -> Recipe:
        return parse_recipe("".join(f"U:%x[0,{i}]\n" for i in range(n)))

    check_growth(made, lambda recipe: Extractor(recipe, label=None), 3000)
