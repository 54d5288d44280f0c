"""Tokenizers: Unicode's own tests, the law that all of them keep, their data, and what they refuse."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfkit import _native
from crfkit.errors import DataWarning
from crfkit.text.sentences import Sentences
from crfkit.text.tokenizers import (
    TOKENIZERS,
    Blanks,
    Characters,
    Given,
    Pattern,
    Tokenizer,
    Words,
    tokenizer_of,
)

UNICODE = Path(os.environ.get("CRFKIT_DATA", "../shared/data")) / "unicode"
WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
#: Characters of all classes that the rules tell apart.
LETTERS = (
    "aZ\u00e9\u05d0\u05e9\u0645\u0928\u092e\u0938\u094d\u0924\u0947\u6771\u3078\u30ab\ud55c\u1100\u1161\u11a8"
)
MARKS = "\u0301\u200d\u200c\ufe0f\u00ad\u2060\ufeff\u0600\u0e33"
OTHERS = "'\"\u2019.,:;-_/@#1\u0663\U0001f469\U0001f680\U0001f3fd\U0001f1ea\U0001f1f8\ud83d\ude80\x00"
TEXTS = st.text(st.sampled_from(WHITE + LETTERS + MARKS + OTHERS) | st.characters(), max_size=30)
ALL = [
    Words(),
    Words(split="-'_."),
    Characters(),
    Blanks(),
    Blanks(keep=",.'"),
    Pattern(r"\w+|[^\w\s]"),
    Pattern(r"\S+"),
]


def broken(line: str) -> tuple[str, list[int]]:
    """Return a text and where it is broken, of a line of Unicode's tests."""
    text, places = "", []
    for part in line.split("#")[0].split():
        if part == "÷":
            places.append(len(text))
        elif part != "×":
            text += chr(int(part, 16))
    return text, places


def lines_of(name: str) -> Iterator[str]:
    path = UNICODE / f"{name}BreakTest.txt"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    yield from (line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("÷"))


@pytest.mark.parametrize(
    ("name", "rule", "lines"),
    [("Word", "words", 1823), ("Grapheme", "graphemes", 602), ("Sentence", "sentences", 502)],
)
def test_all_of_unicodes_own_tests_pass(name: str, rule: str, lines: int) -> None:
    cases = [broken(line) for line in lines_of(name)]
    assert len(cases) == lines
    wrong = [(text, places) for text, places in cases if _native.text_breaks(text, rule).tolist() != places]
    assert wrong == []


# Some of these lines, by the rule that they are about.
SOME = {
    "words": """
        ÷ 000D × 000A ÷ 0061 ÷ 0085 ÷
        ÷ 0061 × 0308 × 0062 ÷ 0020 × 0308 ÷
        ÷ 200D × 1F6D1 ÷ 1F469 × 200D × 1F680 ÷
        ÷ 0020 × 0020 ÷ 0061 ÷
        ÷ 0061 × 0027 × 2060 × 0062 ÷ 0027 ÷
        ÷ 0061 ÷ 003A ÷ 003A ÷ 0061 ÷
        ÷ 05D0 × 0022 × 05D0 ÷ 0022 ÷
        ÷ 05D0 × 0027 ÷ 0020 ÷
        ÷ 0033 × 002E × 0031 × 002C × 0034 ÷ 002E ÷
        ÷ 0061 × 0031 × 0062 ÷ 002E ÷ 0031 ÷
        ÷ 30AB × 30AB ÷ 6771 ÷ 4EAC ÷
        ÷ 0061 × 005F × 0031 × 005F × 30AB ÷
        ÷ 0061 ÷ 1F1E6 × 1F1E7 ÷ 1F1E8 × 200D × 1F1E9 ÷ 0062 ÷
        ÷ D83D ÷ DE80 ÷""",
    "graphemes": """
        ÷ 000D × 000A ÷ 000D ÷ 0061 × 0301 ÷
        ÷ 1100 × 1161 × 11A8 ÷ 1100 ÷
        ÷ AC00 × 11A8 ÷ AC01 × 11A8 ÷ AC01 ÷ 1161 ÷
        ÷ 0600 × 0061 ÷ 0928 × 093F ÷
        ÷ 1F469 × 1F3FD × 200D × 1F680 ÷ 0061 × 200D ÷ 1F680 ÷
        ÷ 1F1E6 × 1F1E7 ÷ 1F1E8 × 1F1E9 ÷ 1F1E6 ÷""",
    "sentences": """
        ÷ 0061 × 002E × 0020 ÷ 0041 × 002E × 0042 × 0043 ÷
        ÷ 0061 × 002E × 0031 ÷
        ÷ 0041 × 002E × 0029 × 0020 × 0020 ÷ 0042 ÷
        ÷ 0061 × 002E × 0020 × 0028 × 0062 ÷
        ÷ 0061 × 003F × 0020 × 002C × 0041 × 000D × 000A ÷ 0061 ÷
        ÷ 0061 × 3002 ÷ 6771 ÷""",
}


