"""Expressions are run by `re`; those of strangers that could take long are refused before they are run."""

from __future__ import annotations

import random
import re
import sys
import time

import pytest

from crfkit._safe.expressions import LONG, LONGEST, MOST_NESTED, MOST_RATE, Expression, expression_of
from crfkit.data.formats.columns import Columns
from crfkit.features import Extractor
from crfkit.features.dialects import parse_recipe
from tests.cases.counted_matching import steps_of_all_ways, steps_of_search
from tests.cases.growth import check_growth

COMMON = [
    r"^[A-Z][a-z]+$",
    r"\d{4}",
    r"(?i)street|st\.?",
    r"[A-Z]+[0-9]*",
    r"\d",
    r"^[A-Z]+$",
    r"^[^\w\s]+$",
    r"[A-Z]{2,}",
    r"ing$|ed$",
    r"^.*ly$",
    r"^(?:[A-Z]\.)+$",
    r"^\d+([.,]\d+)*$",
    r"^\$?\d+(?:,\d{3})*(?:\.\d+)?$",
    r"^[+-]?\d+$",
    r"^\d+(st|rd|th)$",
    r"^[A-Z][a-z]+(-[A-Z][a-z]+)*$",
    r"^\w+@\w+\.\w+$",
    r"^https?://",
    r"\.(com|org|net)$",
    r"^#\w+",
    r"^@\w+",
    r"^[IVXLCDM]+$",
    r"^(?:Mr|Mrs|Ms|Dr)\.?$",
    r"(?i)^(mon|tues|wednes|thurs|fri|satur|sun)day$",
    r"^(N|S|E|W|NE|NW|SE|SW)$",
    r"^\(?\d{3}\)?[-. ]?\d{3}[-. ]?\d{4}$",
    r"^\d{5}(-\d{4})?$",
    r"^\d{1,2}:\d{2}$",
    r"^\d{1,2}/\d{1,2}/\d{2,4}$",
    r"\d{1,9}-\d{1,9}",
    r"[aeiou]{3}",
    r"(.)\1",
    r"^\w+'s$",
    r"\bfoo\b",
    r"(?<=a)b",
    r"^[A-Za-z]+\d+$",
]

ENDLESS = [
    "(a+)+$",
    "(a*)*$",
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
    "(?a:(?:a+)+b)",
    "a?" * 40 + "a" * 40,
    "(?:a?){40}a{40}",
    "(a{1,9}){1,9}$",
    r"(\w+\s?)*$",
    "[ab]*[ac]*[ad]*x",
    r"(.+)\1",
    r"(a+)+\1$",
    r"(a)?(?(1)(a+)+|b)$",
]

#: Their cost grows with the square of the text, which is nothing for words.
SQUARE = [
    r"\d+-\d+",
    ".*ing$",
    r"\w+@\w+",
    r"[A-Z]+\d+",
    r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
]


@pytest.mark.parametrize("expression", SQUARE)
def test_squares_are_for_texts_that_are_not_long(expression: str) -> None:
    made = Expression(expression)
    made.check_search()
    for text in ("12-34", "testing", "jane@site.org", "AB12", "x" * LONG):
        found = re.search(expression, text)
        assert made.search(text) == (None if found is None else found[0])
    said = r"the regular expression .* has 8,192, more than 4,096; begin it with \^, write \{1,20\} for \+"
    with pytest.raises(ValueError, match=said):
        made.search("x" * 2 * LONG)


@pytest.mark.parametrize("expression", COMMON)
def test_common_expressions_are_accepted(expression: str) -> None:
    made = Expression(expression)
    made.check_search()
    assert made.rate < 100  # so that a recipe may have a hundred of them
    for text in ("12-34", "McCallum", "", "aab", "St.", "1,000.50", "jane@site.org", "x" * 300):
        found = re.search(expression, text)
        assert made.search(text) == (None if found is None else found[0])
        assert made.fullmatches([text]) == [re.fullmatch(expression, text) is not None]


@pytest.mark.parametrize("expression", ENDLESS)
def test_what_could_take_long_is_refused_when_a_recipe_is_parsed(expression: str) -> None:
    quoted = expression.replace('"', "")
    remedy = (
        r"line 1: .*the regular expression .* far more steps than .*; begin it with \^, write \{1,20\} for"
    )
    with pytest.raises(ValueError, match=remedy):
        parse_recipe(f'is(0, "{quoted}")[0]', "crfkit")


def test_the_remedy_helps() -> None:
    for expression in (r"\d{1,20}-\d{1,20}", r"^\d+-\d+", "ing$", "(?:a{1,20}){0,20}b" * 0 + "^a{1,20}b"):
        Expression(expression).check_search()


