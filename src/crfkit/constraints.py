"""All constraints, in one place.

About neighbors, given to a structure before training and kept by every query:

=================  ==============================================================================
`Scheme`           labels spell segments: ``Scheme("BIO")``
`Forbid`           a label may not follow another, or be first (`START`) or last (`STOP`)
`Require`          a label is followed by another
`SegmentLength`    segments have a number of positions within bounds
=================  ==============================================================================

About whole labelings, given when labels are asked for and kept by the best labeling:

=================  ==============================================================================
`AtMostOnce`             each label has one run of positions at most, each type one segment
`AtMost`           a label occurs at most k times; `AtLeast`, `Exactly`
`Before`           every a comes before every b
`Implies`          where a occurs, b occurs too
`LinearConstraint`           coefficients of occurrences add up to at most a bound
=================  ==============================================================================

Examples
--------
>>> from crfkit import Chain, inference
>>> scores = Chain(["a", "b"]).potentials([[9.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
>>> inference.constrained(scores, [AtMostOnce(["a"])]).labels.tolist()
[0, 1, 1]
"""

from crfkit.inference.constrained.kinds import (
    AtLeast,
    AtMost,
    AtMostOnce,
    Before,
    Exactly,
    Implies,
    LinearConstraint,
)
from crfkit.structures.constraints import START, STOP, Forbid, Require, Scheme, SegmentLength

__all__ = [
    "START",
    "STOP",
    "AtLeast",
    "AtMost",
    "AtMostOnce",
    "Before",
    "Exactly",
    "Forbid",
    "Implies",
    "LinearConstraint",
    "Require",
    "Scheme",
    "SegmentLength",
]
