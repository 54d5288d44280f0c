"""What objectives ask for: expected parts by slot, weighted by sequence, and the best path as flat arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats
from crfkit.inference.results import demand_labelling
from crfkit.native import kernels, threads_or_all
from crfkit.structures.gold import Path
from crfkit.structures.potentials import Potentials

__all__ = ["best", "expected"]


def expected(
    potentials: Potentials, weight: ArrayLike, *, threads: int | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Return log Z of each sequence, and the expected parts by slot: the gradient of sum_n weight[n] log Z_n.

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    weight : array [N]
        What each sequence counts by; 0 and less are allowed.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    log_partition : array [N]
        Of each sequence, without its weight.
    slots : dict of arrays
        The marginals in the shapes of ``potentials.scores()``, those of sequence n times ``weight[n]``. The
        caller may change these arrays.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> log_z, slots = inference.expected(Chain(2).potentials([[0.0, 0.0]] * 3), [0.5])
    >>> log_z.round(4).tolist(), slots["node"].tolist()[0], slots["transition"].round(4).tolist()
    ([2.0794], [0.25, 0.25], [0.25, 0.25, 0.25, 0.25])
    """
    each, N = np.asarray(weight, dtype=np.float64), len(potentials.seq_ptr) - 1
    if each.shape != (N,):
        raise ValueError(f"weight has shape {each.shape}, expected one number per sequence: ({N},)")
    log_partition, slots = _marginals(potentials, threads)
    if (each[1:] != each[:-1]).any():
        return log_partition, _sequence_by_sequence(potentials, each, slots)
    for array in slots.values() if N and each[0] != 1.0 else ():
        array *= each[0]
    return log_partition, slots


def _marginals(potentials: Potentials, threads: int | None) -> tuple[Floats, dict[str, Floats]]:
    raw = kernels.marginals(potentials.problem, False, False, threads_or_all(threads))
    values: Floats = raw["value"]
    demand_labelling(values)
    return values, potentials.in_slots(potentials.shaped(raw))


def _sequence_by_sequence(
    potentials: Potentials, weight: Floats, whole: dict[str, Floats]
) -> dict[str, Floats]:
    """Sweep each sequence on its own: parts that sequences share have no marginals of one sequence."""
    parts = [_marginals(potentials.sequence(n), 1)[1] for n in range(len(weight))]
    slots = {}
    for slot, array in whole.items():
        pieces = [factor * part[slot] for factor, part in zip(weight, parts, strict=True)]
        by_position = sum(map(len, pieces)) == len(array)  # otherwise all sequences share the cells
        slots[slot] = np.concatenate(pieces) if by_position else np.sum(pieces, axis=0)
    return slots


def best(potentials: Potentials, *, threads: int | None = None) -> tuple[Floats, Path]:
    """Return the score of the best labelling of each sequence, and these labellings as one `Path`.

    `decode` returns the same labellings one by one.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0], [0.0, 2.0]], seq_ptr=[0, 2, 3])
    >>> values, path = inference.best(scores)
    >>> values.tolist(), path.label.tolist()
    ([1.5, 2.0], [1, 0, 1])
    """
    values, paths, begins = kernels.best(potentials.problem, threads_or_all(threads))
    demand_labelling(values)
    begin = None if begins is None else begins[0].astype(np.bool_)
    return values, Path(potentials.seq_ptr, potentials.as_labels(paths)[0], begin)
