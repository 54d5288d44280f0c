"""Optimizers that papers compare with; `crfkit.optimize` has those for daily use."""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.optimize.classic.cg import ConjugateGradient
    from crfkit.optimize.classic.coordinate import BlockCoordinate
    from crfkit.optimize.classic.exponentiated import ExponentiatedMargin
    from crfkit.optimize.classic.n_slack import NSlack
    from crfkit.optimize.classic.newton import TruncatedNewton
    from crfkit.optimize.classic.parallel import ParallelUpdate
    from crfkit.optimize.classic.rprop import RProp
    from crfkit.optimize.classic.scaling import IterativeScaling
    from crfkit.optimize.classic.smo import SMO
    from crfkit.optimize.classic.steepest import SteepestDescent
    from crfkit.optimize.classic.subgradient import Subgradient
    from crfkit.optimize.sequential.mira import CrfppMIRA

__all__ = [
    "SMO",
    "BlockCoordinate",
    "ConjugateGradient",
    "CrfppMIRA",
    "ExponentiatedMargin",
    "IterativeScaling",
    "NSlack",
    "ParallelUpdate",
    "RProp",
    "SteepestDescent",
    "Subgradient",
    "TruncatedNewton",
]

lazily(
    __name__,
    {
        "BlockCoordinate": ".coordinate",
        "ConjugateGradient": ".cg",
        "CrfppMIRA": "crfkit.optimize.sequential.mira",
        "ExponentiatedMargin": ".exponentiated",
        "IterativeScaling": ".scaling",
        "NSlack": ".n_slack",
        "ParallelUpdate": ".parallel",
        "RProp": ".rprop",
        "SMO": ".smo",
        "SteepestDescent": ".steepest",
        "Subgradient": ".subgradient",
        "TruncatedNewton": ".newton",
    },
)
