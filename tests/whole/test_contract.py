"""The public face, held against a table: names by tier, parameters and verbs."""

from __future__ import annotations

import importlib
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import pytest

import crfkit
from crfkit.estimators import ESTIMATORS
from crfkit.models import GraphModel, SequenceModel

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
