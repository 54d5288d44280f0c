"""Hints for options that do not exist: what to write for those of other tools, and of objects.

Penalties of the tools, beside l1 * |w|_1 + l2/2 * |w|_2^2 here:

=========  ==============================  =====================
CRFsuite   c1 * |w|_1 + c2 * |w|_2^2       l1 = c1, l2 = 2 * c2
CRF++      |w|_2^2 / (2 C)                 l2 = 1 / C
Wapiti     rho1 * |w|_1 + rho2/2 * |w|^2   l1 = rho1, l2 = rho2
MALLET     |w|_2^2 / (2 variance)          l2 = 1 / variance
=========  ==============================  =====================
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, NoReturn

from crfkit.linear.features import FeatureSelection
from crfkit.objectives import Likelihood
from crfkit.training.stop import Stop


class _Here(NamedTuple):
    """Where an option lives in crfkit, and what its value becomes."""

    option: str
    of: str = ""  #: the object that has it; empty: the function or estimator itself
    value: Callable[[Any], Any] = lambda given: given
    why: str = ""


def _inverse(given: Any) -> float:
    return 1.0 / float(given)


_TWICE = "CRFsuite's penalty is c2 * |w|^2, without the half: l2 is twice c2"
_OVER = "l2 is 1 / {name}"
_LIKELIHOOD = {name: _Here(name, "Likelihood") for name in Likelihood.__dataclass_fields__}
# Which argument an object is given as; objects that are not here are optimizers.
_ARGUMENTS = {
    "Likelihood": "objective",
    "Chain": "structure",
    "FeatureSelection": "selection",
    "Stop": "stop",
}
# Options of objects that train and estimators are given.
_OF_OBJECTS: dict[str, _Here] = {
    **{name: _Here(name, "Chain") for name in ("order", "constraints")},
    **{f.name: _Here(f.name, "FeatureSelection") for f in fields(FeatureSelection) if f.name != "which"},
    **{f.name: _Here(f.name, "Stop") for f in fields(Stop)},
}
_NAMES: dict[str, _Here] = {
    **_LIKELIHOOD,
    **_OF_OBJECTS,
    "c1": _Here("l1", "Likelihood"),
    "c2": _Here("l2", "Likelihood", lambda c2: 2.0 * float(c2), _TWICE),
    "rho1": _Here("l1", "Likelihood"),
    "rho2": _Here("l2", "Likelihood"),
    "C": _Here("l2", "Likelihood", _inverse, _OVER),
    "gaussian_variance": _Here("l2", "Likelihood", _inverse, _OVER),
    "class_weight": _Here("label_weights", "Likelihood"),
    "c": _Here("l2", "Likelihood", _inverse, _OVER),
    "f": _Here("min_count", "FeatureSelection"),
    "min_freq": _Here("min_count", "FeatureSelection"),
    "minfreq": _Here("min_count", "FeatureSelection"),
    "feature.minfreq": _Here("min_count", "FeatureSelection"),
    "all_possible_states": _Here("which", "FeatureSelection", lambda yes: "all" if yes else "observed"),
    "all_possible_transitions": _Here(
        "transitions", "FeatureSelection", lambda yes: "all" if yes else "observed"
    ),
    "feature.possible_states": _Here("which", "FeatureSelection", lambda yes: "all" if yes else "observed"),
    "feature.possible_transitions": _Here(
        "transitions", "FeatureSelection", lambda yes: "all" if yes else "observed"
    ),
    "gaussian-variance": _Here("l2", "Likelihood", _inverse, _OVER),
    "orders": _Here("order", "Chain"),
    "tol": _Here("tolerance", "Stop"),
    "n_iter_no_change": _Here("patience", "Stop"),
    "inference_method": _Here("method"),
    "neighborhood": _Here("connect"),
    "verbose": _Here("progress", "", bool),
    "threads": _Here("n_jobs"),
    "nthread": _Here("n_jobs"),
    "p": _Here("n_jobs"),
    "seed": _Here("random_state"),
    "template": _Here("features"),
    "pattern": _Here("features"),
    "encoding": _Here("train_scheme"),
    "max_iter": _Here("max_iterations", "Stop"),
    "maxiter": _Here("max_iterations", "Stop"),
    "optimizer": _Here("optimizer"),
    "num_memories": _Here("memory", "LBFGS"),
    "epsilon": _Here("tolerance", "LBFGS"),
    "delta": _Here("delta", "LBFGS"),
    "period": _Here("period", "LBFGS"),
    "max_linesearch": _Here("max_evaluations", "LBFGS"),
    **{
        f"calibration_{name}": _Here(f"calibration_{name}", "SGD")
        for name in ("eta", "rate", "samples", "candidates", "max_trials")
    },
    "pa_type": _Here("variant", "PassiveAggressive", ("hard", "linear", "squared").__getitem__),
    "error_sensitive": _Here("error_sensitive", "PassiveAggressive"),
    "averaging": _Here("averaging", "PassiveAggressive"),
    "variance": _Here("variance", "AROW"),
    "gamma": _Here("gamma", "AROW"),
}
_PASSIVE = _Here("c", "PassiveAggressive")
_ALGORITHM = ("algorithm", "a")  # of CRFsuite, of CRF++
# Algorithms of CRFsuite, CRF++ and Wapiti as options here; others are names of optimizers, or unknown.
_MISTAKES = {"objective": "perceptron"}
_ALGORITHMS: dict[str, dict[str, str]] = {
    "l-bfgs": {"optimizer": "lbfgs"},
    "l2sgd": {"optimizer": "sgd"},
    "ap": _MISTAKES,
    "averaged-perceptron": _MISTAKES,
    "pa": {**_MISTAKES, "optimizer": "pa"},
    "passive-aggressive": {**_MISTAKES, "optimizer": "pa"},
    "arow": {**_MISTAKES, "optimizer": "arow"},
    "mira": {**_MISTAKES, "optimizer": "mira-crfpp"},
    "rprop+": {"optimizer": "rprop"},
    "rprop-": {"optimizer": "rprop-minus"},
    "crf": {"objective": "likelihood"},
    "crf-l2": {"objective": "likelihood"},
}
_BY_TOKEN = "leave it out: training adds all positions up; a layer of crfkit.torch takes reduction='token'"
# Options with nothing in their place.
_NEEDLESS = {
    "linesearch": "leave it out: L-BFGS has one line search here",
    "model_filename": "leave it out: models stay in memory; model.save(path) writes one",
    "keep_tempfiles": "leave it out: there are no temporary files",
    "trainer_cls": "leave it out: training has no trainer class; crfkit.train takes listeners",
    "X_dev": "give it to fit: fit(X, y, dev=(X_dev, y_dev))",
    "y_dev": "give it to fit: fit(X, y, dev=(X_dev, y_dev))",
    "num_tags": "leave it out: labels are found in y",
    "batch_first": "leave it out: sequences come first",
    "token_mean": _BY_TOKEN,
    "reduction": _BY_TOKEN,
    "inference_method": "leave it out: sums over sequences are exact",
    "neighborhood": "leave it out: the neighbors of a position are those before and after it",
    "scheme": "leave it out: tags say their scheme; ChainCRF(scheme=...) holds them to one",
    "train_scheme": "leave it out, or write ChainCRF(train_scheme=...).fit(data)",
    "extractor": "leave it out: the data know what made them (Dataset.extractor)",
    "progress": "give it to fit: fit(X, y, progress=True)",
    "verbose": "fit shows progress: fit(X, y, progress=True)",
}

#: Attributes of other tools' estimators and models, and what to write here.
VERBS = {
    "attributes_": "model_.attributes",
    "coef_": "top_features(label), or state_features_ and transition_features_",
    "decision_function": "log_prob(X, y) or predict_proba(X)",
    "from_pretrained": 'load("m.crf")',
    "plot": "model_.tables(), or show model_ in a notebook",
    "predict_log_proba": "predict_proba(X)",
    "push_to_hub": 'save("m.crf")',
    "save_pretrained": 'save("m.crf")',
    "predict_marginals": "predict_proba(X).to_dicts()",
    "predict_marginals_single": "predict_proba([x]).to_dicts()[0]",
    "predict_single": "tag(x)",
}


_DEV = "fit(X, y, dev=(X_dev, y_dev))"
_BUDGET = "max_iterations=... of the estimator"
#: What `fit` of other tools takes, and what to write.
_IN_FIT = {
    **dict.fromkeys(("X_dev", "y_dev", "X_val", "y_val", "X_valid", "y_valid", "eval_set"), _DEV),
    "validation_data": _DEV,
    **dict.fromkeys(("epochs", "n_epochs", "max_iter", "max_iterations", "iterations"), _BUDGET),
    "patience": "stop=Stop(patience=...) of the estimator",
    "weights": "fit(X, y, sample_weight=...)",
}


def refuse_in_fit(unknown: Mapping[str, Any]) -> None:
    """Raise an error if `fit` is given what it does not take.

    Examples
    --------
    >>> refuse_in_fit({"X_dev": [], "y_dev": []})
    Traceback (most recent call last):
    TypeError: fit has no argument X_dev: write fit(X, y, dev=(X_dev, y_dev))
    """
    for name in unknown:
        here = _IN_FIT.get(name)
        raise TypeError(f"fit has no argument {name}" + (f": write {here}" if here else ""))


def refuse_unknown(unknown: Mapping[str, Any], who: str, own: Iterable[str]) -> None:
    """Raise a TypeError where there are options that do not exist, with what to write instead.

    Parameters
    ----------
    unknown : mapping
        Options that were given and do not exist, with their values.
    who : str
        The function or class, for the message.
    own : names
        The options that do exist.

    Examples
    --------
    >>> refuse_unknown({"c1": 0.1, "c2": 1.0}, "train", ["objective"])
    Traceback (most recent call last):
    TypeError: train has no option c1, c2: write objective=Likelihood(l1=0.1, l2=2.0) (CRFsuite's penalty
    is c2 * |w|^2, without the half: l2 is twice c2)
    >>> refuse_unknown({"c1": 0.1, "threads": 2}, "ChainCRF", ["l1", "l2", "n_jobs"])
    Traceback (most recent call last):
    TypeError: ChainCRF has no option c1, threads: write l1=0.1, n_jobs=2
    >>> refuse_unknown({"c2": 1.0}, "HMM", ["smoothing"])
    Traceback (most recent call last):
    TypeError: HMM has no option c2: leave it out: HMM has no objective
    >>> refuse_unknown({"start": True}, "train", ["selection"])
    Traceback (most recent call last):
    TypeError: train has no option start: write selection=FeatureSelection(start=True)
    >>> refuse_unknown({"sed": 2}, "ChainCRF", ["seed"])
    Traceback (most recent call last):
    TypeError: ChainCRF has no option 'sed'; did you mean 'seed'?
    """
    options = set(own)
    plain: dict[str, str] = {}  # option: how it is written
    parts: defaultdict[str, list[str]] = defaultdict(list)  # part: its options, as they are written
    why: list[str] = []
    of = "{name}: ".format if len(unknown) > 1 else "".format  # whose reason it is
    algorithm = next((str(unknown[name]).lower() for name in _ALGORITHM if name in unknown), "")
    for name, value in unknown.items():
        here = _PASSIVE if name == "c" and algorithm in ("pa", "passive-aggressive") else _NAMES.get(name)
        if name in _ALGORITHM:
            chosen = _ALGORITHMS.get(algorithm, {"optimizer": value})
            if "optimizer" in options:
                plain.update({option: repr(name) for option, name in chosen.items()})
            else:
                why.append(f"{of(name=name)}leave it out: {who} has no optimizer")
            continue
        if name in _NEEDLESS and (here is None or here.option not in options):
            why.append(of(name=name) + _NEEDLESS[name])
            continue
        if here is None:
            _raise_misspelled(name, value, who, options)
        shown, argument = (
            _shown(here, value),
            _ARGUMENTS.get(here.of, "optimizer") if here.of else here.option,
        )
        if here.option in options:
            plain[here.option] = shown
        elif here.of and argument in options:
            parts[here.of].append(f"{here.option}={shown}")
        else:
            why.append(f"{of(name=name)}leave it out: {who} has no {argument}")
            continue
        if here.why:
            why.append(here.why.format(name=name))
    if not unknown:
        return
    if parts.keys() & {"PassiveAggressive", "AROW"}:
        plain["objective"] = "'perceptron'"
    for part, given in parts.items():
        if part == "LBFGS" and plain.get("objective") == "'perceptron'":
            continue  # limits of an algorithm that has rules of its own here
        plain[_ARGUMENTS.get(part, "optimizer")] = f"{part}({', '.join(given)})"
    written = ", ".join(f"{option}={shown}" for option, shown in plain.items())
    advice = [f"write {written}"] if written else []
    if why:
        advice = [f"{advice[0]} ({'; '.join(why)})"] if advice else ["; ".join(why)]
    raise TypeError(f"{who} has no option {', '.join(unknown)}: {advice[0]}")


#: Options here as the command line spells them; others have to be set in Python.
_SHELL = {
    **{"l1": "--l1", "l2": "--l2", "min_count": "--min-count", "which": "--selection", "n_jobs": "--jobs"},
    **{"transitions": "--transitions", "random_state": "--seed", "max_iterations": "--max-iterations"},
    **{"optimizer": "--optimizer", "objective": "--objective", "max_seconds": "--max-seconds"},
    **{"tolerance": "--tolerance", "patience": "--patience", "order": "--order"},
}


def in_the_shell(name: str, value: str | None) -> tuple[dict[str, str], str]:
    """Return the options of the command line, with their values, for one of another tool, and why.

    Nothing where the table does not have it; without a value where none is given.

    Examples
    --------
    >>> in_the_shell("gaussian_variance", "10")
    ({'--l2': '0.1'}, 'l2 is 1 / gaussian_variance')
    >>> in_the_shell("algorithm", "ap"), in_the_shell("color", "red")
    (({'--objective': 'perceptron'}, ''), ({}, ''))
    """
    if name == "algorithm":
        chosen = _ALGORITHMS.get(str(value).lower(), {"optimizer": value or ""})
        return {_SHELL[option]: text for option, text in chosen.items()}, ""
    here = _NAMES.get(name)
    if here is None or here.option not in _SHELL or (here.of == "LBFGS" and name != "epsilon"):
        return {}, ""
    shown = "" if value is None else _shown(here, value).strip("'")
    return {_SHELL[here.option]: shown}, here.why.format(name=name)


def _shown(here: _Here, value: Any) -> str:
    """Return a value as it is written here; dots where the other tool could not have had it."""
    try:
        return repr(here.value(value))
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        return "..."


def _raise_misspelled(name: str, value: Any, who: str, options: set[str]) -> NoReturn:
    close = difflib.get_close_matches(name, sorted(options | _OF_OBJECTS.keys()), n=1)
    hint = f"; the options are {', '.join(sorted(options))}"
    if close:
        here = None if close[0] in options else _OF_OBJECTS[close[0]]
        meant = repr(close[0])
        if here is not None:
            meant = f"{_ARGUMENTS[here.of]}={here.of}({here.option}={_shown(here, value)})"
        hint = f"; did you mean {meant}?"
    raise TypeError(f"{who} has no option {name!r}{hint}")