@pytest.mark.parametrize("expression", COMMON)
def test_cost_grows_with_the_text(expression: str) -> None:
    search = Expression(expression).search
    for unit in ("a", "1", "A", "1,", "a-"):
        check_growth(lambda n, unit=unit: unit * n + "!", search, 5000)  # type: ignore[misc]


def random_expression(rng: random.Random, depth: int) -> str:
    """Return an expression of few letters, so that parts overlap often."""

    def inner() -> str:
        return random_expression(rng, depth - 1)

    kind = rng.random()
    if depth == 0 or kind < 0.25:
        return rng.choice(["a", "b", "c", "[ab]", "[^a]", ".", "[a-c]", "^", "$"])
    if kind < 0.55:
        return inner() + inner()
    if kind < 0.7:
        return f"(?:{inner()}|{inner()})"
    return f"(?:{inner()}){rng.choice(['*', '+', '?', '{2}', '{1,2}', '{0,3}', '*?', '+?', '{2,}'])}"


def test_no_more_is_tried_than_is_foreseen() -> None:
    """Of ten thousand random pairs, by a matcher that counts what it tries."""
    rng, compared, clear = random.Random(1), 0, 0
    while compared < 10_000:
        expression = random_expression(rng, 4)
        made = Expression(expression)
        text = "".join(rng.choice("aabc") for _ in range(rng.randrange(1, 9)))
        if made.steps(len(text)) > 1e6:
            continue
        assert steps_of_all_ways(expression, text) <= made.steps(len(text)), (expression, text)
        tried, found = steps_of_search(expression, text)
        assert tried <= made._search(len(text)), (expression, text)
        assert found == made.search(text), (expression, text)
        compared += 1
        clear += made._part.clear
    assert 1000 < clear < 9000  # both kinds of bounds are tried


def test_the_comparison_can_fail() -> None:
    assert steps_of_all_ways("(?:a|a)*", "a" * 10) > 20 > steps_of_all_ways("a*", "a" * 3)
    assert steps_of_search("(?:a+)+b", "a" * 12)[0] > 2**11


# ---- one budget for a recipe


def test_expressions_of_a_recipe_have_one_budget() -> None:
    words = "|".join(f"word{i}" for i in range(500))
    Expression(words).check_search()
    lines = [f'is(0, "{words}x{i}")[0]' for i in range(30)]
    parse_recipe(lines[0] + "\n" + lines[0], "crfkit")  # the same one is searched for once
    said = rf"could take more than {MOST_RATE:,} steps for each character of a token, most of them 'word0\|"
    with pytest.raises(ValueError, match=said + r".*leave some out"):
        parse_recipe("\n".join(lines), "crfkit")


def test_a_recipe_at_its_budget_takes_time_in_proportion_to_its_text() -> None:
    """Twenty expressions on twenty tokens of 1 KB took seconds."""
    bounded = [f'is(0, "[ab]{{1,{n}}}[ac]{{1,9}}x")[0]' for n in range(1, 60)]
    recipe = parse_recipe("\n".join(bounded), "crfkit")
    assert sum(expression_of(str(f.arguments[0])).rate for t in recipe.templates for f in t.fields) > 50_000
    columns = Columns.from_rows([[("a" * 1024 + str(i),) for i in range(20)]], names=["0"])
    begun = time.process_time()
    Extractor(recipe, label=None)(columns, threads=1)
    assert time.process_time() - begun < 4.0  # 0.25 s on an idle machine


# ---- what is too large


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a" * (LONGEST + 1), "more than 10,000; shorten it"),
        ("a{99999999999}", "is wrong: "),
        ("(?i)" + "[\\u0000-\\uffff]" * 50, "ranges of over 1,000,000 characters"),
        ("a**", "is wrong: multiple repeat"),
    ],
)
def test_too_large_expressions_are_refused(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Expression(expression)


@pytest.mark.parametrize("depth", [101, 160, 200, 250, 300, 1000, 3000])
def test_groups_within_groups_are_refused_by_name(depth: int) -> None:
    said = r"the regular expression '\(\(.* has more than 100 groups and repeats within"
    with pytest.raises(ValueError, match=said):
        Expression("(" * depth + "a" + ")" * depth)


def test_as_many_groups_as_are_allowed() -> None:
    depth = MOST_NESTED - 1
    made = Expression("(" * depth + "a+" + ")" * depth)
    assert made.search("baa") == "aa"
    assert made.rate < 100


@pytest.mark.skipif(sys.version_info < (3, 11), reason="since Python 3.11")
def test_possessive_and_atomic_groups() -> None:
    Expression("^(?>a+)a").check_search()
    Expression("^(?:a|ab)*+c").check_search()
    with pytest.raises(ValueError, match="far more steps"):
        Expression("(?>(?:a+)+$)").check_search()
