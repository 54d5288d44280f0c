"""CRFsuite's text and MALLET's SimpleTagger text: their traps, and what each refuses."""

from __future__ import annotations

import pytest

from crfkit.data import Dataset
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from tests.cases.formats import attributes, dataset, fails, items, written

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


def test_mallet_refuses_weights_and_half_labeled_data() -> None:
    with pytest.raises(ValueError, match="weights"):
        written(dataset([("B", {"a": 1.0})], weight=2.0), "mallet")
    with pytest.raises(ValueError, match="some positions have no label"):
        written(dataset([("B", {"a": 1.0}), (None, {"a": 1.0})]), "mallet")
