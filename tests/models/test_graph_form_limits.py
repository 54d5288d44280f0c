"""Text forms of graphs that were written to take long cost what their length is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from crfkit.graphs.text_form import FormError, GraphForm
from tests.cases.growth import check_growth


def _quietly(text: str) -> None:
    with contextlib.suppress(FormError):
        GraphForm.parse(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: 'kind a\nclique a a equal "' + '\\"' * (4 * n),
        lambda n: "kind a\nclique a a equal f(" + '"x" ' * (4 * n),
        lambda n: "kind a\nclique a a equal " + "(" * (4 * n),
        lambda n: "kind a\nclique a " + "cells=free " * n,
        lambda n: "kind a" + " " * (4 * n) + "x",
        lambda n: "columns " + " ".join(map(str, range(n))),
        lambda n: "features a[0]\n" * (n // 4),
        lambda n: "kind a\n" + "".join(f"kind k{i}\n" for i in range(n)),
    ],
)
def test_lines_cost_what_their_length_is(make: Callable[[int], str]) -> None:
    check_growth(make, _quietly, 4000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind a hidden " + "1" * 5000, "g:1: kind a hidden 1+ is not clear"),
        ("kind a\nclique a[" + "1" * 5000 + "] a", "g:2: .*is not a kind"),
        ("kind a\nclique a a equal w nearest " + "1" * 5000, r"g:2: nearest 1+ \.\.\. 1+: expected a number"),
        ('kind a "b', "g:1: parentheses or quotation marks are not closed"),
        ("kind a\n" + "#" * 2_100_000, "characters, more than 2,097,152"),
    ],
)
def test_wrong_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphForm.parse(text, "g")
