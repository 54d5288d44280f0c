"""The trainer of python-crfsuite: data in, parameters, a log with hooks, a model file out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.compat.pycrfsuite._items import ItemSequence, growing_rows
from crfkit.compat.pycrfsuite._learning import Example, Learning
from crfkit.compat.pycrfsuite._logparser import TrainLogParser
from crfkit.compat.pycrfsuite._params import Parameters, algorithm_of
from crfkit.data.alphabet import Alphabet

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "Trainer"]

#: The version of CRFsuite whose behavior is followed.
CRFSUITE_VERSION = "0.12.2"


class CRFSuiteError(Exception):
    """CRFsuite's errors by code, for programs that catch them; crfkit itself raises other errors."""

    _messages = {  # noqa: RUF012 - as in the original
        -2147483648: "Unknown error occurred",
        -2147483647: "Insufficient memory",
        -2147483646: "Unsupported operation",
        -2147483645: "Incompatible data",
        -2147483644: "Internal error",
        -2147483643: "Overflow",
        -2147483642: "Not implemented",
    }

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    def __str__(self) -> str:
        return f"{self._messages.get(self.code, 'Unexpected error')} (code {self.code})"


class BaseTrainer:
    """A trainer that gives its log to `message`, line by line.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        Default: lbfgs. Long names (averaged-perceptron, passive-aggressive) are the same.
    params : dict, optional
        See `set_params`.
    verbose : bool
        Print the log.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Set up here, not in __init__: subclasses may have one of their own that does not call it."""
        made = super().__new__(cls)
        made.verbose = True
        made._params = Parameters("lbfgs")
        made._fresh = True  # no data yet, and none dropped
        made._forget()
        return made

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        self.verbose = verbose
        self._params: Parameters
        self._fresh: bool
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)

    def _forget(self) -> None:
        self._labels, self._attributes = Alphabet(), Alphabet()
        self._groups: list[tuple[int, Example]] = []

    def message(self, message: str) -> None:
        """Take a piece of the log."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Iterable[Any] | ItemSequence, yseq: Iterable[str | bytes], group: int = 0) -> None:
        """Add a sequence of items with its labels; the group is for `train`'s holdout."""
        names = [_text(label) for label in yseq]
        rows = growing_rows(xseq, self._attributes)
        T = len(rows[0]) - 1
        if len(names) != T:
            raise ValueError(f"The numbers of items and labels differ: |x| = {T}, |y| = {len(names)}")
        label = self._labels.ids(names) if names else np.zeros(0, dtype=np.int32)
        self._groups.append((int(group), Example(rows, label)))

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm, with its default parameters."""
        self._params = Parameters(algorithm_of(algorithm, type))

    def train(self, model: str | bytes, holdout: int = -1) -> None:
        """Train, and write the model to a file (none for an empty name).

        Parameters
        ----------
        model : str or bytes
            Where the model goes.
        holdout : int
            The group that the model is tested with after each iteration, and does not learn from.
        """
        if not isinstance(model, str | bytes):
            raise TypeError(f"expected str or bytes, {type(model).__name__} found")
        path = os.fsdecode(model)
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            raise FileNotFoundError(
                f"the folder {folder!r} of the model {path!r} does not exist; make it first"
            )
        if not self._groups and not self._fresh:
            raise ValueError("The data is empty. Call Trainer::append before Trainer::train.")
        self._before_train()
        if holdout >= 0:
            self.message(f"Holdout group: {holdout + 1}\n")
            self.message("\n")
        learning = Learning(
            [example for group, example in self._groups if group != holdout],
            [example for group, example in self._groups if group == holdout],
            self._labels,
            self._attributes,
            self._params,
            self.message,
        )
        learning.run(path)

    def params(self) -> list[str]:
        """Return the names of the parameters of the algorithm."""
        return list(self._params.known)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters from a dict."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters and their values."""
        return dict(self._params.values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        self._params.set(_text(name), value)

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self._params.get(_text(name))

    def help(self, name: str) -> str:
        """Return what a parameter is for."""
        return self._params.help(_text(name))

    def clear(self) -> None:
        """Drop the data."""
        self._forget()
        self._fresh = False

    def _before_train(self) -> None:
        """Prepare for a log."""


def _text(given: object) -> str:
    if isinstance(given, bytes):
        return given.decode()
    if not isinstance(given, str):
        raise TypeError(f"expected str or bytes, {type(given).__name__} found")
    return given


class Trainer(BaseTrainer):
    """A trainer that reads its own log and calls a hook for each event; override the hooks.

    Examples
    --------
    >>> class Losses(Trainer):
    ...     def on_iteration(self, log, info):
    ...         print(info["num"], round(info["loss"], 3))
    >>> trainer = Losses("lbfgs", {"max_iterations": 2, "c2": 0.1}, verbose=True)
    >>> trainer.on_start = trainer.on_featgen_end = trainer.on_prepared = lambda log: None
    >>> trainer.on_optimization_end = lambda log: None
    >>> trainer.on_featgen_progress = lambda log, percent: None
    >>> trainer.append([["the"], ["dog"]], ["D", "N"])
    >>> trainer.train("")
    1 0.675
    2 0.558
    """

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Take a piece of the log: feed the parser, call the hook of what happened."""
        if self.logparser is None:
            self.logparser = TrainLogParser()
        event = self.logparser.feed(message)
        if event is None or not self.verbose:
            return
        log = self.logparser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, self.logparser.featgen_percent)
        elif event == "iteration":
            assert self.logparser.last_iteration is not None
            self.on_iteration(log, self.logparser.last_iteration)
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        """React to the start of training; print the log."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """React to progress of the features; print the log."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """React to the end of the features; print the log."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """React before the algorithm begins; print the log."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """React when the algorithm cannot begin; print the log."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """React to the end of an iteration; print the log."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """React to the end of the algorithm; print the log."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """React when the model is written; print the log."""
        print(log, end="")
