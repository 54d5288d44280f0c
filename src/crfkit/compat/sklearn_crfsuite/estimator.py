"""The estimator of sklearn-crfsuite: python-crfsuite's trainer and tagger behind fit and predict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit.compat.pycrfsuite import ParsedDump, Tagger, Trainer
from crfkit.compat.pycrfsuite._logparser import TrainLogParser
from crfkit.compat.sklearn_crfsuite._fileresource import FileResource
from crfkit.compat.sklearn_crfsuite.compat import BaseEstimator
from crfkit.compat.sklearn_crfsuite.metrics import flat_accuracy_score
from crfkit.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer

__all__ = ["CRF"]

#: Parameters of the trainer that are called otherwise here.
_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}
_PARAMETERS = (
    "min_freq",
    "all_possible_states",
    "all_possible_transitions",
    "c1",
    "c2",
    "max_iterations",
    "num_memories",
    "epsilon",
    "period",
    "delta",
    "linesearch",
    "max_linesearch",
    "calibration_eta",
    "calibration_rate",
    "calibration_samples",
    "calibration_candidates",
    "calibration_max_trials",
    "pa_type",
    "c",
    "error_sensitive",
    "averaging",
    "variance",
    "gamma",
)


class CRF(BaseEstimator):
    """A CRF with the interface of scikit-learn.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        Default: lbfgs.
    min_freq, all_possible_states, all_possible_transitions
        ``feature.minfreq``, ``feature.possible_states``, ``feature.possible_transitions`` of the trainer.
    c1, c2, max_iterations, num_memories, epsilon, period, delta, linesearch, max_linesearch,
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials,
    pa_type, c, error_sensitive, averaging, variance, gamma
        Parameters of the algorithm (``calibration.eta``, ..., ``type``); None: its default.
    verbose : bool
        Print the log.
    model_filename : str, optional
        Where the model is, or goes to. Default: a temporary file.
    keep_tempfiles : bool
        Leave temporary files behind.
    trainer_cls : class, optional
        The class of the trainer.

    Examples
    --------
    >>> crf = CRF(c2=0.1).fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]])
    >>> crf.predict_single([{"w": "dog"}, {"w": "the"}]), crf.classes_
    (['N', 'D'], ['D', 'N'])
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[Trainer] | None = None,
    ) -> None:
        given = locals()
        for name in ("algorithm", *_PARAMETERS):
            setattr(self, name, given[name])
        self.algorithm = algorithm
        self.model_filename, self.keep_tempfiles = model_filename, keep_tempfiles
        self.verbose, self.trainer_cls = verbose, trainer_cls
        self.modelfile = FileResource(model_filename, keep_tempfiles, suffix=".crfsuite", prefix="model")
        self.training_log_: TrainLogParser | None = None
        self._tagger: Tagger | None = None
        self._info_cached: ParsedDump | None = None

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
    ) -> CRF:
        """Train.

        Parameters
        ----------
        X : lists of lists of dicts
            Items of each sequence, as python-crfsuite takes them.
        y : lists of lists of str
            Labels of each sequence.
        X_dev, y_dev : optional
            The same, to test with after each iteration.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        if self._tagger is not None:
            self._tagger.close()
        self._tagger = self._info_cached = None
        self.modelfile.refresh()
        assert self.modelfile.name is not None
        trainer = self._trainer()
        for xseq, yseq in zip(X, y, strict=False):  # the shorter one decides, as in the original
            trainer.append(xseq, yseq)
        if X_dev is not None and y_dev is not None:
            for xseq, yseq in zip(X_dev, y_dev, strict=False):
                trainer.append(xseq, yseq, 1)
        try:
            trainer.train(self.modelfile.name, holdout=-1 if X_dev is None else 1)
        finally:  # Ctrl-C is raised when the model so far is written
            self.training_log_ = trainer.logparser
        return self

    def _trainer(self) -> Trainer:
        params = {}
        for name in _PARAMETERS:
            value = getattr(self, name)
            if value is not None:
                params[_NAMES.get(name, name.replace("calibration_", "calibration."))] = value
        made = self.trainer_cls or LinePerIterationTrainer
        return made(algorithm=self.algorithm, params=params, verbose=self.verbose)

    def predict(self, X: Iterable[Any]) -> NDArray[np.object_]:
        """Return the best labels of each sequence: a 2-D array where all have the same length, else lists."""
        return np.array([self.predict_single(xseq) for xseq in X], dtype=object)

    def predict_single(self, xseq: Iterable[Any]) -> list[str]:
        """Return the best labels of one sequence."""
        return self._opened().tag(xseq)

    def predict_marginals(self, X: Iterable[Any]) -> NDArray[np.object_]:
        """Return the probability of every label at every position of each sequence, in dicts."""
        return np.array([self.predict_marginals_single(xseq) for xseq in X], dtype=object)

    def predict_marginals_single(self, xseq: Iterable[Any]) -> list[dict[str, float]]:
        """Return the probability of every label at every position of one sequence."""
        tagger = self._opened()
        tagger.set(xseq)
        names = tagger.labels()
        return [dict(zip(names, row, strict=True)) for row in tagger._all_marginals()]

    def score(self, X: Iterable[Any], y: Any) -> float:
        """Return the share of items whose label is right; for others see `metrics`."""
        return flat_accuracy_score(y, self.predict(X))  # type: ignore[arg-type]

    def _opened(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise AttributeError("this CRF has no model yet: call fit, or give model_filename")
        return tagger

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model; None before there is one."""
        if self._tagger is None and self.modelfile.name is not None:
            tagger = Tagger()
            tagger.open(self.modelfile.name)
            self._tagger, self._info_cached = tagger, None
        return self._tagger

    @property
    def _info(self) -> ParsedDump | None:
        if self.tagger_ is None:
            return None
        if self._info_cached is None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    @property
    def classes_(self) -> list[str] | None:
        """The labels, by id."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Bytes of the model."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """Number of attributes with weights."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """Attributes with weights, by id."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights of (attribute, label)."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights of (label before, label)."""
        return None if self._info is None else self._info.transitions

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tagger": None, "_info_cached": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        made = {"_tagger": None, "_info_cached": None}
        self.__dict__.update({**CRF().__dict__, **state, **made})  # pickles of 0.3.6 lack keep_tempfiles
