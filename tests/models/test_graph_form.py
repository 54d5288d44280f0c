"""The text form of graphs over column files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crfkit import FactorialCRF, GraphCRF, Stop
from crfkit.data.formats.columns import Columns
from crfkit.graphs.text_columns import column_graphs, gold_columns, training_graphs
from crfkit.graphs.text_form import Equal, FormError, GraphForm, Kind

BOTH = """
# two columns of labels, and names that are joined
columns  word pos chunk
kind     pos
kind     chunk = column 2   # by its number

features word[-1..1]; suffix(word, 1)[0]   # a comment of templates
features skip = shape(word)[0]
clique   pos   by features
clique   chunk by features
clique   pos[-1] pos
clique   chunk[-1] chunk
clique   pos chunk
clique   names = chunk chunk equal lower(word) where capitalized nearest 2 by skip cells=symmetric
"""
ROWS = [
    [("Ann", "N", "B"), ("saw", "V", "O"), ("Ann", "N", "B"), ("saw", "V", "O"), ("ann", "N", "B")],
    [("dogs", "N", "B"), ("bark", "V", "O")],
]


def test_what_a_text_says() -> None:
    form = GraphForm.parse(BOTH)
    assert form.columns == ("word", "pos", "chunk")
    assert form.kinds == {"pos": Kind("pos"), "chunk": Kind("2")}
    assert [line.name for line in form.lines] == [
        "pos",
        "chunk",
        "pos[-1] pos",
        "chunk[-1] chunk",
        "pos chunk",
        "names",
    ]
    assert form.equal == {"names": Equal("lower(word)", "capitalized", 2)}
    assert (form.lines[-1].by, form.lines[-1].at, form.lines[-1].cells) == ("skip", "both", "symmetric")
    assert len(form.sets["features"].templates) == 4
    assert GraphForm.parse(str(form)) == form


def test_the_example_of_the_docs_is_read() -> None:
    page = Path(__file__).parents[2] / "docs/how-to/graphs-files.md"
    (text,) = re.findall(r'"""\\\n(.*?)"""', page.read_text(), re.DOTALL)
    assert [*GraphForm.parse(text).kinds] == ["pos", "chunk"]


def test_columns_become_graphs() -> None:
    form, data = GraphForm.parse(BOTH), Columns.from_rows(ROWS)
    batch = training_graphs(form, data)
    assert batch.graph.kinds == {"pos": ("N", "V"), "chunk": ("B", "O")}
    assert batch.label is not None
    assert batch.by_kind(batch.label)["pos"].tolist() == [0, 1, 0, 1, 0, 0, 1]
    P = data.positions
    assert (batch.scopes["names"] - P).tolist() == [[0, 2]], "ann is not capitalized"
    assert (batch.scopes["pos chunk"] - [0, P]).tolist() == [[i, i] for i in range(P)]
    assert batch.scopes["pos[-1] pos"].tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [5, 6]]
    words = Columns.from_rows([[(row[0],) for row in each] for each in ROWS])
    new = column_graphs(form, words, batch.graph)
    assert new.label is None
    assert all((new.scopes[name] == scope).all() for name, scope in batch.scopes.items())


def test_it_learns_what_a_factorial_crf_learns() -> None:
    text = "\n".join(line for line in BOTH.splitlines() if "skip" not in line)
    stop = Stop(max_iterations=15)
    batch = training_graphs(GraphForm.parse(text), Columns.from_rows(ROWS))
    crf = GraphCRF(batch.graph, stop=stop).fit(batch)
    X = [[row[:1] for row in each] for each in ROWS]
    y = [[row[1:] for row in each] for each in ROWS]
    other = FactorialCRF(features="0[-1..1]; suffix(0, 1)[0]", stop=stop).fit(X, y)
    assert crf.model_.training is not None
    assert other.model_.training is not None
    assert crf.model_.training.loss == pytest.approx(other.model_.training.loss, rel=1e-9)


def test_hidden_kinds_and_unknown_labels() -> None:
    text = "kind tag = column 1 unknown ?\nkind state hidden 3\nclique state tag\nclique state by features\n"
    form = GraphForm.parse(text + "features 0[0]\n")
    data = Columns.from_rows([[("a", "X"), ("b", "?"), ("c", "Y")]])
    batch = training_graphs(form, data)
    assert batch.graph.kinds == {"tag": ("X", "Y"), "state": ("0", "1", "2")}
    assert batch.label is not None
    assert batch.label.tolist() == [0, -1, 1, -1, -1, -1]
    assert gold_columns(form, data) == {"tag": ["X", None, "Y"]}
    other = Columns.from_rows([[("a", "Z"), ("b", "Y")]])
    read = column_graphs(form, other, batch.graph, gold=True)
    assert read.label is not None
    assert read.label.tolist() == [-1, 1, -1, -1], "Z is not known"


def test_where_may_be_a_field() -> None:
    text = (
        'kind t = column 1\nclique t t equal 0 where is(0, "^[a-z#]") of both by f most 3\nfeatures f = 0[0]'
    )
    form = GraphForm.parse(text)
    rows = [[("a", "x"), ("B", "y"), ("a", "x"), ("B", "x"), ("#", "x"), ("#", "x")]]
    assert training_graphs(form, Columns.from_rows(rows)).scopes[form.lines[0].name].tolist() == [
        [0, 2],
        [4, 5],
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "g: there is no kind"),
        ("kind a", "g: there is no clique"),
        ("variable a", "g:1: 'variable' is not known; lines begin with columns, kind, features, clique or #"),
        ("kind a = 1", "g:1: kind a = 1 is not clear"),
        ("kind a\nkind a", "g:2: kind 'a' is there twice; line 1"),
        ("kind a hidden 0", "g:1: kind 'a' has 0 hidden labels"),
        ("columns a a", "g:1: columns need names that are all different"),
        ("columns a\ncolumns b", "g:2: columns were named before"),
        ("features edge: 0[0]", "g:1: edge:.*are not for graphs"),
        ("features 0[", "g:1: .*0\\["),
        ("features f = ", "g:1: .*"),
        ("kind a\nclique", "g:2: clique needs kinds"),
        ("kind a\nclique a a", r"g:2: clique a a has a variable twice; neighbors are a\[-1\] a"),
        ("kind a\nclique a[x]", "g:2: 'a\\[x\\]' is not a kind"),
        ("kind a\nclique a[-999] a", "g:2: .*offsets go from -100 to 100"),
        ("kind a\nclique b", "g:2: clique b: 'b' is not a kind; the kinds are a"),
        ("kind a\nclique a by f", "g:2: clique a: there are no features 'f'"),
        ("kind a\nkind b\nclique a", "g:2: kind 'b' is in no clique"),
        ("kind a\nfeatures f = 0[0]\nclique a", "g:2: features f are not used"),
        ("kind a\nclique a\nclique a", "g:3: clique 'a' is there twice, on line 2 too"),
        ("kind a\nclique a equal w", "g:2: equal joins two tokens"),
        ("kind a\nclique a a equal", "g:2: equal is followed by nothing"),
        ("kind a\nclique a a equal w(", "g:2: parentheses or quotation marks are not closed"),
        ("kind a\nclique a a equal f(w)", "g:2: "),
        ("kind a\nclique a a equal w most 0", "g:2: most 0: expected a number of 1 or more"),
        ("kind a\nclique a where w", "g:2: where, nearest and most are for pairs"),
        ("kind a\nclique a by f where w\nfeatures f = 0[0]", "g:2: where, nearest and most are for pairs"),
        ("kind a\nclique a by f of me", "g:2: of says whose attributes"),
        ("kind a\nclique a cells=some", "g:2: cells=some: expected cells= with one of free"),
        ("kind a\nclique a by f by f", "g:2: 'by' is not expected here"),
    ],
)
def test_errors_name_the_line(text: str, said: str) -> None:
    with pytest.raises(FormError, match=said):
        GraphForm.parse(text, "g")


def test_errors_of_data_name_the_clique() -> None:
    head = "kind t = column 1\nfeatures 0[0]\nclique t by features\n"
    rows = [[("a", "x"), ("b", "y")]]
    data = Columns.from_rows(rows)
    with pytest.raises(
        FormError, match=r"g:4: clique 't t equal 0' scores nothing.*no two tokens of a sequence fit"
    ):
        training_graphs(GraphForm.parse(head + "clique t t equal 0", "g"), data)
    with pytest.raises(
        FormError, match=r"g:4: clique 't\[-5\] t' scores nothing.*no sequence is long enough"
    ):
        training_graphs(GraphForm.parse(head + "clique t[-5] t", "g"), data)
    with pytest.raises(ValueError, match="features features reads the column '1', whose labels are kind 't'"):
        training_graphs(GraphForm.parse(head.replace("0[0]", "1[0]"), "g"), data)
    with pytest.raises(ValueError, match="reads the column '1'"):
        training_graphs(GraphForm.parse(head + "clique t t equal 0 where lower(1)", "g"), data)
    with pytest.raises(ValueError, match="g:1: kind t: there is no column 7"):
        training_graphs(GraphForm.parse(head.replace("column 1", "column 7"), "g"), data)
    with pytest.raises(FormError, match="kind 't' has no labels"):
        training_graphs(
            GraphForm.parse(head.replace("1\n", "1 unknown ?\n", 1), "g"), Columns.from_rows([[("a", "?")]])
        )
    with pytest.raises(ValueError, match="has 2 columns, the graph names 1: w"):
        training_graphs(GraphForm.parse("columns w\n" + head, "g"), data)
    many = Columns.from_rows([[("the", "x")] * 6000])
    form = GraphForm.parse(head + "clique t t equal 0", "g")
    with pytest.raises(FormError, match=r"g:4: clique 't t equal 0': equal values make 17,997,000 pairs"):
        training_graphs(form, many)
