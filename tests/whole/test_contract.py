"""The public face, held against a table: names by tier, parameters, verbs, and tasks as users write them."""

from __future__ import annotations

import importlib

import pytest

import crfkit

#: `crfkit.__all__`: what a user needs in the first week, and the sub-packages. Doc comes with `crfkit.text`.
NAMES = """
ChainCRF SemiCRF GraphCRF MEMM HMM BoostedCRF HiddenChainCRF HiddenSequenceCRF FactorialCRF SkipChainCRF
GridCRF MultiLabelCRF train load read forecast Model Span Chain SemiMarkov Graph Likelihood FeatureSelection
Stop __version__
"""
#: Not yet: text, view, web, distributed, datasets.
PACKAGES = """
data features tags structures graphs constraints inference objectives optimize models training metrics errors
compat
"""
#: What each of them has. Left out are torch, which needs PyTorch, and what others decide: models, metrics.
TIERS = {
    "data": "Columns Dataset concatenate guess stream write to_table FORMATS",
    # stock comes with `crfkit.text`
    "features": """Recipe window Gazetteer Dictionary InternalDictionary Conjunctions Extractor ItemExtractor
        segment_features""",
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
