"""Training data whose blocks are read by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from crfkit.data.batch import Batch
from crfkit.distributed.connection import check_folder, check_machines, connected
from crfkit.distributed.problem import ClusterProblem
from crfkit.distributed.tasks import called, gold_alone
from crfkit.distributed.waiting import in_order
from crfkit.linear.layout import Layout
from crfkit.training.blocks.problem import SummedProblem
from crfkit.training.blocks.shard import Binding
from crfkit.training.blocks.stream import BlockedData
from crfkit.training.data import TrainingData

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["ClusterBatches", "ClusterData", "data_on"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ClusterBatches:
    """The blocks, for `crfkit.data.batch.each`: functions go to the workers."""

    data: BlockedData
    client: Client

    def each(self, function: Callable[..., T], *others: Iterable[Any]) -> Iterator[T]:
        """Return what a function returns for each block, in order."""

        def submit(given: tuple[Any, ...]) -> Future:
            return self.client.submit(called, given[0], function, *given[1:], pure=False)

        blocks = map(self.data.stored, range(self.data.blocks))
        ahead = 4 * max(sum(self.client.nthreads().values()), 1)
        return in_order(self.client, submit, zip(blocks, *others, strict=True), "reading the blocks", ahead)

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches without their attributes."""
        return self.each(gold_alone)


class ClusterData(TrainingData):
    """Training data in blocks that the workers of a cluster read, and that this process need not read.

    Parameters
    ----------
    data : BlockedData
        In a folder that all machines see.
    client : distributed.Client
    threads : int, optional
        For the dev set, in this process.
    """

    def __init__(self, data: BlockedData, client: Client, threads: int | None) -> None:
        super().__init__(data, threads)
        self.client = client
        check_machines(client)
        check_folder(client, data.folder, data.stored(0))

    @property
    def batches(self) -> ClusterBatches:
        """The data, block by block."""
        assert isinstance(self.data, BlockedData)
        return ClusterBatches(self.data, self.client)

    def summed(self, data: BlockedData, layout: Layout, bind: Binding) -> SummedProblem:
        """Return the loss of the blocks, each in the memory of a worker."""
        return ClusterProblem(self.client, data, layout, bind)


@contextmanager
def data_on(cluster: Any) -> Iterator[Callable[[BlockedData, int | None], ClusterData]]:
    """Connect to a cluster; the value makes training data of blocks."""
    with connected(cluster) as client:
        import dask

        # Dask would warn that weights are large and should stay where they are; they are new each time.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            yield lambda data, threads: ClusterData(data, client, threads)
