"""Templates of CRF++ and Wapiti: their strings, those of the original programs, and bad ones."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.features.crfpp import parse_crfpp
from crfkit.features.dialects import guess_dialect, parse_recipe, read_recipe
from crfkit.features.wapiti import parse_wapiti
from tests.cases.real_data import DATA, GOLDEN, needs_golden
from tests.cases.templates import CHUNKING, ROWS, extract, names_by_position, needs_data, read_columns

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
        ("X:%x[0,0]", "line 1: a CRF.. template begins with U or B"),
        ("U:%x[0,0]\nU:%y[0,0]", r"line 2: '%y\[0,0\]' is not a macro"),
        ("U:%x[+1,0]", "is not a macro"),
        ("U:%x[0, 0]", "is not a macro"),
        ("U:100%", "'%' is not a macro"),
        ("U:%x[9,0]", "rows of CRF.. templates go from -8 to 8"),
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
        ("u:%z[0,0]", "is not a command"),
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


def test_wapiti_expressions_take_no_exponential_time() -> None:
    recipe = parse_wapiti('u:m=%m[0,0,"' + "a?" * 40 + "a*" * 20 + 'b$"]')
    assert names_by_position(extract(recipe, [[("a" * 60,)]])) == [["u:m="]]


# ---- which dialect


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "U00:%x[0,0]\nU01:%x[0,0\nB",
            r"line 2: '%x\[0,0' is not a macro of CRF\+\+; write %x\[row,column\]",
        ),
        ("U00:%x[0]\nB", r"line 1: '%x\[0\]' is not a macro of CRF"),
        ("U00:%y[0,0]", r"line 1: '%y\[0,0\]' is not a macro of CRF"),
        ("U00:100%\nU01:%x[0,0]", "line 1: '%' is not a macro of CRF"),
        ("# words\nW00:%x[0,0]\nB", "line 2: a CRF.. template begins with U or B, not 'W'"),
        ("U00:%x[-9,0]", r"line 1: %x\[-9,0\]: rows of CRF.. templates go from -8 to 8"),
        ("u:%x[0,0", r"line 1: '%x\[0,0' is not a command of Wapiti; write %x\[off,col\]"),
        ("*\nU:%x[0]", r"line 2: '%x\[0\]' is not a command of Wapiti"),
        ("U:%X[0,0]\nU:%y[0,0]", r"line 2: '%y\[0,0\]' is not a command of Wapiti"),
        ("U:%x[ 0,0]\nW:%x[0,0]", "line 2: a Wapiti pattern begins with u, b or"),
    ],
)
def test_mistakes_are_judged_by_the_right_dialect(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "template").write_text(text)
    with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path / 'template'))}, {message}"):
        read_recipe(tmp_path / "template")


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("U00:%x[0,0] # 50%", "wapiti"),
        ("U00:%x[+1,0]", "wapiti"),
        ('U00:%t[0,0,"%"]', "wapiti"),
        ("U00#%x[0,0]", "crfpp"),
        ('is(word, "%")[0]', "crfkit"),
        ("word[0]  # 50% of them", "crfkit"),
        ("bias", "crfkit"),
        ("U00\nB", "crfpp"),
    ],
)
def test_dialects_are_guessed(text: str, dialect: str) -> None:
    assert guess_dialect(text) == dialect
    assert parse_recipe(text).dialect == dialect
