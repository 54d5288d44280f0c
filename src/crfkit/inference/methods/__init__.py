"""Methods for graphs: how queries of `crfkit.inference` are answered, as ``method=``.

========================  =================================================================================
`Auto`                    exact where that is cheap, else the best that is known for the graph; the default
`Elimination`             exact: variables are summed out one by one, as long as the tables fit the budget
`Enumeration`             every labeling is scored: exact, for a few variables
`BeliefPropagation`       messages until they rest: exact without cycles, Bethe's approximation with them
`TreeReweighted`          an upper bound on log Z by messages on weighted trees
`MeanField`               a lower bound on log Z, and marginals of independent variables or trees
`ExpectationPropagation`  TreeEP: a spanning tree that takes in the other factors in turn
`Gibbs`                   marginals and samples by Markov chains, of single variables or trees
`Annealing`               a labeling with a high score, by draws that grow cold
`MinCut`                  the best labeling of binary variables where pairs do not contradict each other
`QPBO`                    the labels of binary variables that are sure, and a bound; the others filled in
`Expansion`               many labels: cuts, label after label; tables that are metric
`Swap`                    many labels: cuts, two labels after two labels
`Ishikawa`                labels in an order, tables convex in their difference: exact
`TRWS`                    best labeling: sequential tree-reweighted message passing, with a bound
`DualDecomposition`       best labeling: forests that must agree, with a bound
`ICM`                     best labeling: each variable in turn, from a start
`LinearProgram`           best labeling: the local polytope, with its bound
`IntegerProgram`          best labeling, proved, by HiGHS; under linear constraints (`Linear`)
`CombiLP`                 best labeling, proved: TRW-S, and an integer program where it leaves doubt
========================  =================================================================================
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.errors import MethodError
    from crfkit.inference.methods.annealing import Annealing
    from crfkit.inference.methods.auto import Auto
    from crfkit.inference.methods.belief import BeliefPropagation
    from crfkit.inference.methods.combilp import CombiLP
    from crfkit.inference.methods.cuts import MinCut
    from crfkit.inference.methods.dual import DualDecomposition
    from crfkit.inference.methods.elimination import Elimination, TooWideError
    from crfkit.inference.methods.enumeration import Enumeration
    from crfkit.inference.methods.expansion import Expansion, Swap
    from crfkit.inference.methods.gibbs import Gibbs
    from crfkit.inference.methods.how import How
    from crfkit.inference.methods.icm import ICM
    from crfkit.inference.methods.ishikawa import Ishikawa
    from crfkit.inference.methods.mean_field import MeanField
    from crfkit.inference.methods.method import Method
    from crfkit.inference.methods.programs import IntegerProgram, Linear, LinearProgram
    from crfkit.inference.methods.qpbo import QPBO
    from crfkit.inference.methods.reweighted import TreeReweighted
    from crfkit.inference.methods.tree_ep import ExpectationPropagation
    from crfkit.inference.methods.trws import TRWS

__all__ = [
    "ICM",
    "QPBO",
    "TRWS",
    "Annealing",
    "Auto",
    "BeliefPropagation",
    "CombiLP",
    "DualDecomposition",
    "Elimination",
    "Enumeration",
    "Expansion",
    "ExpectationPropagation",
    "Gibbs",
    "How",
    "IntegerProgram",
    "Ishikawa",
    "Linear",
    "LinearProgram",
    "MeanField",
    "Method",
    "MethodError",
    "MinCut",
    "Swap",
    "TooWideError",
    "TreeReweighted",
]

lazily(
    __name__,
    {
        "Annealing": ".annealing",
        "Auto": ".auto",
        "BeliefPropagation": ".belief",
        "CombiLP": ".combilp",
        "DualDecomposition": ".dual",
        "Elimination": ".elimination",
        "Enumeration": ".enumeration",
        "Expansion": ".expansion",
        "ExpectationPropagation": ".tree_ep",
        "Gibbs": ".gibbs",
        "How": ".how",
        "ICM": ".icm",
        "IntegerProgram": ".programs",
        "Ishikawa": ".ishikawa",
        "Linear": ".programs",
        "LinearProgram": ".programs",
        "MeanField": ".mean_field",
        "Method": ".method",
        "MethodError": ".method",
        "MinCut": ".cuts",
        "QPBO": ".qpbo",
        "Swap": ".expansion",
        "TRWS": ".trws",
        "TooWideError": ".elimination",
        "TreeReweighted": ".reweighted",
    },
)
