"""`KernelChainCRF`: a chain whose labels are scored by a kernel of positions, for small data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from crfkit._safe.printable import quoted
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled
from crfkit.estimators.base import fixed
from crfkit.estimators.classic.similarity import Factor, Kernel, Similarity, check_memory, vectors_of
from crfkit.estimators.fitting import has_gold, weighted
from crfkit.estimators.parameters import Trained
from crfkit.estimators.queries import SequenceQueries
from crfkit.linear.features import FeatureSelection
from crfkit.models.files.estimators import FileFields, chain_of, read_parts, refusing, write_parts
from crfkit.models.files.inspect import checked_alphabet
from crfkit.models.known import Watch
from crfkit.models.model import Model
from crfkit.models.names import Names
from crfkit.models.reading import read
from crfkit.optimize.problem import Optimizer
from crfkit.structures import Chain
from crfkit.training.runs.convergence import pass_on
from crfkit.training.train import train

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KernelChainCRF"]

_KIND = "crfkit kernel chain"


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
        Of named kernels that have them, as in `sklearn.kernel_ridge.KernelRidge`; None is the default there.
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
        A chain whose columns are the kernel with `support_`; its `training` has the certificate. It is not
        saved by itself: use `save`.
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
            _with_columns(data, factor.columns).freeze(),
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
        return self._holding(replace(model, w=w), rows[factor.pivots], names, similarity)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator to a file without pickle, for `load`; a kernel must have a name for that.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from crfkit.estimators.classic import KernelChainCRF
        >>> crf = KernelChainCRF(kernel="rbf").fit([np.eye(2)], [["a", "b"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     crf.save(os.path.join(folder, "m.kcrf"))
        ...     again = KernelChainCRF.load(os.path.join(folder, "m.kcrf"))
        >>> again.predict([np.eye(2)])
        [['a', 'b']]
        """
        check_is_fitted(self, "model_")
        used = self._fitted
        if not isinstance(used.kernel, str):
            raise ValueError(
                "the kernel is a function, which a file without code cannot keep: use a named kernel, or "
                "keep the program that fits the estimator"
            )
        arrays: dict[str, NDArray[Any]] = dict(zip(_ALPHABET, self._names.attributes.arrays(), strict=True))
        support: Any = self.support_
        sparse = {} if isinstance(support, np.ndarray) else {n: getattr(support, n) for n in _SPARSE}
        arrays.update(sparse or {"support": support})
        about = {"kernel": used.kernel, "options": dict(used.options), "shape": list(support.shape)}
        write_parts(path, _KIND, replace(self.model_, lacks=""), arrays, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator of a file that `save` wrote, ready to predict."""
        model, fields = read_parts(path, _KIND)
        chain = chain_of(model, fields.source)
        if model.extractor is not None or model.layout.attributes:
            fields.refuse("model", "one with attributes or a recipe, expected columns of a kernel alone")
        with refusing(fields.source):
            attributes = checked_alphabet(fields, "attributes")
            given = fields.part("options")
            options: dict[str, Any] = {name: given.number(name) for name in given if name in _OPTIONS}
            if len(options) != len(given):
                fields.refuse("options", f"{', '.join(map(quoted, given))}, expected {', '.join(_OPTIONS)}")
            similarity = Similarity(fields.text("kernel"), options)
            support = _support_of(fields, model.layout.dense, len(attributes))
            made = cls(kernel=similarity.kernel, structure=replace(chain, labels=()), **options)
            return made._holding(model, support, Names(model.labels, attributes, Alphabet()), similarity)

    def _absent(self) -> Mapping[str, str]:
        return {
            "explain": "its features are similarities to training data, not words",
            "tag": "X is not tokens; use predict([x])",
        }

    def _similarity(self) -> Similarity:
        if callable(self.kernel):
            return Similarity(self.kernel, dict(self.kernel_params or {}))
        if self.kernel_params:
            raise ValueError("kernel_params are for a kernel that is a function; set gamma, degree or coef0")
        options: dict[str, Any] = {"degree": self.degree, "coef0": self.coef0}
        return Similarity(self.kernel, options if self.gamma is None else {"gamma": self.gamma, **options})

    def _holding(self, model: Model, support: Any, names: Names, similarity: Similarity) -> Self:
        self.model_ = replace(model, lacks=_LACKS)
        self.support_, self._names, self._fitted = support, names, similarity
        self.classes_ = np.array(model.structure.labels, dtype=object)
        self.n_iter_ = 0 if model.training is None else model.training.iterations
        pass_on(model.training)
        return self

    def _data(self, X: Any, y: Any = None) -> Dataset:
        """Return data whose columns are the kernel with the support."""
        from crfkit.features import ItemExtractor

        check_is_fitted(self, "model_")
        named = self._names
        watch = Watch(named, done=not len(named.attributes))
        if isinstance(X, Dataset):
            data = named.dataset(X)
            watch.renamed(X.batch, data.batch, X.attributes)
        else:
            extract = ItemExtractor(None, named.attributes)
            data = extract(X)
            watch.items(extract.seen, data.batch)
        if y is not None:
            data = labeled(data, y, Alphabet(self.model_.labels.strings()))
        rows = vectors_of(data.batch, len(named.attributes))
        if rows.shape[1] != self.support_.shape[1] and rows.shape[0]:
            given, fitted = rows.shape[1], self.support_.shape[1]
            raise ValueError(f"X has {given} real-valued columns, the model was fitted with {fitted}")
        return _with_columns(data, self._fitted(rows, self.support_))


_ALPHABET = ("attributes.bytes", "attributes.begin", "attributes.slots")
_SPARSE = ("data", "indices", "indptr")
_OPTIONS = ("gamma", "degree", "coef0")
_LACKS = (
    "the positions that its columns are kernels with: save the estimator with estimator.save(path), and open "
    "that with KernelChainCRF.load(path)"
)


def _with_columns(data: Dataset, columns: Any) -> Dataset:
    """Return data with these columns in place of attributes."""
    P = data.batch.positions
    batch = replace(
        data.batch, attr_ptr=np.zeros(P + 1, np.int64), attr=np.zeros(0, np.int32), value=None, dense=columns
    )
    return Dataset(batch, data.labels, Alphabet(), Alphabet())


def _support_of(fields: FileFields, rows: int, attributes: int) -> Any:
    """Return the support positions of a file, checked: as many rows as the model has columns."""
    sizes = fields.items_of("shape", 2)
    if sizes.count("0") != rows:
        fields.refuse("shape", f"that of {sizes.count('0'):,} support positions, the model needs {rows:,}")
    columns = sizes.count("1")
    if not attributes:
        return fields.floats("support", rows, columns)
    if attributes > columns:
        fields.refuse("shape", f"that of {columns:,} columns, expected those of {attributes:,} attributes")
    from scipy.sparse import csr_array

    ids = [fields.any_array(name) for name in _SPARSE[1:]]
    if any(each.dtype not in (np.int32, np.int64) or each.ndim != 1 for each in ids):
        fields.refuse("indices", "no list of whole numbers")
    made = csr_array((fields.floats(_SPARSE[0], None), *map(np.array, ids)), shape=(rows, columns))
    made.check_format(full_check=True)
    return made
