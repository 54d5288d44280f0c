"""`train`: data in, a model out; sequences in memory or in blocks, and graphs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, overload

from numpy.typing import ArrayLike

from crfkit.arrays import weights_of
from crfkit.checks import check_choice, check_number
from crfkit.data.dataset import Dataset
from crfkit.errors import NotCoveredError
from crfkit.linear.features import FeatureSelection
from crfkit.linear.objective import Objective
from crfkit.models.model import Metric, SequenceModel
from crfkit.objectives.registry import OBJECTIVES
from crfkit.optimize.problem import Optimizer
from crfkit.structures import Structure
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.kinds import STRUCTURES
from crfkit.training.blocks.stream import BlockedData
from crfkit.training.choose import by_name, check_blockwise, objective_of
from crfkit.training.data import TrainingData, checked_dataset
from crfkit.training.events import Listener, display_for
from crfkit.training.fit import Fit, Init, check_metric
from crfkit.training.flat import seed_of, threads_of, with_flat
from crfkit.training.foreign import refuse_unknown
from crfkit.training.runs.checkpoint import Checkpoints, held_checkpoints
from crfkit.training.stop import Stop

if TYPE_CHECKING:
    from crfkit.inference.methods.method import Method
    from crfkit.models.graph_model import GraphMetric, GraphModel
    from crfkit.training.graphs.fit import GraphFit, GraphInit

__all__ = ["structure_of", "train", "with_labels_of"]

_LARGE: Final = 1 << 24  # numbers, of weights and of scores, from which on memory is worth a look


@overload
def train(
    data: Dataset | BlockedData,
    dev: Dataset | None = ...,
    *,
    structure: Structure | str | None = ...,
    selection: FeatureSelection | str | None = ...,
    objective: Objective | str | None = ...,
    optimizer: Optimizer | str = ...,
    init: Init = ...,
    metric: Metric | str = ...,
    stop: Stop | None = ...,
    checkpoint: str | os.PathLike[str] | Checkpoints | None = ...,
    unlabeled: Dataset | None = ...,
    sample_weight: ArrayLike | None = ...,
    l1: float | None = ...,
    l2: float | None = ...,
    order: int | None = ...,
    max_length: Any = ...,
    min_count: int | None = ...,
    max_iterations: int | None = ...,
    random_state: int | None = ...,
    n_jobs: int | None = ...,
    listeners: Sequence[Listener] = ...,
    progress: bool | None = ...,
    **unknown: NoReturn,
) -> SequenceModel: ...
@overload
def train(
    data: GraphBatch,
    dev: GraphBatch | None = ...,
    *,
    selection: FeatureSelection | str | None = ...,
    objective: Objective | str | None = ...,
    optimizer: Optimizer | str = ...,
    method: Method | str | None = ...,
    init: GraphInit = ...,
    restarts: int = ...,
    metric: GraphMetric | str = ...,
    stop: Stop | None = ...,
    checkpoint: str | os.PathLike[str] | Checkpoints | None = ...,
    sample_weight: ArrayLike | None = ...,
    l1: float | None = ...,
    l2: float | None = ...,
    min_count: int | None = ...,
    max_iterations: int | None = ...,
    random_state: int | None = ...,
    n_jobs: int | None = ...,
    listeners: Sequence[Listener] = ...,
    progress: bool | None = ...,
    **unknown: NoReturn,
) -> GraphModel: ...


def train(
    data: Dataset | BlockedData | GraphBatch,
    dev: Any = None,
    *,
    structure: Structure | str | None = None,
    selection: FeatureSelection | str | None = None,
    objective: Objective | str | None = None,
    optimizer: Optimizer | str = "auto",
    method: Method | str | None = None,
    init: Any = None,
    restarts: int = 1,
    metric: Any = "auto",
    stop: Stop | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
    unlabeled: Dataset | None = None,
    sample_weight: ArrayLike | None = None,
    l1: float | None = None,
    l2: float | None = None,
    order: int | None = None,
    max_length: Any = None,
    min_count: int | None = None,
    max_iterations: int | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    listeners: Sequence[Listener] = (),
    progress: bool | None = None,
    **unknown: NoReturn,
) -> SequenceModel | GraphModel:
    """Train a model.

    Parameters
    ----------
    data : Dataset, BlockedData or GraphBatch
        Labeled sequences, from an extractor or a reader; blocks on disk where memory is short. The model
        remembers the extractor (`Dataset.extractor`), so that it can do the same to new data. Or graphs with
        labels, of `Graph.batch`, -1 where one is hidden: a kind without labels in any graph is summed out.
    dev : Dataset or GraphBatch, optional
        Data to score the weights on: training ends when the score no longer rises, and the best are kept.
    structure : a structure, or "chain" or "local-chain", optional
        What is labeled how: a `Chain`, the default, a `LocalChain` (a maximum-entropy Markov model) or
        `SemiMarkov` segments. One without labels is enough, ``Chain(order=2, constraints=[...])``: their
        names are found in the data. Graphs bring theirs.
    selection : FeatureSelection, or one of "observed", "all", "likely", optional
        Which weights there are: ``FeatureSelection(min_count=3, transitions="observed")``. A word is short
        for ``FeatureSelection(which=...)``; default: "observed".
    objective : an objective, or its name, optional
        What to optimize, penalty included: ``Likelihood(l2=0.5)``, or another of `crfkit.objectives`.
        "perceptron" has optimizers of its own: "perceptron", "perceptron-plain", "pa", "arow", "mira",
        "mira-kbest" and "mira-crfpp".
        Default: the perceptron for these three, else the structure's own: the likelihood, for a local chain
        the local loss.
    optimizer : an optimizer, its name, or "auto"
        "auto" takes the fastest sound one and says why. Blocks on disk are for those that ask for values and
        gradients, and for the stochastic ones, which visit blocks in random order.
    method : a method of `crfkit.inference.methods`, or its name, optional
        The inference method for graphs. Default: exact where the tables of a component have at most 2**22
        cells, else belief propagation; ``model.info`` and ``model.training.notes`` say which.
    init : Model, "memm" or function, optional
        Where to start: at the weights of a model (what is new starts at zero), at a local model (Lafferty et
        al. 2001), or at ``init(problem, layout)``. Default: at zero. For graphs: a `GraphModel`, weights
        [F], a function, "zero" or, the default, "piecewise": where the objective is not convex, at the
        weights of a short piecewise training.
    restarts : int
        How often training starts on graphs with hidden labels, from different random weights. The best result
        is kept: by the dev set where there is one, else by the objective.
    metric : str or function
        The score of the dev set; "auto": "span_f1" where labels spell segments, else
        "accuracy", as in `Model.evaluate`. A function of gold and predicted labels, more is better.
        For graphs: "auto" or "accuracy", "log_likelihood", or a function of labels by kind.
    stop : Stop, optional
        When training ends: ``Stop(max_iterations=50)``.
    checkpoint : path or Checkpoints, optional
        A folder: training goes on from the checkpoint there, with the same result as if it had never been
        interrupted. One that cannot be written (a full disk) gives a warning; training goes on.
    unlabeled : Dataset, optional
        Further sequences without labels, for the objectives "entropy" and "posterior". Attributes that only
        they have get weights by ``selection="all"``.
    sample_weight : array [N], optional
        Weight of each sequence or graph: 2 is as if it were there twice.
    l1, l2, order, max_length, min_count, max_iterations : optional
        Fields of objective, structure, selection and stop, for short: ``train(data, l2=0.1, order=2)``. They
        go with names, as in ``objective="max-margin"``, and not with objects.
    random_state : int or None
        For optimizers that draw and are given by name. None: drawn, and recorded in ``model.training``.
    n_jobs : int, optional
        How many threads; default, and -1: all cores. The result does not depend on it.
    listeners : sequence of functions
        Each is called with every event; see `crfkit.training.events`. Its exceptions reach the caller,
        after a checkpoint is written where there are any.
    progress : bool, optional
        Show progress; by default where standard error is a terminal.

    Returns
    -------
    Model, or GraphModel of graphs
        ``model.training`` says how it was trained. Ctrl-C ends training and returns the model so far:
        ``model.training.end`` is then "interrupted".

    Warns
    -----
    ConvergenceWarning
        scikit-learn's warning: a limit, a failed search or divergence ended training before it converged.
        The rule is in `crfkit.training.runs.convergence`.
    RuntimeWarning
        More memory is expected to be needed than there is; see `forecast`. Small trainings are not looked at.

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

    Options of one subject lie together:

    >>> from crfkit import Chain, FeatureSelection, Stop
    >>> options = {"selection": FeatureSelection(min_count=2), "stop": Stop(tolerance=1e-3)}
    >>> model = train(ItemExtractor()(X, [["D", "A", "N"], ["D", "N"]]), structure=Chain(order=2), **options)
    >>> model.layout.order, model.layout.weights
    (2, 37)

    Graphs bring their structure:

    >>> from crfkit import Graph
    >>> graph = Graph({"token": ["D", "N"]}, word=["token"], step=["token", "token"])
    >>> batch = graph.batch(
    ...     labels={"token": ["D", "N"]}, scopes={"step": [[0, 1]]}, features={"word": [[1, 0], [0, 1]]}
    ... )
    >>> train(batch).predict(batch)["token"].tolist()
    ['D', 'N']
    """
    begun = time.perf_counter()
    refuse_unknown(unknown, "train", train.__kwdefaults__ or ())
    kept = with_flat(
        "selection", selection, FeatureSelection.of(selection or "observed"), min_count=min_count
    )
    ending = with_flat("stop", stop, Stop() if stop is None else Stop.of(stop), max_iterations=max_iterations)
    seed, threads = seed_of(random_state), threads_of(n_jobs)
    _check_optimizer(optimizer, graphs=isinstance(data, GraphBatch))
    if callable(listeners):
        raise TypeError(f"listeners is {listeners!r}, expected a list: listeners=[...]")
    display = display_for(progress)
    audience: list[Listener] = [*listeners] if display is None else [display, *listeners]
    held = nullcontext() if checkpoint is None else held_checkpoints(checkpoint)
    fit: Fit | GraphFit
    try:
        if isinstance(data, GraphBatch):
            from crfkit.training.graphs.fit import graph_fit

            given = {"structure": structure, "unlabeled": unlabeled, "order": order, "max_length": max_length}
            _refuse("sequences, and the data are graphs", **given)
            check_number("restarts", restarts, 1, whole=True)
            goal = objective_of("likelihood" if objective is None else objective)
            goal = with_flat("objective", objective, goal, l1=l1, l2=l2)
            with held as keep:
                fit = graph_fit(
                    data, goal, kept, optimizer, method, ending, sample_weight, init, seed, threads
                )
                return fit.best_of(restarts, dev, metric, keep, audience, begun)
        many = None if restarts == 1 else restarts
        _refuse("graphs, and the data are sequences", method=method, restarts=many)
        asked = structure_of("chain" if structure is None else structure)
        asked = with_flat("structure", structure, asked, order=order, max_length=max_length)
        _check_start(init)
        check_metric(metric)
        goal = objective_of(objective, optimizer, asked.objective)
        goal = with_flat("objective", objective, goal, l1=l1, l2=l2)
        if isinstance(data, BlockedData):
            check_blockwise(optimizer, goal)
        with held as keep:
            known = TrainingData(_prepared(data, sample_weight, unlabeled, goal), threads)
            dev = None if dev is None else checked_dataset(dev, "dev")
            labeled = with_labels_of(asked, known.labels.strings()).settled(known.batches())
            fit = Fit(known, labeled, goal, kept, optimizer, ending, init, seed)
            _look_ahead(fit, watched=display is not None)
            return fit.run(dev, metric, keep, audience, begun)
    finally:
        if display is not None:
            display.close()


def _refuse(whose: str, **given: object) -> None:
    """Refuse options that the data have no use for."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for {whose}; leave it out")


