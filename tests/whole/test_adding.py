"""The programs of docs/adding.md, as they are: entered in the tables, used, and taken out again."""

from __future__ import annotations

import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import Chain, ChainCRF, Graph, Likelihood, SemiMarkov, Stop, data, inference, optimize, train
from crfkit.data import Columns
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats import registry
from crfkit.errors import DataError, MethodError, NotCoveredError
from crfkit.features import Extractor, ItemExtractor
from crfkit.features.dialects import parse_recipe
from crfkit.inference.methods.registry import METHODS
from crfkit.linear.fast import FAST
from crfkit.linear.features import FeatureSelection
from crfkit.linear.layout import Layout
from crfkit.linear.loss import LinearLoss
from crfkit.models import SequenceModel
from crfkit.models.files.refusals import refuse_lost
from crfkit.objectives.registry import OBJECTIVES
from crfkit.optimize.problem import Penalty
from crfkit.structures.kinds import STRUCTURES
from crfkit.training.choose import NAMES
from tests.cases.batches import random_batch
from tests.cases.estimators import W_TEST, W, Y
from tests.cases.graphs import random_graph
from tests.cases.losses import Quadratic, finish

PAGE = Path(__file__).parents[2] / "docs" / "adding.md"
BLOCKS = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE.read_text(), re.DOTALL))
L = 3
X, X_TEST = ([[[word] for word in sentence] for sentence in words] for words in (W, W_TEST))


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Write a program of the page to a file, and import it."""
    name: str = request.param
    path = tmp_path / f"{name}.py"
    path.write_text(BLOCKS[name])
    spec = importlib.util.spec_from_file_location(f"added_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def added(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("made", [name], indirect=True, ids=[name])


def test_every_part_of_the_page_has_its_program() -> None:
    assert [*BLOCKS] == ["bounded", "symmetric", "fista", "slashes", "order_zero", "greedy"]
    assert len(re.findall(r"^## \d", PAGE.read_text(), re.MULTILINE)) == len(BLOCKS)
    assert len(re.findall(r"^What must be refused: ", PAGE.read_text(), re.MULTILINE)) == len(BLOCKS)


def sentences() -> Dataset:
    return ItemExtractor()(X, Y)


def batch(**options: Any) -> Batch:
    return random_batch(np.random.default_rng(0), [4, 1, 0, 3, 2], 5, L, values=True, **options)


def bound(objective: Any, structure: Any, given: Batch, **options: Any) -> LinearLoss:
    loss: LinearLoss = objective.bind(Layout.all_pairs(given, structure, **options), structure, given)
    return loss


def assert_differences(loss: LinearLoss) -> None:
    rng = np.random.default_rng(1)
    w, gradient, other = rng.normal(size=loss.size), np.empty(loss.size), np.empty(loss.size)
    loss.value_and_grad(w, gradient)
    for _ in range(5):
        d = rng.normal(size=loss.size)
        up, down = loss.value_and_grad(w + 1e-6 * d, other), loss.value_and_grad(w - 1e-6 * d, other)
        assert (up - down) / 2e-6 == pytest.approx(gradient @ d, rel=2e-6, abs=2e-6)


# ---- an objective


@added("bounded")
@pytest.mark.parametrize(
    "structure", [Chain(L), Chain(L, order=2), SemiMarkov(L, max_length=4)], ids=["1", "2", "s"]
)
def test_an_objective_has_its_value_and_gradient(made: ModuleType, structure: Any) -> None:
    given = batch(weights=True)
    loss = bound(made.BoundedLikelihood(), structure, given, start=True, stop=True)
    assert_differences(loss)
    assert loss.fast is None
    assert given.label is not None
    w = np.random.default_rng(2).normal(size=loss.size)
    potentials, total = loss.potentials(w), 0.0
    for n, weight in enumerate(loss.weight.tolist()):
        if given.seq_ptr[n] == given.seq_ptr[n + 1]:
            continue
        gold = given.label[given.seq_ptr[n] : given.seq_ptr[n + 1]]
        every = inference.kbest(potentials.sequence(n), 10_000)
        p = np.exp(potentials.sequence(n).path_score(gold)[0] - np.logaddexp.reduce([y.score for y in every]))
        total += weight * (1.0 - p**0.1) / 0.1
    assert loss.value_and_grad(w, np.empty(loss.size)) == pytest.approx(total, rel=1e-10)


@added("bounded")
def test_an_objective_is_a_file_and_an_entry(made: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OBJECTIVES, made.BoundedLikelihood.name, made.BoundedLikelihood)
    model = train(sentences(), objective="bounded-likelihood")
    assert model.predict(X_TEST[:2]) == train(sentences()).predict(X_TEST[:2])
    crf = ChainCRF(objective="bounded-likelihood").set_params(objective__l2=0.5).fit(X, Y)
    assert crf.objective == made.BoundedLikelihood(l2=0.5)
    partial = [[None, *tags[1:]] for tags in Y]
    with pytest.raises(NotCoveredError, match="bounded-likelihood takes one gold label at each position"):
        crf.fit(X, partial)


# ---- a structure


def symmetric_potentials(structure: Any) -> tuple[Any, Any]:
    """Scores of the new structure, and a chain that was given the symmetric table by hand."""
    rng, given = np.random.default_rng(3), batch()
    table = rng.normal(size=(L, L))
    scores = {"node": rng.normal(size=(given.positions, L)), "transition": table.ravel()}
    known = Chain(structure.labels).potentials(scores["node"], (table + table.T) / 2.0, seq_ptr=given.seq_ptr)
    return structure.potentials_of(scores, given), known


@added("symmetric")
def test_a_structure_answers_every_query(made: ModuleType) -> None:
    new, known = symmetric_potentials(made.SymmetricChain(["a", "b", "c"]))
    for query in (inference.log_partition, inference.entropy, inference.count):
        np.testing.assert_allclose(query(new), query(known), rtol=1e-12)
    np.testing.assert_array_equal(inference.marginals(new).node, inference.marginals(known).node)
    np.testing.assert_array_equal(inference.best(new)[1].label, inference.best(known)[1].label)
    gold = ["a", "b", "c", "a", "b", "b", "c", "a", "c", "c"]
    np.testing.assert_array_equal(inference.log_prob(new, gold), inference.log_prob(known, gold))
    assert str(inference.decode(new)) == str(inference.decode(known))
    assert str(inference.reachable(new)) == str(inference.reachable(known))
    assert str(inference.kbest(new, 3)) == str(inference.kbest(known, 3))
    assert str(inference.sample(new, 3, seed=0)) == str(inference.sample(known, 3, seed=0))
    one = [inference.span_probability(p, 0, 2, ["a", "b"], sequence=0) for p in (new, known)]
    assert one[0] == one[1]


@added("symmetric")
@pytest.mark.parametrize("objective", ["likelihood", "max-margin", "perceptron"])
def test_gradients_of_a_structure_are_differences(made: ModuleType, objective: str) -> None:
    structure = made.SymmetricChain(L)
    loss = bound(OBJECTIVES[objective](), structure, batch(weights=True), start=True)
    assert loss.fast is None, "native paths are for plain chains"
    assert_differences(loss)
    with pytest.raises(NotCoveredError, match="for chains of order 1, not for a symmetric chain"):
        bound(OBJECTIVES["local"](), structure, batch())


@added("symmetric")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of few steps
@pytest.mark.parametrize("objective", ["likelihood", "max-margin"])
def test_a_structure_is_trained_saved_and_loaded(
    made: ModuleType, objective: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(STRUCTURES, made.SymmetricChain.kind, made.SymmetricChain)
    for transitions in ("all", "observed"):
        model = train(
            sentences(),
            structure="symmetric-chain",
            objective=objective,
            selection=FeatureSelection(transitions=transitions),
            stop=Stop(max_iterations=100),
        )
        (table,) = model.layout.transition_tables(model.w)
        np.testing.assert_allclose(table, table.T, atol=1e-9)
        assert np.abs(table).max() > 0.001
        model.save(tmp_path / "m.crf")
        again = SequenceModel.load(tmp_path / "m.crf")
        assert isinstance(again.structure, made.SymmetricChain)
        assert again.predict(X_TEST) == model.predict(X_TEST)
    with pytest.raises(ValueError, match="the model is a symmetric chain, which CRFsuite"):
        refuse_lost(model, "CRFsuite")
    crf = ChainCRF(structure=made.SymmetricChain(), objective=objective, stop=Stop(max_iterations=100)).fit(
        X, Y
    )
    assert crf.score(X_TEST, crf.predict(X_TEST)) == 1.0
    with pytest.raises(ValueError, match="a symmetric chain has order 1 and no constraints"):
        made.SymmetricChain(order=2)


# ---- an optimizer


@added("fista")
def test_an_optimizer_trains_by_its_name(made: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimize, "Fista", made.Fista, raising=False)
    monkeypatch.setitem(NAMES, "fista", ("Fista", {}))
    for objective in (Likelihood(l2=1.0), Likelihood(l1=0.5, l2=0.1)):
        found = train(sentences(), objective=objective, optimizer="fista")
        best = train(sentences(), objective=objective)
        assert found.training is not None
        assert best.training is not None
        assert found.training.converged
        assert found.training.loss == pytest.approx(best.training.loss, rel=1e-3)
    assert (found.w == 0.0).sum() > 0
    with pytest.raises(NotCoveredError, match="Fista does not take a loss with kinks"):
        train(sentences(), objective="max-margin", optimizer="fista")
    with pytest.raises(ValueError, match="tolerance is 0, expected more than 0"):
        made.Fista(tolerance=0)


@added("fista")
def test_an_optimizer_goes_on_from_its_state(made: ModuleType) -> None:
    problem, penalty = Quadratic([1.0, 30.0, 4.0], [1.0, -2.0, 0.01]), Penalty(l1=0.1, l2=0.5)
    whole = made.Fista(tolerance=1e-8).start(problem, penalty, np.zeros(3))
    steps = [whole.step() for _ in range(9)]
    half = made.Fista(tolerance=1e-8).start(problem, penalty, np.zeros(3))
    for _ in range(4):
        half.step()
    rest = made.Fista(tolerance=1e-8).start(problem, penalty, np.zeros(3), state=half.state())
    assert [rest.step() for _ in range(5)] == steps[4:]
    assert finish(whole).end == "converged"
    # the least of h/2 (w - c)^2 + w^2/4 + 0.1 |w|, one by one
    np.testing.assert_allclose(whole.w, [0.9 / 1.5, -59.9 / 30.5, 0.0], rtol=1e-6)


# ---- a format


@added("slashes")
def test_a_format_is_read_guessed_and_written(
    made: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(registry.FORMATS, "slashes", made.FORMAT)
    text = b"the/D dog/N barks/V\n1/2/M\n"
    guessed = data.guess(text)
    assert guessed is not None
    assert (guessed.format, guessed.why) == ("slashes", "words have a slash and a tag")
    read = crfkit.read(io.BytesIO(text))
    assert isinstance(read, Columns)
    assert list(read) == [[("the", "D"), ("dog", "N"), ("barks", "V")], [("1/2", "M")]]
    data.write(tmp_path / "x.slashes", read)
    assert (tmp_path / "x.slashes").read_bytes() == text
    model = train(Extractor(parse_recipe("word[0]"), "tag")(read))
    assert model.predict(read) == [["D", "N", "V"], ["M"]]


@added("slashes")
def test_a_format_refuses_what_does_not_fit(made: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.FORMATS, "slashes", made.FORMAT)
    with pytest.raises(DataError, match=r"2.*'dog' is not a word, a slash and a tag"):
        crfkit.read(io.BytesIO(b"the/D\na/D dog\n"), "slashes")
    with pytest.raises(DataError, match="holds no sequence"):
        crfkit.read(io.BytesIO(b"\n\n"), "slashes")
    for rows, why in (
        ([("a b", "N")], "without blanks"),
        ([("a", "N/V")], "without slashes"),
        ([("a", "N", "O")], "has 2 columns"),
    ):
        with pytest.raises(ValueError, match=why):
            data.write(io.BytesIO(), Columns.from_rows([rows]), "slashes")
    assert data.guess(b"the D\ndog N\n") != data.guess(b"the/D dog/N\n")


# ---- a fast path


@added("order_zero")
def test_a_fast_path_is_what_the_general_one_says(made: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crfkit.linear.loss.FAST", (*FAST, made.OrderZero))
    loss = bound(Likelihood(), Chain(L, order=0), batch(weights=True))
    assert isinstance(loss.fast, made.OrderZero)
    w, fast, general = (
        np.random.default_rng(4).normal(size=loss.size),
        np.empty(loss.size),
        np.empty(loss.size),
    )
    assert loss.value_and_grad(w, fast) == pytest.approx(loss.general_value_and_grad(w, general), rel=1e-12)
    np.testing.assert_allclose(fast, general, atol=1e-12)
    given = ItemExtractor()(X, Y)
    assert train(given, structure=Chain(order=0)).predict(X) == Y


@added("order_zero")
@pytest.mark.parametrize(
    ("structure", "objective", "options", "why"),
    [
        (Chain(L, order=0), "max-margin", {}, "the objective max-margin"),
        (Chain(L), "likelihood", {}, "a chain of order 1"),
        (Chain(L, order=0), "likelihood", {"start": True}, "weights of first and last labels"),
    ],
)
def test_a_fast_path_says_what_it_does_not_cover(
    made: ModuleType, structure: Any, objective: str, options: dict[str, Any], why: str
) -> None:
    assert made.OrderZero.covers(bound(OBJECTIVES[objective](), structure, batch(), **options)) == why


# ---- a method for graphs


@added("greedy")
def test_a_method_for_graphs_answers_and_refuses(made: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crfkit.inference.methods.greedy", made)
    monkeypatch.setitem(METHODS, "greedy", ("greedy", "Greedy"))
    for seed in range(10):
        scores = random_graph(np.random.default_rng(seed), forbidden=0.0)
        found, right = inference.decode(scores, method="greedy"), inference.decode(scores)
        assert (found.info.lower <= right.score + 1e-9).all()
        assert (right.score <= found.info.upper + 1e-9).all()
        np.testing.assert_allclose(found.score, inference.score(scores, found))
    alone = Graph.from_factors([2, 3], [([0], [0.0, 1.0]), ([1], [0.0, 3.0, 1.0])])
    assert inference.decode(alone, method="greedy").info.exact.all()
    with pytest.raises(MethodError, match="greedy cannot give marginals"):
        inference.marginals(alone, method="greedy")
    never = Graph.from_factors([2, 2], [([0], [0.0, 1.0]), ([0, 1], [[0.0, 0.0], [-np.inf, -np.inf]])])
    with pytest.raises(MethodError, match="greedy came upon a forbidden labeling"):
        inference.decode(never, method="greedy")
