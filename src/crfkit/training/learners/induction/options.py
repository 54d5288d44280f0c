"""Options of feature induction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crfkit.checks import check_choice, check_number


@dataclass(frozen=True)
class Induction:
    """Options of feature induction.

    Parameters
    ----------
    rounds : int
        The largest number of rounds.
    per_round : int
        Features that a round adds.
    beam : int
        Atoms (attributes that are not conjunctions) with the highest gains, which a round joins with each
        other and with the features that there are.
    max_length : int
        Atoms of a conjunction at most; 1: no conjunctions.
    margin : float
        Look at the tokens whose gold label is not more probable than every other by more than this. 0: those
        that the model gets wrong, as McCallum (2003) does; 1: all. More tokens take more time and find
        better features, as a gain then counts what a feature would spoil.
    iterations : int
        Iterations of L-BFGS in a round.
    min_gain : float
        A feature must gain more.
    overlap : float
        The part of what the tokens of a feature could gain that better features of the round may explain
        already; a feature with more waits for another round. 1: none waits.
    patience : int
        With a dev set: rounds without a better score that end it.
    start : {"nothing", "observed"}
        Begin without attributes, or with all pairs of attribute and label that the data show, to which only
        conjunctions are added.

    Examples
    --------
    >>> Induction(rounds=3).per_round
    1000
    >>> Induction(margin=2)
    Traceback (most recent call last):
    ValueError: margin is 2, expected at most 1
    """

    rounds: int = 10
    per_round: int = 1000
    beam: int = 1000
    max_length: int = 3
    margin: float = 0.8
    iterations: int = 10
    min_gain: float = 0.0
    overlap: float = 0.5
    patience: int = 2
    start: Literal["nothing", "observed"] = "nothing"

    def __post_init__(self) -> None:
        for name in ("rounds", "per_round", "beam", "max_length", "iterations", "patience"):
            check_number(name, getattr(self, name), 1, whole=True)
        check_number("min_gain", self.min_gain)
        for name in ("margin", "overlap"):
            check_number(name, getattr(self, name))
            if getattr(self, name) > 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at most 1")
        if self.max_length > 8:
            raise ValueError(f"max_length is {self.max_length}, expected at most 8")
        check_choice("start", self.start, ("nothing", "observed"))
