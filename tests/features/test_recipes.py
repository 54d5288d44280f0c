"""crfkit's own recipes, and the native expansion against a plain one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor, Gazetteer, Recipe
from crfkit.features.recipe import Field, Template
from crfkit.features.views import make_view
from tests.cases.templates import ROWS, Rows, corpora, extract, names_by_position


def test_recipe_strings() -> None:
    recipe = Recipe.parse(
        "bias; lower(w)[0]; suffix(w, 2)[0]; shape(w)[-1]; w[0] & p[-1]; ngrams(w, 4, 4)[0];"
        'is(w, "^[A-Z]")[0]'
    )
    made = Extractor(recipe, label=None)(Columns.from_rows(ROWS, names=["w", "p"]))
    assert names_by_position(made)[:2] == [
        [
            "bias",
            "lower(w)[0]=the",
            "suffix(w, 2)[0]=he",
            "shape(w)[-1]=_B-1",
            "w[0]&p[-1]=The|_B-1",
            "ngrams(w, 4, 4)[0]=<The",
            "ngrams(w, 4, 4)[0]=The>",
            'is(w, "^[A-Z]")[0]=yes',
        ],
        [
            "bias",
            "lower(w)[0]=dog",
            "suffix(w, 2)[0]=og",
            "shape(w)[-1]=Aa+",
            "w[0]&p[-1]=dog|DT",
            "ngrams(w, 4, 4)[0]=<dog",
            "ngrams(w, 4, 4)[0]=dog>",
        ],
    ]


def test_recipe_resources() -> None:
    cities = Gazetteer(["New York", "York"], lower=True)
    resources = {"cities": cities, "clusters": {"new": "c7"}}
    recipe = Recipe.parse('gazetteer(w, "cities")[0]; lookup(w, "clusters")[0]', resources)
    made = Extractor(recipe, label=None)(Columns.from_rows([[("in",), ("new",), ("york",)]], names=["w"]))
    gazetteer = 'gazetteer(w, "cities")[0]='
    assert names_by_position(made) == [
        [],
        [f"{gazetteer}B", 'lookup(w, "clusters")[0]=c7'],
        [f"{gazetteer}I"],
    ]


def test_recipe_edges() -> None:
    extractor = Extractor(Recipe.parse("edge: bias; edge: p[0]; both: p[-1]"), label=None)
    made = extractor(Columns.from_rows(ROWS, names=["w", "p"]))
    assert extractor.plain_transitions == ["edge:bias"]
    assert names_by_position(made, edge=True)[:2] == [[], ["edge:p[0]=NN", "both:p[-1]=DT"]]
    assert names_by_position(made)[:2] == [["both:p[-1]=_B-1"], ["both:p[-1]=DT"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no template"),
        ("word", "line 1: 'word': 'word' is not a field"),
        ("word[0]\nword[x]", "line 2"),
        ("upper(word)[0]", "'upper' is not a view; views are lower"),
        ("prefix(word)[0]", "prefix takes int after the column"),
        ("prefix(word, 0)[0]", "must be 1 or more"),
        ('regex(word, "(")[0]', "regular expression '\\(' is wrong"),
        ("word[2..1]", "the window 2..1 is empty"),
        ("word[-9999999999..2]", "offsets go from -1000 to 1000"),
        ("ngrams(word, 2, 9999999999)[0]", "at most 1000"),
        ("word[-1..1] & pos[0]", "cannot be in a conjunction"),
        ('lookup(word, "x")[0]', "names a resource that is not given"),
        ("prefix(word, n)[0]", "not numbers or quoted strings"),
        ('word[0]\nis(word, "a)[0]', "line 2: .*a quotation mark is not closed"),
        (r'is(word, "\Uffffffff")[0]', "is not the number of a character"),
    ],
)
def test_recipe_errors(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe.parse(text)


FIELDS = [
    "w",
    "p",
    "lower(w)",
    "prefix(w, 2)",
    "suffix(p, 1)",
    "shape(w)",
    "ngrams(w, 2, 3)",
    'regex(w, "[a;#&]+")',
]
fields = st.builds(lambda f, o: f"{f}[{o}]", st.sampled_from(FIELDS), st.integers(-9, 9))
lines = st.builds(
    lambda kind, parts: kind + " & ".join(parts),
    st.sampled_from(["", "edge: ", "both: "]),
    st.lists(fields, min_size=1, max_size=4),
)
recipes = st.lists(lines | st.just("bias"), min_size=1, max_size=5).map("\n".join)


@given(recipes)
def test_recipe_round_trip(text: str) -> None:
    recipe = Recipe.parse(text)
    assert Recipe.parse(str(recipe)) == recipe
    assert str(Recipe.parse(str(recipe))) == str(recipe)


@given(st.lists(st.text(st.characters() | st.sampled_from("\\\"'nxu&;#[](), "), max_size=9), max_size=3))
def test_every_string_comes_back(strings: list[str]) -> None:
    resources: dict[str, object] = {string: {} for string in strings}
    made = [Field("w", 0, "lookup", (string,)) for string in strings] + [Field("w")]
    text = " & ".join(f"{f.name()}[{f.offset}]" for f in made)
    recipe = Recipe.parse(text, resources)
    assert [f.arguments for f in recipe.templates[0].fields] == [f.arguments for f in made]
    assert len(str(recipe).splitlines()) == 1
    assert Recipe.parse(str(recipe), resources) == recipe


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"\w+\.\d", r"\w+\.\d"),
        (r"\bthe\b", r"\bthe\b"),
        (r"\\d", r"\d"),
        (r"\"a\"", '"a"'),
        (r"\t\x41\u00e9", "\tAé"),
        (r"\1\0", r"\1\0"),
        (r"\xg", r"\xg"),
    ],
)
def test_backslashes_in_strings(written: str, meant: str) -> None:
    recipe = Recipe.parse(f'lookup(w, "{written}")[0]', {meant: {}})
    assert recipe.templates[0].fields[0].arguments == (meant,)
    assert Recipe.parse(str(recipe), {meant: {}}) == recipe


def test_a_regular_expression_keeps_its_backslashes_in_names() -> None:
    made = extract(Recipe.parse(r'is(0, "^\w+$")[0]'), [[("the", "x"), ("-", "y")]])
    assert names_by_position(made) == [[r'is(0, "^\w+$")[0]=yes'], []]


def plain_names(template: Template, rows: list[tuple[str, ...]], t: int) -> list[str]:
    """What a template makes of a position, straight from its definition."""
    names = [template.literals[0]]
    for f, literal in zip(template.fields, template.literals[1:], strict=True):
        at = t + f.offset
        if 0 <= at < len(rows):
            token = rows[at]["wp".index(f.column)]
            value = token if f.view == "same" else make_view(f.view, f.arguments, {})([token])[0]
        else:
            distance = min(-at if at < 0 else at - len(rows) + 1, 8)
            value = f"_B{'-' if at < 0 else '+'}{distance}"
        values = [] if value is None else [value] if isinstance(value, str) else value
        names = [name + value + literal for name in names for value in values]
    return names


@settings(max_examples=150)
@given(recipes, corpora)
def test_native_expansion_equals_the_definition(text: str, corpus: Rows) -> None:
    recipe = Recipe.parse(text)
    made = Extractor(recipe, label=None)(Columns.from_rows(corpus, names=["w", "p"]), threads=1)
    node, edge = [], []
    for rows in corpus:
        for t in range(len(rows)):
            made_here = [(tpl, name) for tpl in recipe.templates for name in plain_names(tpl, rows, t)]
            node.append([name for tpl, name in made_here if tpl.kind != "edge"])
            edge.append([name for tpl, name in made_here if tpl.kind != "node" and tpl.fields and t > 0])
    assert names_by_position(made) == node
    if made.batch.edge_ptr is not None:
        assert names_by_position(made, edge=True) == edge
