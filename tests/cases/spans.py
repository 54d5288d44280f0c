"""Segments as plain triples."""

from __future__ import annotations

from collections.abc import Iterable

from crfkit.models.results import Span


def bare(found: Iterable[Iterable[Span]]) -> list[list[tuple[int, int, str]]]:
    """Return the segments of each sequence as (start, end, label), without probabilities."""
    return [[span[:3] for span in several] for several in found]
