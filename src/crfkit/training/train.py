"""From data to a model: `train` puts the parts together."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Literal, NoReturn

from crfkit.data.dataset import Dataset
from crfkit.features import Extractor, ItemExtractor
from crfkit.linear.objective import Objective
from crfkit.linear.plan import LayoutOptions
from crfkit.models.model import Metric, Model
from crfkit.optimise.problem import Optimiser
from crfkit.structures import Chain
from crfkit.structures.constraints import Constraint
from crfkit.training.blocks.stream import BlockedData
from crfkit.training.checkpoint import Checkpoints
from crfkit.training.choose import by_name, check_blockwise, objective_of
from crfkit.training.data import TrainingData, checked_dataset
from crfkit.training.events import Listener
from crfkit.training.fit import Fit, Init, Likely
from crfkit.training.foreign import check_numbers, refuse_unknown
from crfkit.training.loop import Rules
from crfkit.training.progress import display_for
from crfkit.training.validation import function_of

__all__ = ["train"]


def train(
    data: Dataset | BlockedData,
    dev: Dataset | None = None,
    *,
    objective: Objective | str | None = None,
    optimiser: Optimiser | str = "auto",
    features: Literal["observed", "all", "likely"] | Likely = "observed",
    min_count: float = 0.0,
    count: Literal["count", "value"] = "count",
    transitions: Literal["all", "observed", "none"] = "all",
    start: bool = False,
    stop: bool = False,
    max_weights: int = 500_000_000,
    order: int = 1,
    constraints: Sequence[Constraint] = (),
    init: Init = None,
    metric: Metric | str | None = None,
    patience: float | None = 10,
    dev_every: int | None = None,
    tolerance: float | None = None,
    max_seconds: float | None = None,
    max_iterations: int | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
    seed: int = 0,
    threads: int | None = None,
    listeners: Sequence[Listener] = (),
    progress: bool | None = None,
    extractor: Extractor | ItemExtractor | None = None,
    **unknown: NoReturn,
) -> Model:
    """Train a model.

    Parameters
    ----------
    data : Dataset or BlockedData
        Labelled sequences, from an extractor or a reader; blocks on disk where memory is short.
    dev : Dataset, optional
        Judges the weights as they go: training ends when they get no better, and the best are kept.
    objective : Likelihood, Perceptron, or the name of one, optional
        What to optimise, penalty included: ``Likelihood(l2=0.5)``. "perceptron" learns from mistakes, and has
        optimisers of its own: "perceptron", "pa" and "arow". Default: what the optimiser is for, the
        perceptron for these three and the likelihood for all others.
    optimiser : an optimiser, its name, or "auto"
        "auto" takes the fastest sound one and says why. Blocks on disk are for those that ask for values and
        gradients, and for the stochastic ones, which visit blocks in random order.
    features : {"observed", "all", "likely"} or Likely
        Which pairs of attribute and label have a weight.
    min_count, count, transitions, start, stop, max_weights
        Which weights there are: see `crfkit.linear.plan.LayoutOptions`.
    order : int
        How many labels before the current one a transition looks at.
    constraints : sequence of constraints
        See `crfkit.structures.constraints`.
    init : Model, "memm" or function, optional
        Where to start: at the weights of a model (what is new starts at zero), at a local model (Lafferty et
        al. 2001), or at ``init(problem, layout)``. Default: at zero.
    metric : str or function, optional
        How the dev set is judged; by default "segment_f1" where labels spell segments, else
        "token_accuracy". A function of gold and predicted labels, more is better.
    patience : float, optional
        Training ends when the best dev score is so many passes over the data old, and the objective fell by
        less than 1 % in as many passes; before it settles, dev scores are no reason to end. None: it goes on.
        Passes are counted as `Step.evaluations` are, the same for every optimiser.
    dev_every : int, optional
        Steps between dev evaluations. Default: after each step, but with passes over the data between them
        as five times the size of the dev set over that of the data, so that they take about a third of the
        time at most.
    tolerance : float, optional
        End when the objective is certified to be at most this fraction above its optimum. Default: 1e-4 with
        an optimiser given by name; one given as an object ends by its own rules. 0: never.
    max_seconds, max_iterations : optional
        The budget, over all resumed runs. Training ends with the step that uses it up.
    checkpoint : path or Checkpoints, optional
        A folder: training goes on from the checkpoint there, with the same result as if it had never been
        interrupted. One that cannot be written (a full disk) is warned of; training goes on.
    seed : int
        For optimisers that draw and are given by name.
    threads : int, optional
        Default: all cores. The result does not depend on it.
    listeners : sequence of functions
        Each is called with every event; see `crfkit.training.events`. What one raises reaches the caller,
        after a checkpoint is written where there are any.
    progress : bool, optional
        Show progress; by default where standard error is a terminal.
    extractor : Extractor or ItemExtractor, optional
        What made the data, so that the model knows.

    Returns
    -------
    Model
        ``model.training`` tells how it came about. Ctrl-C ends training and returns the model so far:
        ``model.training.end`` is then "interrupted".

    Warns
    -----
    ConvergenceWarning
        Of scikit-learn: training ended by a limit, a failed search or divergence before it met its tolerance.
        The rule is in `crfkit.training.convergence`.

    Raises
    ------
    ValueError
        Something given cannot be used, or the first step failed: the values are too large to compute with.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> X = [[["the"], ["old"], ["dog"]], [["a"], ["dog"]]]
    >>> model = train(ItemExtractor()(X, [["D", "A", "N"], ["D", "N"]]))
    >>> model.predict(ItemExtractor()([[["the"], ["dog"]]]))
    [['D', 'N']]
    >>> print(model.training.certificate)  # doctest: +ELLIPSIS
    Within ... % of the optimum: at most ... above it.
    """
    begun = time.perf_counter()
    refuse_unknown(unknown, "train", train.__kwdefaults__ or ())
    check_numbers(order=order, min_count=min_count, max_weights=max_weights, seed=seed, threads=threads)
    check_numbers(patience=patience, dev_every=dev_every, tolerance=tolerance)
    check_numbers(max_seconds=max_seconds, max_iterations=max_iterations)
    _check_options(features, patience, dev_every, tolerance, max_seconds, max_iterations)
    _check_parts(optimiser, init, metric)
    goal = objective_of(objective, optimiser)
    if isinstance(data, BlockedData):
        check_blockwise(optimiser, goal)
    hashed = getattr(extractor, "hashed", None)
    source = TrainingData(data, hashed, threads)
    dev = None if dev is None else checked_dataset(dev, "dev")
    chain = Chain(source.labels.strings(), order, constraints)
    layout: LayoutOptions = {
        "min_count": min_count,
        "count": count,
        "transitions": transitions,
        "start": start,
        "stop": stop,
        "max_weights": max_weights,
    }
    fit = Fit(source, chain, goal, features, layout, optimiser, init, seed, tolerance)
    if extractor is not None:
        fit.about = {
            "recipe": getattr(extractor, "recipe", None),
            "label_column": getattr(extractor, "label", None),
            "hashed": hashed,
        }
    keep = Checkpoints(checkpoint) if isinstance(checkpoint, str | os.PathLike) else checkpoint
    display = display_for(progress)
    audience: list[Listener] = [*listeners] if display is None else [display, *listeners]

    rules = Rules(
        max_seconds,
        max_iterations,
        patience if dev is not None else None,
        (1e-4 if isinstance(optimiser, str) else 0.0) if tolerance is None else tolerance,
        dev_every,
        dev_passes=0.0 if dev is None else 5.0 * dev.batch.positions / max(source.positions, 1),
        enough=1e-4 if tolerance is None else tolerance,
    )
    try:
        return fit.run(dev, metric, rules, keep, audience, begun)
    finally:
        if display is not None:
            display.close()


def _check_parts(optimiser: object, init: object, metric: Metric | str | None) -> None:
    """Refuse parts that do not exist, before any work is done."""
    if isinstance(optimiser, str):
        if optimiser != "auto":
            by_name(optimiser)
    elif isinstance(optimiser, type) or not callable(getattr(optimiser, "start", None)):
        raise TypeError(f"optimiser is {optimiser!r}, expected a name or an optimiser such as LBFGS()")
    if not (init is None or init == "memm" or isinstance(init, Model) or callable(init)):
        raise ValueError(f'init is {init!r}, expected a Model, "memm" or a function')
    if metric is not None:
        function_of(metric)


def _check_options(
    features: object,
    patience: float | None,
    dev_every: int | None,
    tolerance: float | None,
    max_seconds: float | None,
    max_iterations: int | None,
) -> None:
    """Refuse options that make no sense."""
    if features not in ("observed", "all", "likely") and not isinstance(features, Likely):
        raise ValueError(f'features is {features!r}, expected "observed", "all", "likely" or Likely(...)')
    for name, value, least in (
        ("patience", patience, 1),
        ("dev_every", dev_every, 1),
        ("tolerance", tolerance, 0),
        ("max_seconds", max_seconds, 0),
        ("max_iterations", max_iterations, 0),
    ):
        if value is not None and not value >= least:
            raise ValueError(f"{name} is {value}, expected {least} or more")
