"""Finding what in the data is too large to compute with, when the first step is not finite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crfkit.data.batch import Batch
from crfkit.data.dataset import ALPHABET_OF
from crfkit.training.data import TrainingData

__all__ = ["cause_of"]

#: Values beyond this overflow when they are squared and added up, as gradients are.
_ENORMOUS = 1e100


def cause_of(data: TrainingData) -> str:
    """Return the remedy, with the place of the largest value where that is enormous."""
    found, before = (0.0, ""), 0
    for batch in data.batches():
        for value, position, what in _largest(batch, data):
            if abs(value) > found[0]:
                n = int(np.searchsorted(batch.seq_ptr, position, side="right")) - 1
                t = position - int(batch.seq_ptr[n])
                found = abs(value), f"sequence {before + n}, position {t}: {what} is {value:g}"
        before += batch.sequences
    remedy = "scale the values of attributes to about 1"
    if found[0] < _ENORMOUS:
        return f"Raise l2, use another optimizer, or {remedy}"
    return f"The largest value is in {found[1]}; {remedy}"


def _largest(batch: Batch, data: TrainingData) -> Iterator[tuple[float, int, str]]:
    """Yield the largest value of each kind, its position in the batch, and its name."""
    for by, kind in ALPHABET_OF.items():
        items, names = batch.occurrences(by), getattr(data.names, kind)
        if items is None or items.value is None or not items.value.size:
            continue
        at = int(np.argmax(np.abs(items.value)))
        number = int(items.id[at])
        name = repr(names.strings()[number]) if number < len(names) else str(number)
        place = int(np.searchsorted(items.ptr, at, side="right")) - 1
        position = place * batch.positions // batch.places(by)
        yield float(items.value[at]), position, f"the value of attribute {name}"
    if batch.dense is not None and batch.dense.size:
        position, k = divmod(int(np.argmax(np.abs(batch.dense))), batch.dense.shape[1])
        yield float(batch.dense[position, k]), position, f"dense feature {k}"
    if batch.weight is not None and batch.weight.size:
        n = int(np.argmax(batch.weight))
        yield float(batch.weight[n]), int(batch.seq_ptr[n]), "the weight of the sequence"
