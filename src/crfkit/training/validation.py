"""The dev set: how good weights are on data that training does not see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.dataset import Dataset
from crfkit.data.segmentation import are_tags
from crfkit.models.model import Metric, Model, gold_labels
from crfkit.models.tags import as_segments

__all__ = ["Validation", "function_of", "metric_for"]


def metric_for(labels: Iterable[str]) -> str:
    """Return the metric that fits labels: segments where they spell segments, else tokens.

    Examples
    --------
    >>> metric_for(["O", "B-PER", "I-PER"]), metric_for(["NN", "VB"])
    ('segment_f1', 'token_accuracy')
    """
    return "segment_f1" if are_tags(labels) else "token_accuracy"


def function_of(metric: Metric | str) -> Metric | None:
    """Return a metric by its name, checked; None for the likelihood, which is not a function of labels."""
    if callable(metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(f"metric is {metric!r}, expected a name or a function of gold and predicted labels")
    if metric == "log_likelihood":
        return None
    from crfkit import metrics

    return metrics.named(metric)


class Validation:
    """The dev score of weights, as a function of them.

    Parameters
    ----------
    model : Model
        Whose weights vary; it may change while the alphabets stay.
    dev : Dataset
        Positions without a label cannot be scored: their sequences are left out.
    metric : str, function or None
        A name of `crfkit.metrics`; "log_likelihood", the mean over positions; a function of gold and
        predicted labels, where more is better; None: what fits the labels.
    threads : int, optional
    """

    def __init__(
        self, model: Model, dev: Dataset, metric: Metric | str | None, threads: int | None = None
    ) -> None:
        if metric is None:
            metric = "segment_f1" if model.segmental else metric_for(model.answers)
        self.name = metric if isinstance(metric, str) else getattr(metric, "__name__", type(metric).__name__)
        self.notes: list[str] = []
        self.model, self._threads = model, threads
        self._function = function_of(metric)
        dev = self._labelled(as_segments(dev) if model.segmental else dev)
        self._spelling = model.spelling_for(metric)
        self._gold = gold_labels(dev, self._spelling.scheme)
        self._batch = model.batch_of(dev)
        shown = np.unique(np.asarray(dev.batch.label)).tolist()
        unknown = sorted({dev.labels[y] for y in shown} - {*model.answers, *model.structure.labels})
        if unknown:
            lacking = [y for y in shown if dev.labels[y] in unknown]
            share = np.isin(np.asarray(dev.batch.label), lacking).mean()
            self.notes.append(
                f"the dev set has labels that training does not know ({', '.join(unknown[:5])}"
                f"{', ...' if len(unknown) > 5 else ''}): {100.0 * share:.2g} % of its positions, which "
                "count as errors"
            )

    def _labelled(self, dev: Dataset) -> Dataset:
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
        self.notes.append(f"{count} sequences of the dev set lack labels and are left out")
        return dev[~lacking]

    def __call__(self, w: Floats) -> float:
        """Return the score of weights [F]."""
        model = replace(self.model, w=w)
        if self._function is None:
            return float(np.sum(model.log_likelihood(self._batch, threads=self._threads))) / max(
                self._batch.positions, 1
            )
        found = self._spelling.tags(model.path(self._batch, threads=self._threads))
        return float(self._function(self._gold, found))
