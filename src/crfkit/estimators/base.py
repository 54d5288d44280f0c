"""What all estimators share: declared parameters, nested ones of parts, and verbs that some do not have.

An estimator declares its parameters as a dataclass does: ``states: int = 2``. They are keyword-only, and
those of its bases (`crfkit.estimators.parameters`) are parameters too. What is `learned` or `fixed` is not.

scikit-learn reaches into a part by calling its ``set_params``, which changes it in place. Objectives and
optimizers are frozen dataclasses, so that one may be shared by many estimators (a default argument is): here
``objective__l2=0.5`` puts a copy with another l2 in the place of the objective.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn, TypeAlias, TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from crfkit.checks import seed_of, threads_of, with_flat
from crfkit.inference.constrained.kinds import GlobalConstraint, check_globals
from crfkit.linear.features import FeatureSelection
from crfkit.structures.constraints import Constraint
from crfkit.training.choose import objective_of
from crfkit.training.fit import structure_of
from crfkit.training.foreign import VERBS, refuse_unknown
from crfkit.training.stop import Stop

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[T], T]:
        """Return what says to type checkers only that subclasses are dataclasses."""
        return lambda cls: cls


T = TypeVar("T")
AnyConstraint: TypeAlias = Constraint | GlobalConstraint
F = TypeVar("F", bound=Callable[..., Any])
#: Queries that need probabilities of label sequences, or weights that add up.
QUERIES: Final = (
    "predict_proba",
    "predict_spans",
    "kbest",
    "sample",
    "log_prob",
    "entropy",
    "explain",
    "tag",
    "uncertainty",
)


#: Parts, and their fields that are parameters of estimators too.
_FLAT: Final[Mapping[str, tuple[str, ...]]] = {
    "objective": ("l1", "l2"),
    "structure": ("order", "max_length"),
    "selection": ("min_count",),
    "stop": ("max_iterations",),
    "boosting": ("l2", "max_iterations"),
}
#: Parameters whose fields are parameters too, as ``objective__l2``; other dataclasses are values.
_PARTS: Final = (*_FLAT, "optimizer", "method", "smoothing")


def _hinting(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that says what to write for parameters that it does not have."""

    @wraps(init)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        own, kind = self._get_param_names(), type(self).__name__
        unknown = {k: v for k, v in named.items() if k not in own}
        if unknown:
            refuse_unknown(unknown, kind, own)
        unnamed = [f.name for f in fields(self) if f.init and not f.kw_only]
        if len(given) > len(unnamed):
            raise TypeError(
                f"{kind} takes parameters by name, as in {kind}({', '.join([*unnamed, 'n_jobs=1'])}); "
                f"{given[len(unnamed)]!r:.60} has none"
            )
        init(self, *given, **named)

    return checked


def unless_absent(method: F) -> F:
    """Return a method that an estimator has unless its `_absent` says why not."""
    name = method.__name__
    return cast("F", available_if(lambda estimator: name not in estimator._absent())(method))


def learned(*, init: Literal[False] = False) -> Any:
    """Return the declaration of what `fit` finds."""
    return field(init=init)


def fixed(default: Any = None, *, init: Literal[False] = False) -> Any:
    """Return the declaration of what bases have as a parameter and this estimator does not."""
    return field(init=init, default=default)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, learned, fixed))
