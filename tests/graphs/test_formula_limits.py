"""Formulas that are nested deeply are refused by their place, not by the stack."""

from __future__ import annotations

import pytest

from crfkit.graphs.rules.texts import read
from crfkit.graphs.scopes.formulas import parse
from tests.cases.growth import check_growth


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 5000 + "a(x)" + ")" * 5000, "rule 1: brackets lie more than 50 deep in each other"),
        ("!" * 5000 + "a(x)", "rule 1: there are more than 200 operators"),
        ("a(x) -> " * 5000 + "a(x)", "rule 1: there are more than 200 operators"),
        ("a(x) & " * 5000 + "a(x)", "rule 1: there are more than 200 operators"),
    ],
)
def test_deep_formulas_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text, "rule 1")


def test_formulas_up_to_the_limits_are_read() -> None:
    assert len([*parse("a(x) & " * 200 + "a(x)", "rule").atoms()]) == 201
    assert parse("(" * 50 + "a(x)" + ")" * 50, "rule").op == "atom"


def test_many_rules_cost_what_they_are() -> None:
    check_growth(lambda n: "a(x)\n" * n, lambda text: read([text]), 2000)