def _look_ahead(fit: Fit, *, watched: bool) -> None:
    """Warn where memory is short, of large trainings; note what is expected for those who watch."""
    samples, positions, labels, _ = fit.sizes()
    cells = 20 * fit.layout.weights + positions * labels + samples * labels * labels
    if isinstance(fit.data.data, BlockedData) or not (watched or cells >= _LARGE):
        return
    from crfkit.training.forecast import forecast_of

    expected = forecast_of(fit, timed=watched)
    expected.warn()
    fit.outlook = expected.line


def _prepared(
    data: Dataset | BlockedData, sample_weight: ArrayLike | None, unlabeled: Dataset | None, goal: Objective
) -> Dataset | BlockedData:
    """Return the data with the weights of sequences and with those that have no labels."""
    if sample_weight is not None:
        if isinstance(data, BlockedData):
            raise ValueError("sample_weight is for data in memory; write the weights into the blocks")
        data = checked_dataset(data, "data")
        weight = weights_of(sample_weight, len(data))
        data = replace(data, batch=replace(data.batch, weight=weight))
    return data if unlabeled is None else _with_unlabeled(data, unlabeled, goal)


def _with_unlabeled(data: Dataset | BlockedData, more: Dataset, objective: Objective) -> Dataset:
    """Return the data and sequences without labels, for an objective that learns from them."""
    if isinstance(data, BlockedData):
        raise ValueError(
            "unlabeled is for data in memory; write its sequences into the blocks, without labels"
        )
    if not objective.open:
        able = ", ".join(name for name, one in OBJECTIVES.items() if one.open)
        raise NotCoveredError(
            f"the objective {objective.name} learns nothing from sequences without labels; leave unlabeled "
            f"out, or use one of {able}"
        )
    return checked_dataset(data, "data").with_unlabeled(checked_dataset(more, "unlabeled"))


