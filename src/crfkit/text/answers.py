"""Documents of what a model found, made without looking at their parts once more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crfkit.arrays import Pointers, handed_over
from crfkit.text.doc import Doc
from crfkit.text.spans import TextSpan

__all__ = ["answered"]


def answered(
    given: str | Doc,
    offsets: Pointers,
    sentences: Pointers | None,
    spans: Iterable[tuple[int, int, str, float | None, tuple[int, int]]],
    labels: Sequence[str] | None = None,
) -> Doc:
    """Return the document of a text with what a model found in it, which is not looked at once more.

    Parameters
    ----------
    given : str or Doc
        In code points; of a document its id and meta are kept.
    offsets, sentences, labels
        As in `Doc`.
    spans
        Start, end, label, probability, and the first token and one past the last.

    Examples
    --------
    >>> import numpy as np
    >>> found = answered("Ana ran", np.array([[0, 3], [4, 7]]), None, [(0, 3, "PER", 0.5, (0, 1))])
    >>> print(found), found == Doc("Ana ran", [(0, 3), (4, 7)], spans=[(0, 3, "PER", 0.5)])
    [Ana PER 0.50] ran
    (None, True)
    """
    made = object.__new__(Doc)
    doc = given if isinstance(given, Doc) else None
    text: str = given if doc is None else doc.text  # type: ignore[assignment]
    of = TextSpan.of
    made.__dict__.update(
        text=text,
        tokens=handed_over(offsets),
        sentences=None if sentences is None else handed_over(sentences),
        spans=tuple([of(a, b, label, p, text, (a, b), tokens) for a, b, label, p, tokens in spans]),
        labels=None if labels is None else tuple(labels),
        id=None if doc is None else doc.id,
        meta={} if doc is None else doc.meta,
        known=None,
        unit="codepoint",
    )
    return made
