"""`KernelChainCRF`: a chain whose labels are scored by a kernel of positions, for small data.

Gram matrices of positions, and columns of numbers whose inner products they are.

    K = R R^T,  R [P, r],   R of the r pivots is triangular

by Cholesky's method with pivots. Weights of the columns R give the scores that weights of the kernel's own
features would give, at the same penalty: every optimum is the same, and every objective and optimizer can be
used (Gupta 2005, after eq. 47; Lafferty, Zhu & Liu 2004). The weights W [r, L] of the columns become
coefficients R_pivots^-T W of the kernel with the r pivots, which is all that a model keeps of the positions
(`crfkit.models.classic.kernel`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit.arrays import Floats
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import labeled
from crfkit.estimators.base import fixed
from crfkit.estimators.fitting import has_gold, weighted
from crfkit.estimators.parameters import Trained
from crfkit.estimators.queries import SequenceQueries
from crfkit.estimators.saving import recorded
from crfkit.linear.features import FeatureSelection
from crfkit.models.classic.kernel import FUNCTION, Kernel, KernelMap, Similarity, vectors_of, with_columns
from crfkit.models.names import Names
from crfkit.models.reading import read
from crfkit.optimize.problem import Optimizer
from crfkit.structures import Chain
from crfkit.training.runs.convergence import pass_on
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self

_RANK = 1e-12  # of the largest K(x, x): columns of less are rounding
_OFF = 1e-6  # of the same: how far R R^T may be from K
_PROBED = 100  # rows that are compared


def check_memory(positions: int, most: float) -> None:
    """Raise where the Gram matrix of these positions is too large.

    Examples
    --------
    >>> check_memory(20_000, 2**30)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: X has 20,000 positions, whose Gram matrix takes 3.0 GiB, more than max_bytes = 1.0 GiB; ...
    """
    size = 8 * positions * positions
    if size > most:
        raise ValueError(
            f"X has {positions:,} positions, whose Gram matrix takes {size / 2**30:.1f} GiB, more than "
            f"max_bytes = {most / 2**30:.1f} GiB; give fewer sequences, raise max_bytes, or use ChainCRF"
        )


@dataclass(frozen=True, eq=False)
class Factor:
    """Columns of numbers whose inner products are a Gram matrix.

    Examples
    --------
    >>> made = Factor.of(np.array([[4.0, 2.0, 4.0], [2.0, 2.0, 2.0], [4.0, 2.0, 4.0]]))
    >>> made.columns.tolist(), made.pivots.tolist()
    ([[2.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [0, 1])
    """

    columns: Floats  #: [P, r]
    pivots: NDArray[np.int64]  #: [r] positions

    @classmethod
    def of(cls, gram: Floats) -> Factor:
        """Factor a Gram matrix [P, P]; refuse one that is not symmetric and positive semi-definite."""
        from scipy.linalg.lapack import dpstrf

        most = float(np.abs(np.diagonal(gram)).max(initial=0.0))
        if not most:
            raise ValueError("the kernel is 0 for every position; it cannot tell them apart")
        lower, order, rank, _ = dpstrf(gram, tol=_RANK * most, lower=1)
        pivot = np.asarray(order, dtype=np.int64) - 1  # [P]
        columns = np.zeros((len(gram), rank))
        columns[pivot] = np.tril(lower)[:, :rank]
        probed = np.linspace(0, len(gram) - 1, min(_PROBED, len(gram))).astype(np.int64)
        off = float(np.abs(gram[probed] - columns[probed] @ columns.T).max())
        if not off <= _OFF * most:
            raise ValueError(
                "the kernel is not symmetric and positive semi-definite on these positions, which max-margin "
                "and likelihood need; use another one, such as rbf"
            )
        return cls(columns, pivot[:rank])

    def coefficients(self, weights: Floats) -> Floats:
        """Return the coefficients [r, L] of the kernel with the pivots, by weights [r, L] of columns."""
        from scipy.linalg import solve_triangular

        found: Floats = solve_triangular(self.columns[self.pivots], weights, lower=True, trans="T")
        return found


class KernelChainCRF(SequenceQueries, Trained):
    """A chain that scores a label by kernels with the training positions, and steps by weights.

    Training takes the Gram matrix of all positions, so it is for some thousands of them.

    Parameters
    ----------
    kernel : str or function
        A name that scikit-learn's ``pairwise_kernels`` knows: "linear", "rbf", "poly", "laplacian", ...; or a
        function of two sets of rows, ``kernel(A, B) -> [len(A), len(B)]``. Rows are those of X: real numbers
        [T, d], or sparse rows where X is items.
    gamma, degree, coef0 : float
        Parameters of named kernels, as in `sklearn.kernel_ridge.KernelRidge`; None is the default there.
    kernel_params : dict, optional
        Arguments of a function.
    structure : Chain
        ``Chain(order=2)``, or with constraints.
    objective : MaxMargin, Likelihood, or the name of one
        With its penalty, of which l2 holds for the kernel's weights: ``MaxMargin(l2=0.1)``.
    optimizer : an optimizer, its name, or "auto"
        For max-margin "one-slack", "n-slack", "exponentiated-margin", "smo" or "bcfw". With "rbf" on
        90 positions the last three took about ten times as long as the first, or more.
    stop : Stop
    max_bytes : float
        The largest Gram matrix: 8 bytes for each pair of positions.
    metric : str or function
        Of `score`, as in `ChainCRF`.
    l1, l2, order, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    random_state, n_jobs
        As in `ChainCRF`.

    Attributes
    ----------
    model_ : Model
        A chain whose columns are the kernel with `support_`, which is its `feature_map`: it takes the same X.
        Its `training` has the certificate.
    support_ : rows [r, d]
        The positions that the others' kernels depend on linearly.
    classes_ : array of str [L]
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit.estimators.classic import KernelChainCRF
    >>> x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])  # exclusive or
    >>> crf = KernelChainCRF(kernel="rbf", gamma=2.0).fit([x], [["same", "other", "same", "other"]])
    >>> crf.predict([x[::-1]])
    [['other', 'same', 'other', 'same']]
    """

    _defaults: ClassVar[Mapping[str, Any]] = {"objective": "max-margin"}
    _maps: ClassVar[str] = "kernel"
    _needed: ClassVar[Mapping[str, str]] = {"kernel": FUNCTION}
    kernel: str | Kernel = "rbf"
    gamma: float | None = None
    degree: float = 3.0
    coef0: float = 1.0
    kernel_params: Mapping[str, Any] | None = None
    structure: Chain | str | None = None
    order: int | None = None
    optimizer: Optimizer | str = "one-slack"
    max_bytes: float = 2**30
    selection: FeatureSelection | str | None = fixed()
    tokenizer: Any = fixed()
    sentences: Any = fixed("none")
    alignment: Any = fixed("expand")
    min_count: int | None = fixed()

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Train on sequences, and forget what was learned before.

        Parameters
        ----------
        X : list of arrays [T, d], or of sequences of items
            See `crfkit.models.reading`.
        y : list of lists
            One label for each position.
        sample_weight : array [N], optional
            Weight of each sequence: 2 is as if it were there twice.
        """
        similarity = self._similarity()
        check_number("max_bytes", self.max_bytes)
        data = read(X, None, self._threads)
        if y is not None:
            data = labeled(data, y, Alphabet())
        data = weighted(has_gold(data, "KernelChainCRF", "labels"), sample_weight)
        if data.extractor is not None and data.extractor.hashed is not None:
            raise ValueError("X has hashed attributes, of which a kernel cannot be made; give names")
        check_memory(data.batch.positions, self.max_bytes)
        names = Names(data.labels, data.attributes.freeze(), Alphabet())
        rows = vectors_of(data.batch, len(names.attributes))
        factor = Factor.of(similarity(rows, rows))
        model = train(
            with_columns(data, factor.columns).freeze(),
            structure=self._part("structure"),
            objective=self._part("objective"),
            optimizer=self.optimizer,
            stop=self._part("stop"),
            random_state=self._seed,
            n_jobs=self._threads,
            progress=False,
        )
        w, part, L = model.w.copy(), model.layout.parts["dense"], model.layout.labels
        w[part] = factor.coefficients(w[part].reshape(-1, L)).ravel()
        kernels = KernelMap(similarity, rows[factor.pivots], names.attributes)
        self.classes_ = np.array(model.labels, dtype=object)
        self.n_iter_ = 0 if model.training is None else model.training.iterations
        self.model_ = recorded(self, replace(model, w=w, feature_map=kernels))
        pass_on(model.training)
        return self

    def _absent(self) -> Mapping[str, str]:
        return {
            "explain": "its features are similarities to training data, not words",
            "tag": "X is not tokens; use predict([x])",
        }

    @property
    def support_(self) -> Any:
        """The positions that others are compared with, [r, d]."""
        made = self.model_.feature_map
        assert isinstance(made, KernelMap)
        return made.support

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        made, used = super()._of_model(model), model.feature_map.similarity
        for name, value in {"kernel": used.kernel, **used.options}.items():
            setattr(made, name, value)
        return made

    def _similarity(self) -> Similarity:
        if callable(self.kernel):
            return Similarity(self.kernel, dict(self.kernel_params or {}))
        if self.kernel_params:
            raise ValueError("kernel_params are for a kernel that is a function; set gamma, degree or coef0")
        options: dict[str, Any] = {"degree": self.degree, "coef0": self.coef0}
        return Similarity(self.kernel, options if self.gamma is None else {"gamma": self.gamma, **options})
