"""The public face, held against a table: names by tier, parameters, verbs, and tasks as users write them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import crfkit
from crfkit import (
    BoostedCRF,
    Chain,
    ChainCRF,
    Doc,
    FactorialCRF,
    Graph,
    GraphCRF,
    GridCRF,
    HiddenChainCRF,
    HiddenSequenceCRF,
    SemiCRF,
    SkipChainCRF,
    Span,
    Stop,
)
from crfkit.constraints import AtMostOnce, Forbid, Scheme
from crfkit.datasets import load_addresses
from crfkit.errors import SaveError
from crfkit.estimators import ESTIMATORS
from crfkit.graphs import scopes
from crfkit.models import GraphModel, SequenceModel
from crfkit.text import align
from crfkit.training import Boosting, Checkpoints
from crfkit.training.events import Checkpointed, Progress
from tests.cases.every_estimator import same

#: `crfkit.__all__`: what a user needs in the first week, and the sub-packages.
NAMES = """
ChainCRF SemiCRF GraphCRF MEMM HMM BoostedCRF HiddenChainCRF HiddenSequenceCRF FactorialCRF SkipChainCRF
GridCRF MultiLabelCRF train load read forecast Model Span Doc Chain SemiMarkov Graph Likelihood
FeatureSelection Stop __version__
"""
#: Not yet: web, distributed.
PACKAGES = """
data features tags structures graphs constraints inference objectives optimize models training metrics errors
text datasets view compat
"""
#: What each of them has. Left out are torch, which needs PyTorch, and what others decide: models, metrics.
TIERS = {
    "data": "Columns Dataset concatenate guess stream write to_table FORMATS",
    "features": """Recipe window Gazetteer Dictionary InternalDictionary Conjunctions Extractor ItemExtractor
        segment_features stock""",
    "tags": "SCHEMES detect spans to_tags convert",
    # Table is what scores of graphs are given as
    "structures": "Chain LocalChain SemiMarkov Tree Structure Potentials Table",
    "graphs": "Graph Clique GraphBatch scopes Rules load save",
    "constraints": """Scheme Forbid Require SegmentLength AtMostOnce AtMost AtLeast Exactly Before Implies
        LinearConstraint START STOP""",
    "objectives": """Likelihood MaxMargin SoftmaxMargin Perceptron Local PseudoLikelihood Piecewise
        PiecewisePseudoLikelihood ContrastiveDivergence SampleRank EntropyRegularized PosteriorRegularized""",
    "objectives.classic": "Exponential MarginalLikelihood",
    "optimize": """LBFGS Dual SGD SGDL1 AdaGrad MiniBatch AveragedPerceptron PassiveAggressive AROW MIRA
        OneSlack BCFW EM Optimizer Run Step End Penalty""",
    "optimize.classic": """ConjugateGradient IterativeScaling ParallelUpdate SteepestDescent RProp
        TruncatedNewton NSlack SMO ExponentiatedMargin Subgradient BlockCoordinate CrfppMIRA""",
    "estimators.classic": "KernelChainCRF OpinionPool CodeCRF VotedPerceptron BayesianCRF",
    "text": """Doc Docs Span Words Pattern Blanks Characters Given Sentences Alignment align read write
        FORMATS""",
    "datasets": "Sample load_addresses make_addresses load_corpus list_corpora",
    "view": """entities compare joined lattice segments marginals waterfall transitions top_features confusion
        scores facts reliability training alignment graph grid cell page style weights coverage intervals
        learning""",
    "training": "Checkpoints BlockedData TrainingRecord Boosting Smoothing Induction induce events",
    "errors": """DataError ModelFileError SaveError UnsupportedError NotCoveredError MethodError
        InfeasibleError DataWarning""",
}


def test_the_names_of_crfkit_are_those_of_the_table() -> None:
    assert sorted(crfkit.__all__) == sorted([*NAMES.split(), *PACKAGES.split()])


@pytest.mark.parametrize("package", TIERS)
def test_the_names_of_a_package_are_those_of_the_table(package: str) -> None:
    found = importlib.import_module(f"crfkit.{package}")
    assert sorted(found.__all__) == sorted(TIERS[package].split())
    assert all(hasattr(found, name) for name in found.__all__)


def test_every_public_name_of_every_package_is_there() -> None:
    folder = Path(crfkit.__file__).parent
    names = [".".join(path.parent.relative_to(folder.parent).parts) for path in folder.rglob("__init__.py")]
    for name in names:
        if name.startswith(("crfkit.torch", "crfkit.compat.torch")):
            continue  # need PyTorch
        module = importlib.import_module(name)
        missing = [public for public in getattr(module, "__all__", ()) if not hasattr(module, public)]
        assert not missing, f"{name}: {missing}"


# ---- tasks, as the contract spells them, on small data; 11 and 22 are in tests/torch

WORDS = [["the", "old", "dog", "in", "New", "York"], ["a", "dog"], ["York", "is", "old"], ["the", "York"]]
TAGS = [["O", "O", "O", "O", "B-LOC", "I-LOC"], ["O", "O"], ["B-LOC", "O", "O"], ["O", "B-LOC"]]
ITEMS = [[{"w": word, "upper": word[0].isupper()} for word in sentence] for sentence in WORDS]


def columns_file(folder: Path) -> Path:
    lines = [
        "\n".join(f"{w} {t}" for w, t in zip(*pair, strict=True)) for pair in zip(WORDS, TAGS, strict=True)
    ]
    path = folder / "train.txt"
    path.write_text("\n\n".join(lines) + "\n")
    return path


def test_1_files_in_columns_are_learned_and_judged(tmp_path: Path) -> None:
    path = columns_file(tmp_path)
    crf = ChainCRF().fit(crfkit.read(path))
    assert crf.score(crfkit.read(path)) == 1.0
    assert crf.predict(crfkit.read(path)) == TAGS
    assert {*crf.classes_} == {"O", "B-LOC", "I-LOC"}


def test_2_a_function_makes_features() -> None:
    def word2features(tokens: list[str], i: int) -> dict[str, Any]:
        return {"w": tokens[i], "before": tokens[i - 1] if i else "", "upper": tokens[i][0].isupper()}

    crf = ChainCRF(features=word2features).fit(WORDS, TAGS, dev=(WORDS, TAGS))
    assert crf.predict(WORDS) == TAGS
    items = [[word2features(sentence, i) for i in range(len(sentence))] for sentence in WORDS]
    plain = ChainCRF().fit(items, TAGS, dev=(items, TAGS))
    assert np.array_equal(crf.model_.w, plain.model_.w)
    assert [p.tolist() for p in crf.predict_proba(WORDS)] == [p.tolist() for p in plain.predict_proba(items)]
    with pytest.raises(SaveError, match="features is a function, which a file cannot hold"):
        crf.save("m.crf")


def test_3_templates_and_windows(tmp_path: Path) -> None:
    recipe = "word[-2..2]; shape(word)[0]"
    (tmp_path / "t.txt").write_text(recipe.replace("; ", "\n"))
    (tmp_path / "crfpp.txt").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    of_text = ChainCRF(features=recipe).fit(WORDS, TAGS)
    of_file = ChainCRF(features=tmp_path / "t.txt").fit(WORDS, TAGS)
    assert np.array_equal(of_text.model_.w, of_file.model_.w)
    of_crfpp = ChainCRF(features=tmp_path / "crfpp.txt").fit(WORDS, TAGS)
    assert "U0:dog" in {name for name, _ in of_crfpp.state_features_}
    wide = crfkit.features.window(ITEMS, 2)
    assert wide[0][1]["+2:w"] == "in"
    assert "-2:w" not in wide[0][1]
    assert ChainCRF().fit(wide, TAGS).predict(wide) == TAGS


def test_4_models_are_saved_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.crf"
    crf = ChainCRF(features="word[-1..1]").fit(WORDS, TAGS)
    crf.save(path)
    for opened in (crfkit.load(path), ChainCRF.load(path)):
        assert opened.predict(WORDS) == crf.predict(WORDS) == TAGS


def test_5_probabilities() -> None:
    crf = ChainCRF().fit(ITEMS, TAGS)
    found = crf.predict_proba(ITEMS)
    assert found[0].shape == (6, len(crf.classes_))
    assert found[0].sum(axis=1) == pytest.approx(np.ones(6), abs=1e-12)
    assert found.to_dicts()[0][0] == dict(zip(crf.classes_, found[0][0].tolist(), strict=True))


def test_6_the_largest_weights() -> None:
    crf = ChainCRF().fit(ITEMS, TAGS)
    found = crf.top_features("B-LOC", 2)
    assert [label for _, label, _ in found] == ["B-LOC"] * 2
    of_label = sorted((w for (_, y), w in crf.state_features_.items() if y == "B-LOC"), reverse=True)
    assert [w for *_, w in found] == of_label[:2]
    assert crf.model_.top_features("B-LOC", 2) == found
    assert len(crf.top_features(n=3)) == 3
    with pytest.raises(ValueError, match="label is 'X', which the model does not know; its labels are O"):
        crf.top_features("X")


@pytest.mark.parametrize("order", [1, 2])
def test_7_transitions_as_a_table(order: int) -> None:
    crf = ChainCRF(order=order).fit(ITEMS, TAGS)
    frame = crf.transitions_.to_frame()
    assert str(crf.model_.transitions) == str(crf.transitions_)
    for run, weight in crf.transition_features_.items():
        assert frame.loc[" ".join(run[:-1]), run[-1]] == weight
    assert np.count_nonzero(frame.to_numpy()) == len(crf.transition_features_)


def test_8_explanations() -> None:
    told = str(ChainCRF().fit(ITEMS, TAGS).explain(ITEMS[0], at=4))
    assert "B-LOC" in told
    assert "w:New" in told


def test_9_grid_search() -> None:
    search = GridSearchCV(ChainCRF(), {"l2": [0.01, 100.0]}, cv=2).fit(ITEMS * 4, TAGS * 4)
    assert search.best_params_ == {"l2": 0.01}


def test_10_a_dev_set_ends_training() -> None:
    crf = ChainCRF(stop=Stop(patience=5)).fit(ITEMS, TAGS, dev=(ITEMS, TAGS))
    assert crf.training_ is not None
    assert crf.training_.metric
    assert crf.training_.score == 1.0


def test_12_segments_with_probabilities() -> None:
    found = SemiCRF().fit(WORDS, TAGS).predict_spans(WORDS)
    assert [[span[:3] for span in spans] for spans in found] == [
        [(4, 6, "LOC")],
        [],
        [(0, 1, "LOC")],
        [(1, 2, "LOC")],
    ]
    assert {type(span) for spans in found for span in spans} == {Span}
    assert all(0.5 < span.probability <= 1.0 for spans in found for span in spans)


def test_14_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    ids = [n for n, tags in enumerate(TAGS) for _ in tags]
    cells = {"id": ids, "tag": [*chain(*TAGS)], "word": [*chain(*WORDS)]}
    df = pandas.DataFrame(cells)  # the labels are not in the last column
    data = crfkit.read(df, sequence="id", label="tag")
    crf = ChainCRF().fit(data)
    df["pred"] = crf.predict(data).flat()
    assert df["pred"].tolist() == df["tag"].tolist() == [*chain(*TAGS)]


def test_15_a_text_is_tagged() -> None:
    train = load_addresses().train[:150]
    crf = ChainCRF(tokenizer="blanks", features="address").fit(train)
    found = [(s.text, s.label, s.probability) for s in crf.tag("123 Main St, Erie PA").spans]
    assert [text for text, *_ in found] == ["123", "Main", "St,", "Erie", "PA"]
    assert dict(pair[:2] for pair in found)["123"] == "AddressNumber"
    assert all(0.0 < probability <= 1.0 for *_, probability in found)


def test_20_the_best_segmentations() -> None:
    semi = SemiCRF().fit(WORDS, TAGS)
    best = semi.kbest(WORDS, 5)[0]
    assert best[0].spans == [(4, 6, "LOC")]
    assert [one.log_prob for one in best] == sorted((one.log_prob for one in best), reverse=True)
    assert best[0].probability == pytest.approx(np.exp(best[0].log_prob))


def test_21_gold_as_segments() -> None:
    semi = SemiCRF().fit([["in", "New", "York"], ["a", "dog"]], [[(1, 3, "CITY")], []])
    found = semi.predict_spans([["in", "New", "York"], ["a", "dog"]])
    assert [[span[:3] for span in spans] for spans in found] == [[(1, 3, "CITY")], []]


def test_constraints_of_both_kinds_stand_in_one_list() -> None:
    rules: list[Any] = [Scheme("BIO"), Forbid("O", "B-LOC"), AtMostOnce()]
    crf = ChainCRF(constraints=rules).fit(ITEMS[1:3], TAGS[1:3])
    assert crf.model_.structure.constraints == (Scheme("BIO"), Forbid("O", "B-LOC"))
    assert crf.model_.constraints == (AtMostOnce(),)
    by_structure = ChainCRF(structure=Chain(constraints=rules[:2])).fit(ITEMS[1:3], TAGS[1:3])
    assert np.array_equal(crf.model_.w, by_structure.model_.w)
    with pytest.raises(ValueError, match=r"write structure=Chain\(constraints=\[Scheme"):
        ChainCRF(structure=Chain(order=2), constraints=rules).fit(ITEMS, TAGS)


# ---- section 2 and 3: parameters and signatures, as data

S = "ChainCRF SemiCRF MEMM CodeCRF OpinionPool"
H = "HiddenChainCRF HiddenSequenceCRF"
G = "GraphCRF GridCRF MultiLabelCRF FactorialCRF SkipChainCRF"
#: Parameter -> its default, and the estimators that have it.
PARAMETERS: dict[str, tuple[Any, str]] = {
    "features": ("auto", f"{S} {H} FactorialCRF SkipChainCRF"),
    "l1": (None, f"{S} {H} {G}"),
    "l2": (None, f"{S} {H} {G} BoostedCRF"),
    "order": (None, f"ChainCRF MEMM CodeCRF OpinionPool {H}"),
    "max_length": (None, "SemiCRF"),
    "min_count": (None, f"{S} {H} {G}"),
    "max_iterations": (None, f"{S} {H} {G} BoostedCRF"),
    "optimizer": ("auto", f"{S} {H} {G}"),
    "objective": (None, f"{S} {H} {G}"),
    "structure": (None, f"{S} {H} BoostedCRF"),
    "selection": (None, f"{S} {H} {G}"),
    "stop": (None, f"{S} {H} {G}"),
    "constraints": ((), "ChainCRF SemiCRF MEMM HiddenChainCRF BoostedCRF"),
    "scheme": ("auto", S),
    "train_scheme": (None, "ChainCRF MEMM CodeCRF OpinionPool"),
    "init": (None, "ChainCRF SemiCRF MEMM"),
    "metric": ("auto", f"{S} {H} {G} BoostedCRF HMM"),
    "random_state": (0, " ".join(ESTIMATORS)),
    "n_jobs": (None, " ".join(ESTIMATORS)),
}
#: Verb -> how its signature begins.
VERBS = {
    "fit": "(X, y=None",
    "partial_fit": "(X, y=None, *, classes=None, sample_weight=None)",
    "predict": "(X",
    "predict_proba": "(X",
    "predict_spans": "(X",
    "kbest": "(X, k",
    "sample": "(X, n_samples=1, *, random_state=None",
    "log_prob": "(X, y=None",
    "entropy": "(X",
    "score": "(X, y=None, sample_weight=None",
    "evaluate": "(X, y=None, *, metric=None, groups=None",
    "explain": "(x, at=None",
    "tag": "(x)",
    "top_features": "(label=None, n=10)",
    "save": "(path, *, dtype='float64', compact=False, notes=None, license=None)",
    "load": "(path)",
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_those_of_the_table(name: str) -> None:
    default, whose = PARAMETERS[name]
    for each in ESTIMATORS:
        own = signature(kind(each)).parameters
        assert name in own or each not in whose.split()
        if each in whose.split():
            assert own[name].default == default
            assert own[name].kind is Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_one_signature(verb: str) -> None:
    models = [] if verb == "load" else [SequenceModel, GraphModel]
    for each in [*map(kind, ESTIMATORS), *models]:
        found = getattr(each, verb, None)
        if found is None:
            continue
        own = [
            one.replace(annotation=Parameter.empty)
            for one in signature(found).parameters.values()
            if one.name not in ("self", "cls")
        ]
        assert str(Signature(own)).startswith(VERBS[verb]), f"{each.__name__}.{verb}{Signature(own)}"


def kind(name: str) -> Any:
    return getattr(importlib.import_module(ESTIMATORS[name], "crfkit.estimators"), name)


def test_flat_parameters_are_fields_of_parts() -> None:
    rows, labels = [np.eye(4)[[0, 1, 2]], np.eye(4)[[3, 0]]] * 4, [["a", "b", "a"], ["b", "a"]] * 4
    flat = BoostedCRF(l2=0.5, max_iterations=3, constraints=[Forbid("b", "b")]).fit(rows, labels)
    parts = BoostedCRF(
        boosting=Boosting(l2=0.5, rounds=3), structure=Chain(constraints=[Forbid("b", "b")])
    ).fit(rows, labels)
    assert np.array_equal(flat.model_.w, parts.model_.w)
    assert flat.n_iter_ <= 3
    with pytest.raises(ValueError, match=r"max_iterations=3 .*write boosting=Boosting\(rounds=3"):
        BoostedCRF(boosting=Boosting(), max_iterations=3).fit(rows, labels)
    assert BoostedCRF().set_params(boosting__rounds=7).boosting == Boosting(rounds=7)
    hidden = HiddenChainCRF(constraints=[Forbid("O", "I-LOC")], max_iterations=5).fit(ITEMS, TAGS)
    nested = HiddenChainCRF(structure=Chain(constraints=[Forbid("O", "I-LOC")]), max_iterations=5)
    assert np.array_equal(hidden.model_.w, nested.fit(ITEMS, TAGS).model_.w)
    whole: Any = [AtMostOnce()]
    for made in (BoostedCRF, HiddenChainCRF):
        with pytest.raises(ValueError, match=f"AtMostOnce.*{made.__name__} keeps constraints on neighbors"):
            made(constraints=whole).fit(rows, labels)


@pytest.mark.parametrize("made", [FactorialCRF, SkipChainCRF])
def test_features_of_sequences_that_become_graphs(made: Any, tmp_path: Path) -> None:
    words, tags = [*WORDS, ["York", "and", "York"]], [*TAGS, ["B-LOC", "O", "B-LOC"]]
    y: Any = {"tag": tags} if made is FactorialCRF else tags

    def word(tokens: list[str], i: int) -> dict[str, Any]:
        return {"w": tokens[i].lower(), "long": len(tokens[i]) > 3}

    more: dict[str, Any] = {} if made is FactorialCRF else {"equal": "w", "where": None}
    of_tokens = made(l2=0.1).fit(words, y)
    assert same(of_tokens.predict(words), y)
    of_function = made(features=word, l2=0.1, **more).fit(words, y, dev=(words, y))
    items = [[word(sentence, i) for i in range(len(sentence))] for sentence in words]
    of_items = made(l2=0.1, **more).fit(items, y, dev=(items, y))
    assert np.array_equal(of_function.model_.w, of_items.model_.w)
    assert same(of_function.predict(words), of_items.predict(items))
    with pytest.raises(ValueError, match="features is a function, which a file cannot hold"):
        of_function.save(tmp_path / "m.crf")


@pytest.mark.filterwarnings("ignore:pseudo-likelihood ties")
def test_every_estimator_of_labels_has_a_metric(tmp_path: Path) -> None:
    def right(gold: Any, found: Any) -> float:
        return float(
            np.mean([a == b for x, y in zip(gold, found, strict=True) for a, b in zip(x, y, strict=True)])
        )

    whole = ["up", "down", "up", "down"]
    for metric in ("accuracy", "f1_macro", right):
        crf = HiddenSequenceCRF(metric=metric, max_iterations=9).fit(ITEMS, whole, dev=(ITEMS, whole))
        assert getattr(crf.training_, "score", None) == crf.score(ITEMS, whole)
    X, y = images()
    grid = GridCRF(metric="f1_macro", objective="pseudo-likelihood").fit(X, y, dev=(X, y))
    assert getattr(grid.training_, "metric", None) == "f1_macro" == grid.evaluate(X, y).metric
    assert getattr(grid.training_, "score", None) == grid.score(X, y)
    start = GridCRF(init=grid.model_, objective="pseudo-likelihood").fit(X, y)
    assert start.n_iter_ < grid.n_iter_ or start.n_iter_ <= 3
    again = GridCRF.load(saved(start, tmp_path))
    assert again.init == "drawn"
    assert crfkit.load(tmp_path / "m.crf").estimator.left_out == ("init",)


def saved(crf: Any, folder: Path) -> Path:
    crf.save(folder / "m.crf")
    return folder / "m.crf"


# ---- what else the contract promises of X, y and fit


def test_numbers_are_labels(tmp_path: Path) -> None:
    sizes = [[len(word) for word in sentence] for sentence in WORDS]
    crf = ChainCRF(l2=0.1).fit(ITEMS, sizes, dev=(ITEMS, sizes))
    crf.save(tmp_path / "m.crf")
    assert {*crf.classes_} == {*crf.model_.labels} == {1, 2, 3, 4}
    for one in (crf, crf.model_, crfkit.load(tmp_path / "m.crf"), ChainCRF.load(tmp_path / "m.crf")):
        assert one.predict(ITEMS) == sizes
        assert one.tag(ITEMS[0]) == sizes[0]
        assert one.predict_proba(ITEMS).labels == (3, 2, 4, 1)
        assert [best[0].labels for best in one.kbest(ITEMS, 1)] == sizes
        assert {type(span.label) for spans in one.predict_spans(ITEMS) for span in spans} == {int}
        assert {type(y) for several in one.sample(ITEMS, 2) for labels in several for y in labels} == {int}
        assert one.score(ITEMS, sizes) == 1.0
        assert np.isfinite(one.log_prob(ITEMS, sizes)).all()
        assert one.predict(ITEMS, given=[[1, *[None] * (len(s) - 1)] for s in sizes])[0][0] == 1
    assert ChainCRF().fit(ITEMS, sizes).partial_fit(ITEMS, sizes, classes=[7]).classes_.tolist()[-1] == 7
    whole = HiddenSequenceCRF(max_iterations=5).fit(ITEMS, [10, 9, 10, 9])
    assert whole.classes_.tolist() == [9, 10]
    assert {*whole.predict(ITEMS).tolist()} <= {9, 10}
    with pytest.raises(TypeError, match="position 3: the label is 3, of type int, and others are strings"):
        ChainCRF().fit(ITEMS[:1], [["a", "b", "c", 3, "d", "e"]])


def test_probabilities_given_labels() -> None:
    crf = ChainCRF().fit(ITEMS, TAGS)
    given: list[list[str | None]] = [["O", *[None] * (len(tags) - 1)] for tags in TAGS]
    found = crf.predict_proba(ITEMS, given=given)
    names = crf.classes_.tolist()
    for n, each in enumerate(found):
        assert each[0] == pytest.approx([float(name == "O") for name in names])
        for t in range(len(each)):
            for y, name in enumerate(names):
                asked = [*given[n]]
                if t == 0:
                    continue
                asked[t] = name
                joint = crf.log_prob([ITEMS[n]], [asked]) - crf.log_prob([ITEMS[n]], [given[n]])
                assert each[t, y] == pytest.approx(np.exp(joint[0]))


def test_schemes_are_detected_or_held_to() -> None:
    for made in (ChainCRF, SemiCRF):
        plain, told = made().fit(WORDS, TAGS), made(scheme="BIO").fit(WORDS, TAGS)
        assert made(scheme="auto").fit(WORDS, TAGS).predict(WORDS) == plain.predict(WORDS)
        assert told.predict(WORDS) == plain.predict(WORDS)
    with pytest.raises(ValueError, match="the label 'I-LOC', which is not a tag of BMES: these are O"):
        ChainCRF(scheme="BMES").fit(WORDS, TAGS)
    with pytest.raises(ValueError, match="scheme 'BOI' is not known"):
        ChainCRF(scheme="BOI").fit(WORDS, TAGS)


@pytest.mark.parametrize("made", [ChainCRF, SemiCRF, HiddenChainCRF])
def test_a_fit_goes_on_from_a_checkpoint_and_tells_listeners(made: Any, tmp_path: Path) -> None:
    seen: list[Any] = []
    keep = Checkpoints(tmp_path / "run", seconds=None, iterations=1)
    whole = made(l2=0.1, optimizer="lbfgs").fit(ITEMS, TAGS)
    made(l2=0.1, optimizer="lbfgs", max_iterations=2)
    first = made(l2=0.1, optimizer="lbfgs").fit(ITEMS, TAGS, checkpoint=keep, listeners=[seen.append])
    again = made(l2=0.1, optimizer="lbfgs").fit(ITEMS, TAGS, checkpoint=keep)
    assert np.array_equal(whole.model_.w, first.model_.w)
    assert np.array_equal(whole.model_.w, again.model_.w)
    steps = [event for event in seen if isinstance(event, Progress)]
    assert len(steps) == whole.n_iter_
    assert any(isinstance(event, Checkpointed) for event in seen)


def test_files_frames_and_columns_are_learned_from(tmp_path: Path) -> None:
    path = columns_file(tmp_path)
    by_path = crfkit.train(path, path, l2=0.5)
    by_columns = crfkit.train(crfkit.read(path), crfkit.read(path), l2=0.5)
    by_estimator = ChainCRF(l2=0.5).fit(crfkit.read(path), dev=crfkit.read(path))
    assert np.array_equal(by_path.w, by_columns.w)
    assert np.array_equal(by_path.w, by_estimator.model_.w)
    assert by_path.predict(WORDS) == TAGS
    recipe = "0[-1..1]; shape(0)[0]"
    of_recipe = crfkit.train(path, features=recipe)
    assert np.array_equal(of_recipe.w, ChainCRF(features=recipe).fit(crfkit.read(path)).model_.w)
    assert crfkit.forecast(path, features="pos").weights == crfkit.train(path, features="pos").layout.weights
    with pytest.raises(ValueError, match="features is for data without attributes; leave it out"):
        crfkit.train(crfkit.features.ItemExtractor()(ITEMS, TAGS), features=recipe)
    with pytest.raises(ValueError, match=r"expected a recipe: .* write ChainCRF\(features=\.\.\.\)"):
        crfkit.train(path, features=lambda tokens, i: {})
    with pytest.raises(
        ValueError, match="'nor', which is neither a template nor one of the stock recipes ner"
    ):
        ChainCRF(features="nor").fit(WORDS, TAGS)
    segments = crfkit.train(path, structure="semi-markov")
    assert np.array_equal(segments.w, SemiCRF().fit(crfkit.read(path)).model_.w)
    assert crfkit.forecast(path, order=2).weights == crfkit.train(path, order=2).layout.weights
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        crfkit.train(tmp_path / "missing.txt")
    pandas = pytest.importorskip("pandas")
    ids = [n for n, tags in enumerate(TAGS) for _ in tags]
    df = pandas.DataFrame({"sequence": ids, "word": [*chain(*WORDS)], "label": [*chain(*TAGS)]})
    of_frame = ChainCRF(l2=0.5).fit(df)
    assert of_frame.predict(df) == of_frame.model_.predict(df) == TAGS
    assert np.array_equal(of_frame.model_.w, crfkit.train(df, l2=0.5).w)
    assert of_frame.score(df) == 1.0


PTR = [0, 3, 5]
GRAPH = Graph({"token": ["D", "N"]}, word=["token"], step=["token", "token"])


def graphs() -> Any:
    return GRAPH.batch(
        graph_ptr=PTR,
        labels={"token": ["D", "N", "N", "D", "N"]},
        features={"word": np.eye(3)[[0, 1, 2, 0, 1]]},
        scopes={"step": scopes.chain(PTR)},
    )


RESULTS: dict[str, Callable[[], Any]] = {
    "Span": lambda: ChainCRF().fit(ITEMS, TAGS).predict_spans(ITEMS)[0][0],
    "Candidate": lambda: ChainCRF().fit(ITEMS, TAGS).kbest(ITEMS, 2)[0][0],
    "Explanation": lambda: ChainCRF().fit(ITEMS, TAGS).explain(ITEMS[0]),
    "Report": lambda: ChainCRF().fit(ITEMS, TAGS).evaluate(ITEMS, TAGS),
    "Confusion": lambda: ChainCRF().fit(ITEMS, TAGS).evaluate(ITEMS, TAGS).confusion,
    "TrainingRecord": lambda: ChainCRF().fit(ITEMS, TAGS).training_,
    "WeightTable": lambda: ChainCRF().fit(ITEMS, TAGS).transitions_,
    "Forecast": lambda: crfkit.forecast(crfkit.features.ItemExtractor()(ITEMS, TAGS)),
    "Alignment": lambda: align([Doc("in New York.", spans=[(3, 6, "LOC"), (7, 9, "LOC")])])[1],
    "GraphLabels": lambda: GraphCRF(GRAPH).fit(graphs()).predict(graphs()),
    "GraphProba": lambda: GraphCRF(GRAPH).fit(graphs()).predict_proba(graphs()),
    "Candidate of graphs": lambda: GraphCRF(GRAPH).fit(graphs()).kbest(graphs(), 2)[0][0],
    "Explanation of graphs": lambda: GraphCRF(GRAPH).fit(graphs()).explain(graphs()[0]),
}
FRAMES = ("Explanation", "Report", "Confusion", "TrainingRecord", "WeightTable", "Forecast", "Alignment")


@pytest.mark.parametrize("name", RESULTS)
def test_results_print_and_are_plain_data(name: str) -> None:
    found = RESULTS[name]()
    assert type(found).__name__ == name.split()[0]
    assert str(found)
    assert isinstance(found.to_dict(), dict)
    json.dumps(found.to_dict())
    field = (*getattr(found, "__dataclass_fields__", ()), *getattr(found, "_fields", ()))[0]
    with pytest.raises(AttributeError):
        setattr(found, field, None)
    assert hasattr(found, "to_frame") == (name.split()[0] in FRAMES)
    if name.split()[0] in FRAMES:
        assert found._repr_html_().startswith("<div")
        pytest.importorskip("pandas")
        assert len(found.to_frame())


# ---- graphs


def test_13_a_report() -> None:
    report = ChainCRF().fit(ITEMS, TAGS).evaluate(ITEMS, TAGS)
    assert "span_f1 1.0000" in str(report)
    pytest.importorskip("pandas")
    assert report.confusion.to_frame().loc["B-LOC", "B-LOC"] == 3


def test_16_a_graph() -> None:
    crf = GraphCRF(GRAPH, l2=0.5).fit(graphs(), dev=graphs())
    assert crf.predict(graphs())["token"].tolist() == ["D", "N", "N", "D", "N"]
    assert crf.classes_["token"].tolist() == ["D", "N"]
    assert getattr(crf.training_, "score", None) == 1.0


def images() -> tuple[list[Any], list[Any]]:
    random = np.random.default_rng(0)
    X = [random.normal(size=(4, 5, 2)) for _ in range(6)]
    return X, [(image[:, :, 0] > 0).astype(int) for image in X]


@pytest.mark.filterwarnings("ignore:pseudo-likelihood ties")
def test_17_images() -> None:
    X, y = images()
    crf = GridCRF(objective="pseudo-likelihood").fit(X, y)
    assert crf.predict_proba(X)[0].shape == (4, 5, 2)
    assert crf.n_features_in_ == 2
    by_pair = GridCRF(objective="pseudo-likelihood").fit(X, y, dev=(X, y))
    by_graphs = GridCRF(objective="pseudo-likelihood").fit(X, y, dev=crf.batch(X, y))
    for made in (by_pair, by_graphs):
        assert getattr(made.training_, "score", None) == made.score(X, y) == made.score(crf.batch(X, y))
    assert by_graphs.evaluate(crf.batch(X, y)).score == by_graphs.evaluate(X, y).score
    with pytest.raises(ValueError, match=r"dev is a list, expected a pair, as in fit\(.*GraphBatch"):
        GridCRF().fit(X, y, dev=X)


def test_18_a_network_with_known_labels() -> None:
    crf = GraphCRF(GRAPH).fit(graphs())
    known = replace(graphs(), label=np.array([1, -1, -1, 1, -1], np.int32))
    assert crf.predict(known, given="labels")["token"].tolist()[::3] == ["N", "N"]


def test_19_several_columns() -> None:
    pos = [["D" if len(word) < 4 else "N" for word in sentence] for sentence in WORDS]
    crf = FactorialCRF(l2=0.01).fit(ITEMS, {"pos": pos, "chunk": TAGS})
    assert crf.predict(ITEMS, given={"pos": pos})["chunk"] == TAGS
    assert crf.predict_proba(ITEMS)["chunk"][0].shape == (6, 3)
    assert crf.explain(ITEMS[0], at=(4, "chunk")).decisions[0].label == "B-LOC"


def test_23_graphs_are_trained_by_train_too() -> None:
    model = crfkit.train(graphs(), l2=0.5, method="belief-propagation")
    assert model.explain(graphs()[0], at=("token", 2)).decisions[0].label == "N"
