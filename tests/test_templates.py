"""Templates and recipes: the strings of CRF++ and Wapiti, and the native expansion against a plain one."""

from __future__ import annotations

import gzip
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfkit import data
from crfkit.batch import Dataset
from crfkit.features import Extractor, Field, Gazetteer, Recipe, Template, parse_crfpp, parse_wapiti
from crfkit.features.views import make_view
from crfkit.formats.columns import Columns

DATA = Path(os.environ.get("CRFKIT_DATA", "../shared/data"))
GOLDEN = DATA.parent / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="no files of the original programs here")
needs_data = pytest.mark.skipif(not (DATA / "conll2000").is_dir(), reason="no CoNLL-2000 here")

CHUNKING = "\n".join(
    [f"U{i:02}:%x[{o},0]" for i, o in enumerate(range(-2, 3))]
    + ["U05:%x[-1,0]/%x[0,0]", "U06:%x[0,0]/%x[1,0]"]
    + [f"U{i}:%x[{o},1]" for i, o in enumerate(range(-2, 3), start=10)]
    + [f"U{i}:%x[{o},1]/%x[{o + 1},1]" for i, o in enumerate(range(-2, 2), start=15)]
    + [f"U{i}:%x[{o},1]/%x[{o + 1},1]/%x[{o + 2},1]" for i, o in enumerate(range(-2, 1), start=20)]
    + ["B"]
)
Rows = list[list[tuple[str, ...]]]
ROWS: Rows = [[("The", "DT"), ("dog", "NN"), ("ran", "VB")], [("Cats", "NN")]]


def names_by_position(dataset: Dataset, edge: bool = False) -> list[list[str]]:
    batch = dataset.batch
    ptr, attr = (batch.edge_ptr, batch.edge_attr) if edge else (batch.attr_ptr, batch.attr)
    assert ptr is not None
    assert attr is not None
    names = (dataset.edge_attributes if edge else dataset.attributes).strings()
    return [[names[i] for i in attr[a:b]] for a, b in pairwise(ptr)]


def extract(recipe: Recipe, rows: Rows = ROWS, **options: object) -> Dataset:
    return Extractor(recipe, label=None)(Columns.from_rows(rows), **options)  # type: ignore[arg-type]


# ---- CRF++


def test_crfpp_strings() -> None:
    made = extract(parse_crfpp("# words\nU00:%x[-2,0]\nU01:%x[0,0]/%x[1,1]\nU02\nB\nB01:%x[0,1]"))
    assert names_by_position(made) == [
        ["U00:_B-2", "U01:The/NN", "U02"],
        ["U00:_B-1", "U01:dog/VB", "U02"],
        ["U00:The", "U01:ran/_B+1", "U02"],
        ["U00:_B-2", "U01:Cats/_B+1", "U02"],
    ]
    assert names_by_position(made, edge=True) == [[], ["B01:NN"], ["B01:VB"], []]


def test_crfpp_plain_transitions_are_no_attribute() -> None:
    extractor = Extractor(parse_crfpp("U:%x[0,0]\nB"), label=None)
    made = extractor(Columns.from_rows(ROWS))
    assert extractor.plain_transitions == ["B"]
    assert made.batch.edge_attr is None


