"""Judging: how good answers are, how sure, and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from crfkit.cli.groups.compose import option

_option = partial(option, "Judging")

Top = Annotated[int, _option("--top", "-n", help="Print at most this many; 0: all.", min=0)]
Reasons = Annotated[
    int | None,
    _option("--top", "-n", help="Print at most this many; 0: all. Default: 5, with --html 14.", min=0),
]
OneSequence = Annotated[int | None, _option("--sequence", help="Only this sequence, counted from 1.", min=1)]
By = Annotated[str, _option("--by", help="One of {uncertainties}.")]
Folds = Annotated[int, _option("--folds", help="Number of parts; each is held out once.", min=2)]
Metrics = Annotated[list[str] | None, _option("--metric", "-m", help="{metrics}, ...; repeatable.")]


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
        _option(
            "--predicted",
            help="Evaluate this file instead, whose last two columns are gold and predicted labels.",
        ),
    ] = None
    against: Annotated[
        str | None, _option("--against", help="A second model, to compare with the first.")
    ] = None
    metric: Annotated[
        str, _option("--metric", "-m", help="The main score, also of the bootstrap: {metrics}, ...")
    ] = "auto"
    scheme: Annotated[
        str | None,
        _option(
            "--scheme",
            help="Scheme of the tags: {scored}. Default: that of training (--scheme), else lenient.",
        ),
    ] = None
    confusion: Annotated[
        bool, _option("--confusion", help="Print how often each label was predicted as each label.")
    ] = False
    errors: Annotated[
        int,
        _option(
            "--errors",
            metavar="N",
            help="Print the N sequences with most mistakes, and the N least probable gold labels.",
            min=0,
        ),
    ] = 0
    samples: Annotated[int, _option("--samples", help="Number of bootstrap samples.", min=1)] = 1000
    seed: Annotated[int, _option("--seed", help="Seed of the bootstrap.", min=0)] = 0


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
            help="temperature: divide all scores by one number; isotonic: learn a monotone curve of "
            "probabilities.",
        ),
    ] = "temperature"
    test: Annotated[str | None, _option("--test", help="Labeled data to measure on. Default: INPUT.")] = None
    plot: Annotated[
        str | None, _option("--plot", help="Draw a reliability diagram, before and after, to this PNG file.")
    ] = None
