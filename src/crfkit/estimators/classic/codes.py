"""`CodeCRF`: binary chains for the bits of an error-correcting code, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crfkit.checks import check_choice, check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.estimators.base import QUERIES, learned
from crfkit.estimators.classic.combined import Combined
from crfkit.estimators.fitting import Call
from crfkit.estimators.saving import recorded
from crfkit.linear.features import FeatureSelection
from crfkit.linear.layout import Layout
from crfkit.models.classic.codes import DECODERS, Bits, CodeModel, Decoder
from crfkit.models.model import SequenceModel
from crfkit.structures import Chain
from crfkit.structures.structure import Structure
from crfkit.training.classic.codes import CODES, code_of, product_of
from crfkit.training.classic.many import Task, train_all
from crfkit.training.data import TrainingData
from crfkit.training.fit import Fit, with_labels_of

if TYPE_CHECKING:
    from typing_extensions import Self


class CodeCRF(Combined):
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
        Number of columns of a random code: by default ten times the logarithm of L to base 2, or all that
        there are.
    structure : Chain
        Order of the columns; its constraints hold in the product.
    selection, objective, optimizer, stop
        Parts of each column, as in `ChainCRF`.
    l1, l2, order, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    features, train_scheme, metric, random_state, n_jobs
        As in `ChainCRF`.

    Attributes
    ----------
    model_ : CodeModel
        The product of the columns as one chain, with a weight for every pair of attribute and label, and the
        columns. It decides as the estimator does; with decoders other than "product" it has no probabilities.
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

    _learns: ClassVar[type[SequenceModel]] = CodeModel
    model_: CodeModel = learned()

    @property
    def columns_(self) -> list[SequenceModel]:
        """The binary chains, with the labels 0 and 1."""
        return [*self.model_.columns]

    @property
    def code_(self) -> Bits:
        """The bits of each label, [L, n]."""
        return self.model_.code

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        made = super()._of_model(model)
        made.code, made.decoder = model.code, model.decoding
        return made

    def _absent(self) -> Mapping[str, str]:
        words = f'the decoder {self.decoder!r} gives no probabilities; use decoder="product"'
        return {
            **({} if self.decoder == "product" else dict.fromkeys(QUERIES, words)),
            "partial_fit": "columns are trained each by itself; call fit with all data",
        }

    code: Any = "random"
    decoder: Decoder = "product"
    columns: int | None = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a new `decoder` also holds for what was learned."""
        super().set_params(**params)
        if "decoder" in params and hasattr(self, "model_"):
            self._check_decoder()
            self.model_ = recorded(self, replace(self.model_, decoding=self.decoder))
        return self

    def _train(self, data: Dataset, structure: Structure, call: Call) -> SequenceModel:
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
        trained = train_all(tasks, threads=self._threads, progress=call.progress, what="columns")
        columns = trained.models
        summary = trained.summary(
            f"CodeCRF of {objective!r}",
            optimizer="sums",
            why="the weights of labels are sums of the weights of their bits",
            loss=float(sum(0.0 if c.training is None else c.training.loss for c in columns)),
            notes=[f"the product of {code.shape[1]} binary chains"],
        )
        layout, w = product_of(columns, code, whole)
        return CodeModel(
            whole,
            layout,
            known.names,
            w,
            data.extractor,
            summary,
            columns=tuple(columns),
            code=code,
            decoding=self.decoder,
        )

    def _check_decoder(self) -> None:
        check_choice("decoder", self.decoder, DECODERS)

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
