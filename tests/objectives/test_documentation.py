"""Every objective says in its own documentation which options it takes, those of the penalty included."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from crfkit._safe.documented import with_parameters
from crfkit.objectives.penalized import Penalized
from crfkit.objectives.registry import OBJECTIVES


def documented(text: str) -> list[str]:
    """Return the names of the parameters of a class, in their order."""
    section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    heads = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_all_options_are_documented_in_the_order_of_the_constructor(name: str) -> None:
    kind = OBJECTIVES[name]
    options = [one.name for one in fields(kind) if one.init]
    assert documented(kind.__doc__ or "") == options
    assert issubclass(kind, Penalized) == ("l2" in options)


def test_options_come_before_examples() -> None:
    text = OBJECTIVES["likelihood"].__doc__ or ""
    assert text.index("l1, l2 : float") < text.index("Examples\n--------") < text.index(">>> Likelihood")


def test_a_class_without_parameters_gets_those_of_the_penalty() -> None:
    shared = "Options.\n\n    Parameters\n    ----------\n    l2 : float\n        Strength.\n"
    assert documented(with_parameters("A loss.", shared)) == ["l2"]
    assert documented(with_parameters("A loss.\n\nParameters\n----------\nk : int\n", shared)) == ["l2", "k"]
