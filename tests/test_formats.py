"""Readers and writers: every format, its traps, and what each refuses."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit import data
from crfkit.alphabet import Alphabet
from crfkit.batch import Batch
from crfkit.data import Columns, Dataset, FormatError

DATA = Path(os.environ.get("CRFKIT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def columns(text: bytes, format: str | None = "columns", **options: Any) -> Columns:
    made = data.read(io.BytesIO(text), format, **options)
    assert isinstance(made, Columns)
    return made


def attributes(text: bytes, format: str | None = "crfsuite", **options: Any) -> Dataset:
    made = data.read(io.BytesIO(text), format, **options)
    assert isinstance(made, Dataset)
    return made


def rows(text: bytes, format: str = "columns", **options: Any) -> list[list[tuple[str, ...]]]:
    return list(columns(text, format, **options))


def items(dataset: Dataset) -> list[list[tuple[str | None, dict[str, float]]]]:
    """Spell a dataset out, one position at a time; no attribute may stand twice at one position."""
    batch, made = dataset.batch, []
    for n in range(batch.sequences):
        sequence = []
        for p in range(batch.seq_ptr[n], batch.seq_ptr[n + 1]):
            label = -1 if batch.label is None else int(batch.label[p])
            span = range(batch.attr_ptr[p], batch.attr_ptr[p + 1])
            values = {
                dataset.attributes[int(batch.attr[i])]: 1.0 if batch.value is None else float(batch.value[i])
                for i in span
            }
            assert len(values) == len(span)
            sequence.append((None if label < 0 else dataset.labels[label], values))
        made.append(sequence)
    return made


def fails(text: bytes, format: str | None, line: int | None, what: str, **options: Any) -> None:
    with pytest.raises(FormatError, match=what) as caught:
        data.read(io.BytesIO(text), format, **options)
    assert caught.value.line == line
    assert caught.value.path == "input"
    assert str(caught.value).startswith("input: " if line is None else f"input, line {line}: ")


def written(given: Columns | Dataset, format: str, **options: Any) -> bytes:
    out = io.BytesIO()
    data.write(out, given, format, **options)
    return out.getvalue()


# ---- columns


def test_columns_are_split_at_runs_of_blanks() -> None:
    assert rows(b"the  D\t x\ndog N y\n\n\n \t \ndogs N z") == [
        [("the", "D", "x"), ("dog", "N", "y")],
        [("dogs", "N", "z")],
    ]


def test_columns_know_their_names_source_and_format() -> None:
    made = columns(b"a b\n", columns=["word", "tag"])
    assert (made.names, made.source, made.format) == (("word", "tag"), "input", "columns")
    assert columns(b"a b\n").names == ("0", "1")
    fails(b"a b\n", "columns", None, "2 columns but 1 names", columns=["word"])


def test_a_chosen_separator_keeps_blanks_and_empty_fields() -> None:
    assert rows(b"New York\tB\n\tO\n", separator="\t") == [[("New York", "B"), ("", "O")]]


@pytest.mark.parametrize("separator", ["", "ab", "\n", "é"])
def test_a_separator_is_one_character(separator: str) -> None:
    with pytest.raises(ValueError, match="separator"):
        data.read(io.BytesIO(b"a"), "columns", separator=separator)


def test_ragged_columns_name_the_line() -> None:
    fails(b"a b\n\nc\n", "columns", 3, "has 1 columns, expected 2")


def test_comments_are_skipped_only_on_request() -> None:
    assert rows(b"# x y z\na b\n", comment="#") == [[("a", "b")]]
    assert rows(b"# x\na b\n") == [[("#", "x"), ("a", "b")]]


def test_docstart_is_skipped_where_it_stands_alone() -> None:
    text = b"-DOCSTART- O\n\na O\n\n-DOCSTART- O\nb O\n"
    assert [len(s) for s in rows(text)] == [1, 2]
    assert [len(s) for s in rows(text, docstart="keep")] == [1, 1, 2]
    assert [len(s) for s in rows(text, "crfpp")] == [1, 1, 2]
    assert [len(s) for s in rows(text, "crfpp", docstart="skip")] == [1, 2]
    with pytest.raises(ValueError, match="docstart"):
        data.read(io.BytesIO(text), docstart="yes")


def test_a_blank_at_the_start_of_a_line_ends_a_sequence_in_crfpp_only() -> None:
    text = b"a O\n x y\nb O\n"
    assert rows(text, "crfpp") == [[("a", "O")], [("b", "O")]]
    assert rows(text, "wapiti") == [[("a", "O"), ("x", "y"), ("b", "O")]]


def test_a_long_line_does_not_end_the_file() -> None:
    long = b"x" * 10_000
    assert [len(s) for s in rows(long + b" O\n\nb O\n", "crfpp")] == [1, 1]
    assert rows(b"y" * 2_000_000 + b" O\n") == [[("y" * 2_000_000, "O")]]


def test_wapiti_splits_at_all_white_space_of_c() -> None:
    assert rows(b"a\vb\fc\n\v\nd e f\r\n", "wapiti") == [[("a", "b", "c")], [("d", "e", "f")]]
    assert rows(b"a\vb\n") == [[("a\vb",)]]


def test_a_byte_order_mark_is_dropped() -> None:
    assert rows(b"\xef\xbb\xbfa b\n") == [[("a", "b")]]
    assert items(attributes(b"\xef\xbb\xbfB\ta\n")) == [[("B", {"a": 1.0})]]


@pytest.mark.parametrize("format", ["columns", "crfsuite", "mallet"])
def test_invalid_utf8_names_the_line(format: str) -> None:
    fails(b"a\tb\n\n\xff\tb\n", format, 3, "UTF-8")


def test_invalid_utf8_in_json() -> None:
    fails(b'{"tokens": ["a"]}\n{"tokens": ["\xff"]}\n', "jsonl", 2, "UTF-8")


@pytest.mark.parametrize("format", ["columns", "crfpp", "wapiti", "crfsuite", "mallet", "jsonl", "csv"])
def test_a_nul_byte_is_refused(format: str) -> None:
    fails(b"a b\0c\n", format, 1, "NUL")


def test_sequences_by_number_and_in_turn() -> None:
    made = columns(b"a b\n\nc d\ne f\n")
    assert made.sequence(1) == made.sequence(-1) == [("c", "d"), ("e", "f")]
    assert list(made) == [made.sequence(0), made.sequence(1)]
    with pytest.raises(IndexError, match="no sequence 2"):
        made.sequence(2)
    assert made.column(-1).tolist() == made.column("1").tolist() == [0, 1, 2]
    for which in ("2", 2, -3):
        with pytest.raises(ValueError, match="no column"):
            made.column(which)


def test_rows_must_be_tuples_of_one_width() -> None:
    with pytest.raises(ValueError, match="token 1 of sequence 0 has 1 columns, expected 2"):
        Columns.from_rows([[("a", "b"), ("c",)]])
    with pytest.raises(ValueError, match="expected a tuple of strings"):
        Columns.from_rows([["ab", "cd"]])
    with pytest.raises(ValueError, match="expected 3"):
        Columns.from_rows([[("a", "b")]], names=["x", "y", "z"])
    with pytest.raises(ValueError, match="two columns have the name"):
        Columns.from_rows([[("a", "b")]], names=["x", "x"])
    assert len(Columns.from_rows([], names=["x"])) == 0


def test_columns_are_checked() -> None:
    good = Columns.from_rows([[("a", "b")]])
    for bad in (
        {"ids": ([0], [7])},
        {"ids": ([0], [-1])},
        {"ids": ([0], [0, 0])},
        {"seq_ptr": [0, 2]},
        {"seq_ptr": [1, 1]},
        {"alphabets": good.alphabets[:1]},
    ):
        fields: dict[str, Any] = {"ids": good.ids, "alphabets": good.alphabets, "seq_ptr": [0, 1]}
        with pytest.raises(ValueError, match=r"."):
            Columns(names=("x", "y"), **fields | bad)


@pytest.mark.parametrize(
    ("row", "format", "separator", "what"),
    [
        (("a b", "O"), "columns", None, "holds a blank"),
        (("", "O"), "columns", None, "is empty"),
        (("a\nb", "O"), "columns", "\t", "line feed"),
        (("a\0b", "O"), "columns", "\t", "NUL"),
        (("a\tb", "O"), "columns", "\t", "separator"),
        (("a", "O\r"), "columns", None, "ends in CR"),
        (("", " "), "columns", "\t", "blank in every column"),
        (("\ufeffa", "O"), "columns", None, "byte order mark"),
        (("a\vb", "O"), "wapiti", None, "Wapiti"),
    ],
)
def test_columns_refuse_what_they_cannot_hold(
    row: tuple[str, str], format: str, separator: str | None, what: str
) -> None:
    options = {} if separator is None else {"separator": separator}
    with pytest.raises(ValueError, match=what):
        written(Columns.from_rows([[row]]), format, **options)


def test_columns_refuse_an_empty_sequence() -> None:
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        written(Columns.from_rows([[("a",)], []]), "columns")


# ---- CRFsuite's text


def test_crfsuite_labels_attributes_and_values() -> None:
    made = attributes(b"B\tw=a\tlen:3\tneg:-0.5\n\nI\tw=b c\nO\n")
    assert items(made) == [
        [("B", {"w=a": 1.0, "len": 3.0, "neg": -0.5})],
        [("I", {"w=b c": 1.0}), ("O", {})],
    ]
    assert made.labels.strings() == ["B", "I", "O"]


def test_crfsuite_values_are_absent_when_all_are_one() -> None:
    assert attributes(b"B\ta:1\tb:1.0\n").batch.value is None
    assert attributes(b"B\ta:2\tb\n").batch.value is not None


def test_crfsuite_escapes() -> None:
    made = attributes(rb"L\:1" + b"\t" + rb"a\:b" + b"\t" + rb"c\\:2" + b"\t" + rb"\t\x\\\:y" + b"\n")
    assert items(made) == [[("L:1", {"a:b": 1.0, "c\\": 2.0, "\\t\\x\\:y": 1.0})]]


def test_crfsuite_runs_of_tabs_count_as_one() -> None:
    assert items(attributes(b"B\t\t\ta\t\tb\t\nI\tc\n")) == [[("B", {"a": 1.0, "b": 1.0}), ("I", {"c": 1.0})]]


def test_crfsuite_a_second_colon_gives_the_empty_name() -> None:
    assert items(attributes(b"B\ta:1:2\tb\n")) == [[("B", {"a": 1.0, "": 2.0, "b": 1.0})]]
    assert items(attributes(b"B\ta:1:2:3\n")) == [[("B", {"a": 1.0, "": 5.0})]]
    assert items(attributes(b"B\t:4\nB\ta\n")) == [[("B", {"": 4.0}), ("B", {"a": 1.0})]]


def test_crfsuite_repeated_attributes_add_up_where_they_first_stood() -> None:
    made = attributes(b"B\tb\ta\tb:1.5\nB\ta\tb\n")
    assert items(made) == [[("B", {"b": 2.5, "a": 1.0}), ("B", {"a": 1.0, "b": 1.0})]]
    assert made.batch.attr.tolist() == [0, 1, 1, 0]
    assert made.batch.attr_ptr.tolist() == [0, 2, 4]
    assert items(attributes(b"B\ta\tb\nB\tb\ta\tb:1.5\n"))[0][1] == ("B", {"b": 2.5, "a": 1.0})
    fails(b"B\ta:1e308\ta:1e308\n", "crfsuite", None, "add up to infinity")


def test_crfsuite_has_no_comments() -> None:
    assert items(attributes(b"#B\ta\n")) == [[("#B", {"a": 1.0})]]


def test_crfsuite_weights() -> None:
    text = b"@weight:2.5\nB\ta\n\nB\tb\n\nB\ta\n@weight:0.5\nB\tb\n\nB\tc\n@weight:3\n"
    made = attributes(text)
    assert made.batch.weight is not None
    assert made.batch.weight.tolist() == [2.5, 1.0, 0.5, 3.0]
    assert made.batch.positions == 5
    assert attributes(b"@weight:1\nB\ta\n").batch.weight is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"B\ta\n@weight\n", 2),
        (b"@wait:2\nB\ta\n", 1),
        (b"@weight:2\tb\nB\ta\n", 1),
        (b"@weight:2:3\nB\ta\n", 1),
        (b"B\ta\n@weight:x\n", 2),
        (b"B\ta\n@weight:nan\n", 2),
        (b"B\ta\n\n@weight:2\n\nB\ta\n", 3),
        (b"B\ta\n\n@weight:2\n", 3),
    ],
)
def test_crfsuite_bad_declarations(text: bytes, line: int) -> None:
    fails(text, "crfsuite", line, "weight")


def test_crfsuite_reads_crlf() -> None:
    assert items(attributes(b"B\ta\r\n\r\nI\tb:2\r\n")) == [[("B", {"a": 1.0})], [("I", {"b": 2.0})]]
    assert items(attributes(b"B\ta\r")) == [[("B", {"a": 1.0})]]


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("-1.5e-3", -0.0015),
        (".5", 0.5),
        ("5.", 5.0),
        ("+7", 7.0),
        (" 2", 2.0),
        ("0x1.8p1", 3.0),
        ("-0XA", -10.0),
        ("1e-400", 0.0),
    ],
)
def test_crfsuite_reads_the_numbers_of_c(number: str, value: float) -> None:
    assert items(attributes(f"B\ta:{number}\n".encode())) == [[("B", {"a": value})]]


@pytest.mark.parametrize(
    "number",
    [
        "nan",
        "inf",
        "-INF",
        "1e999",
        "0x1p9999",
        "",
        "x",
        "1x",
        "1_0",
        "\uff11",
        "1,5",
        "--1",
        "1e",
        ".",
        "0x",
    ],
)
def test_crfsuite_refuses_what_is_no_finite_number(number: str) -> None:
    fails(f"B\ta\n\nB\tb:1\nB\tb:1\tc:{number}\n".encode(), "crfsuite", 4, "attribute 'c'")


def test_crfsuite_needs_a_label() -> None:
    fails(b"B\ta\n\ta\n", "crfsuite", 2, "begins with a TAB")
    fails(b"\ta\n", "crfsuite", 1, "begins with a TAB")
    fails(b"B\ta\nB:1\ta\n", "crfsuite", 2, "the label 'B' a value")
    fails(b"B\ta\n:1\ta\n", "crfsuite", 2, "the label '' a value")


def dataset(
    items: list[tuple[str | None, dict[str, float]]], weight: float | None = None, empty: bool = False
) -> Dataset:
    labels, names = Alphabet(), Alphabet()
    batch = Batch(
        seq_ptr=[0, len(items), len(items)] if empty else [0, len(items)],  # type: ignore[arg-type]
        attr_ptr=np.cumsum([0, *(len(item) for _, item in items)]),
        attr=names.ids(name for _, item in items for name in item),
        value=np.array([value for _, item in items for value in item.values()], dtype=np.float64),
        label=np.array([-1 if label is None else labels.add(label) for label, _ in items], dtype=np.int32),
        weight=None if weight is None else np.array([weight]),
    )
    return Dataset(batch, labels, names, Alphabet())


def test_crfsuite_is_written_with_escapes_values_and_weights() -> None:
    given = dataset([("a:b", {"x\\y": 1.0, "n": 0.1, "": 1.0})], weight=2.0)
    assert written(given, "crfsuite") == b"@weight:2.0\na\\:b\tx\\\\y\tn:0.1\t:1\n\n"


@pytest.mark.parametrize(
    ("label", "name", "what"),
    [
        ("", "a", "empty or begins with @"),
        ("@B", "a", "empty or begins with @"),
        ("B\t", "a", "TAB"),
        ("B", "a\tb", "TAB"),
        ("B", "a\nb", "line feed"),
        ("B", "a\0b", "NUL"),
        ("B", "a\r", "CR"),
        (None, "a", "unknown label"),
        ("\ufeffB", "a", "byte order mark"),
    ],
)
def test_crfsuite_refuses_what_it_cannot_hold(label: str | None, name: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        written(dataset([(label, {name: 1.0})]), "crfsuite")


@pytest.mark.parametrize("format", ["crfsuite", "mallet"])
def test_text_refuses_empty_sequences_edges_and_dense_features(format: str) -> None:
    with pytest.raises(ValueError, match="sequence 1 is empty"):
        written(dataset([("B", {"a": 1.0})], empty=True), format)
    for more, what in (
        ({"edge_ptr": [0, 1], "edge_attr": [0]}, "edge attributes"),
        ({"dense": [[1.0]]}, "dense"),
    ):
        batch = Batch(seq_ptr=[0, 1], attr_ptr=[0, 0], attr=[], label=[0], **more)  # type: ignore[arg-type]
        one = Alphabet(["B"])
        with pytest.raises(ValueError, match=what):
            written(Dataset(batch, one, one, one), format)


# ---- MALLET's SimpleTagger text


def test_mallet_the_last_field_is_the_label() -> None:
    text = b"a b O\nO\n \t \n\nc\td B\n"
    assert items(attributes(text, "mallet")) == [
        [("O", {"a": 1.0, "b": 1.0}), ("O", {})],
        [("B", {"c\td": 1.0})],
    ]
    assert items(attributes(text, "mallet", label=False)) == [
        [(None, {"a": 1.0, "b": 1.0, "O": 1.0}), (None, {"O": 1.0})],
        [(None, {"c\td": 1.0, "B": 1.0})],
    ]


def test_mallet_two_spaces_give_an_empty_feature() -> None:
    assert items(attributes(b"a  b O\n c O\nd O  \n", "mallet")) == [
        [("O", {"a": 1.0, "": 1.0, "b": 1.0}), ("O", {"": 1.0, "c": 1.0}), ("O", {"d": 1.0})]
    ]


def test_mallet_twice_is_once_and_nothing_is_special() -> None:
    made = attributes(b"a:2 a:2 # \\: O\r\n", "mallet")
    assert items(made) == [[("O", {"a:2": 1.0, "#": 1.0, "\\:": 1.0})]]
    assert made.batch.value is None


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (("B", {"a": 2.0}), "values other than 1"),
        (("B", {"a b": 1.0}), "space"),
        (("B\r", {"a": 1.0}), "line end"),
        (("B", {"a\n": 1.0}), "line end"),
        (("", {"a": 1.0}), "empty name"),
        ((None, {"a": 1.0, "": 1.0}), "empty name"),
        ((None, {}), "blank"),
        (("\t", {}), "blank"),
        (("\ufeff", {}), "byte order mark"),
    ],
)
def test_mallet_refuses_what_it_cannot_hold(item: tuple[str | None, dict[str, float]], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        written(dataset([item]), "mallet")


def test_mallet_refuses_weights_and_half_labelled_data() -> None:
    with pytest.raises(ValueError, match="weights"):
        written(dataset([("B", {"a": 1.0})], weight=2.0), "mallet")
    with pytest.raises(ValueError, match="some positions have no label"):
        written(dataset([("B", {"a": 1.0}), (None, {"a": 1.0})]), "mallet")


# ---- JSON lines


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
        (b'{"tokens": ["a"], "labels": ["O", "O"]}', "2 labels for 1 tokens"),
        (b'{"tokens": ["a"]}', "no list 'labels'"),
        (b'{"tokens": [1], "labels": ["O"]}', "has 1 at place 0"),
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
        (b'{"items": [["a"]], "labels": [1]}', "expected a string"),
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


# ---- where text comes from, and guessing


def test_empty_and_blank_inputs() -> None:
    for format in ("columns", "crfpp", "wapiti", "crfsuite", "mallet", "jsonl", "csv", None):
        fails(b"", format, None, "the file is empty")
        fails(b" \n\n", None, None, "no sequence")
    for format in ("columns", "crfpp", "wapiti", "crfsuite", "mallet", "jsonl", "csv"):
        fails(b"\n\r\n\n", format, None, "no sequence")
    fails(b"-DOCSTART- O\n", "columns", None, "no sequence")
    fails(gzip.compress(b""), None, None, "the file is empty")


def test_paths_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a folder") as caught:
        data.read(tmp_path)
    assert caught.value.path == str(tmp_path)
    with pytest.raises(FileNotFoundError):
        data.read(tmp_path / "missing")
    (tmp_path / "x.txt").write_bytes(b"a b\nc\n")
    with pytest.raises(FormatError, match="line 2") as caught:
        data.read(str(tmp_path / "x.txt"), "columns")
    assert str(caught.value).startswith(f"{tmp_path / 'x.txt'}, line 2: ")
    with pytest.raises(TypeError, match="binary mode"):
        data.read(io.StringIO("a b\n"), "columns")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a path or an open file"):
        data.read(7, "columns")  # type: ignore[arg-type]


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    text = b"a b\n\nc d\n" * 1000
    half = len(text) // 2
    for packed in (
        gzip.compress(text),
        gzip.compress(text[:half]) + gzip.compress(text[half:]),
        gzip.compress(text) + b"\0" * 512,
    ):
        (tmp_path / "plain.txt").write_bytes(packed)
        made = data.read(tmp_path / "plain.txt")
        assert isinstance(made, Columns)
        assert list(made) == rows(text)
    (tmp_path / "not.gz").write_bytes(text)
    assert len(data.read(tmp_path / "not.gz")) == 1001


def test_a_bomb_is_unpacked_piece_by_piece() -> None:
    packed = gzip.compress(b"a b\n" + b"\n" * 30_000_000 + b"c d\n")
    assert rows(packed) == [[("a", "b")], [("c", "d")]]


def test_damaged_gzip() -> None:
    packed = gzip.compress(b"".join(b"word%d tag\n" % i for i in range(5000)))
    fails(packed[:-4], None, None, "in the middle of its gzip data")
    fails(packed[:100], "columns", None, "in the middle of its gzip data")
    fails(packed[:2], "columns", None, "in the middle of its gzip data")
    fails(packed[:-8] + b"\0\0\0\0" + packed[-4:], "columns", None, "damaged gzip")
    fails(packed + b"more", "columns", None, "damaged gzip")


def test_standard_input_and_output(tmp_path: Path) -> None:
    code = "from crfkit import data; data.write('-', data.stream('-', say=None), 'jsonl')"
    for given in (b"a b\n\nc d\n", gzip.compress(b"a b\n\nc d\n")):
        run = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=True)
        assert run.stdout == b'{"0": ["a"], "1": ["b"]}\n{"0": ["c"], "1": ["d"]}\n'


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (b"the D B\ndog N I\n\nx y z\n", "columns"),
        (b"the\ndog\n\ncat\n", "columns"),
        (b"New York\tB\nis\tO\na big city\tO\n", "columns"),
        (b"# a b c\n" + b"w t\n" * 50, "columns"),
        (b"B\tw=the\tpos=D\nI\tw=dog\tpos=N\n", "crfsuite"),
        (b"B\tthe\tx\ty\nI\tdog\n\nO\tcat\tx\n", "crfsuite"),
        (b"\xef\xbb\xbfB\tlen:3\r\nO\tlen:2\tx:1\r\n", "crfsuite"),
        (b"w=the cap N\nw=dog N\n\nw=runs s V\nw=on x y z N\n", "mallet"),
        (b'\n{"tokens": ["a"]}\n', "jsonl"),
        (b'{"items": [["a"]]}\n', "jsonl"),
    ],
)
def test_guesses(text: bytes, format: str) -> None:
    found = data.guess(text)
    assert found is not None
    assert found.format == format
    said: list[str] = []
    if text.startswith(b"#"):  # a few odd lines are mistakes in columns
        with pytest.raises(FormatError, match="line 2: has 2 columns, expected 4"):
            data.read(io.BytesIO(text), say=said.append)
    else:
        data.read(io.BytesIO(text), say=said.append)
    assert len(said) == 1
    assert f"'{format}'" in said[0]


def test_a_given_format_is_not_guessed_about() -> None:
    said: list[str] = []
    data.read(io.BytesIO(b"a b\n"), "crfsuite", say=said.append)
    assert said == []


@pytest.mark.parametrize(
    "text",
    [
        b"This is prose, which goes on.\nIt has lines\nof many lengths\n\nand no labels at the end.\n",
        b"a b c\nd e\nf g h i\n",
        b"<t> a b </t>\n<t> c </t>\n<t> d e f g </t>\n",
    ],
)
def test_an_impossible_guess_lists_the_formats(text: bytes) -> None:
    fails(text, None, None, "columns, crfpp, wapiti, csv, parquet, jsonl, crfsuite, mallet")
    fails(b"PK\0\0\1", None, None, "binary file")


def test_a_long_first_line_is_guessed_from_its_beginning() -> None:
    line = b'{"tokens": ["' + b"x" * 200_000 + b'"]}\n'
    assert columns(line * 2, None).format == "jsonl"


def test_a_sample_may_end_within_a_line() -> None:
    found = data.guess(b"a b c\nd e f\ng h", whole=False)
    assert found is not None
    assert found.format == "columns"
    assert data.guess(b"a b c\nd e f\ng h", whole=True) is None


def test_unknown_formats_and_options() -> None:
    for call in (data.read, data.stream):
        with pytest.raises(ValueError, match="no format 'conll'; the formats are columns"):
            call(io.BytesIO(b"a"), "conll")
        with pytest.raises(ValueError, match="crfsuite has no option 'separator'; columns have it"):
            call(io.BytesIO(b"a"), "crfsuite", separator=",")
        with pytest.raises(ValueError, match="expected a list of names"):
            call(io.BytesIO(b"a"), "columns", columns="ab")
    with pytest.raises(ValueError, match="has no option 'columns'"):
        data.read(io.BytesIO(b"B\ta=b\n"), columns=["x"])
    with pytest.raises(ValueError, match="chunk_positions"):
        data.stream(io.BytesIO(b"a"), chunk_positions=0)
    with pytest.raises(ValueError, match="no format 'conll'"):
        data.write(io.BytesIO(), Columns.from_rows([[("a",)]]), "conll")


def test_options_decide_where_the_content_does_not() -> None:
    assert columns(b"a,b\nc d,e\n", None, separator=",").sequence(0) == [("a", "b"), ("c d", "e")]
    assert items(attributes(b"a b\n", None, label=False)) == [[(None, {"a": 1.0, "b": 1.0})]]


# ---- writing files


def test_write_is_atomic(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    good = Columns.from_rows([[("a", "b")]])
    data.write(path, good)
    path.chmod(0o640)

    def chunks() -> Iterator[Columns]:
        yield good
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        data.write(path, chunks())
    with pytest.raises(ValueError, match="holds a blank"):
        data.write(path, [good, Columns.from_rows([[("x y", "z")]])])
    with pytest.raises(ValueError, match="holds a blank"):
        data.write(tmp_path / "new.txt", Columns.from_rows([[("x y", "z")]]))
    assert path.read_bytes() == b"a b\n\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]
    data.write(path, Columns.from_rows([[("c", "d")]]))
    assert path.read_bytes() == b"c d\n\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_write_follows_links_and_knows_folders(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_bytes(b"")
    link.symlink_to(real)
    data.write(link, Columns.from_rows([[("a", "b")]]))
    assert link.is_symlink()
    assert real.read_bytes() == b"a b\n\n"
    data.write(os.devnull, Columns.from_rows([[("a", "b")]]))
    with pytest.raises(IsADirectoryError):
        data.write(tmp_path, Columns.from_rows([[("a", "b")]]))
    with pytest.raises(FileNotFoundError):
        data.write(tmp_path / "missing" / "x", Columns.from_rows([[("a", "b")]]))


def test_a_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    data.write(tmp_path / "ours", Columns.from_rows([[("a", "b")]]))
    (tmp_path / "usual").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_write_packs_by_name_with_the_same_bytes(tmp_path: Path) -> None:
    given = Columns.from_rows([[("a", "b")]])
    data.write(tmp_path / "x.txt.gz", given)
    data.write(tmp_path / "y.jsonl.gz", given)
    first = (tmp_path / "x.txt.gz").read_bytes()
    assert gzip.decompress(first) == b"a b\n\n"
    assert first[4:8] == b"\0\0\0\0"  # no time
    assert gzip.decompress((tmp_path / "y.jsonl.gz").read_bytes()) == b'{"0": ["a"], "1": ["b"]}\n'


def test_write_refuses_the_wrong_kind_of_data() -> None:
    with pytest.raises(ValueError, match="format crfsuite holds attributes"):
        written(Columns.from_rows([[("a",)]]), "crfsuite")
    with pytest.raises(ValueError, match="format columns holds columns"):
        written(dataset([("B", {"a": 1.0})]), "columns")
    with pytest.raises(ValueError, match="nothing to write"):
        data.write(io.BytesIO(), [])


def test_only_chunks_of_one_input_can_be_concatenated() -> None:
    one, two = Columns.from_rows([[("a",)]]), Columns.from_rows([[("b",)]])
    with pytest.raises(ValueError, match="alphabets of their own"):
        data.concatenate([one, two])
    with pytest.raises(ValueError, match="some parts are columns"):
        data.concatenate([one, dataset([("B", {"a": 1.0})])])
    with pytest.raises(ValueError, match="nothing to concatenate"):
        data.concatenate([])


def test_errors_can_be_pickled() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(FormatError("x", 3, "bad")))
    assert (error.path, error.line, str(error)) == ("x", 3, "x, line 3: bad")


# ---- real corpora


@pytest.mark.parametrize(
    ("name", "sequences", "tokens", "width"),
    [
        ("conll2000/train.txt.gz", 8936, 211727, 3),
        ("conll2002/esp.train.gz", 8323, 264715, 3),
        ("ud/en_ewt.dev.txt.gz", 2001, 25147, 3),
        ("email_enron/train.txt", 2097, 20048, 2),
        ("usaddress/labeled_train.txt", 1513, 10722, 2),
    ],
)
def test_real_corpora(name: str, sequences: int, tokens: int, width: int) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"{name} is not there")
    made = data.read(DATA / name)
    assert isinstance(made, Columns)
    assert (len(made), made.positions, len(made.ids)) == (sequences, tokens, width)
    chunks = list(data.stream(DATA / name, chunk_positions=10_000))
    for chunk in chunks[:-1]:
        assert isinstance(chunk, Columns)
        assert chunk.positions - len(chunk.sequence(-1)) < 10_000 <= chunk.positions
    again = data.concatenate(chunks)
    assert isinstance(again, Columns)
    assert all(np.array_equal(a, b) for a, b in zip(made.ids, again.ids, strict=True))
    assert np.array_equal(made.seq_ptr, again.seq_ptr)
