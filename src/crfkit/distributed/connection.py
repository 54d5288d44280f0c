"""Reaching a cluster, and refusing one whose machines would not compute the same."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit import _native
from crfkit.native import kernels
from crfkit.training.blocks.stored import StoredBlock
from crfkit.training.runs.checkpoint import digest

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Machine", "check_folder", "check_machines", "check_seen", "connected", "reachable"]

_SECONDS = 10.0  # until a scheduler must have answered


class Machine(NamedTuple):
    """What decides the bits that a machine computes."""

    version: str
    simd: str

    @classmethod
    def here(cls) -> Machine:
        """Return this machine."""
        return cls(_native.__version__, kernels.name)

    def refused(self, other: Machine) -> str:
        """Return why a machine like `other` cannot take part, and what to do; empty where it can."""
        if other.version != self.version:
            return f"has crfkit {other.version}, and this process {self.version}; install the same everywhere"
        if other.simd == self.simd:
            return ""
        levels = ("baseline", "avx2", "avx512")
        known = [name for name in levels if name in (self.simd, other.simd)]
        return (
            f"computes with {other.simd}, and this process with {self.simd}, whose last digits differ; set "
            f"CRFKIT_SIMD={known[0] if known else 'baseline'} for this process and for all workers"
        )


@contextmanager
def connected(cluster: Any) -> Iterator[Client]:
    """Connect to a cluster; what was made here is closed again.

    Parameters
    ----------
    cluster : distributed.Client, a cluster of Dask, "tcp://HOST:PORT" or "local"
        "local" starts a process for each core of this machine, with one thread.

    Examples
    --------
    >>> with connected("host:8786"):
    ...     pass
    Traceback (most recent call last):
    ValueError: cluster is 'host:8786', expected the address of a scheduler such as tcp://host:8786, or local
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError("a cluster needs Dask: pip install 'crfkit[dask]'") from error
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    if isinstance(cluster, str) and cluster != "local":
        if "://" not in cluster:
            raise ValueError(
                f"cluster is {cluster!r}, expected the address of a scheduler such as tcp://host:8786, or "
                "local"
            )
        try:
            client = distributed.Client(cluster, timeout=_SECONDS, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise ConnectionError(
                f"no scheduler of Dask answers at {cluster} ({error}); start one with `dask scheduler`, and "
                f"workers with `dask worker {cluster}`"
            ) from None
        with client:
            yield client
        return
    if isinstance(cluster, str):
        with deaf_children():
            made = distributed.LocalCluster(threads_per_worker=1, processes=True, dashboard_address=":0")
        with made, distributed.Client(made, set_as_default=False) as client:
            client.run(_end_quietly)
            yield client
        return
    if not hasattr(cluster, "scheduler_address"):
        raise TypeError(
            f"cluster is a {type(cluster).__name__}, expected a distributed.Client, a cluster of Dask, an "
            "address such as tcp://host:8786, or 'local'"
        )
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


@contextmanager
def deaf_children() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started within, or by threads that are: it is ours to end them.

    A terminal sends SIGINT to all processes of a command, and each worker would print where it was. A blocked
    signal stays blocked in what a thread starts. Here it is heard at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would unblock it for the thread that starts the first process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_quietly() -> None:
    """Let a worker that is closed say nothing of what it was at: errors of tasks are raised by the client."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("distributed.worker.state_machine").setLevel(logging.CRITICAL)
    logging.getLogger("distributed.worker.memory").setLevel(logging.WARNING)


def check_machines(client: Client) -> None:
    """Refuse workers with other versions or instruction sets, and a cluster without workers."""
    found: Mapping[str, Machine] = client.run(Machine.here)
    if not found:
        raise ValueError("the cluster has no worker; start some with `dask worker ADDRESS`")
    mine = Machine.here()
    for address, machine in found.items():
        why = mine.refused(Machine(*machine))
        if why:
            raise ValueError(f"worker {address} {why}")


def check_seen(client: Client, paths: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse workers that do not see files or folders which are here."""
    here = [os.fspath(path) for path in paths if os.path.exists(path)]
    for address, lacking in client.run(_unseen, here).items():
        if lacking is not None:
            raise ValueError(
                f"worker {address} does not see {lacking}; put it on a disk that all machines mount under "
                "this path"
            )


def _unseen(paths: Iterable[str]) -> str | None:
    return next((path for path in paths if not os.path.exists(path)), None)


def check_folder(client: Client, folder: Path, first: StoredBlock) -> None:
    """Refuse workers that do not see the folder of the blocks, or see another one in its place."""
    expected = digest([first.read()])
    for address, found in client.run(_digest_of, first).items():
        if found != expected:
            what = "has other blocks in" if len(found) == len(expected) else f"cannot read ({found})"
            raise ValueError(
                f"worker {address} {what} {folder.absolute()}; put the blocks on a disk that all machines "
                "mount under this path"
            )


def _digest_of(block: StoredBlock) -> str:
    try:
        return digest([block.read()])
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def reachable(client: Client) -> bool:
    """Return whether results may be fetched from the workers, instead of through the scheduler."""
    for address in client.scheduler_info(n_workers=-1)["workers"]:
        _, _, place = address.partition("://")
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=1.0).close()
        except (OSError, ValueError):
            return False
    return True
