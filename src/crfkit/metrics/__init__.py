"""How good labelings are: tokens, segments as conlleval counts them, sequences, calibration, significance.

Labelings are lists of lists of strings; with ``labels`` and ``seq_ptr`` they are flat arrays of ids.
"""

from crfkit.metrics.counts import Average, Score
from crfkit.metrics.encoding import LabelSequences
from crfkit.metrics.registry import METRICS, Metric, Scorer, named, scorer
from crfkit.metrics.reliability import Calibration, calibration
from crfkit.metrics.segmentwise import SegmentScores, segment_scores
from crfkit.metrics.significance import Bootstrap, McNemar, mcnemar, paired_bootstrap
from crfkit.metrics.tokenwise import Confusion, TokenScores, confusion, sequence_accuracy, token_scores

__all__ = [
    "METRICS",
    "Average",
    "Bootstrap",
    "Calibration",
    "Confusion",
    "LabelSequences",
    "McNemar",
    "Metric",
    "Score",
    "Scorer",
    "SegmentScores",
    "TokenScores",
    "calibration",
    "confusion",
    "mcnemar",
    "named",
    "paired_bootstrap",
    "scorer",
    "segment_scores",
    "sequence_accuracy",
    "token_scores",
]
