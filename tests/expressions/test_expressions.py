"""Expressions answer as `re` does, and no expression and text of strangers takes long."""

from __future__ import annotations

import random
import re
import sys

import pytest

from crfkit.expressions import LONGEST, Expression
from crfkit.expressions.costs import most_steps
from crfkit.expressions.parser import parsed
from crfkit.expressions.paths import SHORT, short_steps
from crfkit.expressions.program import program_of
from crfkit.expressions.sweep import ends_of
from tests.cases.growth import check_growth
from tests.cases.hostile_patterns import random_expression

ENDLESS = [
    "(a+)+$",
    "(a*)*$",
    "(a|a)*$",
    "(a|aa)+$",
    "((a*)*)*$",
    "(x+x+)+y",
    "(.*)*?x",
    "(.*)(.*)(.*)(.*)x",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(?=(a+)+$)b",
    "(?!(a+)+$)a+$",
    "(?<=a)(a+)+$",
    "(?i:(A+)+)$",
    "a?" * 40 + "a" * 40,
    "(?:a?){40}a{40}",
    "(a{1,9}){1,9}$",
    r"(\w+\s?)*$",
    "[ab]*[ac]*[ad]*x",
]


def spans(expression: str, text: str) -> tuple[tuple[int, int] | None, bool]:
    program = program_of(parsed(re.compile(expression)))
    found = next(((i, end) for i, end in enumerate(ends_of(program, text, whole=False)) if end >= 0), None)
    return found, ends_of(program, text, whole=True)[0] >= 0


def same(expression: str, text: str) -> bool:
    """Return whether the program finds what `re` finds."""
    found = re.search(expression, text)
    whole = re.fullmatch(expression, text) is not None
    return spans(expression, text) == (None if found is None else found.span(), whole)


@pytest.mark.filterwarnings("ignore")
def test_programs_answer_as_re_does() -> None:
    rng = random.Random(0)
    compared = 0
    while compared < 3000:
        expression = random_expression(rng)
        try:
            tree = parsed(re.compile(expression))
        except re.error:
            continue
        for _ in range(4):
            text = "".join(rng.choice("aabbcA\nÉß 1") for _ in range(rng.randrange(8)))
            if most_steps(tree, len(text), whole=False) < 1e5:
                assert same(expression, text), (expression, text)
                compared += 1


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("(|a)*b", "ab"),
        ("(|a)*", "a"),
        ("(?:a|b??)*?c", "abc"),
        ("(a?){3}", "aa"),
        ("(?:(?:a*)*b?)*", "aabaa"),
        (r"(?i)\bÉ+\b", "é éÉ"),
        (r"(?a)\w+", "éa"),
        ("(?m)^a$", "b\na\n"),
        ("(?s).+", "a\nb"),
        ("(?x) a b # c", "ab"),
        ("(?<!a)b(?=c)", "abbc"),
        ("[^a-c]{2,}?", "abxyz"),
        ("a{0}b", "ab"),
        ("(?:)", "a"),
        ("$", "a\n"),
    ],
)
def test_corners_of_expressions(expression: str, text: str) -> None:
    assert same(expression, text)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="since Python 3.11")
@pytest.mark.parametrize(
    "expression", ["(?>a+)a", "a++b", "(?:a|ab)*+c", "(?:a|ab){2}+", "(?:a?)*+b", "(?>a|)b"]
)
def test_possessive_and_atomic_groups(expression: str) -> None:
    for text in ("aab", "abac", "aba", "b", "", "aaac"):
        assert same(expression, text)


def test_the_comparison_can_fail() -> None:
    assert spans("a|ab", "ab")[0] == (0, 1) != spans("ab|a", "ab")[0]


@pytest.mark.parametrize("expression", ENDLESS)
def test_no_expression_runs_without_end(expression: str) -> None:
    """Each took more than a minute on 40 letters."""
    made = Expression(expression)
    for text in ("a" * 40 + "!", "a" * 300 + "!", "ab" * 100, "a" * 30):
        made.search(text)
        made.fullmatch(text)


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|aa)+$", "(?=(a+)+$)b", ".*.*.*x"])
def test_cost_grows_with_the_text(expression: str) -> None:
    check_growth(lambda n: "a" * n + "!", Expression(expression).search, 1000)


def test_common_expressions_are_left_to_re() -> None:
    for expression in (r"\d", "^[A-Z][a-z]+$", r"(.)\1", "ing$|ed$", "^(?:[A-Z]\\.)+$", "[A-Z]{2,}"):
        made = Expression(expression)
        made.search("x" * 40)
        assert made._reach[False] >= 40, expression
    for expression in (r"^\d+([.,]\d+)*$", "^[A-Z][a-z]+(-[A-Z][a-z]+)*$", r"\d+-\d+", r"^\w+@\w+\.\w+$"):
        made = Expression(expression)
        made.search("x" * 40)
        assert made._reach[False] >= 17, expression


def test_steps_are_never_fewer_than_res() -> None:
    """The body of the repeat can match each letter in two ways, and `re` tries all of them."""
    tree = parsed(re.compile("(?:a|a)*b"))
    assert short_steps(tree)[10] > 2**10
    assert most_steps(tree, 10, whole=True) > 2**10
    assert len(short_steps(tree)) == SHORT + 1


@pytest.mark.parametrize(
    ("expression", "text"),
    [(r"(a+)+\1$", "a" * 60 + "!"), (r"(.*)(.*)\1\2x", "a" * 300), (r"(a)?(?(1)(a+)+|b)$", "a" * 99 + "!")],
)
def test_back_references_that_take_long_are_refused(expression: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"takes too long on '.*back-references or conditions"):
        Expression(expression).search(text)


def test_back_references_on_words_are_res() -> None:
    assert Expression(r"(.+)\1").search("xcouscous") == "couscous"
    assert Expression(r"(.*),\1").fullmatch("B-PER,B-PER")
    assert not Expression(r"(.*),\1").fullmatch("B-PER,I-PER")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a" * (LONGEST + 1), "more than 10,000; shorten it"),
        ("(" * 3000 + ")" * 3000, "is wrong: maximum recursion|too many groups"),
        ("a{99999999999}", "is wrong: "),
        ("(?i)" + "[\\u0000-\\uffff]" * 50, "ranges of over 1,000,000 characters"),
        ("a**", "is wrong: multiple repeat"),
    ],
)
def test_too_large_expressions_are_refused(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Expression(expression)


def test_a_program_that_is_too_large_is_refused_by_text() -> None:
    made = Expression(r"((\b){60000}){60000}")
    for _ in range(20):
        with pytest.raises(ValueError, match="more than 10,000 states"):
            made.search("aa")
