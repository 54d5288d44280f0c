"""Parquet files to Parquet files with labeled spans, a file at a time; what is done is not done again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from crfkit.data.locks import make_folder
from crfkit.distributed.connection import check_machines, check_seen, connected
from crfkit.distributed.extraction import expanded, opened
from crfkit.distributed.tagging import TagPartition
from crfkit.distributed.waiting import in_order

if TYPE_CHECKING:
    from distributed import Future

__all__ = ["tag_files"]

_ROWS = 4096  # that are labeled together
_MARK = b"crfkit.model"  # in the schema of what was written: the digest of the model


def tag_files(
    tag: TagPartition,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    cluster: Any,
) -> list[Path]:
    """Add spans to Parquet files on the workers of a cluster; return the files that there are then.

    Each file is the work of one worker, is written under a temporary name, and renamed when it is whole.
    Files that are there already are left as they are, so that a run that broke is simply started again.

    Parameters
    ----------
    tag : TagPartition
    paths : path, or sequence of paths
        Files, patterns such as ``"part-*.parquet"``, and URLs of fsspec, which all workers can read.
    folder : path
        On a disk that all machines mount under this path.
    cluster : distributed.Client, a cluster of Dask, "tcp://HOST:PORT" or "local"
    """
    place = Path(folder).absolute()
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    sources = expanded(given)
    jobs = dict(zip([place / source.rpartition("/")[2] for source in sources], sources, strict=False))
    if len(jobs) < len(sources):
        raise ValueError("two files have the same name; give them one after the other, with another folder")
    make_folder(place)
    left = [(path, source) for path, source in jobs.items() if not _is_done(path, tag.digest)]
    ending = f".{uuid4().hex}.crfkit-tmp"
    with connected(cluster) as client:
        check_machines(client)
        check_seen(client, [tag.path, place, *sources])

        def submit(job: tuple[Path, str]) -> Future:
            return client.submit(_tag_file, tag, job[1], job[0], ending, pure=False)

        ahead = 2 * max(sum(client.nthreads().values()), 1)
        try:
            for _ in in_order(client, submit, left, "tagging files", ahead):
                pass
        finally:
            for path in place.glob(f".*{ending}"):  # of workers that were killed
                with suppress(OSError):
                    path.unlink()
    _check_written(place, jobs)
    return list(jobs)


def _is_done(path: Path, digest: str) -> bool:
    """Return whether a file is there; refuse one that another model has made, or something else."""
    if not path.exists():
        return False
    import pyarrow.parquet as pq

    found = (pq.read_schema(path).metadata or {}).get(_MARK)
    if found is None or found.decode() != digest:
        whose = "is not an answer of crfkit" if found is None else "was made by another model"
        raise ValueError(f"{path} is there already and {whose}; remove it, or give another folder")
    return True


def _check_written(folder: Path, paths: Iterable[Path]) -> None:
    lacking = [path for path in paths if not path.exists()]
    if lacking:
        raise ValueError(
            f"the workers wrote {lacking[0]}, which is not here; give a folder on a disk that all machines "
            "mount under this path"
        )


def _tag_file(tag: TagPartition, source: str, path: Path, ending: str) -> int:
    """Write a file with spans; return how many rows it has."""
    import pyarrow.parquet as pq

    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}{ending}")
    try:
        with pq.ParquetFile(opened(source)) as file:
            schema = tag.schema(file.schema_arrow)
            schema = schema.with_metadata({**(schema.metadata or {}), _MARK: tag.digest.encode()})
            with pq.ParquetWriter(temporary, schema) as writer:
                for batch in file.iter_batches(_ROWS):
                    made = tag(batch)
                    writer.write_batch(made.replace_schema_metadata(schema.metadata))
            rows = int(file.metadata.num_rows)
        os.replace(temporary, path)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()
    return rows