class _Declared(BaseEstimator):
    """An estimator whose constructor comes from the parameters that its class declares."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(kw_only=True, eq=False, repr=False)(cls)
        cls.__init__ = _hinting(cls.__init__)  # type: ignore[method-assign]


class Estimator(_Declared):
    """An estimator whose parameters may be dataclasses, with their fields as nested parameters.

    Examples
    --------
    >>> from crfkit import Likelihood
    >>> class Example(Estimator):
    ...     objective: Likelihood | None = None
    >>> example = Example(objective=Likelihood())
    >>> example.get_params()["objective__l2"]
    1.0
    >>> example.set_params(objective__l2=0.5).objective.l2
    0.5
    """

    #: What parts are that are not given: names or objects.
    _defaults: ClassVar[Mapping[str, Any]] = {}

    random_state: int | None = 0
    n_jobs: int | None = None

    @property
    def _threads(self) -> int | None:
        """How many threads to use; None: all cores."""
        return threads_of(self.n_jobs)

    @property
    def _seed(self) -> int:
        """Where draws begin: anew at each call where the random state is None."""
        return seed_of(self.random_state)

    def _part(self, name: str) -> Any:
        """Return a part, with the flat parameters and constraints about neighbors that are fields of it."""
        given = getattr(self, name)
        flat = {each: getattr(self, each, None) for each in _FLAT[name]}
        part = with_flat(name, given, self._made(name, given), **flat)
        near = split_constraints(getattr(self, "constraints", ()))[0] if name == "structure" else ()
        if near and not (given is None or isinstance(given, str)):
            raise ValueError(
                f"constraints has {near[0]}, which is about neighbors, beside structure="
                f"{type(part).__name__}(...): write structure={type(part).__name__}(constraints=[{near[0]}])"
            )
        return replace(part, constraints=near) if near else part

    def _made(self, name: str, given: Any) -> Any:
        """Return the part that a word or None stands for; others unchanged, checked."""
        asked = self._defaults.get(name) if given is None else given
        if name == "structure":
            return structure_of("chain" if asked is None else asked)
        if name == "selection":
            return FeatureSelection.of("observed" if asked is None else asked)
        if name == "objective":
            optimizer = getattr(self, "optimizer", "auto")
            return objective_of(given, optimizer, self._defaults.get(name, "likelihood"))
        if name == "stop":
            return Stop.of(Stop() if asked is None else asked)
        if name == "method" and isinstance(asked, str):
            from crfkit.inference.methods.registry import method_of

            return method_of(asked)
        return asked

    def _absent(self) -> Mapping[str, str]:
        """Return the verbs that this estimator does not have, and why, or what to do instead."""
        return {}

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Say why there is no such attribute."""
            kind = type(self).__name__
            if name in QUERIES or name == "partial_fit":
                why = self._absent().get(name)
                if why is not None:
                    raise AttributeError(f"{kind} has no {name}: {why}")
            if name in VERBS:
                raise AttributeError(f"{kind} has no {name}: write {VERBS[name]}")
            found = isinstance(getattr(type(self), name, None), property) or name in self.__dataclass_fields__
            if name == "model_" or (found and "model_" not in vars(self)):
                raise NotFittedError(f"This {kind} instance is not fitted yet: call fit before using it.")
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool
            With those of the parts, as ``objective__l2``.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name in [name for name in _PARTS if name in params]:
                params.update(_options_of(params[name], name))
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, whole ones before parts of them; return self."""
        own = self._get_param_names()
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, inside, option = key.partition("__")
            if name not in own:
                try:
                    refuse_unknown({name: value}, type(self).__name__, own)
                except TypeError as error:
                    raise ValueError(str(error)) from None
            if inside:
                nested[name][option] = value
            else:
                setattr(self, name, value)
        for name, options in nested.items():
            part = getattr(self, name)
            if name in _PARTS and (part is None or isinstance(part, str)):
                part = self._made(name, part)
            setattr(self, name, _changed(part, options, name))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = tags.input_tags.string = tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = tags.target_tags.two_d_labels = False
        return tags


def split_constraints(given: Any) -> tuple[tuple[Constraint, ...], Any]:
    """Return the constraints about neighbors, and all else, for `check_globals`.

    Examples
    --------
    >>> from crfkit.constraints import AtMostOnce, Forbid, Scheme
    >>> split_constraints([Scheme("BIO"), AtMostOnce(), Forbid("a", "b")])[1]
    (AtMostOnce(labels=None),)
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        return (), given
    every = tuple(given)
    near = tuple(one for one in every if isinstance(one, Constraint))
    return near, tuple(one for one in every if not isinstance(one, Constraint))


def check_neighbors(given: Any, who: str) -> None:
    """Refuse constraints on whole sequences, and what is none.

    Examples
    --------
    >>> from crfkit.constraints import AtMostOnce
    >>> check_neighbors([AtMostOnce()], "BoostedCRF")
    Traceback (most recent call last):
    ValueError: constraints has AtMostOnce(labels=None), and BoostedCRF keeps constraints on neighbors only: \
write model_.constrained([...]) after fit
    """
    whole = check_globals(split_constraints(given)[1])
    if whole:
        raise ValueError(
            f"constraints has {whole[0]}, and {who} keeps constraints on neighbors only: write "
            "model_.constrained([...]) after fit"
        )


def _is_part(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _options_of(part: Any, path: str) -> dict[str, Any]:
    """Return the options of a part by their nested names."""
    found: dict[str, Any] = {}
    if _is_part(part):
        for f in fields(part):
            if f.init:
                value = getattr(part, f.name)
                found[f"{path}__{f.name}"] = value
                found.update(_options_of(value, f"{path}__{f.name}"))
    return found


def _changed(part: Any, options: Mapping[str, Any], path: str) -> Any:
    """Return a part with other options; a part with ``set_params`` of its own is changed in place."""
    if callable(getattr(part, "set_params", None)) and not isinstance(part, type):
        return part.set_params(**options)
    if not _is_part(part):
        raise ValueError(
            f"Invalid parameter {f'{path}__{min(options)}'!r}: {path} is {part!r}, which has no parameters "
            f"of its own; set {path} to an object first"
        )
    own = [f.name for f in fields(part) if f.init]
    changes: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, value in options.items():
        name, inside, option = key.partition("__")
        if name not in own:
            raise ValueError(
                f"Invalid parameter {name!r} of {path}, a {type(part).__name__}. "
                f"Valid parameters are: {own!r}."
            )
        if inside:
            nested[name][option] = value
        else:
            changes[name] = value
    for name, deeper in nested.items():
        changes[name] = _changed(changes.get(name, getattr(part, name)), deeper, f"{path}__{name}")
    return replace(part, **changes)
