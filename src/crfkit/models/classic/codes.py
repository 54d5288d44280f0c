"""A model whose labels are decided by binary chains, one for each bit of a code of the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.fields import Fields
from crfkit.arrays import Floats, Ids
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.errors import ModelFileError
from crfkit.models.classic.missing_verbs import without
from crfkit.models.classic.votes import QUERIES
from crfkit.models.model import SequenceModel
from crfkit.models.parts import Plain
from crfkit.structures.gold import Path

if TYPE_CHECKING:
    from typing_extensions import Self

Bits = NDArray[np.int8]  #: [L, n] of 0 and 1
Decoder: TypeAlias = Literal["product", "marginals", "hamming"]
DECODERS: tuple[Decoder, ...] = get_args(Decoder)


def _absent(model: CodeModel) -> str:
    if model.decoding == "product":
        return ""
    return f'the decoder {model.decoding!r} gives no probabilities; use decoder="product"'


@without(QUERIES, _absent)
@dataclass(frozen=True, eq=False, repr=False)
class CodeModel(SequenceModel):
    """The product of binary chains as one chain, with the chains, and a decoder that says who decides.

    Examples
    --------
    >>> from crfkit.estimators.classic import CodeCRF
    >>> coded = CodeCRF(code="minimal", decoder="hamming").fit([[["the"], ["dog"]]], [["D", "N"]]).model_
    >>> coded.predict([[["dog"]]]), coded.code.tolist()
    ([['N']], [[0], [1]])
    """

    rule: ClassVar[str] = "code"

    columns: tuple[SequenceModel, ...] = ()  #: [n] with the labels 0 and 1
    code: Bits = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int8))  #: [L, n]
    decoding: Decoder = "product"

    def _check(self) -> None:
        super()._check()
        check_choice("decoding", self.decoding, DECODERS)
        wanted = (len(self.structure.labels), len(self.columns))
        if self.code.shape != wanted or not np.isin(self.code, (0, 1)).all():
            raise ValueError(f"code has the shape {self.code.shape}, expected 0s and 1s {wanted}")
        for i, column in enumerate(self.columns):
            if column.structure.labels != ("0", "1") or column.segmental or column.states is not None:
                raise ValueError(f"column {i} is {column.told}, expected a chain with the labels 0 and 1")
            if column.layout.dense != self.layout.dense:
                raise ValueError(f"column {i} has other real-valued columns than the product")

    @property
    def busy(self) -> NDArray[np.bool_]:
        """Which weights matter, [F]: all, where the columns decide, which may know more."""
        return super().busy if self.decoding == "product" else np.ones(len(self.w), dtype=np.bool_)

    def rule_parts(self) -> Plain:
        """Return the code, and the bytes of a file of each column."""
        arrays: dict[str, Any] = {"code": self.code}
        for i, column in enumerate(self.columns):
            arrays[f"column.{i}"] = np.frombuffer(column.to_bytes(), dtype=np.uint8)
        return {"decoding": self.decoding}, arrays

    @classmethod
    def of_rule(cls, given: Mapping[str, Any], fields: Fields) -> Self:
        """Return the model with the code and the columns of a file."""
        from crfkit.models.files.native import model_of

        decoding: Any = fields.text("decoding", DECODERS)
        code = fields.array("code", np.int8, len(given["structure"].labels), None)
        each = [fields.held(f"column.{i}", np.uint8, None).tobytes() for i in range(code.shape[1])]
        try:
            columns = tuple(model_of(one, f"column {i} of its rule") for i, one in enumerate(each))
        except ModelFileError as error:
            raise ValueError(f"{error.source} {error.what}") from None
        return cls(**given, columns=columns, code=code, decoding=decoding)

    def _path(self, X: Any, *, method: Any = None, allowed: Any = None, **options: Any) -> Path:
        """Return the labels of the decoder."""
        if self.decoding == "product":
            return super()._path(X, method=method, allowed=allowed, **options)
        threads = options.pop("threads", None)
        constrained = options.get("constraints") is not None or self.constraints
        if method is not None or allowed is not None or constrained:
            self._refuse()
        batch = self.batch_of(X, threads=threads)
        bare = replace(batch, label=None, allowed=None, soft=None)
        data = Dataset(bare, Alphabet(), self.names.attributes, self.names.edge_attributes)
        bits = np.empty((batch.positions, len(self.columns)))
        for i, column in enumerate(self.columns):
            if self.decoding == "hamming":
                bits[:, i] = column._path(data, threads=threads).label
            else:
                each: list[Floats] = [np.zeros((0, 2)), *column.predict_proba(data, threads=threads)]
                bits[:, i] = np.concatenate(each)[:, 1]
        return Path(batch.seq_ptr, nearest(self.code, bits))

    def _decode(self, X: Any, *given: Any, **options: Any) -> Any:
        if self.decoding != "product":
            self._refuse()
        return super()._decode(X, *given, **options)

    def _refuse(self) -> NoReturn:
        raise ValueError(f"the decoder is {self.decoding!r}: leave given, method and constraints out")


def nearest(code: Bits, bits: Floats) -> Ids:
    """Return the label whose word differs least, in sum, from bits or their probabilities [P, n]; [P].

    Where several are, the first in the order of the labels.

    Examples
    --------
    >>> nearest(np.array([[0, 0, 0], [1, 1, 1]]), np.array([[0.0, 1.0, 0.0], [0.4, 0.5, 0.7]])).tolist()
    [0, 1]
    """
    distance = bits @ (1.0 - 2.0 * code).T + code.sum(axis=1)  # |b - c| is b (1 - 2 c) + c
    found: Ids = np.argmin(distance, axis=1).astype(np.int32)
    return found