@pytest.mark.parametrize(
    ("rule", "line"), [(rule, line) for rule in SOME for line in SOME[rule].split("\n")[1:]]
)
def test_each_rule_of_unicode_has_a_case(rule: str, line: str) -> None:
    text, places = broken(line)
    assert _native.text_breaks(text, rule).tolist() == places


@pytest.mark.parametrize("tokenizer", ALL, ids=str)
@given(TEXTS)
def test_tokens_are_in_order_apart_not_empty_and_only_blanks_are_left_out(
    tokenizer: Tokenizer, text: str
) -> None:
    offsets = tokenizer(text)
    assert offsets.dtype == np.int64
    assert offsets.shape[1:] == (2,)
    flat = offsets.ravel().tolist()
    assert flat == sorted(flat)
    assert all(0 <= a < b <= len(text) for a, b in offsets.tolist())
    assert tokenizer.tokens(text) == [text[a:b] for a, b in offsets.tolist()]
    rest = list(text)
    for a, b in offsets.tolist():
        rest[a:b] = " " * (b - a)
    if not isinstance(tokenizer, Pattern):
        assert set(rest) <= set(WHITE)
    elif tokenizer.expression == r"\S+":
        assert not "".join(rest).strip()


@given(TEXTS)
def test_breaks_are_in_order_from_the_beginning_to_the_end(text: str) -> None:
    for rule in ("words", "graphemes", "sentences"):
        places = _native.text_breaks(text, rule).tolist()
        assert places == sorted({*places, 0, len(text)}) if text else places == []


@given(TEXTS, TEXTS)
def test_a_line_end_makes_texts_on_both_sides_independent(left: str, right: str) -> None:
    for tokenizer in ALL:
        begin = len(left) + 1
        expected = [*tokenizer(left).tolist(), *(tokenizer(right) + begin).tolist()]
        assert tokenizer(f"{left}\n{right}").tolist() == expected


def test_words_of_many_writing_systems() -> None:
    assert Words().tokens("can't 3.14 e\u0301cole") == ["can't", "3.14", "e\u0301cole"]
    assert Words().tokens("\U0001f469\u200d\U0001f680 \u0928\u092e\u0938\u094d\u0924\u0947") == [
        "\U0001f469\u200d\U0001f680",
        "\u0928\u092e\u0938\u094d\u0924\u0947",
    ]
    assert Words().tokens("\u6771\u4eac\u3078") == ["\u6771", "\u4eac", "\u3078"]
    assert Words().tokens("\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd\u200f!") == [
        "\u0645\u0631\u062d\u0628\u0627",
        "\u05e9\u05dc\u05d5\u05dd\u200f",
        "!",
    ]
    assert Words(split="-.").tokens("a-b 3.14") == ["a", "-", "b", "3", ".", "14"]
    assert Characters().tokens("\U0001f1ea\U0001f1f8e\u0301") == ["\U0001f1ea\U0001f1f8", "e\u0301"]
    assert Blanks(keep=",.").tokens("Erie,., PA \u3000x") == ["Erie", ",", ".", ",", "PA", "x"]


def test_a_long_text_is_cut_as_a_short_one() -> None:
    """Beyond the first 1,024 characters code points lie elsewhere, beyond 2^14 without Python's lock."""
    piece = "Ana's th\u00e9 costs 3.14 \u20ac, \U0001f469\u200d\U0001f680 said.\n"
    once = Words()(piece)
    for times in (100, 3000):
        many = Words()(piece * times)
        assert np.array_equal(many, np.concatenate([once + k * len(piece) for k in range(times)]))


def test_a_pattern_reads_lines_and_long_lines_in_pieces() -> None:
    assert Pattern("a.b").tokens("a\nb a-b") == ["a-b"]
    line = "word " * 5000
    assert Pattern(r"\w+").tokens(line) == ["word"] * 5000
    tokens = Pattern(r"\w+").tokens("x" * 10_000)
    assert [len(token) for token in tokens] == [4096, 4096, 1808]
    assert Pattern("x*").tokens("axxa") == ["xx"]


