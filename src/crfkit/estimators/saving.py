"""Estimators in files: the file of a model also says which estimator learned it, and with which parameters.

`recorded` puts that into the model as plain data (`crfkit.models.base.FittedBy`), so that ``model_.save`` and
``save`` write the same file; `InFiles.load` makes the estimator again. Parameters that are not data, such as
functions, are left out where only training needs them (`metric`, `init`); where prediction needs them
(`_needed`), the model cannot be saved, and says why.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crfkit._safe.fields import Fields
from crfkit.estimators.base import Estimator
from crfkit.features.recipe import Recipe
from crfkit.models.base import FittedBy, Model
from crfkit.models.store import refusing
from crfkit.models.values import UnkeptError, plain_of, value_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.training.record import TrainingRecord

M = TypeVar("M", bound=Model)
#: Why an estimator whose features a function makes is not in files.
OF_FEATURES: Final = {
    "features": "features is a function, which a file cannot hold: pickle the estimator, or train a "
    "model on the items that the function makes, and save that"
}


class InFiles(Estimator):
    """An estimator that is saved as its model, and loaded from it."""

    #: Parameters that prediction needs and that may be functions, with what to write instead.
    _needed: ClassVar[Mapping[str, str]] = {}
    #: What was learned beside the model, and goes into the file: numbers, texts, lists of them, arrays.
    _beside: ClassVar[tuple[str, ...]] = ()

    @property
    def training_(self) -> TrainingRecord | None:
        """How the model was trained; None where that is not known, as of another program's file."""
        check_is_fitted(self, "model_")
        found: TrainingRecord | None = self.model_.training
        return found

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Literal["float64", "float32"] = "float64",
        compact: bool = False,
        notes: str | None = None,
        license: str | None = None,
    ) -> None:
        """Write what was learned to a file that `load`, `crfkit.load` and ``crfkit tag`` open.

        The options are those of `crfkit.models.Model.save`.

        Examples
        --------
        >>> import os, tempfile
        >>> from crfkit import ChainCRF
        >>> crf = ChainCRF(l2=0.1).fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     crf.save(os.path.join(folder, "m.crf"))
        ...     again = ChainCRF.load(os.path.join(folder, "m.crf"))
        >>> again.predict([[{"w": "dog"}]]), again.l2
        ([['N']], 0.1)
        """
        check_is_fitted(self, "model_")
        self.model_.save(path, dtype=dtype, compact=compact, notes=notes, license=license)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fitted estimator of a model file, with its parameters.

        Parameters that were functions have their defaults. A file that no estimator wrote, as of ``crfkit
        train`` or of another program, gives an estimator with what the model tells of parameters.
        """
        from crfkit.models.files import load

        model, source = load(path), os.fsdecode(path)
        by: FittedBy | None = model.estimator
        if by is None:
            why = cls._foreign(model)
            if why:
                raise TypeError(f"{source} holds {why}, which is no {cls.__name__}: use crfkit.load")
            made = cls._of_model(model)
            made._take_model(model)
            return made
        if by.name != cls.__name__:
            raise TypeError(
                f"{source} holds a fitted {by.name}, which is no {cls.__name__}: use crfkit.load or "
                f"{by.name}.load"
            )
        with refusing(source):
            made = cls(**{name: _value_of(plain, model) for name, plain in by.params.items()})
            made._check_parts()
            why = cls._foreign(model)
            if why:
                raise ValueError(f"its estimator is a {by.name}, and it holds {why}")
            made._take_model(model)
            beside = Fields({**by.learned, **by.arrays}, "its estimator", "learned/", remedy="")
            for name in cls._beside:
                setattr(made, name, value_of(beside[name]))
        return made

    @classmethod
    def _foreign(cls, model: Any) -> str:
        """Return what a model is that this estimator cannot have learned; "" where it can."""
        raise NotImplementedError

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        """Return an estimator with the parameters that a model tells."""
        raise NotImplementedError

    def _take_model(self, model: Any) -> None:
        """Take over a model of a file."""
        self.model_ = model
        self.n_iter_ = 0 if model.training is None else model.training.iterations

    def _check_parts(self) -> None:
        """Refuse parameters that are not what they should be."""
        _ = self._threads, self._seed
        for name in ("objective", "structure", "selection", "stop"):
            if name in self._get_param_names():
                self._part(name)


def recorded(estimator: InFiles, model: M) -> M:
    """Return a model that knows which estimator learned it, and whether it can be saved."""
    params: dict[str, Any] = {}
    left: list[str] = []
    for name in estimator._get_param_names():
        if name == "n_jobs":  # a matter of the machine: equal runs on other threads write equal files
            continue
        value = getattr(estimator, name)
        if name == "init" and isinstance(value, np.ndarray):  # weights; those of the model are in its file
            left.append(name)
            continue
        try:
            params[name] = _plain_of(value, model)
        except UnkeptError:
            left.append(name)
    beside = {name: getattr(estimator, name) for name in estimator._beside}
    arrays = {name: value for name, value in beside.items() if isinstance(value, np.ndarray)}
    learned = {name: plain_of(value) for name, value in beside.items() if name not in arrays}
    by = FittedBy(type(estimator).__name__, params, tuple(left), learned, arrays)
    lacks = next((why for name, why in estimator._needed.items() if name in left), "")
    made: M = replace(model, estimator=by, lacks=lacks)  # type: ignore[type-var]
    return made


def _plain_of(value: Any, model: Any) -> Any:
    """Return a parameter as plain data; what the model holds anyway by its name there."""
    if isinstance(value, Recipe | os.PathLike):
        return {"of": "recipe"}
    graph = getattr(model, "graph", None)
    held = type(value) is type(graph) and graph is not None and value == graph
    return {"of": "graph"} if held else plain_of(value)


def _value_of(plain: Any, model: Any) -> Any:
    if isinstance(plain, dict) and plain.get("of") in ("recipe", "graph"):
        return getattr(model, plain["of"])
    return value_of(plain)
