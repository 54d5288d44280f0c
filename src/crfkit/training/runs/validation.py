"""The dev set: how good weights are on data that training does not see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from crfkit._safe.printable import counted
from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.models.model import Metric, Model, gold_labels
from crfkit.models.tags import as_segments

__all__ = ["SequenceValidation", "Validation", "check_metric"]

M = TypeVar("M")


def check_metric(metric: Metric | str) -> None:
    """Refuse what is neither a name of a metric nor a function, before any work begins."""
    if callable(metric) or metric in ("auto", "log_prob"):
        return
    if not isinstance(metric, str):
        raise TypeError(
            f"metric is {metric!r}, expected a name, 'auto' or a function of gold and predicted labels"
        )
    from crfkit import metrics

    metrics.metric(metric)


class Validation(ABC, Generic[M]):
    """The dev score of weights, as a function of them.

    Parameters
    ----------
    model : Model
        Whose weights vary; it may change while its names stay.
    name : str
        What the score is called.
    threads : int, optional
    """

    def __init__(self, model: M, name: str, threads: int | None) -> None:
        self.model, self.name, self.threads = model, name, threads
        self.notes: list[str] = []

    @abstractmethod
    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]; more is better."""


class SequenceValidation(Validation[Model]):
    """The dev score of weights on sequences.

    Parameters
    ----------
    model : Model
        Whose weights vary; it may change while the alphabets stay.
    dev : Dataset
        Positions without a label cannot be scored: their sequences are left out.
    metric : str or function
        A name of `crfkit.metrics`; "log_prob", the mean over positions; a function of gold and
        predicted labels, where more is better; "auto": what fits the labels, as in `Model.judge`.
    threads : int, optional
    """

    def __init__(self, model: Model, dev: Dataset, metric: Metric | str, threads: int | None = None) -> None:
        self._function = None if metric == "log_prob" else model.judge(metric)
        named = getattr(self._function, "name", getattr(self._function, "__name__", ""))
        name = "log_prob" if self._function is None else named or type(metric).__name__
        super().__init__(model, name, threads)
        dev = self._labeled(as_segments(dev) if model.segmental else dev)
        self._spelling = model.spelling_for(self._function)
        self._gold = gold_labels(dev, self._spelling.scheme)
        self._batch = model.batch_of(dev)
        model.check_known(self._gold, self._function, source="the dev set")

    def _labeled(self, dev: Dataset) -> Dataset:
        """Return the sequences that have a label at every position."""
        label = dev.batch.label
        if label is None or not dev.batch.positions:
            raise ValueError("dev has no labels; give a dev set with labels")
        lacking = np.add.reduceat(np.append(label < 0, 0), dev.batch.seq_ptr[:-1]) > 0  # [N]
        lacking &= np.diff(dev.batch.seq_ptr) > 0
        if not lacking.any():
            return dev
        if lacking.all():
            raise ValueError("every sequence of dev lacks labels; give a dev set with labels")
        count = int(lacking.sum())
        self.notes.append(f"left out of the dev set: {counted(count, 'sequence')} without all labels")
        return dev[~lacking]

    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]."""
        model = replace(self.model, w=w)
        if self._function is None:
            return float(np.sum(model.log_prob(self._batch, threads=self.threads))) / max(
                self._batch.positions, 1
            )
        found = self._spelling.tags(model._path(self._batch, threads=self.threads))
        return float(self._function(self._gold, found))
