"""What an experiment is given, what it must say, and what it measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import crfkit
from crfkit.data.formats.columns import Columns
from crfkit.papers.page import Page
from crfkit.papers.results import Reading, Result

__all__ = ["Experiment", "Given", "Keyed", "Quantity", "Reading"]

Key = TypeVar("Key", bound=tuple[Any, ...])


@dataclass(frozen=True)
class Given:
    """What was asked for on the command line.

    Examples
    --------
    >>> Given().file("usaddress/labeled_train.txt")
    Traceback (most recent call last):
    ...
    ValueError: usaddress/labeled_train.txt is missing; name the folder of the data with --data FOLDER or \
CRFKIT_DATA, or give --quick, which makes data of its own
    """

    data: Path | None = None  #: the folder of corpora
    quick: bool = False  #: generated data, in seconds
    threads: int | None = None

    def file(self, path: str) -> Path:
        """Return a file of the data folder, or say which one is missing where."""
        if self.data is None:
            raise ValueError(
                f"{path} is missing; name the folder of the data with --data FOLDER or CRFKIT_DATA, or give "
                "--quick, which makes data of its own"
            )
        found = self.data / path
        if not found.is_file():
            raise ValueError(
                f"the data folder {self.data} has no file {path}; name another folder with --data, or give "
                "--quick, which makes data of its own"
            )
        return found

    def columns(self, path: str, names: Sequence[str]) -> Columns:
        """Return a corpus of columns of the data folder."""
        found = crfkit.read(self.file(path), "columns", columns=[*names])
        assert isinstance(found, Columns)
        return found


@dataclass(frozen=True)
class Quantity:
    """One number of a paper, or one that belongs beside it."""

    name: str  #: unique within the experiment, such as "Table 1: city, CRF/4, no dictionary"
    paper: float | None  #: the number of the paper, where it has one
    data: str  #: what it is measured on here


class Experiment(Protocol):
    """Quantities of a paper, and how to measure them.

    A module of this package has a function ``make(given: Given) -> Experiment``; see
    `crfkit.papers.semi_ner`.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the numbers depend on, as JSON: results with other settings are not continued."""
        ...

    @property
    def runs(self) -> int:
        """How many runs the paper made."""
        ...

    def quantities(self) -> Sequence[Quantity]:
        """Return what is measured, in the order in which it is measured."""
        ...

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return the quantity in one run, with its curves where it has some.

        The seed decides all that is random.
        """
        ...

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, figures and claims that follow from results by the names of quantities."""
        ...


class Keyed(Generic[Key]):
    """What experiments share whose quantities have keys, such as (task, learner, measure)."""

    tasks: Sequence[Any]  #: each with a name, and about: what its data are

    def quantities(self) -> list[Quantity]:
        """Return what is measured, in the order in which it is measured."""
        return [Quantity(name, self._paper(key), self._about(key)) for name, key in self._keys().items()]

    def _keys(self) -> Mapping[str, Key]:
        """Return the key of each quantity by its name."""
        raise NotImplementedError

    def _about(self, key: Key) -> str:
        """Return what a quantity is measured on."""
        return str(self._task(key[0]).about)

    def _paper(self, key: Key) -> float | None:
        """Return the number of the paper, where it has one."""
        return None

    def _task(self, name: str) -> Any:
        return next(task for task in self.tasks if task.name == name)

    def _known(self, found: Mapping[str, Result]) -> dict[Key, Result]:
        """Return the results that are there by their keys."""
        return {key: found[name] for name, key in self._keys().items() if name in found}
