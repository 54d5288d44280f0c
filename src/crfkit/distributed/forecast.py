"""What training would take on a cluster: memory and traffic by block, and what share of the time counts.

    evaluation = one thread's seconds / workers + 2.7 ms * blocks + 2.2 ms * MB that the blocks show

The last two terms are the processor time of the driver and the scheduler beside it, which workers wait for at
worst (`python -m bench.cluster`: two cores of an EPYC, CoNLL-2000 in 8 blocks, and 12 times over in 12).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from crfkit.checks import check_number
from crfkit.linear.loss import LinearLoss
from crfkit.training.fit import Fit
from crfkit.training.forecast import seconds_of_evaluation

__all__ = ["ClusterForecast", "cluster_forecast"]

_BY_BLOCK: Final = 2.7e-3  # seconds of driver and scheduler
_BY_MB: Final = 2.2e-3
_BOUND: Final = 4  # bytes that a worker holds of a block, by those of the block
_EACH: Final = 2  # blocks for each worker


@dataclass(frozen=True)
class ClusterForecast:
    """What an evaluation takes on workers with one thread each; `print` shows it."""

    workers: int
    blocks: int
    block_positions: int  #: of the largest block
    held: int  #: bytes of blocks that a worker holds
    shown: int  #: bytes of weights that go out with each evaluation; as many come back
    alone: float  #: seconds of an evaluation on one thread
    driver: float  #: seconds that the driver and the scheduler add to it
    evaluation: float  #: seconds of one evaluation on the cluster

    @property
    def share(self) -> float:
        """How much of the time of the workers goes into the evaluation."""
        return self.alone / self.workers / self.evaluation

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "share": self.share}

    def __str__(self) -> str:
        mb = 2.0**20
        return "\n".join(
            [
                f"{'workers':<14}{self.workers:>16,}  with one thread each",
                f"  {'blocks':<12}{self.blocks:>16,}  of {self.block_positions:,} positions "
                f"(--block-positions {self.block_positions})",
                f"  {'held':<12}{self.held / mb:>13,.0f} MB  by each worker",
                f"  {'traffic':<12}{self.shown / mb:>13,.0f} MB  out and back, with each evaluation",
                f"  {'evaluation':<12}{self.evaluation:>14.3g} s  instead of {self.alone:.3g} s on one "
                f"thread; {self.driver:.2g} s of it on this machine",
                f"  {'share':<12}{self.share:>16.0%}  of the workers' time goes into evaluations",
            ]
        )


def cluster_forecast(fit: Fit, workers: int, blocks: int | None = None) -> ClusterForecast:
    """Return what an evaluation takes on a cluster, from data in memory.

    Parameters
    ----------
    fit : Fit
        A training whose data are in memory.
    workers : int
        With one thread each.
    blocks : int, optional
        Default: two for each worker.

    Examples
    --------
    >>> from crfkit import Chain, FeatureSelection, Likelihood, Stop
    >>> from crfkit.features import ItemExtractor
    >>> from crfkit.training.data import TrainingData
    >>> data = ItemExtractor()([[["the"], ["dog"]]] * 8, [["D", "N"]] * 8)
    >>> parts = (Chain(["D", "N"]), Likelihood(), FeatureSelection(), "lbfgs", Stop())
    >>> found = cluster_forecast(Fit(TrainingData(data, 1), *parts), workers=2)
    >>> found.blocks, found.block_positions, found.shown  # 4 blocks show 2 + 4 weights each
    (4, 4, 192)
    """
    check_number("workers", workers, 1, whole=True)
    problem = fit.problem
    assert isinstance(problem, LinearLoss)
    batch, layout = problem.batch, problem.layout
    count = min(workers * _EACH if blocks is None else blocks, batch.sequences)
    ends = np.searchsorted(batch.seq_ptr, np.linspace(0, batch.positions, count + 1)[1:])
    weights = np.diff(layout.node_ptr)  # [A]
    others = layout.weights - len(layout.node_label)
    shown, largest, begin = 0, 0, 0
    for end in np.unique(ends).tolist():
        if end == begin:
            continue
        a, b = (int(batch.seq_ptr[n]) for n in (begin, end))
        ids = np.unique(batch.attr[int(batch.attr_ptr[a]) : int(batch.attr_ptr[b])])
        shown += 8 * (int(weights[ids[ids < len(weights)]].sum()) + others)
        largest, begin = max(largest, b - a), end
    bytes_each = sum(array.nbytes for array in vars(batch).values() if isinstance(array, np.ndarray))
    held = _BOUND * bytes_each + 8 * batch.positions * layout.labels
    alone = seconds_of_evaluation(_on_one_thread(problem))
    driver = _BY_BLOCK * count + _BY_MB * shown / 1e6
    each = alone / workers + driver
    return ClusterForecast(workers, count, largest, held // workers, shown, alone, driver, each)


def _on_one_thread(problem: LinearLoss) -> LinearLoss:
    return LinearLoss(problem.objective, problem.structure, problem.layout, problem.batch, threads=1)
