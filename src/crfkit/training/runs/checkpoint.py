"""Checkpoints: where a run is, in one file that is whole at every moment; a resumed run gives the same bits.

It is written under a temporary name in its folder, flushed to the disk and renamed (`crfkit.data.sink`), and
knows which data and options it belongs to: its fingerprint, short strings that are equal when these are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from crfkit._safe.fields import Fields
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.locks import locked_folder, make_folder
from crfkit.errors import warn_about
from crfkit.linear.layout import Layout
from crfkit.linear.plan import Block
from crfkit.training.events import Checkpointed, Event, Unsaved
from crfkit.training.runs.tree import read_tree, write_tree
from crfkit.training.stop import RunRecord

FORMAT = 2


@dataclass(frozen=True)
class Checkpoints:
    """Where checkpoints go, and how often.

    Parameters
    ----------
    folder : path
        Made where it does not exist. It holds one checkpoint, the latest. One run at a time can use it.
    seconds : float, optional
        Write after a step when the last checkpoint is so old; None: time does not matter.
    iterations : int, optional
        Steps between checkpoints.

    Examples
    --------
    >>> Checkpoints("run", iterations=10)
    Checkpoints(folder='run', seconds=60.0, iterations=10)
    """

    folder: str | os.PathLike[str]
    seconds: float | None = 60.0
    iterations: int | None = None

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Checkpoints | None) -> Checkpoints | None:
        """Return checkpoints in a folder, or those given; checked."""
        if isinstance(given, str | os.PathLike):
            return cls(given)
        if given is not None and not isinstance(given, cls):
            raise TypeError(f"checkpoint is {given!r}, expected a folder or Checkpoints(...)")
        return given

    def __post_init__(self) -> None:
        if self.iterations is not None and self.iterations < 1:
            raise ValueError(f"iterations is {self.iterations}, expected 1 or more")
        if self.seconds is not None and not self.seconds >= 0.0:
            raise ValueError(f"seconds is {self.seconds}, expected 0 or more")

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.folder) / "checkpoint.safetensors"

    def due(self, iteration: int, saved_at: float) -> bool:
        """Return whether a checkpoint is due; `last` is when the one before was written."""
        by_count = self.iterations is not None and iteration % self.iterations == 0
        return by_count or (self.seconds is not None and time.monotonic() - saved_at >= self.seconds)

    @contextmanager
    def held(self) -> Iterator[Checkpoints]:
        """Make the folder, before hours of work and not after, and keep other runs out of it.

        Training with the checkpoints that are yielded does not lock the folder again.
        """
        folder = Path(self.folder)
        new = not folder.exists()
        make_folder(folder)
        try:
            with locked_folder(folder, "wait until it ends, or give each run a folder of its own"):
                yield _Held(self.folder, self.seconds, self.iterations)
        finally:
            if new:
                with suppress(OSError):  # there is a checkpoint in it
                    folder.rmdir()

    def load(self, fingerprint: Mapping[str, str]) -> Fields | None:
        """Return what was saved for these data and options; None when there is nothing.

        Raises
        ------
        ValueError
            The checkpoint is damaged, or belongs to another run; the message says what is wrong.
        """
        if not self.path.exists():
            return None
        tree = read_tree(self.path)
        kind = tree.get("format")
        if type(kind) is not int or kind != FORMAT:
            raise ValueError(
                f"{self.path} is not a checkpoint that this version of crfkit can read; remove it"
            )
        marks = tree.part("fingerprint")
        theirs = {name: marks.text(name) for name in marks}
        names = [name for name in {**theirs, **fingerprint} if theirs.get(name) != fingerprint.get(name)]
        if names:
            differs = "; ".join(_difference(n, theirs.get(n), fingerprint.get(n)) for n in names)
            raise ValueError(
                f"{self.path} belongs to another run: {differs}. Remove it to begin anew, or give another "
                "folder"
            )
        return tree

    def save(self, fingerprint: Mapping[str, str], tree: Mapping[str, Any]) -> None:
        """Write a checkpoint in place of the last one."""
        make_folder(Path(self.folder))
        write_tree(self.path, {"format": FORMAT, "fingerprint": dict(fingerprint), **tree})


class _Held(Checkpoints):
    """Checkpoints whose folder, or a folder around it, is locked by the caller."""

    @contextmanager
    def held(self) -> Iterator[Checkpoints]:
        """Go on: the folder is held."""
        yield self


def within(given: str | os.PathLike[str] | Checkpoints | None, name: str) -> Checkpoints | None:
    """Return checkpoints in a folder of this name inside that of others; None where there are none.

    Examples
    --------
    >>> within("run", "start-1")
    Checkpoints(folder='run/start-1', seconds=60.0, iterations=None)
    """
    keep = Checkpoints.of(given)
    return None if keep is None else replace(keep, folder=os.path.join(os.fspath(keep.folder), name))


@contextmanager
def held_checkpoints(given: str | os.PathLike[str] | Checkpoints | None) -> Iterator[Checkpoints | None]:
    """Hold a folder of checkpoints, or nothing where none is given; see `Checkpoints.held`.

    Examples
    --------
    >>> with held_checkpoints(None) as keep:
    ...     print(keep)
    None
    """
    keep = Checkpoints.of(given)
    if keep is None:
        yield None
    else:
        with keep.held() as held:
            yield held


class Saver:
    """Writes checkpoints when they are due; one that cannot be written does not end training.

    Parameters
    ----------
    keep : Checkpoints
    fingerprint : mapping
    record : RunRecord
        Says which iteration it is; the current one has a checkpoint, or is the first.
    snapshot : function
        Returns all that a run needs to go on.
    tell : function of an event
    notes : list of str
        A failure is noted here once, for the summary.
    """

    def __init__(
        self,
        keep: Checkpoints,
        fingerprint: Mapping[str, str],
        record: RunRecord,
        snapshot: Callable[[], dict[str, Any]],
        tell: Callable[[Event], None],
        notes: list[str],
    ) -> None:
        self.keep, self.fingerprint, self.record, self.snapshot = keep, fingerprint, record, snapshot
        self.saved, self.at, self.tell, self.notes = record.iteration, time.monotonic(), tell, notes

    def __call__(self, last: bool) -> None:
        """Write a checkpoint if one is due or the run ends."""
        keep, iteration = self.keep, self.record.iteration
        if iteration == self.saved or not (last or keep.due(iteration, self.at)):
            return
        began = time.monotonic()
        try:
            keep.save(self.fingerprint, self.snapshot())
        except OSError as error:
            self._failed(iteration, error.strerror or str(error))
        except (ValueError, MemoryError) as error:  # the state is too large to be written
            self._failed(iteration, str(error) or "there is not enough memory")
        else:
            self.saved = iteration
            self.tell(Checkpointed(str(keep.path), iteration, time.monotonic() - began))
        self.at = time.monotonic()

    def _failed(self, iteration: int, why: str) -> None:
        self.tell(Unsaved(str(self.keep.path), iteration, why))
        note = f"checkpoints could not be written to {self.keep.path}: {why}"
        if note not in self.notes:
            self.notes.append(note)
            warn_about(f"{note}; training goes on, and the checkpoint before, if any, is still whole")


def _difference(name: str, there: str | None, here: str | None) -> str:
    long = max(len(str(there)), len(str(here))) > 200
    if long or name in ("data", "dev", "start"):
        return f"other {name}"
    return f"{name} is {there} there and {here} here"


def digest(parts: Iterable[Any]) -> str:
    """Return a hash of arrays, strings, alphabets, batches and layouts, in this order.

    Examples
    --------
    >>> digest(["a", "b"]) == digest(["ab"])
    False
    """
    hash = blake2b(digest_size=16)
    for part in parts:
        _feed(hash, part)
    return hash.hexdigest()


def _feed(hash: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        hash.update(f"{part.dtype.str}{part.shape}".encode())
        hash.update(np.ascontiguousarray(part).view(np.uint8).reshape(-1).data if part.size else b"")
    elif isinstance(part, Alphabet):
        for array in part.arrays()[:2]:
            _feed(hash, np.asarray(array))
    elif isinstance(part, tuple):
        for member in part:
            _feed(hash, member)
    elif isinstance(part, Batch | Layout | Block | Dataset):
        for f in fields(part):
            if f.name == "extractor":  # the data say what it made of them
                continue
            hash.update(f.name.encode())
            _feed(hash, getattr(part, f.name))
    else:
        text = repr(part).encode()
        hash.update(len(text).to_bytes(8, "little") + text)


def described(options: Any) -> str:
    """Return options as text, without what has no influence: threads, and addresses of objects."""
    if is_dataclass(options) and any(f.name == "threads" for f in fields(options)):
        options = replace(options, threads=None)  # type: ignore[type-var]
    text = repr(options)
    if " at 0x" not in text:
        return text
    return f"{type(options).__qualname__}({sorted(getattr(options, '__dict__', {}).items())})"


def fingerprint_of(data: Any) -> str:
    """Return the hash of a data set; data in blocks know theirs."""
    known = getattr(data, "fingerprint", None)
    return known if isinstance(known, str) else digest([data])
