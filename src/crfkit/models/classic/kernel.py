"""A feature map of kernels: the columns of a position are its kernels with positions of the training data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit._safe.printable import quoted
from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.linear.layout import Layout
from crfkit.models.files.inspect import checked_alphabet
from crfkit.models.known import Watch
from crfkit.models.names import Names
from crfkit.models.parts import FeatureMap, Plain

Kernel: TypeAlias = Callable[[Any, Any], Any]

FUNCTION: Final = "kernel is a function, which a file cannot keep: use a kernel that has a name, or pickle"
_ALPHABET: Final = ("attributes.bytes", "attributes.begin", "attributes.slots")
_SPARSE: Final = ("data", "indices", "indptr")
_OPTIONS: Final = ("gamma", "degree", "coef0")


def vectors_of(batch: Batch, attributes: int) -> Any:
    """Return the positions of a batch as rows: columns of numbers, attributes (sparse), or both."""
    from scipy.sparse import csr_array, hstack

    if not attributes:
        return np.zeros((batch.positions, 0)) if batch.dense is None else batch.dense
    values = np.ones(len(batch.attr)) if batch.value is None else batch.value
    entries = (values, batch.attr, batch.attr_ptr)
    made = csr_array(entries, shape=(batch.positions, attributes), copy=True)  # sums change it in place
    made.sum_duplicates()
    return made if batch.dense is None else csr_array(hstack([made, csr_array(batch.dense)]))


@dataclass(frozen=True)
class Similarity:
    """A kernel by its name in scikit-learn's ``pairwise_kernels``, or a function of two sets of rows.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0]])
    >>> Similarity("poly", {"degree": 2, "coef0": 1.0, "gamma": 1.0})(x, x).tolist()
    [[1.0, 1.0], [1.0, 4.0]]
    >>> Similarity("wave")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: kernel is 'wave', expected a function, or one of additive_chi2, chi2, cosine, laplacian, ...
    """

    kernel: str | Kernel
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if callable(self.kernel):
            return
        from sklearn.metrics.pairwise import kernel_metrics

        known = sorted(kernel_metrics())
        if self.kernel not in known:
            raise ValueError(f"kernel is {self.kernel!r}, expected a function, or one of {', '.join(known)}")

    def __call__(self, rows: Any, others: Any) -> Floats:
        """Return the kernel of each row with each of the others, [rows, others]."""
        wanted = (rows.shape[0], others.shape[0])
        if 0 in wanted:
            return np.zeros(wanted)
        if callable(self.kernel):
            found: Floats = np.asarray(self.kernel(rows, others, **self.options), dtype=np.float64)
        else:
            from sklearn.metrics.pairwise import pairwise_kernels

            found = pairwise_kernels(rows, others, metric=self.kernel, filter_params=True, **self.options)
        if found.shape != wanted:
            raise ValueError(
                f"the kernel returned an array of shape {found.shape} for {wanted[0]} and {wanted[1]} rows, "
                f"expected {wanted}"
            )
        if not np.isfinite(found).all():
            i, j = np.argwhere(~np.isfinite(found))[0].tolist()
            raise ValueError(f"the kernel of position {i} with position {j} is {found[i, j]}, not a number")
        return found


@dataclass(frozen=True, eq=False)
class KernelMap(FeatureMap):
    """Kernels with support positions.

    Examples
    --------
    >>> kernels = KernelMap(Similarity("linear"), np.array([[2.0], [3.0]]), Alphabet().freeze())
    >>> kernels([np.array([[1.0], [0.0]])]).batch.dense.tolist()
    [[2.0, 3.0], [0.0, 0.0]]
    """

    kind: ClassVar[str] = "kernel"
    takes: ClassVar[str] = "arrays of real numbers, or items"

    similarity: Similarity
    support: Any  #: [r, d], an array or sparse
    attributes: Alphabet  #: of X; empty where X is numbers alone

    def __call__(self, X: Any, threads: int | None = None) -> Dataset:
        """Return data whose columns are the kernel with the support."""
        from crfkit.features import ItemExtractor

        named = Names(Alphabet(), self.attributes)
        watch = Watch(named, done=not len(self.attributes))
        if isinstance(X, Dataset):
            data = named.dataset(X)
            watch.renamed(X.batch, data.batch, X.attributes)
        else:
            extract = ItemExtractor(None, self.attributes)
            data = extract(X)
            watch.items(extract.seen, data.batch)
        rows = vectors_of(data.batch, len(self.attributes))
        if rows.shape[1] != self.support.shape[1] and rows.shape[0]:
            given, fitted = rows.shape[1], self.support.shape[1]
            raise ValueError(f"X has {given} real-valued columns, the model was fitted with {fitted}")
        return with_columns(data, self.similarity(rows, self.support))

    def plain(self) -> Plain:
        """Return the kernel by its name, and the support."""
        if not isinstance(self.similarity.kernel, str):
            raise ValueError(FUNCTION)
        arrays: dict[str, NDArray[Any]] = dict(zip(_ALPHABET, self.attributes.arrays(), strict=True))
        dense = isinstance(self.support, np.ndarray)
        arrays |= {"support": self.support} if dense else {n: getattr(self.support, n) for n in _SPARSE}
        options = {name: float(value) for name, value in self.similarity.options.items()}
        about = {"kernel": self.similarity.kernel, "options": options, "shape": list(self.support.shape)}
        return about, arrays

    @classmethod
    def of_plain(cls, fields: Fields) -> KernelMap:
        """Return the kernels of a file."""
        attributes = checked_alphabet(fields, "attributes")
        given = fields.part("options")
        options = {name: given.number(name) for name in given if name in _OPTIONS}
        if len(options) != len(given):
            fields.refuse("options", f"{', '.join(map(quoted, given))}, expected {', '.join(_OPTIONS)}")
        similarity = Similarity(fields.text("kernel"), options)
        return cls(similarity, _support_of(fields, len(attributes)), attributes)

    def check_fits(self, names: Names, layout: Layout) -> None:
        """Refuse a model that has weights of other columns, or of attributes."""
        rows = self.support.shape[0]
        if layout.dense != rows or layout.attributes:
            raise ValueError(
                f"its map has {rows:,} support positions, weights are for {layout.dense:,} columns and "
                f"{layout.attributes:,} attributes"
            )


def with_columns(data: Dataset, columns: Any) -> Dataset:
    """Return data with these columns in place of attributes."""
    P = data.batch.positions
    batch = replace(
        data.batch, attr_ptr=np.zeros(P + 1, np.int64), attr=np.zeros(0, np.int32), value=None, dense=columns
    )
    return Dataset(batch, data.labels, Alphabet(), Alphabet())


def _support_of(fields: Fields, attributes: int) -> Any:
    """Return the support positions of a file, checked."""
    sizes = fields.items_of("shape", 2)
    rows, columns = sizes.count("0"), sizes.count("1")
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
