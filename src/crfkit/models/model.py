"""A model: frozen alphabets, layout, structure, weights and recipe. It predicts, but does not train.

Its fields are arrays, strings and small values, and nothing changes after it is made: threads may share it.
The first query makes the tables that the kernels read; they stay with the model, and are neither saved nor
pickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

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
from crfkit.linear.layout import Layout, check_fits
from crfkit.models.alternatives import Alternatives
from crfkit.models.base import FittedBy, Model
from crfkit.models.isotonic import Isotonic
from crfkit.models.names import Names
from crfkit.models.parts import FeatureMap
from crfkit.models.predictions import gold_labels
from crfkit.models.reading import is_text
from crfkit.models.scores import DECISIONS, Decoding
from crfkit.models.scoring import Metric
from crfkit.models.text_parts import one_sentence
from crfkit.models.texts import Texts
from crfkit.structures.structure import Structure

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.models.explanation import Explanation
    from crfkit.models.weights import WeightTable
    from crfkit.training.record import TrainingRecord

__all__ = ["Metric", "Names", "SequenceModel", "gold_labels"]


@dataclass(frozen=True, eq=False)
class SequenceModel(Texts, Alternatives, Model):
    """A trained sequence model; see `crfkit.train`.

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
    lacks: str = ""  #: why it cannot be written to a file, and what to do instead; "" where it can
    estimator: FittedBy | None = None  #: what learned it, where an estimator did
    feature_map: FeatureMap | None = None  #: what makes of X what it has weights of, where no recipe does
    #: [F] how firmly the training data hold each weight, where it may learn on (`training.curvature`)
    curvature: NDArray[np.float32] | None = None

    #: The fields that have a value for each weight, in their last axis.
    by_weight: ClassVar[tuple[str, ...]] = ("w", "curvature")

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
        if self.feature_map is not None:
            self.feature_map.check_fits(self.names, self.layout)
        if self.curvature is not None:
            object.__setattr__(self, "curvature", checked_curvature(self.curvature, self.layout.weights))
        if self.constraints != ():
            from crfkit.inference.constrained.kinds import check_globals

            object.__setattr__(self, "constraints", check_globals(self.constraints))
            _ = self.rules  # names must be labels of the model
        if self.decision is not None:
            check_choice("decision", self.decision, DECISIONS)
        if self.extractor == ExtractorSpec():  # it says nothing
            object.__setattr__(self, "extractor", None)

    @property
    def told(self) -> str:
        """What it is, as messages say it."""
        by = "" if not self.rule else f", decided by {self.rule}"
        made = "" if self.feature_map is None else f" with a map of {self.feature_map.kind}"
        return f"a model of {self.structure.describe()}{made}{by}"

    @property
    def busy(self) -> NDArray[np.bool_]:
        """Which weights matter, [F]; files leave out attributes that have no such."""
        matter: NDArray[np.bool_] = self.w != 0.0
        return matter

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels that it predicts, as training data had them; ``names.labels`` are those by id."""
        names = self.structure.labels if self.encoding is None else self.answers
        return tuple(map(int, names)) if self.numbers else names

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
    def numbers(self) -> bool:
        """Whether labels were numbers in training, and are so in answers."""
        return self.extractor is not None and self.extractor.numbers

    @property
    def conjunctions(self) -> Conjunctions | None:
        """The attributes that are made of two others, where there are such."""
        return None if self.extractor is None else self.extractor.conjunctions

    def top_features(self, label: str | int | None = None, n: int = 10) -> list[tuple[str, str, float]]:
        """Return the n largest weights as (feature, label, weight), those of one label or of all.

        Examples
        --------
        >>> from crfkit import ChainCRF
        >>> model = ChainCRF().fit([[{"w": "the"}, {"w": "dog"}]], [["D", "N"]]).model_
        >>> [feature for feature, _, _ in model.top_features("N", 1)]
        ['w:dog']
        """
        from crfkit.models.weights import largest_weights

        return largest_weights(self, label, n)

    @property
    def transitions(self) -> WeightTable:
        """Weights of labels one after the other, as a table: a row for each label before."""
        from crfkit.models.weights import transition_table

        return transition_table(self)

    def constrained(self, constraints: Iterable[GlobalConstraint]) -> SequenceModel:
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
        from crfkit.inference.constrained.kinds import check_globals

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
    def unchecked(cls, **given: Any) -> Self:
        """Return a model of fields that are known to be valid; its weights are not copied."""
        made = object.__new__(cls)
        made._hold(given)
        return made

    def __repr__(self) -> str:
        return (
            f"<SequenceModel of {counted(len(self.labels), 'label')}, "
            f"{counted(self.layout.attributes, 'attribute')}, {counted(self.layout.weights, 'weight')}>"
        )

    def _pieces(self, **options: Any) -> Iterable[bytes]:
        """Return the bytes of the file, piece by piece."""
        from crfkit.models.files.native import pieces

        return pieces(self, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mapped: bool = False) -> SequenceModel:
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
    def from_bytes(cls, data: bytes) -> SequenceModel:
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
    ) -> SequenceModel:
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

    def tag(self, x: Any) -> Any:
        """Return the best labels of one sequence, without the fixed cost of `predict`; of a text its `Doc`.

        Examples
        --------
        >>> from crfkit import train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"]] * 2))
        >>> model.tag([["the"], ["dog"]])
        ['D', 'N']
        """
        from crfkit.models.tagger import Tagger

        if is_text(x):
            return self(x)
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

        if is_text(x):
            x = one_sentence(self, x)
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