def structure_of(given: Any) -> Structure:
    """Return a structure given by name or as an object; its labels may be missing.

    Examples
    --------
    >>> structure_of("chain")
    Chain(labels=(), order=1, constraints=())
    """
    if isinstance(given, type):
        raise TypeError(f"structure is the class {given.__name__}; give an object: {given.__name__}()")
    if isinstance(given, str):
        check_choice("structure", given, tuple(STRUCTURES), "a structure such as Chain(order=2)")
        return STRUCTURES[given]()
    if not hasattr(given, "gold_cells"):
        raise TypeError(
            f"structure is {given!r}, which cannot be trained; expected one of {', '.join(STRUCTURES)}, or a "
            "structure such as Chain(order=2)"
        )
    found: Structure = given
    return found


def with_labels_of(structure: Structure, names: Sequence[str]) -> Structure:
    """Return a structure over the labels of the data; one that has labels must have the same."""
    if not structure.labels:
        return structure.with_labels(names)
    if structure.labels != tuple(names):
        raise ValueError(
            f"structure has the labels {', '.join(structure.labels[:5])}, the data have "
            f"{', '.join(names[:5])} in this order; leave the labels out, as in Chain(order=2)"
        )
    return structure


def _check_optimizer(optimizer: object, *, graphs: bool) -> None:
    """Refuse what is not an optimizer, before any work begins."""
    if isinstance(optimizer, str):
        if optimizer != "auto":
            by_name(optimizer, graphs=graphs)
    elif isinstance(optimizer, type) or not callable(getattr(optimizer, "start", None)):
        raise TypeError(f"optimizer is {optimizer!r}, expected a name or an optimizer such as LBFGS()")


def _check_start(init: object) -> None:
    """Refuse what is not a start of sequences."""
    if not (init is None or init == "memm" or isinstance(init, SequenceModel) or callable(init)):
        raise ValueError(f'init is {init!r}, expected a Model, "memm" or a function')
