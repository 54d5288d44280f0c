"""Queries of objectives: expected parts by slot, weighted by sequence, and the best path as flat arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crfkit.arrays import Floats
from crfkit.inference.engines import for_any_structure
from crfkit.inference.results import demand_labeling
from crfkit.native import kernels, threads_or_all
from crfkit.structures.gold import Path
from crfkit.structures.potentials import Potentials


@for_any_structure
def expected(
    potentials: Potentials, weight: ArrayLike, *, threads: int | None = None
) -> tuple[Floats, dict[str, Floats]]:
    """Return log Z of each sequence, and the expected parts by slot: the gradient of sum_n weight[n] log Z_n.

    Parameters
    ----------
    potentials
        Scores of one sequence or of a batch.
    weight : array [N]
        Factor of each sequence; 0 and less are allowed.
    threads : int, optional
        Default: all cores.

    Returns
    -------
    log_partition : array [N]
        A number for each sequence, without its weight.
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
    raw = kernels.marginals(potentials.problem, False, False, threads_or_all(threads), each)
    values: Floats = raw["value"]
    demand_labeling(values)
    return values, potentials.in_slots(potentials.shaped(raw))


@for_any_structure
def best(potentials: Potentials, *, threads: int | None = None) -> tuple[Floats, Path]:
    """Return the score of the best labeling of each sequence, and these labelings as one `Path`.

    `decode` returns the same labelings one by one.

    Examples
    --------
    >>> from crfkit import Chain, inference
    >>> scores = Chain(2).potentials([[0.0, 1.0], [0.5, 0.0], [0.0, 2.0]], seq_ptr=[0, 2, 3])
    >>> values, path = inference.best(scores)
    >>> values.tolist(), path.label.tolist()
    ([1.5, 2.0], [1, 0, 1])
    """
    values, paths, begins = kernels.best(potentials.problem, threads_or_all(threads))
    demand_labeling(values)
    begin = None if begins is None else begins[0].astype(np.bool_)
    return values, Path(potentials.seq_ptr, potentials.as_labels(paths)[0], begin)
