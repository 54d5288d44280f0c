"""JSON lines: tokens, items, and what is refused."""

from __future__ import annotations

import pytest

from crfkit.data import Columns
from tests.cases.formats import attributes, columns, fails, items, written


def test_json_tokens_become_columns() -> None:
    made = columns(
        b'{"tokens": ["a", "b"], "pos": ["X", "Y"], "labels": ["O", "B"]}\n\n'
        b'{"labels": ["O"], "tokens": ["c"], "pos": ["Z"], "id": 7}\n',
        "jsonl",
    )
    assert made.names == ("token", "pos", "label")
    assert list(made) == [[("a", "X", "O"), ("b", "Y", "B")], [("c", "Z", "O")]]
    assert made.format == "jsonl"
    chosen = columns(b'{"tokens": ["a"], "pos": ["X"]}\n', "jsonl", columns=["pos"])
    assert (chosen.names, list(chosen)) == (("pos",), [[("X",)]])


def test_json_items_follow_the_rules_of_python_crfsuite() -> None:
    made = attributes(
        b'{"items": [["a", "b"], {"f": 0.5, "yes": true, "no": false, "w": "dog", '
        b'"set": ["x", "y"], "in": {"deep": {"n": 2, "s": "t"}}}, {}], "labels": ["B", null, "I"]}',
        "jsonl",
    )
    assert items(made) == [
        [
            ("B", {"a": 1.0, "b": 1.0}),
            (
                None,
                {
                    "f": 0.5,
                    "yes": 1.0,
                    "no": 0.0,
                    "w:dog": 1.0,
                    "set:x": 1.0,
                    "set:y": 1.0,
                    "in:deep:n": 2.0,
                    "in:deep:s:t": 1.0,
                },
            ),
            ("I", {}),
        ]
    ]


def test_json_labels_and_weights_may_be_missing() -> None:
    made = attributes(b'{"items": [["a", "a"]]}\n{"items": [["b"]], "weight": 2}\n', "jsonl")
    assert made.batch.label is None
    assert made.batch.weight is not None
    assert made.batch.weight.tolist() == [1.0, 2.0]
    assert items(made)[0] == [(None, {"a": 2.0})]


def test_json_keeps_empty_sequences() -> None:
    assert [len(s) for s in columns(b'{"tokens": []}\n{"tokens": ["a"]}\n{"tokens": []}\n', "jsonl")] == [
        0,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"tokens": ["a"', "not JSON"),
        (b'["a"]', "expected an object"),
        (b"{}", "no list 'tokens'"),
        (b'{"tokens": ["a"], "labels": ["O", "O"]}', "has 'labels' of length 2, and 'tokens' of 1"),
        (b'{"tokens": ["a"]}', "no list 'labels'"),
        (b'{"tokens": [1.5], "labels": ["O"]}', "has 1.5 at place 0"),
        (b'{"tokens": "a", "labels": ["O"]}', "no list 'tokens'"),
        (b'{"items": [["a"]], "labels": ["O"]}', "lines before have tokens"),
        (b'{"tokens": ["\\ud800"], "labels": ["O"]}', "surrogate"),
        (b"[" * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_bad_json_tokens_name_the_line(line: bytes, what: str) -> None:
    fails(b'{"tokens": ["x"], "labels": ["O"]}\n\n' + line + b"\n", "jsonl", 3, what)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"tokens": ["a"]}', "'tokens' beside|no list \"items\""),
        (b'{"items": {}}', 'no list "items"'),
        (b'{"items": ["ab"]}', "as item 0"),
        (b'{"items": [["a"]], "labels": []}', "one label for each"),
        (b'{"items": [["a"]], "labels": [1.5]}', "expected a string"),
        (b'{"items": [["a"]], "label": ["O"]}', "'label' beside"),
        (b'{"items": [{"a": null}]}', "value null"),
        (b'{"items": [{"a": NaN}]}', "NaN"),
        (b'{"items": [{"a": -Infinity}]}', "Infinity"),
        (b'{"items": [{"a": 1e999}]}', "not finite"),
        (b'{"items": [{"a": 1' + b"0" * 400 + b"}]}", "too large"),
        (b'{"items": [{"a": [["b"]]}]}', "expected a string"),
        (b'{"items": [[1]]}', "expected a string"),
        (b'{"items": [["a"]], "weight": "2"}', "weight"),
        (b'{"items": [["a"]], "weight": 1e999}', "weight"),
        (b'{"items": [{"\\ud800": "x"}]}', "surrogate"),
        (b'{"items": [["a"]], "items": [["b"]]}', "two values for the key 'items'"),
        (b'{"items": [{"w": "a", "w": "b"}]}', "two values for the key 'w'"),
    ],
)
def test_bad_json_items_name_the_line(line: bytes, what: str) -> None:
    fails(b'{"items": [["x"]]}\n' + line + b"\n", "jsonl", 2, what)


def test_json_refuses_names_with_a_meaning() -> None:
    with pytest.raises(ValueError, match="'items' has a meaning"):
        written(Columns.from_rows([[("a",)]], names=["items"]), "jsonl")
    assert written(Columns.from_rows([[("a", "é")]], names=["token", "label"]), "jsonl") == (
        '{"tokens": ["a"], "labels": ["é"]}\n'.encode()
    )
