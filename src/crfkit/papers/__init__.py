"""Experiments of the papers, run again: ``crfkit reproduce NAME``.

An experiment is a file here and a line in `crfkit.papers.registry`. It names quantities, with the number of
the paper where there is one, and measures each for a seed; the rest (repeating, intervals, going on after an
interrupt, reports) is done once for all of them.
"""

from crfkit.papers.experiment import Experiment, Given, Quantity
from crfkit.papers.page import Claim, Figure, Line, Page, Points, Table
from crfkit.papers.registry import EXPERIMENTS, Entry, named
from crfkit.papers.results import Reading, Result
from crfkit.papers.runner import reproduce

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Entry",
    "Experiment",
    "Figure",
    "Given",
    "Line",
    "Page",
    "Points",
    "Quantity",
    "Reading",
    "Result",
    "Table",
    "named",
    "reproduce",
]
