"""`SemiCRF`: labeled segments, a semi-Markov CRF, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset
from crfkit.data.formats.columns import Columns
from crfkit.estimators.fitting import Fitting, has_gold
from crfkit.estimators.queries import SequenceQueries
from crfkit.estimators.saving import OF_FEATURES
from crfkit.features import Recipe
from crfkit.features.segments import SegmentFunction, segment_features
from crfkit.models.model import SequenceModel
from crfkit.models.reading import columns_of, itemized, read
from crfkit.models.results import PerSequence
from crfkit.models.tags import Outside, as_segments, segmented
from crfkit.structures import SemiMarkov
from crfkit.structures.structure import Structure
from crfkit.training.segments import labels_alone, settled_by, with_attributes


class SemiCRF(SequenceQueries, Fitting):
    """A semi-Markov conditional random field: it cuts sequences into labeled segments.

    Parameters
    ----------
    structure : SemiMarkov, or "semi-markov"
        How long segments may be: ``SemiMarkov(max_length=4)``, or one length for each label,
        ``SemiMarkov(max_length={"NAME": 4, "O": 1})``. Default: as long as the longest of each label in y.
    selection : FeatureSelection, or one of "observed", "all", "likely"
        Which weights there are: ``FeatureSelection(min_count=3)``.
    segment_features : sequence of functions
        ``g(x, start, end)`` tells what is known of a segment; see `crfkit.features.segments`, which has
        `phrase`, `first_word`, `last_word` and `length`. Features of positions count in every segment that
        they lie in.
    objective : an objective, or its name
        What to optimize, penalty included.
    optimizer : an optimizer, its name, or "auto"
        "auto" takes the fastest sound one.
    init : Model or function, optional
        Where `fit` starts, as in `crfkit.train`.
    stop : Stop
        When training ends: ``Stop(max_iterations=50)``.
    features : str, path or Recipe, optional
        A recipe, as for `ChainCRF`, which may have templates of segments, and of their first and last
        positions: ``"word[0]; begin: word[-1]; segment: word[..]"``. Without one, X is features.
    outside : {"unit", "long"}
        What is outside of segments, labeled O: each position is a segment of its own, or each stretch is
        one segment. Training and prediction take time in proportion to the longest segment, so "long" costs
        as much as the longest stretch.
    tokenizer, sentences, alignment : optional
        How raw text is read, as in `ChainCRF`.
    scheme : str
        The scheme of the tags in y: one of `crfkit.tags.SCHEMES`; "auto" finds out.
    metric : str or function
        What judges the dev set, and what `score` gives; "auto": the F1 of segments with their label and both
        ends.
    l1, l2, max_length, min_count, max_iterations : optional
        Fields of the parts, as in `ChainCRF`.
    random_state : int, optional
        For optimizers that draw, and for `sample`.
    n_jobs : int, optional
        Default: all cores. Results do not depend on it.
    constraints : sequence of constraints
        On whole labelings, such as ``[AtMostOnce()]`` (`crfkit.constraints`): labels that are predicted keep
        them, exactly; training, probabilities and draws do not know them.

    Attributes
    ----------
    model_ : Model
        It holds the recipe, but not `segment_features`: give it data by ``segment_features(X, ...,
        like=model)``.
    classes_ : array of str [L]
        The labels of segments, by first appearance.
    n_iter_ : int
        Iterations of the last training.

    Notes
    -----
    What y may be: tags, labels whose stretches are segments, or segments (start, end, label), of which those
    labeled O may be left out; see `crfkit.models.tags`. A position may have None or a set of labels.

    Examples
    --------
    >>> from crfkit import SemiCRF
    >>> X = [["in", "New", "York"], ["York", "is", "old"], ["New", "cars"]]
    >>> y = [["O", "B-CITY", "I-CITY"], ["B-CITY", "O", "O"], ["O", "O"]]
    >>> crf = SemiCRF(features="w[0]; segment: w[..]").fit(X, y)
    >>> crf.predict([["New", "York", "is"]])
    [['B-CITY', 'I-CITY', 'O']]
    >>> [span] = crf.predict_spans([["New", "York", "is"]])[0]
    >>> (span.start, span.end, span.label), 0.0 < span.probability < 1.0
    ((0, 2, 'CITY'), True)

    Functions, and segments as triples:

    >>> from crfkit.features.segments import phrase
    >>> items = [[[word] for word in x] for x in X]
    >>> crf = SemiCRF(segment_features=[phrase]).fit(items, [[(1, 3, "CITY")], [(0, 1, "CITY")], []])
    >>> crf.predict([[["New"], ["York"], ["is"]]])
    [['CITY', 'CITY', 'O']]
    """

    _defaults: ClassVar[Mapping[str, Any]] = {"structure": "semi-markov"}
    _needed: ClassVar[Mapping[str, str]] = {
        **OF_FEATURES,
        "segment_features": "segment_features are functions, which a file cannot keep: make a recipe of "
        'them, as in features="w[0]; segment: w[..]", or train a model on '
        "crfkit.features.segment_features(X, ...), and save that: it asks for such data",
    }
    structure: SemiMarkov | str | None = None
    max_length: Any | None = None
    segment_features: Sequence[SegmentFunction] = ()
    outside: Outside = "unit"
    scheme: str = "auto"

    def predict_segment_marginals(
        self, X: Any, min_probability: float = 0.01
    ) -> list[list[tuple[int, int, str, float]]]:
        """Return the segments of each sequence that have at least this probability, with it.

        Each is (start, end, label, probability), in order of where they begin; those labeled O are among
        them.
        """
        data = self._data(X)
        return PerSequence(
            self.model_.segment_marginals(data, min_probability=min_probability, threads=self._threads)
        )

    # ---- data

    def _prepared(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str], before: SequenceModel | None
    ) -> tuple[Dataset, Structure]:
        structure = self._part("structure")
        if not isinstance(structure, SemiMarkov):
            raise TypeError(
                f"structure is {structure.describe()}; SemiCRF takes a SemiMarkov, as in "
                "SemiCRF(structure=SemiMarkov(max_length=4))"
            )
        X = list(X) if isinstance(X, Iterator) else X
        data, columns = self._gold(X, y, recipe, [*structure.labels, *known])
        structure = self._settled(structure, data, before)
        learn = before is None  # else internal dictionaries are of other data
        return self._with_segments(data, X, columns, recipe, structure, learn=learn), structure

    def _dev_data(self, X: Any, y: Any, recipe: Recipe | None, structure: Structure) -> Dataset:
        X = list(X) if isinstance(X, Iterator) else X
        data, columns = self._gold(X, y, recipe, ())
        return self._with_segments(data, X, columns, recipe, structure)

    def _gold(
        self, X: Any, y: Any, recipe: Recipe | None, known: Sequence[str]
    ) -> tuple[Dataset, Columns | None]:
        """Return data with gold segments; those of columns have no attributes yet: their lengths decide."""
        columns = None
        if recipe is not None and not isinstance(X, Dataset | Batch):
            columns = columns_of(X, recipe)
            data = labels_alone(columns, recipe if y is None and isinstance(X, Columns) else None)
        else:
            data = read(X, None, self._threads)
        if y is not None:
            data = segmented(data, y, self._scheme, self.outside, labels=known)
        has_gold(data, "SemiCRF", "tags, labels or segments")
        return as_segments(data, self._scheme, self.outside, labels=known), columns

    def _settled(self, structure: SemiMarkov, data: Dataset, before: SequenceModel | None) -> SemiMarkov:
        """Return the structure over the labels of the data, with a length for each."""
        found = settled_by(structure, data, self.outside)
        if before is None:
            return found
        most = before.structure.lengths() or {}
        wanted = {y: max(d, most.get(y, 1)) for y, d in zip(found.labels, found.max_length, strict=True)}
        if max(wanted.values()) > max(most.values()):
            raise ValueError(
                f"y has a segment of {max(wanted.values())} positions; what was learned before has segments "
                f"of at most {max(most.values())}: call fit with all data"
            )
        return replace(found, max_length=tuple(wanted.values()))

    def _with_segments(
        self,
        data: Dataset,
        X: Any,
        columns: Columns | None,
        recipe: Recipe | None,
        structure: Any,
        like: Any = None,
        *,
        learn: bool = False,
    ) -> Dataset:
        """Return data with attributes: what the recipe makes of columns, and the functions of segments."""
        longest = max(structure.max_length)
        if columns is not None:
            assert recipe is not None
            data = with_attributes(data, columns, recipe, longest, self._threads, learn=learn)
        if not self.segment_features or data.batch.segment_ptr is not None:
            return data
        seen = X if isinstance(X, list | tuple) else None
        return segment_features(data, longest, self.segment_features, X=seen, like=like)

    def _data(self, X: Any, y: Any = None) -> Dataset:
        check_is_fitted(self, "model_")
        X = list(X) if isinstance(X, Iterator) else X
        model = self.model_
        if self.segment_features and not isinstance(X, Batch):
            data = read(itemized(self.features, X), model.recipe, self._threads)
            X = self._with_segments(data, X, None, None, model.structure, model)
        return super()._data(X, y)
