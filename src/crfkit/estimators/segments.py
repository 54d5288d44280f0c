"""`SemiCRF`: labelled segments, a semi-Markov CRF, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from crfkit import inference
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.estimators.fitting import Fitting, weighted
from crfkit.estimators.queries import ChainQueries, PerSequence, judged, weights_of
from crfkit.estimators.segmentation import Segments, segmented, segments_of, tags_of
from crfkit.features.segments import SegmentFunction, segment_features
from crfkit.linear.features import Features
from crfkit.linear.objective import Objective
from crfkit.metrics import named
from crfkit.models.reading import read
from crfkit.objectives import Likelihood
from crfkit.optimise.problem import Optimiser
from crfkit.structures import SemiMarkov
from crfkit.structures.semimarkov_gold import begins_of
from crfkit.training.choose import objective_of
from crfkit.training.foreign import refuse_flag, refuse_unknown
from crfkit.training.stop import Stop
from crfkit.training.train import structure_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SemiCRF"]

# Frozen, so that estimators may share them; objects, so that their options are parameters.
_FEATURES: Final = Features()
_LIKELIHOOD: Final = Likelihood()
_STOP: Final = Stop()


class SemiCRF(ChainQueries, Fitting):
    """A semi-Markov conditional random field: it cuts sequences into labelled segments.

    Parameters
    ----------
    structure : SemiMarkov
        How long segments may be: ``SemiMarkov(max_length=4)``, or one length for each label,
        ``SemiMarkov(max_length={"NAME": 4, "O": 1})``.
    features : Features, or one of "observed", "all", "likely"
        Which weights there are: ``Features(min_count=3)``.
    segment_features : sequence of functions
        ``g(x, start, end)`` tells what is known of a segment; see `crfkit.features.segments`, which has
        `phrase`, `first_word`, `last_word` and `length`. Features of positions count in every segment that
        they lie in.
    objective : an objective, or its name
        What to optimise, penalty included.
    optimiser : an optimiser, its name, or "auto"
        "auto" takes the fastest sound one.
    stop : Stop
        When training ends: ``Stop(max_iterations=50)``.
    seed : int
        For optimisers that draw, and for `sample`.
    threads : int, optional
        Default: all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : Model
        It does not hold the functions: give it data by ``segment_features(X, ..., like=model)``.
    classes_ : array of str [L]
        The labels of segments, by first appearance.
    tags_ : bool
        Whether y had tags of BIO, which `predict` then returns.
    n_iter_ : int
        Iterations of the last training.

    Examples
    --------
    >>> from crfkit import SemiCRF, SemiMarkov
    >>> from crfkit.features.segments import phrase
    >>> X = [[["in"], ["New"], ["York"]], [["York"], ["is"], ["old"]], [["New"], ["cars"]]]
    >>> y = [[(1, 3, "CITY")], [(0, 1, "CITY")], []]
    >>> crf = SemiCRF(SemiMarkov(max_length=2), segment_features=[phrase]).fit(X, y)
    >>> crf.predict_segments([[["New"], ["York"], ["is"]]])
    [[(0, 2, 'CITY')]]
    >>> crf.predict([[["New"], ["York"], ["is"]]])
    [['CITY', 'CITY', 'O']]
    """

    _parts: ClassVar[Mapping[str, Callable[[Any], Any] | None]] = {
        "structure": structure_of,
        "features": Features.of,
        "objective": objective_of,
        "optimiser": None,
        "stop": None,
    }
    metric = "segment_f1"  # of `score`

    tags_: bool

    def __init__(
        self,
        structure: SemiMarkov | None = None,
        features: Features | str = _FEATURES,
        segment_features: Sequence[SegmentFunction] = (),
        objective: Objective | str = _LIKELIHOOD,
        optimiser: Optimiser | str = "auto",
        stop: Stop = _STOP,
        seed: int = 0,
        threads: int | None = None,
        **unknown: NoReturn,
    ) -> None:
        refuse_unknown(unknown, type(self).__name__, self._get_param_names())
        refuse_flag(stop, type(self).__name__)
        self.structure = structure
        self.features = features
        self.segment_features = segment_features
        self.objective = objective
        self.optimiser = optimiser
        self.stop = stop
        self.seed = seed
        self.threads = threads

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        progress: bool | None = False,
    ) -> Self:
        """Train on sequences, and forget what was learned before.

        Parameters
        ----------
        X : list of sequences, or Dataset
            Each sequence is a list of items: see `crfkit.features.ItemExtractor`.
        y : list of lists
            Labels of positions, tags of BIO, or segments: see `crfkit.estimators.segmentation`. May be left
            out where X is a Dataset with labels.
        sample_weight : array [N], optional
            Weight of each sequence: 2 is as if it were there twice.
        progress : bool, optional
            Show progress; None: where standard error is a terminal.
        """
        if not isinstance(self.structure, SemiMarkov):
            raise TypeError(
                f"structure is {self.structure!r}; say how long segments may be, as in "
                "SemiCRF(structure=SemiMarkov(max_length=4))"
            )
        X = list(X) if isinstance(X, Iterator) else X
        data, tags = read(X, None, self.threads), False
        if y is not None:
            data, tags = segmented(data, y, Alphabet(self.structure.labels))
        elif data.batch.label is None and data.batch.allowed is None:
            raise ValueError(
                "y is missing: SemiCRF requires y to be passed, but the target y is None; give one list of "
                "labels or segments for each sequence"
            )
        known, names = self.structure.labels, data.labels.strings()
        if known and len(names) > len(known):
            raise ValueError(
                f"y has the label {names[len(known)]!r}, which is not one of the structure's: "
                f"{', '.join(known)}; leave them out, as in SemiMarkov(max_length=4), to take those of y"
            )
        data = weighted(data, sample_weight)
        data = self._with_segments(data, X, self.structure.with_labels(names))
        model = self._train(data, progress)
        self.tags_ = tags
        return self._learned(model)

    def predict(self, X: Any) -> list[list[str]]:
        """Return the labels of each sequence: tags of BIO where it was fitted to tags."""
        found = self._best(self._data(X))
        return PerSequence(tags_of(*one) if self.tags_ else one[0] for one in found)

    def predict_segments(self, X: Any) -> list[Segments]:
        """Return the segments of each sequence as (start, end, label), without those labelled O."""
        return PerSequence(segments_of(*one) for one in self._best(self._data(X)))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the F1 of segments with their label and both ends; those labelled O do not count.

        Parameters
        ----------
        X : sequences
        y : list of lists
            The gold in any form that `fit` takes; may be None where X is a Dataset with labels.
        sample_weight : array [N], optional
            How often each sequence counts.
        """
        data = self._data(X, y)
        batch, names = data.batch, data.labels.strings()
        if batch.label is None or (batch.label < 0).any():
            raise ValueError("y is missing: score needs one label for each position, or segments")
        begin = batch.begin
        if begin is None:
            structure: Any = self.model_.structure
            longest = dict(zip(self.classes_, structure.max_length, strict=True))
            begin = begins_of(batch.seq_ptr, batch.label, tuple(longest.get(name, 2) for name in names))
        gold = _by_sequence(data, batch.label.tolist(), begin.tolist(), names)
        true, found = ([tags_of(*one) for one in side] for side in (gold, self._best(data)))
        return judged(named(self.metric), true, found, weights_of(sample_weight, len(data)))

    def _best(self, data: Dataset) -> list[tuple[list[str], list[bool]]]:
        """Return the best labels of each sequence, and where segments begin."""
        label: list[int] = []
        begin: list[bool] = []
        for _, potentials in self.model_.parts(self.model_.batch_of(data), threads=self.threads):
            path = inference.best(potentials, threads=self.threads)[1]
            assert path.begin is not None
            label.extend(path.label.tolist())
            begin.extend(path.begin.tolist())
        return _by_sequence(data, label, begin, self.model_.structure.labels)

    def _data(self, X: Any, y: Any = None) -> Dataset:
        check_is_fitted(self, "model_")
        X = list(X) if isinstance(X, Iterator) else X
        if not isinstance(X, Batch):
            X = self._with_segments(read(X, None, self.threads), X, self.model_.structure, self.model_)
        data = super()._data(X)
        return data if y is None else segmented(data, y, Alphabet(self.classes_))[0]

    def _with_segments(self, data: Dataset, X: Any, structure: Any, like: Any = None) -> Dataset:
        """Return data with what the functions say of segments, unless they have attributes of segments."""
        if not self.segment_features or data.batch.segment_ptr is not None:
            return data
        seen = X if isinstance(X, list | tuple) else None
        return segment_features(data, max(structure.max_length), self.segment_features, X=seen, like=like)


def _by_sequence(
    data: Dataset, label: list[int], begin: list[bool], names: Sequence[str]
) -> list[tuple[list[str], list[bool]]]:
    ends = pairwise(data.batch.seq_ptr.tolist())
    return [([names[y] for y in label[a:b]], begin[a:b]) for a, b in ends]
