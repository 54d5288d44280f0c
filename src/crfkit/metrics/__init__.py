"""How good labels are: tokens, spans as conlleval counts them, sequences, calibration, significance.

Labels are lists of lists of strings; with ``labels`` and ``seq_ptr`` they are flat arrays of ids.
"""

from typing import TYPE_CHECKING

from crfkit._safe.name_hints import missing
from crfkit.metrics.judging import classification_report
from crfkit.metrics.registry import METRICS, metric, scorer
from crfkit.metrics.reliability import Calibration, calibration
from crfkit.metrics.report import Report
from crfkit.metrics.significance import mcnemar, paired_bootstrap
from crfkit.metrics.spanwise import span_scores
from crfkit.metrics.tokenwise import Confusion, confusion_matrix, token_scores

__all__ = [
    "METRICS",
    "Calibration",
    "Confusion",
    "Report",
    "calibration",
    "classification_report",
    "confusion_matrix",
    "mcnemar",
    "metric",
    "paired_bootstrap",
    "scorer",
    "span_scores",
    "token_scores",
]


if not TYPE_CHECKING:  # for type checkers, what is not above does not exist

    def __getattr__(name: str) -> object:
        raise missing(__name__, name)
