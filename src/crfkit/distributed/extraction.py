"""Files to blocks on a shared disk, read and written by workers: the same bytes as from one machine.

Two rounds. First each worker reads a file and returns its names, in order of first appearance; they are
merged in the order of the files, which gives every name the number that it has where one process reads them
all. Then the files are read once more, and their blocks written with these numbers. A worker keeps nothing
in between.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.arrays import Ids
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import ALPHABETS, Dataset, ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.data.locks import locked_folder, make_folder
from crfkit.data.reading import stream
from crfkit.distributed.connection import check_machines, check_seen, connected
from crfkit.distributed.waiting import in_order
from crfkit.features import Extractor, Recipe
from crfkit.features.stock_recipes import columns_read, default_recipe, label_of
from crfkit.training.blocks.stored import Written, block_path, write_block
from crfkit.training.blocks.stream import INDEX, BlockedData, check_columns, index_of
from crfkit.training.runs.tree import write_tree

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["FileParts", "expanded", "opened", "write_blocks", "write_parts"]

#: Yields the data sets of a file, which share alphabets of their own; it can be pickled.
Parts = Callable[[str], Iterator[Dataset]]


def write_blocks(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    cluster: Any,
    recipe: Recipe | None = None,
    label: str | int | None = None,
    hashed: int | None = None,
    block_positions: int = 100_000,
    **reading: Any,
) -> BlockedData:
    r"""Make attributes of files on the workers of a cluster, and write them as blocks.

    Parameters
    ----------
    paths : path, or sequence of paths
        Files that all workers can read, patterns such as ``"part-*.parquet"``, and URLs of fsspec such as
        ``"s3://corpus/part-*.txt.gz"``. A file is the work of one worker; several files keep them all busy.
    folder : path
        On a disk that all machines mount under this path. It must not hold blocks yet.
    cluster : distributed.Client, a cluster of Dask, "tcp://HOST:PORT" or "local"
    recipe : Recipe, optional
        What to make of columns; default: the stock recipe. Files with attributes need none.
    label : str or int, optional
        The column of the label, by name or place; default: as in `crfkit.read`.
    hashed : int, optional
        Hash attribute names to this many ids: where there are too many names for one machine.
    block_positions : int
        Positions of a block, which one worker holds as a whole while it trains.
    **reading
        Options of `crfkit.read`.

    Examples
    --------
    >>> import tempfile
    >>> from distributed import Client
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     Client(processes=False, dashboard_address=":0") as client,
    ... ):
    ...     for n, word in enumerate(["dog", "cat"]):
    ...         _ = Path(folder, f"part-{n}.txt").write_text(f"the D\n{word} N\n\n")
    ...     data = write_blocks(f"{folder}/part-*.txt", f"{folder}/blocks", cluster=client)
    ...     print(len(data), data.blocks, data.labels.strings())
    2 2 ['D', 'N']
    """
    check_number("block_positions", block_positions, 1, whole=True)
    parts = FileParts(block_positions, recipe, label, hashed, reading)
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    with connected(cluster) as client:
        return write_parts(client, expanded(given), folder, parts)


def expanded(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the files that paths, patterns and URLs stand for, absolute, those of a pattern in order.

    Examples
    --------
    >>> expanded(["/no/such/part-*"])
    Traceback (most recent call last):
    ValueError: no file is like /no/such/part-*
    """
    made: list[str] = []
    for given in paths:
        path = os.fspath(given)
        if "://" in path:
            from fsspec.core import url_to_fs

            system, inside = url_to_fs(path)
            found = sorted(system.unstrip_protocol(one) for one in system.glob(inside))
        elif os.path.exists(path):
            found = [os.path.abspath(path)]
        else:
            found = sorted(os.path.abspath(one) for one in glob(path))
        if not found:
            raise ValueError(f"no file is like {path}")
        made += found
    return made


def opened(path: str) -> Any:
    """Return what `crfkit.read` takes for a path or a URL."""
    if "://" not in path:
        return path
    from fsspec import open as open_url

    return open_url(path, "rb").open()