@pytest.mark.parametrize("tokenizer", [*ALL, Given()], ids=str)
def test_a_tokenizer_is_plain_data(tokenizer: Tokenizer) -> None:
    plain = tokenizer.to_dict()
    assert tokenizer_of(plain) == tokenizer == tokenizer_of(tokenizer)
    assert TOKENIZERS[plain["kind"]] is type(tokenizer)


def test_names_and_wrong_data_are_told_apart() -> None:
    assert tokenizer_of("words") == Words()
    with pytest.raises(ValueError, match="tokenizer is 'word', expected one of words, characters"):
        tokenizer_of("word")
    with pytest.raises(ValueError, match="the tokenizer blanks has no option 'code'"):
        tokenizer_of({"kind": "blanks", "code": "import os"})
    with pytest.raises(ValueError, match="the tokenizer pattern needs an expression"):
        tokenizer_of("pattern")
    with pytest.raises(ValueError, match="split is 7, expected at most 64 characters"):
        Words(split=7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"keep is .* expected at most 64 characters"):
        Blanks(keep="," * 65)
    with pytest.raises(ValueError, match=r"the regular expression '\(a\+\)\+\$' could take far more steps"):
        Pattern("(a+)+$")
    with pytest.raises(ValueError, match="is wrong"):
        Pattern("a(")
    with pytest.raises(ValueError, match=r"the tokenizer is Given\(\), but 'a b' has no tokens"):
        Given()("a b")
    with pytest.raises(TypeError, match="incompatible function arguments"):
        Words()(b"bytes")  # type: ignore[arg-type]


def test_another_version_of_unicode_is_told() -> None:
    with pytest.warns(DataWarning, match=r"made with Unicode 12\.1\.0, this crfkit has 15\.0\.0"):
        made = tokenizer_of({"kind": "words", "split": "", "unicode": "12.1.0"})
    assert made.to_dict()["unicode"] == "12.1.0"


def test_the_table_is_the_one_that_the_script_makes() -> None:
    if not UNICODE.exists():
        pytest.skip(f"{UNICODE} is not there")
    folder = Path(__file__).parents[2] / "cpp" / "text"
    script: dict[str, object] = {"__name__": "script"}
    exec(compile((folder / "make_unicode_table.py").read_text(), "script", "exec"), script)
    source = script["source"]
    assert callable(source)
    assert (folder / "unicode_table.cpp").read_text(encoding="utf-8") == source(UNICODE)


# ---- sentences


def cut(text: str, rule: Sentences) -> list[str]:
    places = rule(text).tolist()
    assert places[:1] == [0]
    assert places[-1] == len(text)
    return [text[a:b] for a, b in pairwise(places)]


def test_sentences_by_each_rule() -> None:
    text = "Sr. J. M. Aznar came.  He said: \u00abYes.\u00bb\r\nTwo,\u0085three.\n \nFour"
    assert cut(text, Sentences("none")) == [text]
    lines = ["Sr. J. M. Aznar came.  He said: \u00abYes.\u00bb\r\n", "Two,\x85", "three.\n", " \n", "Four"]
    assert cut(text, Sentences("lines")) == lines
    assert cut(text, Sentences("blank-lines")) == [text[:-4], "Four"]
    by_rule = [
        "Sr. J. M. Aznar came.  ",
        "He said: \u00abYes.\u00bb\r\n",
        "Two,\x85",
        "three.\n",
        " \n",
        "Four",
    ]
    assert cut(text, Sentences("rule")) == by_rule
    assert cut("See e.g. Ana. (U.S. Navy)", Sentences("rule")) == ["See e.g. Ana. ", "(U.S. Navy)"]
    assert cut("a Foo. Bar", Sentences("rule", abbreviations=["foo"])) == ["a Foo. Bar"]  # type: ignore[arg-type]


@given(TEXTS, st.sampled_from(["lines", "blank-lines", "rule", "none"]))
def test_sentences_are_pointers_into_tokens(text: str, rule: str) -> None:
    tokens = Words()(text)
    pointers = Sentences(rule).pointers(text, tokens)
    if pointers is not None:
        assert pointers[0] == 0
        assert pointers[-1] == len(tokens)
        assert (np.diff(pointers) > 0).all()


def test_sentence_rules_are_plain_data() -> None:
    for rule in (Sentences(), Sentences("rule"), Sentences("rule", ("dr",))):
        assert Sentences.of(rule.to_dict()) == rule
    with pytest.raises(ValueError, match="sentences is 'line', expected"):
        Sentences("line")
    with pytest.raises(ValueError, match="sentences have no option 'x'"):
        Sentences.of({"rule": "none", "x": 1})
