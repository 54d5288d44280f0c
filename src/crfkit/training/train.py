"""`train`: data in, a model out; sequences in memory or in blocks, and graphs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NoReturn, overload

from numpy.typing import ArrayLike

from crfkit.checks import check_number, seed_of, threads_of, with_flat
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.linear.features import FeatureSelection
from crfkit.linear.objective import Objective
from crfkit.models.model import Metric, SequenceModel
from crfkit.optimize.problem import Optimizer
from crfkit.structures import Structure
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.training.blocks.stream import BlockedData
from crfkit.training.choose import by_name, check_blockwise, objective_of
from crfkit.training.data import TrainingData, prepared
from crfkit.training.events import Listener, display_for
from crfkit.training.fit import Fit, Init, check_metric, structure_of, with_labels_of
from crfkit.training.foreign import refuse_unknown
from crfkit.training.runs.checkpoint import Checkpoints, held_checkpoints
from crfkit.training.segments import judged_by, learned_from
from crfkit.training.stop import Stop

if TYPE_CHECKING:
    from crfkit.inference.methods.method import Method
    from crfkit.models.graph_model import GraphMetric, GraphModel
    from crfkit.text.alignment import How
    from crfkit.text.doc import Doc
    from crfkit.text.formats.reading import Docs
    from crfkit.text.labeled import Tagged
    from crfkit.text.sentences import Sentences
    from crfkit.text.tokenizers import Tokenizer
    from crfkit.training.graphs.fit import GraphFit, GraphInit

_LARGE: Final = 1 << 24  # numbers, of weights and of scores, from which on memory is worth a look


@overload
def train(
    data: Dataset | Columns | BlockedData | Docs | Sequence[Doc] | str | os.PathLike[str],
    dev: Dataset | Columns | Docs | Sequence[Doc] | str | os.PathLike[str] | None = ...,
    *,
    features: Any = ...,
    tokenizer: Tokenizer | str | None = ...,
    sentences: Sentences | str = ...,
    alignment: How = ...,
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
    cluster: Any = ...,
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
    data: Any,
    dev: Any = None,
    *,
    features: Any = "auto",
    tokenizer: Tokenizer | str | None = None,
    sentences: Sentences | str = "none",
    alignment: How = "expand",
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
    cluster: Any = None,
    listeners: Sequence[Listener] = (),
    progress: bool | None = None,
    **unknown: NoReturn,
) -> SequenceModel | GraphModel:
    """Train a model on a data set; what estimators call.

    Parameters
    ----------
    data : Dataset, Columns, data frame, documents, path, BlockedData or GraphBatch
        Labeled sequences, from an extractor or a reader, or a file of them, as `crfkit.read` takes it;
        columns of tokens, and documents of raw text (`crfkit.Doc`, `crfkit.text.read`), get the attributes
        of the stock recipe. Blocks on disk where memory is short. The
        model remembers the extractor (`Dataset.extractor`), so that it can do the same to new data. Or graphs
        with labels, of `Graph.batch`, -1 where one is hidden: a kind without labels in any graph is summed
        out.
    dev : as data, optional
        Data to score the weights on: training ends when the score no longer rises, and the best are kept.
    features : str, path or Recipe
        What makes attributes of columns, and of the words of documents: "auto", the stock recipe, or "ner",
        "pos", ..., another of `crfkit.features.stock`; templates, as ``"word[-2..2]; shape(word)[0]"``, or
        the path of a file of them.
    tokenizer : Tokenizer or its name, optional
        What cuts the text of documents (`crfkit.text`). Default: their own tokens, else "words". The model
        keeps it, and reads raw text.
    sentences : Sentences or its name
        Where sequences begin in documents; "none" takes each for one.
    alignment : {"expand", "contract", "unknown", "strict"}
        What becomes of spans of documents that cut a token (`crfkit.text.alignment`);
        ``model.training.alignment`` counts and shows them.
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
        gradients, for the stochastic ones, which visit blocks in random order, and for perceptrons and the
        dual, in which each block makes a pass of its own.
    method : a method of `crfkit.inference.methods`, or its name, optional
        The inference method for graphs. Default: exact where the tables of a component have at most 2**22
        cells, else belief propagation; ``model.info`` and ``model.training.notes`` say which.
    init : Model, "memm" or function, optional
        Where to start: at the weights of a model (what is new starts at zero), at a local model (Lafferty et
        al. 2001), or at ``init(problem, layout)``. Default: at zero. For graphs: a `GraphModel`, weights
        [F], a function, "zero", "alone", "drawn" or, the default, "piecewise": where the objective is not
        convex, at the weights of a short piecewise training; see `GraphCRF`.
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
    cluster : distributed.Client, a cluster of Dask, "tcp://HOST:PORT" or "local", optional
        Workers that hold the blocks of a `BlockedData`, in a folder that all of them see
        (`crfkit.distributed`). The result has the same bits as without, for any number of workers, those
        that come and go included; but "sgd" mixes the weights of blocks there after each pass.
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
    if unknown:
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
            _refuse("sequences, and the data are graphs", features=_asked(features), **given, cluster=cluster)
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
        with held as keep, _on(cluster, data) as training_data:
            made = None
            if isinstance(data, Dataset):
                _refuse("data without attributes", features=_asked(features), tokenizer=tokenizer)
            else:
                data, made = learned_from(data, asked, features, (tokenizer, sentences, alignment), threads)
            known = training_data(prepared(data, sample_weight, unlabeled, goal), threads)
            made_by = None if known.extractor is None else known.extractor.recipe
            if dev is not None:
                dev = judged_by(dev, made, asked, made_by or features, alignment, threads)
            labeled = with_labels_of(asked, known.labels.strings()).settled(known.batches)
            fit = Fit(known, labeled, goal, kept, optimizer, ending, init, seed)
            _look_ahead(fit, watched=display is not None)
            found = fit.run(dev, metric, keep, audience, begun)
            return found if made is None else _with_alignment(found, made)
    finally:
        if display is not None:
            display.close()


def _on(cluster: Any, data: Any) -> AbstractContextManager[Callable[..., TrainingData]]:
    """Return a context whose value makes training data that are read here, or by the workers of a cluster."""
    if cluster is None:
        return nullcontext(TrainingData)
    if not isinstance(data, BlockedData):
        raise ValueError(
            "cluster is for blocks that its workers read, and the data are others; write them with "
            "BlockedData.write(folder, parts), or with crfkit.distributed.write_blocks(paths, folder)"
        )
    from crfkit.distributed.data import data_on

    return data_on(cluster)


def _with_alignment(model: SequenceModel, made: Tagged) -> SequenceModel:
    from crfkit.training.documents import with_alignment

    return with_alignment(model, made.alignment)


def _asked(features: Any) -> Any:
    """Return features that somebody asked for."""
    return None if isinstance(features, str) and features == "auto" else features


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