@dataclass(frozen=True)
class FileParts:
    """Reads a file in chunks, and makes attributes of columns."""

    positions: int
    recipe: Recipe | None = None
    label: str | int | None = None
    hashed: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, path: str) -> Iterator[Dataset]:
        """Yield the data sets of a file."""
        extract: Extractor | None = None
        for chunk in stream(opened(path), chunk_positions=self.positions, **self.reading):
            if not isinstance(chunk, Columns):
                yield chunk
                continue
            if extract is None:
                label = label_of(chunk, self.label)
                columns = columns_read(chunk, chunk.place(label))
                extract = Extractor(self.recipe or default_recipe(columns, False, {}), label, self.hashed)
            yield extract(chunk, 1)


class _Found(NamedTuple):
    """What the first round finds in a file."""

    names: dict[str, Alphabet]
    blocks: int
    made_by: ExtractorSpec | None


def _found(parts: Parts, path: str) -> _Found:
    last: Dataset | None = None
    blocks = 0
    for last in parts(path):
        blocks += bool(last.batch.positions)
    if last is None:
        raise ValueError(f"{path} holds no sequence; leave it out")
    return _Found({name: getattr(last, name).freeze() for name in ALPHABETS.values()}, blocks, last.extractor)


def _written(
    parts: Parts, path: str, folder: Path, first: int, maps: Mapping[str, Ids], labels: int
) -> list[Written]:
    """Write the blocks of a file with the numbers that names have in all data."""
    made: list[Written] = []
    for part in parts(path):
        if part.batch.positions:
            batch = part.batch.renamed(**maps, label_count=labels)
            made.append(write_block(block_path(folder, first + len(made)), batch))
    return made


def write_parts(
    client: Client, paths: Sequence[str], folder: str | os.PathLike[str], parts: Parts
) -> BlockedData:
    """Write the data sets of files as blocks, and open them."""
    place = Path(folder).absolute()
    check_machines(client)
    make_folder(place)
    check_seen(client, [place, *paths])
    ahead = 2 * max(sum(client.nthreads().values()), 1)
    with locked_folder(place, "wait until it has written its blocks, or give another folder"):
        if (place / INDEX).exists():
            raise ValueError(f"{place} holds blocks already; open them, or give another folder")
        names = {name: Alphabet() for name in ALPHABETS.values()}
        jobs: list[tuple[str, int, dict[str, Ids]]] = []
        blocks, made_by = 0, None

        def look(path: str) -> Any:
            return client.submit(_found, parts, path, pure=False)

        for path, found in zip(paths, in_order(client, look, paths, "reading files", ahead), strict=True):
            made_by = found.made_by if not jobs else made_by
            _check_alike(paths[0], made_by, path, found.made_by)
            maps = {}
            for kind, name in ALPHABETS.items():
                if len(found.names[name]):
                    maps[kind] = names[name].merge(found.names[name])
            jobs.append((path, blocks, maps))
            blocks += found.blocks

        def write(job: tuple[str, int, dict[str, Ids]]) -> Any:
            path, first, maps = job
            count = len(names["labels"])
            return client.submit(_written, parts, path, place, first, maps, count, pure=False)

        written: list[Written] = []
        try:
            for some in in_order(client, write, jobs, "writing blocks", ahead):
                for one in some:
                    written.append(one)
                    check_columns(written, len(written) - 1)
            _check_seen(place, len(written))
        except BaseException:
            for i in range(blocks):
                block_path(place, i).unlink(missing_ok=True)
            raise
        if not written:
            raise ValueError("the files hold no position; training needs at least one")
        write_tree(place / INDEX, index_of(written, names, made_by))
    return BlockedData.open(place)


def _check_alike(first: str, made_by: ExtractorSpec | None, path: str, other: ExtractorSpec | None) -> None:
    """Refuse files whose attributes were made in another way than those of the first one."""
    if (made_by is None) != (other is None):
        raise ValueError(f"one of {first} and {path} has columns, the other attributes; give one kind")
    if made_by is None or other is None:
        return
    for what, a, b in (
        ("columns", made_by.width, other.width),
        ("the label in column", made_by.label_column, other.label_column),
        ("attributes", str(made_by.recipe), str(other.recipe)),
    ):
        if a != b:
            raise ValueError(f"{path} has {what} {b}, expected {a} as in {first}")


def _check_seen(folder: Path, blocks: int) -> None:
    """Refuse a folder in which this process does not find what the workers wrote."""
    lacking = [i for i in range(blocks) if not block_path(folder, i).exists()]
    if lacking:
        raise ValueError(
            f"the workers wrote {blocks} blocks, and {block_path(folder, lacking[0])} is not here; give a "
            "folder on a disk that all machines mount under this path"
        )