def test_crfpp_strings_that_coincide_are_one_attribute() -> None:
    made = extract(parse_crfpp("U:%x[0,0]/%x[0,1]"), [[("a/b", "c"), ("a", "b/c")]])
    assert made.attributes.strings() == ["U:a/b/c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("X:%x[0,0]", "line 1: a template begins with U or B"),
        ("U:%x[0,0]\nU:%y[0,0]", r"line 2: '%y\[0,0\]' is no macro"),
        ("U:%x[+1,0]", "is no macro"),
        ("U:%x[0, 0]", "is no macro"),
        ("U:100%", "'%' is no macro"),
        ("U:%x[9,0]", "rows go from -8 to 8"),
        ("# nothing", "has no template"),
    ],
)
def test_crfpp_errors(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_crfpp(text)


def test_missing_column() -> None:
    with pytest.raises(ValueError, match="there is no column 5; the columns are 0, 1"):
        extract(parse_crfpp("U:%x[0,5]"))


@needs_golden
def test_crfpp_golden() -> None:
    folder = GOLDEN / "crfpp"
    extractor = Extractor(parse_crfpp((folder / "template").read_text()))
    made = extractor(read_columns(folder / "train.txt"))
    blocks = gzip.decompress((folder / "model.txt.gz").read_bytes()).decode().split("\n\n")
    theirs = {line.split(" ", 1)[1] for line in blocks[3].splitlines()}
    assert {*made.attributes, *made.edge_attributes, *extractor.plain_transitions} == theirs
    L, B = len(made.labels), len(made.edge_attributes) + len(extractor.plain_transitions)
    maxid = next(line for line in blocks[0].splitlines() if line.startswith("maxid"))
    assert len(made.attributes) * L + B * L * L == int(maxid.split(": ")[1])


@needs_data
def test_crfpp_chunking_template_makes_as_many_weights_as_crfpp() -> None:
    extractor = Extractor(parse_crfpp(CHUNKING))
    made = extractor(read_columns(DATA / "conll2000" / "train.txt.gz"))
    L = len(made.labels)
    assert L == 22
    assert len(made.attributes) * L + L * L == 7_448_606


def read_columns(path: Path) -> Columns:
    read = data.read(path, format="columns")
    assert isinstance(read, Columns)
    return read


# ---- Wapiti


def test_wapiti_strings() -> None:
    pattern = (
        "# c\n*\nU:w=%X[ 0,0] # low\nu:f=%x[@1,0]\nu:l=%x[@-1,0]\nu:far=%x[-6,0]\nb:p=%x[+1,1]\n*:q=%x[0,1]"
    )
    extractor = Extractor(parse_wapiti(pattern), label=None)
    made = extractor(Columns.from_rows(ROWS))
    assert names_by_position(made) == [
        ["*", "u:w=the", "u:f=The", "u:l=ran", "u:far=_x-#", "*:q=DT"],
        ["*", "u:w=dog", "u:f=The", "u:l=ran", "u:far=_x-#", "*:q=NN"],
        ["*", "u:w=ran", "u:f=The", "u:l=ran", "u:far=_x-4", "*:q=VB"],
        ["*", "u:w=cats", "u:f=Cats", "u:l=Cats", "u:far=_x-#", "*:q=NN"],
    ]
    assert names_by_position(made, edge=True) == [[], ["b:p=VB", "*:q=NN"], ["b:p=_x+1", "*:q=VB"], []]
    assert extractor.plain_transitions == ["*"]


@pytest.mark.parametrize(
    ("pattern", "token", "matched"),
    [
        ("^.?.?", "dog", "do"),
        (".?.?.?$", "horses", "ses"),
        (".?.?.?$", "ox", "ox"),
        (r"^\u", "Dog", "D"),
        (r"^\u*$", "NATO", "NATO"),
        (r"\d*", "ab12", ""),  # a star is lazy: the shortest match wins
        (r"\d\d*$", "ab12", "12"),
        (r"\p", "a.b", "."),
        (r"\.", "a.b", "."),
        (r"\W", "a-b", "-"),
        (r"\L\l", "aBc", "Bc"),
        ("x", "dog", None),
        ("a.c", "abc", "abc"),
        ("", "dog", ""),
    ],
)
def test_wapiti_regular_expressions(pattern: str, token: str, matched: str | None) -> None:
    recipe = parse_wapiti(f'u:m=%m[0,0,"{pattern}"]\nu:t=%t[0,0,"{pattern}"]')
    names = names_by_position(extract(recipe, [[(token,)]]))[0]
    assert names == [f"u:m={matched or ''}", f"u:t={'true' if matched is not None else 'false'}"]


def test_wapiti_commands_see_the_padding() -> None:
    recipe = parse_wapiti('u:p=%t[-1,0,"^\\p*$"]\nu:m=%m[-1,0,"x.*$"]')
    assert names_by_position(extract(recipe, [[("a",)]]))[0] == ["u:p=false", "u:m=x-1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:%x[0,0]", "begins with u, b or"),
        ("u:%z[0,0]", "is no command"),
        ("u:%t[0,0]", "needs a regular expression"),
        ('u:%x[0,0,"a"]', "takes no regular expression"),
        ("u:%x[@0,0]", "there is no @0"),
        ("u:%x[9999999999,0]", "offsets go from -1000 to 1000"),
        ("#", "has no pattern"),
    ],
)
def test_wapiti_errors(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_wapiti(text)


@needs_golden
@pytest.mark.parametrize("model", ["lbfgs", "sgd", "maxent", "memm"])
def test_wapiti_golden(model: str) -> None:
    folder = GOLDEN / "wapiti"
    extractor = Extractor(parse_wapiti((folder / "pattern.txt").read_text()))
    made = extractor(read_columns(folder / "train.txt"))
    lines = gzip.decompress((folder / f"model_{model}.txt.gz").read_bytes()).split(b"\n")
    head = [i for i, line in enumerate(lines) if line.startswith(b"#qrk#")][1]
    theirs = set()
    for line in lines[head + 1 : head + 1 + int(lines[head][5:])]:
        size, rest = line.split(b":", 1)
        theirs.add(rest[: int(size)].decode())
    ours = {*made.attributes, *made.edge_attributes, *extractor.plain_transitions}
    assert theirs <= ours
    if model in ("maxent", "memm"):  # the others drop observations without weight
        assert theirs == ours


# ---- crfkit's own recipes


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
        ("word", "line 1: 'word': 'word' is no field"),
        ("word[0]\nword[x]", "line 2"),
        ("upper(word)[0]", "'upper' is no view; views are lower"),
        ("prefix(word)[0]", "prefix takes int after the column"),
        ("prefix(word, 0)[0]", "must be 1 or more"),
        ('regex(word, "(")[0]', "regular expression '\\(' is wrong"),
        ("word[2..1]", "the window 2..1 is empty"),
        ("word[-9999999999..2]", "offsets go from -1000 to 1000"),
        ("ngrams(word, 2, 9999999999)[0]", "at most 1000"),
        ("word[-1..1] & pos[0]", "stands alone"),
        ('lookup(word, "x")[0]', "names a resource that is not given"),
        ("prefix(word, n)[0]", "not numbers or quoted strings"),
        ('word[0]\nis(word, "a)[0]', "line 2: .*a quotation mark is not closed"),
        (r'is(word, "\Uffffffff")[0]', "is the number of no character"),
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
tokens = st.text("aAb/1é", min_size=1, max_size=3)
corpora = st.lists(st.lists(st.tuples(tokens, tokens), max_size=4), min_size=1, max_size=5)


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


# ---- threads, streams, freezing


@needs_data
def test_threads_and_streams_give_the_same_bits() -> None:
    path = DATA / "conll2000" / "test.txt.gz"
    recipe = parse_crfpp(CHUNKING + "\nB1:%x[0,1]")
    whole = Extractor(recipe)(read_columns(path), threads=1)
    for threads in (2, 7):
        assert_same(whole, Extractor(recipe)(read_columns(path), threads=threads))
    extractor = Extractor(recipe)
    chunks = data.stream(path, format="columns", chunk_positions=9000)
    parts = [extractor(part, threads=2) for part in chunks if isinstance(part, Columns)]
    assert len(parts) > 3
    assert parts[-1].attributes.strings() == whole.attributes.strings()
    joined = np.concatenate([part.batch.attr for part in parts])
    np.testing.assert_array_equal(joined, whole.batch.attr)


def assert_same(a: Dataset, b: Dataset) -> None:
    for name in ("seq_ptr", "attr_ptr", "attr", "label", "edge_ptr", "edge_attr"):
        np.testing.assert_array_equal(getattr(a.batch, name), getattr(b.batch, name))
    for name in ("labels", "attributes", "edge_attributes"):
        assert getattr(a, name).strings() == getattr(b, name).strings()


@given(corpora, st.integers(2, 5))
def test_threads_on_generated_data(corpus: Rows, threads: int) -> None:
    recipe = Recipe.parse("w[-1..1]; w[0] & p[1]; ngrams(w, 2, 2)[0]; both: p[0]")
    columns = Columns.from_rows(corpus * 6, names=["w", "p"])
    assert_same(Extractor(recipe, "p")(columns, threads=1), Extractor(recipe, "p")(columns, threads=threads))


@pytest.mark.parametrize("threads", [1, 3])
def test_frozen_drops_what_is_unknown(threads: int) -> None:
    extractor = Extractor(Recipe.parse("w[0]; p[0]; both: p[-1] & w[0]"), label="p")
    first = extractor(Columns.from_rows(ROWS, names=["w", "p"]))
    extractor.freeze()
    again = extractor(Columns.from_rows(ROWS * 4, names=["w", "p"]), threads=threads)
    assert names_by_position(again) == names_by_position(first) * 4
    other = extractor(Columns.from_rows([[("dog", "XX"), ("emu", "NN")]], names=["w", "p"]))
    assert names_by_position(other) == [["w[0]=dog"], ["p[0]=NN"]]
    assert other.batch.label is not None
    assert other.batch.label.tolist() == [-1, first.labels.find("NN")]


def test_hashed_attributes() -> None:
    recipe = Recipe.parse("w[-1..1]; both: p[0]")
    columns = Columns.from_rows(ROWS * 3, names=["w", "p"])
    named = Extractor(recipe, label="p")(columns)
    extractor = Extractor(recipe, label="p", hashed=5)
    hashed = extractor(columns)
    assert hashed.batch.attr.max() < 5
    assert len(hashed.attributes) == 0
    place = dict(zip(named.batch.attr.tolist(), hashed.batch.attr.tolist(), strict=True))
    assert [place[i] for i in named.batch.attr.tolist()] == hashed.batch.attr.tolist()
    assert hashed.batch.edge_attr is not None
    edges = len(named.edge_attributes) - len(np.unique(hashed.batch.edge_attr))
    assert extractor.collisions == len(place) - len(set(place.values())) + edges > 0
    extractor.freeze()
    np.testing.assert_array_equal(extractor(columns, threads=3).batch.attr, hashed.batch.attr)
    other = extractor(Columns.from_rows([[("emu", "XX")]], names=["w", "p"]))
    assert len(other.batch.attr) == 4
    assert other.batch.label is not None
    assert other.batch.label.tolist() == [-1]
    assert Extractor(recipe).collisions == 0
    with pytest.raises(ValueError, match="hashed is 0"):
        Extractor(recipe, hashed=0)


def test_wapiti_expressions_take_no_exponential_time() -> None:
    recipe = parse_wapiti('u:m=%m[0,0,"' + "a?" * 40 + "a*" * 20 + 'b$"]')
    assert names_by_position(extract(recipe, [[("a" * 60,)]])) == [["u:m="]]


def test_embeddings_become_dense_columns() -> None:
    vectors = {"The": [1.0, 2.0], "dog": [3.0, 4.0], "Cats": [5.0, 6.0]}
    recipe = Recipe.parse('p[0]; embedding(w, "v")[0]; embedding(w, "v")[-1]', {"v": vectors})
    made = Extractor(recipe, label=None)(Columns.from_rows(ROWS, names=["w", "p"]))
    assert made.batch.dense is not None
    assert made.batch.dense.tolist() == [
        [1.0, 2.0, 0.0, 0.0],
        [3.0, 4.0, 1.0, 2.0],
        [0.0, 0.0, 3.0, 4.0],
        [5.0, 6.0, 0.0, 0.0],
    ]
    assert names_by_position(made)[0] == ["p[0]=DT"]
    with pytest.raises(ValueError, match="stands alone"):
        Recipe.parse('w[0] & embedding(w, "v")[0]', {"v": vectors})
