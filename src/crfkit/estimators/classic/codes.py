"""`CodeCRF`: binary chains for the bits of an error-correcting code, as a scikit-learn estimator."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crfkit.arrays import Floats, Ids
from crfkit.checks import check_choice, check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.data.sink import write_bytes
from crfkit.errors import ModelFileError
from crfkit.estimators.base import QUERIES, fixed, learned
from crfkit.estimators.chain import ChainCRF
from crfkit.inference.constrained.kinds import GlobalConstraint
from crfkit.linear.features import FeatureSelection
from crfkit.linear.layout import Layout
from crfkit.models.files.estimators import FileFields, chain_of, refusing
from crfkit.models.model import Model
from crfkit.models.results import PerSequence
from crfkit.models.scores import Decoding
from crfkit.structures import Chain
from crfkit.structures.gold import Path as Labeling
from crfkit.structures.structure import Structure
from crfkit.training.classic.codes import CODES, Bits, code_of, nearest, product_of
from crfkit.training.classic.many import Task, train_all
from crfkit.training.data import TrainingData
from crfkit.training.fit import Fit, Init
from crfkit.training.train import with_labels_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CodeCRF"]

Decoder = Literal["product", "marginals", "hamming"]
_LACKS: Final = (
    "the columns whose bits decide, of which it is the product: save the estimator with "
    'estimator.save(folder), and open that with CodeCRF.load(folder), or fit with decoder="product"'
)


class CodeCRF(ChainCRF):
    """Chains for large label sets: a binary chain for each bit of a code of the labels.

    Gupta (2005) section 4.1; Cohn, Smith & Osborne (2005). Training n columns costs n chains of two labels,
    side by side, and not one of L labels; decoding the product costs as much as with one chain.

    Parameters
    ----------
    code : {"random", "one-vs-rest", "minimal"}, mapping or array [L, n]
        Random columns whose words are far apart; one column for each label; the fewest columns. Or the bits
        of each label: by its name, or in the order of ``classes_``.
    decoder : {"product", "marginals", "hamming"}
        How labels follow from the columns: the best labeling by the product of the columns' distributions;
        at each position the word nearest to the probabilities of the bits; or the one nearest to the bits of
        the columns' best labelings. Of words that are as near, the first in the order of ``classes_``.
    columns : int, optional
        Of a random code: by default ten times the logarithm of L to base 2, or all that there are.
    structure : Chain
        Order of the columns; its constraints hold in the product.
    selection, objective, optimizer, stop
        Of each column, as in `ChainCRF`.
    l1, l2, order, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    features, train_scheme, metric, random_state, n_jobs
        As in `ChainCRF`.

    Attributes
    ----------
    model_ : Model
        The product of the columns as one chain, with a weight for every pair of attribute and label. With
        the decoder "product" it gives the answers of the estimator: save it, tag with it. With others it is
        not saved by itself, and the estimator has no probabilities.
    columns_ : list of Model [n]
        The binary chains, with the labels 0 and 1.
    code_ : array of 0 and 1 [L, n]
    classes_ : array of str [L]
    n_iter_ : int
        Iterations of all columns together.

    Examples
    --------
    >>> from crfkit.estimators.classic import CodeCRF
    >>> X = [[["the"], ["old"], ["dog"]], [["a"], ["dog"]]]
    >>> crf = CodeCRF(code="minimal").fit(X, [["D", "A", "N"], ["D", "N"]])
    >>> crf.code_.tolist(), crf.predict([[["the"], ["dog"]]])
    ([[0, 0], [0, 1], [1, 0]], [['D', 'N']])
    """

    columns_: list[Model] = learned()
    code_: Bits = learned()

    def _absent(self) -> Mapping[str, str]:
        words = f'the decoder {self.decoder!r} gives no probabilities; use decoder="product"'
        return {
            **({} if self.decoder == "product" else dict.fromkeys(QUERIES, words)),
            "partial_fit": "columns are trained each by itself; call fit with all data",
        }

    code: Any = "random"
    decoder: Decoder = "product"
    columns: int | None = None
    init: Init = fixed()
    constraints: Sequence[GlobalConstraint] = fixed(())

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Train on sequences, as `ChainCRF` does, without a dev set, of which it makes no use."""
        return super().fit(X, y, sample_weight=sample_weight, progress=progress)

    def predict(self, X: Any, *, given: Any = None, method: Decoding = None) -> PerSequence[list[str]]:
        """Return the labels of each sequence by the decoder: always a list of lists of strings."""
        if self.decoder == "product":
            return super().predict(X, given=given, method=method)
        if given is not None or method is not None:
            raise ValueError(f"the decoder is {self.decoder!r}: leave given and method out")
        return PerSequence(self.model_.spelling.tags(self._path(self._data(X))))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the code, the columns and the product to a folder, which `load` reads.

        Where the decoder is "product", ``model_.save`` writes all that is needed to one file.
        """
        check_is_fitted(self, "model_")
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        replace(self.model_, lacks="").save(place / "product.crf")
        for i, column in enumerate(self.columns_):
            column.save(place / f"column-{i}.crf")
        code = {
            name: "".join(map(str, bits))
            for name, bits in zip(self.classes_, self.code_.tolist(), strict=True)
        }
        text = json.dumps({"decoder": self.decoder, "code": code}, ensure_ascii=False, indent=1)
        write_bytes(place / "code.json", [text.encode()])

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Return an estimator that labels as the one whose `save` wrote the folder did.

        Examples
        --------
        >>> import tempfile
        >>> from crfkit.estimators.classic import CodeCRF
        >>> crf = CodeCRF(code="minimal", decoder="hamming").fit([[["the"], ["dog"]]], [["D", "N"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     crf.save(folder)
        ...     CodeCRF.load(folder).predict([[["dog"]]])
        [['N']]
        """
        place = Path(folder)
        source = _regular(place / "code.json")
        with refusing(str(source)):
            said = FileFields({"code.json": json.loads(source.read_bytes())}, str(source)).part("code.json")
            decoder, words = said.text("decoder", get_args(Decoder)), said.part("code")
            model = Model.load(_regular(place / "product.crf"))
            code = code_of({name: words.text(name) for name in words}, model.structure.labels)
        chain_of(model, str(place / "product.crf"))
        columns = [_column(place / f"column-{i}.crf", model) for i in range(code.shape[1])]
        made = cls(code=dict(words), decoder=_decoder(decoder))
        made.code_, made.columns_ = code, columns
        return made._learned(model)

    def _learned(self, model: Model) -> Self:
        lacks = "" if self.decoder == "product" else _LACKS
        return super()._learned(replace(model, lacks=lacks))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a new `decoder` also holds for what was learned."""
        super().set_params(**params)
        if "decoder" in params and hasattr(self, "model_"):
            self._check_decoder()
            self.model_ = replace(self.model_, lacks="" if self.decoder == "product" else _LACKS)
        return self

    def _path(self, data: Dataset) -> Labeling:
        """Return the labels of the decoder."""
        if self.decoder == "product":
            return super()._path(data)
        return Labeling(data.batch.seq_ptr, self._nearest(data))

    def _nearest(self, data: Dataset) -> Ids:
        """Return the labels of all positions whose words are nearest to what the columns say, [P]."""
        bits = np.empty((data.batch.positions, len(self.columns_)))
        for i, column in enumerate(self.columns_):
            if self.decoder == "hamming":
                bits[:, i] = column._path(data, threads=self._threads).label
            else:
                each: list[Floats] = [np.zeros((0, 2)), *column.predict_proba(data, threads=self._threads)]
                bits[:, i] = np.concatenate(each)[:, 1]
        return nearest(self.code_, bits)

    def _train(
        self,
        data: Dataset,
        structure: Structure,
        progress: bool | None,
        dev: Dataset | None = None,
        init: Init = None,  # columns begin at 0
        unlabeled: Dataset | None = None,
    ) -> Model:
        self._check(structure)
        assert isinstance(structure, Chain)
        data = data.freeze()
        labels = data.labels.strings()
        code = code_of(self.code, labels, self.columns, self._seed)
        whole = with_labels_of(structure, labels)
        known = TrainingData(data, self._threads)
        known.check(whole)
        features, objective = self._part("selection"), self._part("objective")
        self._check_size(data, whole, features)
        binary = Chain(["0", "1"], order=structure.order)
        made_by = data.extractor and replace(data.extractor, encoding=None, label_column=None)
        plain = replace(data, labels=Alphabet(["0", "1"]), extractor=made_by)

        def task(i: int) -> Task:
            def make(threads: int) -> Fit:
                batch = data.batch.renamed(labels=code[:, i].astype(np.int32), label_count=2)
                view = TrainingData(replace(plain, batch=batch).freeze(), threads)
                stop = self._part("stop")
                return Fit(view, binary, objective, features, self.optimizer, stop, None, self._seed)

            return Task(f"column {i}", make)

        tasks = [task(i) for i in range(code.shape[1])]
        trained = train_all(tasks, threads=self._threads, progress=progress, what="columns")
        self.columns_, self.code_ = trained.models, code
        summary = trained.summary(
            f"CodeCRF of {objective!r}",
            optimizer="sums",
            why="the weights of labels are sums of the weights of their bits",
            loss=float(sum(0.0 if c.training is None else c.training.loss for c in self.columns_)),
            notes=[f"the product of {code.shape[1]} binary chains"],
        )
        layout, w = product_of(self.columns_, code, whole)
        return Model(whole, layout, known.names, w, data.extractor, summary)

    def _check_decoder(self) -> None:
        check_choice("decoder", self.decoder, get_args(Decoder))

    def _check(self, structure: Structure) -> None:
        self._check_decoder()
        if isinstance(self.code, str):
            check_choice("code", self.code, CODES, "the bits of each label")
        if self.columns is not None:
            check_number("columns", self.columns, 1, whole=True)
        if type(structure) is not Chain:
            raise ValueError(f"CodeCRF has columns that are chains, not {structure.describe()}; use Chain()")
        if structure.constraints and self.decoder != "product":
            raise ValueError(
                f"the decoder {self.decoder!r} chooses each label by itself and keeps no constraints; use "
                'decoder="product"'
            )

    def _check_size(self, data: Dataset, structure: Structure, features: FeatureSelection) -> None:
        """Refuse a product that is too large before anything is trained."""
        estimate = Layout.estimate(data.batch, structure, all_pairs=True, **features.options())
        try:
            estimate.check(features.max_weights)
        except ValueError as error:
            raise ValueError(
                f"the product of the columns has a weight for every attribute and label: {error}"
            ) from None


def _regular(path: Path) -> Path:
    """Return the path of a file that is there; others, which may never end, are refused."""
    if not path.is_file():
        what = "is not a file" if path.exists() else "is missing"
        raise ModelFileError(str(path), what, "give a folder that CodeCRF.save wrote")
    return path


def _column(path: Path, product: Model) -> Model:
    """Return the binary chain of a bit, checked."""
    column = Model.load(_regular(path))
    if chain_of(column, str(path)).labels != ("0", "1") or column.states is not None:
        raise ModelFileError(str(path), "is damaged: its labels are not the bits 0 and 1")
    if column.layout.dense != product.layout.dense:
        raise ModelFileError(str(path), "is damaged: it has other real-valued columns than the product")
    return column


def _decoder(name: str) -> Decoder:
    return next(one for one in get_args(Decoder) if one == name)
