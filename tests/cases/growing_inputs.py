"""Inputs of n, one for each reader and each dimension in which an input can grow."""

from __future__ import annotations

from tests.cases.growing_graphs import graph_cases
from tests.cases.growing_models import model_cases
from tests.cases.growing_native import native_cases
from tests.cases.growing_texts import text_cases
from tests.cases.growth import GrowthCase


def growth_cases() -> list[GrowthCase]:
    """Return all cases; their names are READER: DIMENSION."""
    return [*text_cases(), *graph_cases(), *model_cases(), *native_cases()]
