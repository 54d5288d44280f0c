"""ChainCRF keeps the conventions of scikit-learn, and says what is wrong."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import crfkit
from crfkit import ChainCRF, Likelihood, metrics
from crfkit.batch import Batch, Dataset
from crfkit.features import ItemExtractor, Recipe
from crfkit.formats.columns import Columns
from crfkit.optimise import LBFGS
from crfkit.structures.constraints import Forbid, Scheme
from crfkit.training.task import Likely

WORDS = {"D": ["the", "a", "some"], "N": ["dog", "cat", "bird"], "V": ["sees", "eats", "likes"]}
NEAR = LBFGS(tolerance=1e-9, delta=0.0, max_iterations=2000)  # runs until the gradient is gone


def sentences(N: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    random = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(N):
        tag = ["D", "N", "V", "D", "N"][: random.integers(1, 6)]
        tags.append(tag)
        words.append([str(random.choice(WORDS[y])) for y in tag])
    return words, tags


def items(words: list[list[str]]) -> list[list[dict[str, Any]]]:
    return [[{"w": word, "end": word[-1], "long": float(len(word))} for word in s] for s in words]


W, Y = sentences(24)
X = items(W)
W_TEST, Y_TEST = sentences(8, seed=1)
X_TEST = items(W_TEST)
A_WORD = [[{"w": "the"}]]


def crf(**options: Any) -> ChainCRF:
    return ChainCRF(**{"threads": 1, **options})


def fitted(**options: Any) -> ChainCRF:
    return crf(**options).fit(X, Y)


class Items(BaseEstimator):
    """Words to items, as a step of a pipeline."""

    def __init__(self, length: bool = True) -> None:
        self.length = length

    def fit(self, X: Any, y: Any = None) -> Items:
        return self

    def transform(self, X: Any) -> Any:
        return [[{"w": w, **({"long": len(w)} if self.length else {})} for w in s] for s in X]


# ---- parameters -----------------------------------------------------------------------------------


def test_parameters_are_stored_as_they_are_and_cloned() -> None:
    options = {"objective": Likelihood(l2=0.3), "optimiser": LBFGS(memory=3), "scheme": "BIO", "order": 2}
    made = ChainCRF(**options)  # type: ignore[arg-type]
    for name, value in options.items():
        assert getattr(made, name) is value
    copied = clone(made)
    assert copied is not made
    assert copied.get_params() == made.get_params()
    assert not hasattr(clone(fitted()), "model_")
    assert clone(ChainCRF(constraints=(Forbid("a", "b"),))).constraints == (Forbid("a", "b"),)


def test_nested_parameters_of_frozen_parts() -> None:
    made = ChainCRF(optimiser=LBFGS(), features=Likely())
    params = made.get_params()
    assert params["objective__l2"] == 1.0
    assert params["optimiser__memory"] == 6
    assert params["features__epsilon"] == 0.01
    assert "objective__l2" not in made.get_params(deep=False)
    assert not any(
        name.startswith("template__") for name in ChainCRF(template=Recipe.parse("w[0]")).get_params()
    )
    before = made.objective
    assert made.set_params(objective__l2=2.0, optimiser__memory=9, order=0) is made
    assert (made.objective, made.optimiser, made.order) == (Likelihood(l2=2.0), LBFGS(memory=9), 0)
    assert before == Likelihood()
    assert ChainCRF().objective == Likelihood()
    made.set_params(objective__l1=1.0, objective=Likelihood(l2=7.0))  # the whole first, as in scikit-learn
    assert made.objective == Likelihood(l1=1.0, l2=7.0)
    assert made.set_params() is made


def test_parameters_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="Invalid parameter 'l2' for estimator ChainCRF"):
        ChainCRF().set_params(l2=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'c2' of objective, a Likelihood"):
        ChainCRF().set_params(objective__c2=1.0)
    with pytest.raises(ValueError, match="optimiser is 'auto', which has no parameters"):
        ChainCRF().set_params(optimiser__memory=1)
    with pytest.raises(TypeError, match="l2"):
        ChainCRF(l2=1.0)  # type: ignore[call-arg]


def test_repr_shows_what_differs() -> None:
    assert repr(ChainCRF()) == "ChainCRF()"
    assert repr(ChainCRF(order=2, seed=3)) == "ChainCRF(order=2, seed=3)"
    assert "l2=0.5" in repr(ChainCRF(objective=Likelihood(l2=0.5)))
    assert "ChainCRF" in ChainCRF()._repr_html_()


def test_tags() -> None:
    tags = get_tags(ChainCRF())
    assert tags.target_tags.required
    assert not tags.input_tags.two_d_array
    assert not is_classifier(ChainCRF())


def test_fit_leaves_the_parameters_alone() -> None:
    made = crf()
    before = made.get_params()
    assert made.fit(X, Y) is made
    assert made.get_params() == before
    learned = {name for name in vars(made) if name.endswith("_")}
    assert learned == {"model_", "classes_", "n_iter_", "extractor_"}
    assert made.classes_.tolist() == made.model_.labels.strings()
    assert made.n_iter_ > 0
    check_is_fitted(made)


# ---- scikit-learn's tools -------------------------------------------------------------------------


def test_grid_search_over_the_penalty_in_processes() -> None:
    search = GridSearchCV(crf(), {"objective__l2": [0.1, 1000.0], "order": [0, 1]}, n_jobs=2, cv=2)
    search.fit(X, Y)
    assert search.best_params_["objective__l2"] == 0.1
    assert search.best_estimator_.objective.l2 == 0.1
    assert search.score(X_TEST, Y_TEST) == 1.0
    assert search.predict(X_TEST) == Y_TEST


def test_cross_validation_with_scorers_and_groups() -> None:
    scoring = {"sequences": metrics.scorer("sequence_accuracy"), "f1": metrics.scorer("token_f1_macro")}
    found = cross_validate(crf(), X, Y, cv=GroupKFold(3), groups=np.arange(24) % 3, scoring=scoring)
    assert np.mean(found["test_sequences"]) > 0.9
    assert np.mean(found["test_f1"]) > 0.9
    assert cross_val_score(crf(), X, Y, cv=2).shape == (2,)


def test_metadata_routing() -> None:
    weight, groups = np.ones(24), np.arange(24) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        asking = crf().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(
            asking, X, Y, cv=GroupKFold(3), params={"sample_weight": weight, "groups": groups}
        )
        assert np.mean(found["test_score"]) > 0.9
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(crf(), X, Y, cv=2, params={"sample_weight": weight})
    search = GridSearchCV(crf(), {"start": [True]}, cv=2).fit(X, Y, sample_weight=weight)
    assert search.best_score_ > 0.9


def test_pipeline() -> None:
    pipe = make_pipeline(Items(), crf())
    pipe.set_params(chaincrf__objective__l2=0.5, items__length=False)
    assert pipe.named_steps["chaincrf"].objective.l2 == 0.5
    assert pipe.fit(W, Y).predict(W_TEST) == Y_TEST
    assert pipe.score(W_TEST, Y_TEST) == 1.0
    grid = GridSearchCV(Pipeline([("x", Items()), ("y", crf())]), {"y__objective__l2": [0.1, 1.0]}, cv=2)
    assert grid.fit(W, Y).predict(W_TEST) == Y_TEST


@pytest.mark.parametrize("template", [None, "w[-1..1]; suffix(w, 1)[0]; edge: w[0]"])
def test_pickle_deepcopy_and_joblib(template: str | None, tmp_path: Path) -> None:
    train, test = (X, X_TEST) if template is None else (W, W_TEST)
    made = crf(template=template).fit(train, Y)
    joblib.dump(made, tmp_path / "crf.joblib")
    copies = [pickle.loads(pickle.dumps(made)), copy.deepcopy(made)]
    copies += [joblib.load(tmp_path / "crf.joblib", mmap_mode=mode) for mode in (None, "r")]
    for other in copies:
        assert other.extractor_.attributes is other.model_.attributes  # no renaming at each prediction
        assert other.predict(test) == made.predict(test)
        np.testing.assert_array_equal(other.model_.w, made.model_.w)
        assert clone(other).get_params() == made.get_params()
    parts = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(made.predict)([x]) for x in test)
    assert [one for part in parts for one in part] == made.predict(test)


# ---- what X may be --------------------------------------------------------------------------------


def test_kinds_of_x_without_a_template() -> None:
    names = [[[f"w:{w}", f"end:{w[-1]}"] for w in s] for s in W]
    assert crf().fit(names, Y).predict([[[f"w:{w}"] for w in s] for s in W_TEST]) == Y_TEST
    assert crf().fit(iter(X), iter(Y)).predict(iter(X_TEST)) == Y_TEST
    known = sorted({w for s in W for w in s})
    dense = [np.array([[float(w == k) for k in known] for w in s]) for s in W]
    dense_test = [np.array([[float(w == k) for k in known] for w in s]) for s in W_TEST]
    one = crf().fit(dense, Y)
    assert one.predict(dense_test) == Y_TEST
    sparse = [scipy.sparse.csr_matrix(rows) for rows in dense]
    two = crf(features="all").fit(sparse, Y)
    assert two.predict([scipy.sparse.csr_matrix(rows) for rows in dense_test]) == Y_TEST
    assert abs(one.log_proba(dense, Y) - two.log_proba(sparse, Y)).max() < 0.02
    both = crf().fit(list(zip(X, dense, strict=True)), Y)
    assert both.predict(list(zip(X_TEST, dense_test, strict=True))) == Y_TEST
    with pytest.raises(ValueError, match="X has 0 real-valued columns, the model was fitted with"):
        one.predict(X_TEST)


def test_data_sets_and_batches() -> None:
    data, test = ItemExtractor()(X, Y), ItemExtractor()(X_TEST, Y_TEST)
    made = crf().fit(data)
    assert made.predict(test) == made.predict(X_TEST) == Y_TEST
    assert made.score(test) == 1.0
    np.testing.assert_array_equal(made.model_.w, fitted().model_.w)
    shuffled = [["N" if y == "D" else "D" for y in s] for s in Y]
    assert set(crf().fit(data, shuffled).classes_) == {"D", "N"}  # y takes the place of the data's labels
    ids = crf().fit(data.batch)
    assert ids.classes_.tolist() == ["0", "1", "2"]
    assert ids.score(data.batch) == 1.0
    assert crf().fit(data.batch, Y).predict(data.batch) == Y
    with pytest.raises(ValueError, match="ids without names"):
        ids.predict(X_TEST)


def test_kinds_of_x_with_a_template() -> None:
    rows = [[(w, w[-1]) for w in s] for s in W]
    test = [[(w, w[-1]) for w in s] for s in W_TEST]
    crfpp = crf(template="U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB\n").fit(rows, Y)
    assert crfpp.predict(test) == Y_TEST
    assert crfpp.model_.recipe is not None
    assert crfpp.model_.recipe.dialect == "crfpp"
    by_name = crf(template=Recipe.parse("word[0]; suffix(word, 1)[-1]"))
    assert by_name.fit([[{"word": w} for w in s] for s in W], Y).predict(W_TEST) == Y_TEST
    columns = Columns.from_rows([[(w,) for w in s] for s in W], names=["word"])
    assert clone(by_name).fit(columns, Y).predict(W_TEST) == Y_TEST


def test_template_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "template"
    path.write_text("U0:%x[0,0]\n")
    assert crf(template=path).fit(W, Y).predict(W_TEST) == Y_TEST


# ---- what it learns -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "items"])
def test_single_positions_are_logistic_regression(kind: str) -> None:
    random = np.random.default_rng(0)
    rows, weight = random.normal(size=(60, 4)), random.uniform(0.5, 2.0, size=60)
    y = np.array(["a", "b", "c"])[(rows @ random.normal(size=(4, 3)) + random.normal(size=(60, 3))).argmax(1)]
    given: dict[str, Any] = {
        "dense": [row[None] for row in rows],
        "sparse": [scipy.sparse.csr_matrix(row[None]) for row in rows],
        "items": [[dict(zip("pqrs", map(float, row), strict=True))] for row in rows],
    }
    logistic = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10, max_iter=10_000)
    logistic.fit(rows, y, sample_weight=weight)
    made = crf(objective=Likelihood(l2=0.7), optimiser=NEAR, features="all")
    made.fit(given[kind], [[label] for label in y.tolist()], sample_weight=weight)
    found = np.concatenate(made.predict_marginals(given[kind], as_array=True))
    order = [made.classes_.tolist().index(label) for label in logistic.classes_]
    np.testing.assert_allclose(found[:, order], logistic.predict_proba(rows), atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"optimiser": NEAR}, {"optimiser": NEAR, "order": 2}])
def test_sample_weight_is_repetition(options: dict[str, Any]) -> None:
    weight = [1 + n % 3 for n in range(len(X))]
    repeated = [n for n, times in enumerate(weight) for _ in range(times)]
    one = crf(**options).fit(X, Y, sample_weight=weight)
    two = crf(**options).fit([X[n] for n in repeated], [Y[n] for n in repeated])
    near = 1e-3  # "auto" ends at a certified gap
    np.testing.assert_allclose(one.log_proba(X, Y), two.log_proba(X, Y), atol=near)
    assert abs(one.log_proba(X, Y) - fitted(**options).log_proba(X, Y)).max() > 2 * near
    noisy = [["D"] * len(y) for y in Y]
    for metric in ("token_accuracy", "sequence_accuracy", "token_f1_macro", "log_likelihood"):
        one.set_params(metric=metric)
        plain = one.score([X[n] for n in repeated], [noisy[n] for n in repeated])
        assert one.score(X, noisy, sample_weight=weight) == pytest.approx(plain)


def test_dev_set_constraints_and_scheme() -> None:
    segments = [[{"D": "B-X", "N": "I-X", "V": "O"}[y] for y in s] for s in Y]
    made = crf(scheme="BIO", max_iterations=30).fit(X, segments, X_TEST, [["O"] * len(y) for y in Y_TEST])
    assert made.model_.training is not None
    assert made.model_.training.metric == "segment_f1"
    assert all(s[0] != "I-X" for s in made.predict([[{"w": "dog"}]]))
    strict = crf(scheme=Scheme("BIO"), metric="segment_f1").fit(X, segments)
    assert strict.score(X, segments) == strict.score(X, segments, sample_weight=np.arange(24)) == 1.0
    assert crf(constraints=[Forbid("N", "V")], order=0).get_params()["constraints"] == [Forbid("N", "V")]
    with pytest.raises(ValueError, match="X_dev and y_dev go together"):
        crf().fit(X, Y, X_TEST)
    dev = ItemExtractor()(X_TEST, Y_TEST)
    assert crf(metric="sequence_accuracy").fit(X, Y, dev).score(X_TEST, Y_TEST) == 1.0


def test_unknown_labels_are_summed_over() -> None:
    hidden: list[list[str | None]] = [[y if n % 2 else None for n, y in enumerate(s)] for s in Y]
    made = crf(max_iterations=20).fit(X, hidden)
    assert np.all(made.log_proba(X, hidden) >= made.log_proba(X, made.predict(X)) - 1e-9)


# ---- partial_fit ----------------------------------------------------------------------------------


def test_partial_fit_begins_as_fit_does() -> None:
    np.testing.assert_array_equal(crf().partial_fit(X, Y).model_.w, fitted().model_.w)
    made = crf().partial_fit(X, Y, classes=["D", "N", "V", "unseen"])
    assert made.classes_.tolist() == ["D", "N", "V", "unseen"]


@pytest.mark.parametrize("tags", [["Z", "N"], ["D", "N", "Z"]])
@pytest.mark.parametrize("l2", [0.1, 1.0])
@pytest.mark.parametrize("options", [{}, {"start": True}, {"template": "w[0]; edge: w[0]"}])
def test_partial_fit_keeps_and_adds(options: dict[str, Any], l2: float, tags: list[str]) -> None:
    # Transitions and starts are shared, so old data may get worse: but less than by the new data alone.
    def given(words: list[list[str]]) -> Any:
        return words if "template" in options else [[[w] for w in s] for s in words]

    new = given([[{"Z": "zap", "N": "dog", "D": "the"}[y] for y in tags]] * 5)
    made = crf(objective=Likelihood(l2=l2), **options).fit(given(W), Y)
    alone = clone(made).fit(new, [tags] * 5)
    first = made.model_
    assert made.partial_fit(new, [tags] * 5) is made
    assert made.classes_.tolist() == [*first.labels.strings(), "Z"]
    assert made.model_.attributes.strings()[: len(first.attributes)] == first.attributes.strings()
    assert made.predict(new[:1]) == [tags]
    assert made.score(given(W_TEST), Y_TEST) > alone.score(given(W_TEST), Y_TEST)
    shown = set(made.extractor_(new).batch.attr.tolist())
    layout, weights = made.model_.layout, made.model_.w
    now = {layout.describe(i): weights[i] for i in range(layout.weights)}
    places = [first.layout.describe(i) for i in range(first.layout.weights)]
    kept = [i for i, p in enumerate(places) if p.kind == "node" and p.attribute not in shown]
    assert len(kept) > 3
    assert [now[places[i]] for i in kept] == [first.w[i] for i in kept]
    assert pickle.loads(pickle.dumps(made)).predict(new) == [tags] * 5


def test_partial_fit_leaves_what_l1_made_sparse_and_what_it_kept() -> None:
    made = crf(objective=Likelihood(l1=0.5, l2=0.1)).fit(X, Y)
    places = [made.model_.layout.describe(i) for i in range(made.model_.layout.weights)]
    before = dict(zip(places, made.model_.w.tolist(), strict=True))
    made.partial_fit([[{"w": "zap"}, {"w": "zip"}]], [["N", "V"]])
    now = {made.model_.layout.describe(i): made.model_.w[i] for i in range(made.model_.layout.weights)}
    assert all(now[p] == w for p, w in before.items() if p.kind == "node")


def test_partial_fit_with_other_optimisers() -> None:
    found = fitted().partial_fit(X_TEST, Y_TEST).log_proba(X, Y)
    for name in ("lbfgs", "plbfgs", "cg", "newton"):
        made = fitted().set_params(optimiser=name).partial_fit(X_TEST, Y_TEST)
        np.testing.assert_allclose(made.log_proba(X, Y), found, atol=1e-2)
    with pytest.raises(ValueError, match="of order 1, this one of order 2"):
        fitted().set_params(order=2).partial_fit(X, Y)
    with pytest.raises(ValueError, match="use LBFGS"):
        fitted(optimiser="sgd").partial_fit(X_TEST, Y_TEST)
    hashed = ItemExtractor(hashed=64)
    made = crf().fit(hashed(X, Y)).partial_fit(hashed(X_TEST, Y_TEST))
    assert made.score(hashed(X_TEST, Y_TEST)) == 1.0
    with pytest.raises(ValueError, match="of the data have names"):
        made.partial_fit(X, Y)
    with pytest.raises(ValueError, match="of the model have names"):
        fitted().partial_fit(hashed(X, Y))


def test_partial_fit_goes_on_learning_from_mistakes() -> None:
    made = crf(objective="perceptron", max_iterations=9).fit(X, Y)
    before, turned = made.model_, [["DNV"["NVD".index(label)] for label in labels] for labels in Y]
    made.partial_fit(X, turned)
    assert made.score(X, turned) == 1.0
    same = crfkit.train(ItemExtractor()(X, turned), objective="perceptron", init=before, max_iterations=9)
    assert same.training is not None
    assert same.training.optimiser == "AveragedPerceptron"
    assert same.predict(ItemExtractor()(X)) == made.predict(X)
    with pytest.raises(ValueError, match="LBFGS minimises"):
        crf(objective="perceptron", optimiser="lbfgs").fit(X, Y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": 2, "stop": True},
        {"transitions": "observed", "start": True},
        {"template": "w[0]; edge: suffix(w, 1)[0]"},
        {"dense": True},
    ],
)
def test_partial_fit_moves_to_where_its_objective_is_least(options: dict[str, Any]) -> None:
    given: Any = W if "template" in options else X
    if options == {"dense": True}:
        given = [np.array([[float(len(w)), float("a" in w)] for w in s]) for s in W]
    kept = {k: v for k, v in options.items() if k != "dense"}
    made = crf(optimiser=NEAR, **kept).fit(given[:12], Y[:12])
    before = made.model_
    new = [["W" if y == "V" else y for y in s] for s in Y[12:]]  # one label is new
    made.partial_fit(given[12:], new)
    layout, w = made.model_.layout, made.model_.w
    places = {layout.describe(i): i for i in range(layout.weights)}
    w0 = np.zeros(layout.weights)
    for i in range(before.layout.weights):
        w0[places[before.layout.describe(i)]] = before.w[i]  # no weight is lost
    gradient = np.empty(layout.weights)
    batch = made.model_.batch_of(made.extractor_(given[12:], new))
    Likelihood().bind(layout, made.model_.chain, batch, threads=1).value_and_grad(w, gradient)
    moved = w != w0
    assert moved.any()
    assert abs(gradient + w - w0)[moved].max() < 1e-4


# ---- queries --------------------------------------------------------------------------------------


def test_queries_agree() -> None:
    made = fitted(order=1)
    found = made.predict(X_TEST)
    assert {type(found), *map(type, found)} == {list}
    assert {type(y) for s in found for y in s} == {str}
    assert made.predict([X_TEST[0]] * 2) == [found[0]] * 2  # equal lengths make no array
    assert made.predict([]) == []
    assert made.predict([[]]) == [[]]
    arrays, dicts = made.predict_marginals(X_TEST, as_array=True), made.predict_marginals(X_TEST)
    for array, rows in zip(arrays, dicts, strict=True):
        np.testing.assert_allclose(array.sum(axis=1), 1.0)
        assert [[row[y] for y in made.classes_] for row in rows] == array.tolist()
    best = made.predict_kbest(X_TEST, 3)
    assert [one[0][0] for one in best] == found
    for one, x in zip(best, X_TEST, strict=True):
        again = made.log_proba([x] * len(one), [labels for labels, _ in one])
        np.testing.assert_allclose([p for _, p in one], again, atol=1e-9)
    draws = made.sample(X_TEST, n=400, seed=1)
    assert draws == made.sample(X_TEST, n=400, seed=1)
    assert made.sample(X_TEST, n=3) == made.sample(X_TEST, n=3, seed=0)
    share = np.mean([[y[0] == "D" for y in draws[n]] for n in range(len(draws))], axis=1)
    assert abs(share - [rows[0]["D"] for rows in dicts]).max() < 0.1
    assert made.log_proba(A_WORD, [["unheard"]]) == [-np.inf]
    assert made.log_proba(A_WORD, [[None]]) == pytest.approx([0.0])
    assert made.score(X_TEST, [["unheard"] * len(y) for y in Y_TEST]) == 0.0
    with pytest.raises(ValueError, match="k is 0"):
        made.predict_kbest(X, 0)
    with pytest.raises(ValueError, match="n is 0"):
        made.sample(X, 0)


# ---- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, None, "requires y to be passed, but the target y is None"),
        (X, Y[:-1], "X has 24 sequences, y has 23: sequence 23 has no labels"),
        (X[:-1], Y, "X has 23 sequences, y has more: sequence 23 has labels only"),
        (A_WORD * 2, [["D"], ["D", "N"]], "sequence 1: X has 1 positions, y has 2 labels"),
        (A_WORD, ["D"], "sequence 0 is 'D', expected a list of labels"),
        (A_WORD, "D", "y is a plain string"),
        ("the dog", [["D"]], "expected a list of sequences"),
        (None, [["D"]], "expected a list of sequences"),
        ([], [], "no sequences"),
        (np.zeros((3, 2)), [["D"]] * 3, r"for a single sequence: \[X\]"),
        (Columns.from_rows([[("a",)]]), [["D"]], "give template"),
    ],
)
def test_wrong_data(x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crf().fit(x, y)


def test_wrong_labels_and_weights() -> None:
    with pytest.raises(TypeError, match="sequence 1, position 0: the label is 3, of type int"):
        crf().fit(A_WORD * 2, [["D"], [3]])
    with pytest.raises(
        ValueError, match=r"sample_weight has shape \(3,\), expected one number for each of 24"
    ):
        crf().fit(X, Y, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1"):
        crf().fit(A_WORD, [["D"]], sample_weight=[-1])
    with pytest.raises(ValueError, match="cannot be weighted"):
        fitted(metric=lambda gold, found: 1.0).score(X, Y, sample_weight=np.ones(24))


@pytest.mark.parametrize("method", ["predict", "predict_marginals", "sample", "score", "log_proba"])
def test_nothing_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError, match="ChainCRF"):
        getattr(ChainCRF(), method)(X)
    with pytest.raises(NotFittedError):
        ChainCRF().predict_kbest(X, 2)


def test_queries_that_need_labels() -> None:
    for method in ("score", "log_proba"):
        with pytest.raises(ValueError, match="labels"):
            getattr(fitted(), method)(X)


@pytest.mark.parametrize(
    ("template", "x", "error", "message"),
    [
        ("word[", W, ValueError, "template, line 1: 'word\\['"),
        ("", W, ValueError, "no template"),
        (3, W, TypeError, "template is 3, expected text"),
        ("word[0]", [[("the", "x")]], ValueError, "reads the column 'word', but the rows of X are no dicts"),
        ("word[0]", [[{"w": "the"}]], ValueError, "sequence 0, token 0 has no 'word'"),
        ("a[0]; b[0]", [["the"]], ValueError, "reads the columns a, b, but the tokens"),
        ("U:%x[0,5]", [[("the", "x")]], ValueError, "no column 5"),
        ("w[0]", ["the"], ValueError, "sequence 0 is a plain string"),
        ("w[0]", [["the"], [("the",)]], ValueError, "sequence 1, token 0 is a tuple"),
        ("w[0]", [[{"w": 3.0}]], ValueError, "expected a tuple of strings"),
    ],
)
def test_wrong_template(template: Any, x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        crf(template=template).fit(x, [["D"]])


def test_lazy_name() -> None:
    assert crfkit.ChainCRF is ChainCRF
    assert "ChainCRF" in dir(crfkit)
    assert isinstance(ItemExtractor()(X), Dataset)
    assert isinstance(ItemExtractor()(X).batch, Batch)
