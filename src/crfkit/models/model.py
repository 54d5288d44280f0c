"""A model: frozen alphabets, layout, structure, weights and recipe. It predicts, but does not train.

Its fields are arrays, strings and small values, and nothing changes after it is made: threads may share it.
The first query makes the tables that the kernels read; they stay with the model, and are neither saved nor
pickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crfkit import _native
from crfkit._safe.printable import counted
from crfkit.arrays import Floats
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import ExtractorSpec
from crfkit.features.conjunctions import Conjunctions
from crfkit.features.recipe import Recipe
from crfkit.inference.constrained.kinds import GlobalConstraint, check_globals
from crfkit.linear.layout import Layout, check_fits
from crfkit.models.alternatives import Alternatives
from crfkit.models.base import BaseModel
from crfkit.models.isotonic import Isotonic
from crfkit.models.names import Names
from crfkit.models.predictions import gold_labels
from crfkit.models.scores import DECISIONS, Decoding
from crfkit.models.scoring import Metric
from crfkit.structures.structure import Structure
from crfkit.training.events import TrainingRecord

if TYPE_CHECKING:
    from crfkit.models.explanation import Explanation
    from crfkit.models.uncertainty import Uncertainty

__all__ = ["Metric", "Model", "Names", "gold_labels"]


@dataclass(frozen=True, eq=False)
class Model(Alternatives, BaseModel):
    """A trained model; see `crfkit.train`.

    Notes
    -----
    The first query spreads the weights out into a table of at most ``layout.table_bytes`` (512 MB unless the
    layout says otherwise; 11 MB for CoNLL-2000), once for all threads. A second table of that size at most
    serves edge attributes.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import ItemExtractor
    >>> extract = ItemExtractor()
    >>> model = train(extract([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"], ["D", "N"]]))
    >>> model.predict(extract([[["a"], ["the"], ["dog"]]]))
    [['D', 'D', 'N']]
    """

    structure: Structure
    layout: Layout
    names: Names
    w: Floats  #: [F]
    extractor: ExtractorSpec | None = None  #: how data became attributes, where that is known
    training: TrainingRecord | None = None
    notes: str = ""  #: free text that goes with the model
    license: str = ""  #: under which terms others may use it
    constraints: tuple[GlobalConstraint, ...] = ()  #: on whole labelings, which every answer keeps
    calibration: Isotonic | None = None  #: what corrects probabilities of labels and segments (`calibrated`)
    decision: Decoding = None  #: how labels are chosen where nobody says so (`predict`)
    selected: bool = False  #: its attributes are few of those of the training data
    lacks: str = ""  #: what a file of it would lack, and what to save instead; "" where it stands alone
    #: [F] how firmly the training data hold each weight, where it may learn on (`training.curvature`)
    curvature: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        w = np.array(self.w, dtype=np.float64)  # a copy: nobody else can change it
        w.setflags(write=False)
        object.__setattr__(self, "w", w)
        self._check()

    def _check(self) -> None:
        w = self.w
        if w.shape != (self.layout.weights,):
            raise ValueError(f"w has shape {w.shape}, expected ({self.layout.weights},)")
        if self.names.labels.strings() != list(self.structure.labels):
            raise ValueError(
                "names.labels and structure.labels differ; give both the same labels in the same order"
            )
        check_fits(self.layout, self.structure)
        self.names.check_fits(self.layout)
        if self.curvature is not None:
            object.__setattr__(self, "curvature", checked_curvature(self.curvature, self.layout.weights))
        object.__setattr__(self, "constraints", check_globals(self.constraints))
        if self.constraints:
            _ = self.rules  # names must be labels of the model
        if self.decision is not None:
            check_choice("decision", self.decision, DECISIONS)
        if self.extractor == ExtractorSpec():  # it says nothing
            object.__setattr__(self, "extractor", None)

    @property
    def labels(self) -> Alphabet:
        """The labels by id."""
        return self.names.labels

    @property
    def attributes(self) -> Alphabet:
        """The attributes by id; empty where they are hashed or ids without names."""
        return self.names.attributes

    @property
    def edge_attributes(self) -> Alphabet:
        """The attributes of steps by id."""
        return self.names.edge_attributes

    @property
    def recipe(self) -> Recipe | None:
        """How columns become attributes, where that is known."""
        return None if self.extractor is None else self.extractor.recipe

    @property
    def label_column(self) -> str | int | None:
        """The column of gold labels in the recipe's data."""
        return None if self.extractor is None else self.extractor.label_column

    @property
    def hashed(self) -> int | None:
        """Number of ids that attribute names are hashed to."""
        return None if self.extractor is None else self.extractor.hashed

    @property
    def scheme(self) -> str | None:
        """The scheme of the tags that spelled the segments of the training data, where tags did."""
        return None if self.extractor is None else self.extractor.scheme

    @property
    def encoding(self) -> str | None:
        """How the labels of a chain spell segments, where the training data spelled them otherwise."""
        return None if self.extractor is None else self.extractor.encoding

    @property
    def conjunctions(self) -> Conjunctions | None:
        """The attributes that are made of two others, where there are such."""
        return None if self.extractor is None else self.extractor.conjunctions

    def constrained(self, constraints: Iterable[GlobalConstraint]) -> Model:
        """Return the same model with constraints on whole labelings (`crfkit.constraints`).

        They replace those that it has, and are saved with it. Labels that it predicts keep them; its
        probabilities, k best labelings and draws do not change.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.constraints import AtMost
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> model.constrained([AtMost("N", 0)]).predict([[["the"], ["dog"]]])
        [['D', 'D']]
        """
        return replace(self, constraints=tuple(check_globals(constraints)))

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._hold(state)  # weights are not copied: joblib may have mapped them
        self._check()

    def _hold(self, given: Mapping[str, Any]) -> None:
        for f in fields(self):
            if f.name in given:
                object.__setattr__(self, f.name, given[f.name])
        self.w.setflags(write=False)

    @classmethod
    def unchecked(cls, **given: Any) -> Model:
        """Return a model of fields that are known to be valid; its weights are not copied."""
        made = object.__new__(cls)
        made._hold(given)
        return made

    def __repr__(self) -> str:
        return (
            f"<Model of {counted(len(self.labels), 'label')}, "
            f"{counted(self.layout.attributes, 'attribute')}, {counted(self.layout.weights, 'weight')}>"
        )

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Literal["float64", "float32"] = "float64",
        compact: bool = False,
        notes: str | None = None,
        license: str | None = None,
    ) -> None:
        """Write the model to a file, as a whole or not at all.

        Attributes whose weights are all zero are left out, which changes no bit of an answer. The model of an
        estimator that does more than the model, such as `BoostedCRF`, is refused: save the estimator.

        Parameters
        ----------
        path : path
        dtype : {"float64", "float32"}
            Of the weights in the file; float32 halves them and rounds.
        compact : bool
            Leave out every weight of zero, and edge attributes without others; scores stay the same but
            for their last digits.
        notes, license : str, optional
            Texts that go with the file in place of those of the model; ``crfkit show`` prints them.

        Examples
        --------
        >>> import os, tempfile
        >>> from crfkit import Model, train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "m.crf"), notes="an example")
        ...     again = Model.load(os.path.join(folder, "m.crf"))
        >>> again.predict(ItemExtractor()([[["dog"]]])), again.notes
        ([['N']], 'an example')
        """
        from crfkit.data.sink import write_bytes
        from crfkit.models.files.native import pieces

        write_bytes(path, pieces(self, dtype=dtype, compact=compact, notes=notes, license=license))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mapped: bool = False) -> Model:
        """Open a file that `save` wrote.

        Parameters
        ----------
        path : path
        mapped : bool
            Map the file, which must then stay as it is, instead of reading it into memory; see `crfkit.load`.
        """
        from crfkit.models.files.native import open_model

        return open_model(path, mapped=mapped)

    def to_bytes(self, *, dtype: Literal["float64", "float32"] = "float64", compact: bool = False) -> bytes:
        """Return the bytes of the file that `save` would write."""
        from crfkit.models.files.native import pieces

        return b"".join(pieces(self, dtype=dtype, compact=compact))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Return the model that `to_bytes` made bytes of; it looks up in them."""
        from crfkit.models.files.native import model_of

        return model_of(data, "the data")

    def calibrated(
        self,
        X: Any,
        y: Any = None,
        method: Literal["temperature", "isotonic"] = "temperature",
        *,
        threads: int | None = None,
    ) -> Model:
        """Return a model whose probabilities agree better with what comes true.

        Parameters
        ----------
        X, y
            Labeled data that training did not see, as in `dataset`.
        method : {"temperature", "isotonic"}
            "temperature" divides all scores by one number: predictions stay, and so do all queries.
            "isotonic" maps the probabilities of labels (`predict_proba`) and of segments (`predict_spans`),
            each by a rising curve; it needs more data, and whole labelings have no corrected probability. See
            `crfkit.models.calibration`, whose `reliability` tells how good probabilities are.
        threads : int, optional
            Default: all cores.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> X, y = [[["the"], ["dog"]], [["a"], ["dog"]]] * 9, [["D", "N"]] * 18
        >>> model = train(ItemExtractor()(X, y))
        >>> sharper = model.calibrated(X, y)
        >>> bool(model.predict_proba(X[:1])[0][0, 0] < sharper.predict_proba(X[:1])[0][0, 0] <= 1.0)
        True
        """
        from crfkit.models.calibration import calibrated

        return calibrated(self, X, y, method, threads=threads)

    def uncertainty(
        self, X: Any, method: Uncertainty = "entropy", *, k: int = 10, threads: int | None = None
    ) -> Floats:
        """Return how unsure the model is of each sequence, [N]: those to label next come highest.

        Parameters
        ----------
        X : Columns, rows, items, Dataset or Batch
            As in `dataset`.
        method : str
            "least-confidence", "margin", "entropy", "nbest-entropy", "token-entropy" or "density"; the table
            is in `crfkit.models.uncertainty`.
        k : int
            Labelings of "nbest-entropy".
        threads : int, optional
            Default: all cores.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> sure, unsure = model.uncertainty([[["the"], ["dog"]], [["new"], ["words"]]])
        >>> bool(sure < unsure)
        True
        """
        from crfkit.models.uncertainty import uncertainty

        return uncertainty(self, X, method, k=k, threads=threads)

    def tag(self, x: Iterable[Any]) -> list[str]:
        """Return the best labels of one sequence, without the fixed cost of `predict`.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> model.tag([["the"], ["dog"]])
        ['D', 'N']
        """
        from crfkit.models.tagger import Tagger

        return self._once("tagger", lambda: Tagger(self)).tag(x)

    def explain(self, x: Any, at: int | None = None, *, threads: int | None = None) -> Explanation:
        """Explain why labels of one sequence won; prints as a table.

        At each position the best labeling is compared with the best one that has the runner-up there; a
        segment with the best segmentation that does not have it. The difference of the two scores is split
        into what each weight adds. Models that are normalized at each step are refused: their decisions are
        not sums of weights.

        Parameters
        ----------
        x : a sequence
            As an entry of X in `predict`; or a Dataset, Columns or Batch of one sequence.
        at : int, optional
            Only this position, from 0, or the segment that covers it; default: all.
        threads : int, optional
            Default: all cores.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> X = [[["the"], ["old"], ["dog"]], [["a"], ["dog"]]]
        >>> model = train(ItemExtractor()(X, [["D", "A", "N"], ["D", "N"]]))
        >>> decision = model.explain([["the"], ["dog"]])[1]
        >>> decision.label, decision.runner_up, decision.alternative
        ('N', 'A', ('D', 'A'))
        >>> [(one.name, one.kind) for one in decision.contributions]
        [('dog', 'attribute'), ('D → N, not D → A', 'transition')]
        """
        from crfkit.models.explain import explain_sequence

        return explain_sequence(self, x, at, threads=threads)

    @property
    def decoder(self) -> _native.Decoder | None:
        """What tags one sequence at a time; None where `crfkit.models.decoder.covers` says what it lacks.

        `crfkit.models.Tagger` is the way to use it.
        """
        from crfkit.models.decoder import decoder_of

        return self._once("decoder", lambda: decoder_of(self))


def checked_curvature(given: ArrayLike, F: int) -> NDArray[np.float32]:
    """Return how firmly weights are held, [F], or refuse numbers that cannot be that."""
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.array(given, dtype=np.float32)
    if made.shape != (F,) or not (np.isfinite(made) & (made >= 0.0)).all():
        raise ValueError(f"curvature is expected to be {F} finite numbers of 0 or more, one for each weight")
    made.setflags(write=False)
    return made
