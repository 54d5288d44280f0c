"""Which sequences to label next: how unsure a model is of each, after Settles & Craven (2008).

=================  =====================================================================================
least-confidence   1 - p(y* | x), y* the best labeling
margin             1 - (p(y* | x) - p(y' | x)), y' the second best
entropy            entropy of p(y | x), the sum over all labelings, exact
nbest-entropy      entropy over the k best labelings, their probabilities scaled to add up to 1
token-entropy      mean over positions of the entropy of the label
density            entropy * (mean similarity to all sequences), so that what is unlike all others
                   does not come first; similarity is the cosine of counts of attributes
=================  =====================================================================================

Probabilities of whole labelings fall with the length, so all but token-entropy favor long sequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from crfkit import inference
from crfkit.arrays import Floats, sum_by_sequence
from crfkit.checks import check_choice, check_number
from crfkit.data.batch import Batch
from crfkit.inference.results import counted_from
from crfkit.models.alternatives import kbest_of
from crfkit.models.scores import decoded

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel

Uncertainty = Literal["least-confidence", "margin", "entropy", "nbest-entropy", "token-entropy", "density"]


def uncertainty(
    model: SequenceModel, X: Any, method: Uncertainty = "entropy", *, k: int = 10, threads: int | None = None
) -> Floats:
    """Return how unsure a model is of each sequence, [N]: label the highest first.

    Parameters
    ----------
    X : Columns, rows, items, Dataset or Batch
        As in `dataset`.
    method : str
        "least-confidence", "margin", "entropy", "nbest-entropy", "token-entropy" or "density": the table
        of this module.
    k : int
        Labelings of "nbest-entropy".
    threads : int, optional
        Default: all cores.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
    >>> sure, unsure = uncertainty(model, [[["the"], ["dog"]], [["new"], ["words"]]])
    >>> bool(sure < unsure)
    True
    """
    _ = model.predict_proba  # absent, and says why, where there are no probabilities
    check_choice("method", method, get_args(Uncertainty))
    check_number("k", k, whole=True)
    if k < 2:
        raise ValueError(f"k is {k}, expected 2 or more")
    if method not in ("least-confidence", "token-entropy"):
        model.check_labelings(f"uncertainty by {method}")
    batch = model.batch_of(X, threads=threads)
    found = [np.zeros(0)]
    before = 0
    cells = model.share_cells if method == "token-entropy" else 1
    for part, potentials in model.parts(batch, threads=threads, cells=cells):
        with counted_from(before):
            found.append(_of_part(model, potentials, method, k, threads))
        before += part.sequences
    unsure: Floats = np.concatenate(found)
    return unsure * density(batch) if method == "density" else unsure


def _of_part(model: SequenceModel, potentials: Any, method: str, k: int, threads: int | None) -> Floats:
    if method in ("entropy", "density"):
        entropy: Floats = np.atleast_1d(inference.entropy(potentials, threads=threads))
        return entropy
    if method == "token-entropy":
        shares = model.label_shares(potentials, threads)  # [P, L]
        lengths = np.maximum(np.diff(potentials.seq_ptr), 1)
        return np.asarray(sum_by_sequence(_entropy(shares), potentials.seq_ptr) / lengths)
    total = np.atleast_1d(inference.log_partition(potentials, threads=threads))  # [N]
    if method == "least-confidence":
        best = np.array([one.score for one in decoded(potentials, threads, model.states, model.decision)])
        return np.asarray(1.0 - np.exp(np.minimum(best - total, 0.0)))
    most = 2 if method == "margin" else k
    scores = np.full((len(total), most), -np.inf)  # [N, k]
    for n, several in enumerate(kbest_of(model, potentials, most, threads)):
        scores[n, : len(several)] = [one.score for one in several]
    p = np.exp(np.minimum(scores - total[:, None], 0.0))  # above 0: by rounding, of scores beyond 1e16
    if method == "margin":
        return np.asarray(1.0 - (p[:, 0] - p[:, 1]))
    tiny = np.flatnonzero(p[:, 0] == 0.0)  # the shares of the k labelings follow from their differences
    p[tiny] = np.exp(scores[tiny] - scores[tiny, :1])
    return _entropy(p / p.sum(axis=1, keepdims=True))


def _entropy(p: Floats) -> Floats:
    """Return the entropy of each row in nats."""
    return np.asarray(-np.sum(p * np.log(np.where(p > 0.0, p, 1.0)), axis=1))


def density(batch: Batch) -> Floats:
    """Return the mean cosine similarity of each sequence to all sequences, by sums of attributes: [N].

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 1, 2, 3], attr_ptr=[0, 1, 2, 3], attr=[0, 0, 1])
    >>> density(batch).round(3).tolist()
    [0.667, 0.667, 0.333]
    """
    from scipy.sparse import csr_array

    if not len(batch.attr):
        return np.zeros(batch.sequences)
    value = np.ones(len(batch.attr)) if batch.value is None else np.asarray(batch.value, dtype=np.float64)
    shape = (batch.sequences, int(batch.attr.max()) + 1)
    counts = csr_array((value, batch.attr, batch.attr_ptr[batch.seq_ptr]), shape=shape)
    counts.sum_duplicates()
    norm = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())  # [N]
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0.0)
    mean = counts.T @ scale / batch.sequences  # [A] of vectors of length 1
    similar: Floats = (counts @ mean) * scale
    return similar
