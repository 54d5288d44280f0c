"""Judging: how good answers are, how sure, and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from crfkit.cli.groups.compose import option

__all__ = ["By", "Calibrating", "Folds", "Judging", "Metrics", "OneSequence", "Top"]

_option = partial(option, "Judging")

Top = Annotated[int, _option("--top", "-n", help="So many at most; 0: all.", min=0)]
OneSequence = Annotated[int | None, _option("--sequence", help="Only this sequence, counted from 1.", min=1)]
By = Annotated[str, _option("--by", help="One of {uncertainties}.")]
Folds = Annotated[int, _option("--folds", help="Parts; each is held out once.", min=2)]
Metrics = Annotated[
    list[str] | None,
    _option("--metric", "-m", help="{metrics}; --list shows more; may be given again."),
]


@dataclass(frozen=True)
class Judging:
    """How answers are scored, and against what.

    Examples
    --------
    >>> Judging(metric="span_f1").samples
    1000
    """

    predicted: Annotated[
        list[str] | None,
        _option("--predicted", help="Instead: data whose last two columns are gold and predicted."),
    ] = None
    against: Annotated[
        str | None, _option("--against", help="A second model, to compare with the first.")
    ] = None
    metric: Annotated[
        str,
        _option("--metric", "-m", help="The number that counts, also in the bootstrap: {metrics}, ..."),
    ] = "auto"
    scheme: Annotated[
        str | None,
        _option(
            "--scheme",
            help="How labels spell segments: {scored}; default: as the model was trained with --scheme, else "
            "lenient.",
        ),
    ] = None
    confusion: Annotated[
        bool, _option("--confusion", help="Print how often each label was predicted as each label.")
    ] = False
    errors: Annotated[
        int, _option("--errors", metavar="N", help="Print the N sequences with most wrong labels.", min=0)
    ] = 0
    samples: Annotated[int, _option("--samples", help="Of the bootstrap.", min=1)] = 1000
    seed: Annotated[int, _option("--seed", help="Of the bootstrap.", min=0)] = 0


@dataclass(frozen=True)
class Calibrating:
    """How probabilities are corrected, and measured.

    Examples
    --------
    >>> Calibrating().calibration
    'temperature'
    """

    calibration: Annotated[
        str,
        _option(
            "--calibration",
            help="temperature: divide all scores by one number; isotonic: map probabilities of labels and "
            "segments.",
        ),
    ] = "temperature"
    test: Annotated[str | None, _option("--test", help="Labeled data to measure on; default: INPUT.")] = None
    plot: Annotated[
        str | None,
        _option("--plot", help="Draw how often probabilities come true, before and after: a PNG file."),
    ] = None
