"""Methods for graphs by the names that users write: a new one is a line here."""

from __future__ import annotations

from importlib import import_module

from crfkit.errors import MethodError
from crfkit.inference.methods.method import Method

#: name -> module of `crfkit.inference.methods`, class
METHODS: dict[str, tuple[str, str]] = {
    "auto": ("auto", "Auto"),
    "elimination": ("elimination", "Elimination"),
    "belief-propagation": ("belief", "BeliefPropagation"),
    "enumeration": ("enumeration", "Enumeration"),
    "tree-reweighted": ("reweighted", "TreeReweighted"),
    "trws": ("trws", "TRWS"),
    "dual": ("dual", "DualDecomposition"),
    "icm": ("icm", "ICM"),
    "lp": ("programs", "LinearProgram"),
    "ilp": ("programs", "IntegerProgram"),
    "combilp": ("combilp", "CombiLP"),
    "annealing": ("annealing", "Annealing"),
    "gibbs": ("gibbs", "Gibbs"),
    "mean-field": ("mean_field", "MeanField"),
    "tree-ep": ("tree_ep", "ExpectationPropagation"),
    "min-cut": ("cuts", "MinCut"),
    "qpbo": ("qpbo", "QPBO"),
    "expansion": ("expansion", "Expansion"),
    "swap": ("expansion", "Swap"),
    "ishikawa": ("ishikawa", "Ishikawa"),
}


def method_of(given: Method | str | None) -> Method:
    """Return a method, given itself, by its name, or not at all: `Auto`.

    Examples
    --------
    >>> method_of("viterby")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    crfkit.errors.MethodError: method is 'viterby', expected one of auto, ...
    """
    if isinstance(given, Method):
        return given
    name = "auto" if given is None else given
    if name not in list(METHODS):  # which may be of any type
        raise MethodError(f"method is {given!r}, expected one of {', '.join(METHODS)}, or a method object")
    module, called = METHODS[name]
    made: Method = getattr(import_module(f"crfkit.inference.methods.{module}"), called)()
    return made
