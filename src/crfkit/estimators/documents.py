"""What estimators do with documents of raw text: they learn from their spans, and find spans in others.

`crfkit.text.spec.sentences_in` makes tokens and tags of documents; from there on they are like any other
labeled sequences. The fitted model keeps the tokenizer, and ``training_.alignment`` says how spans became
those of tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crfkit.data.dataset import ExtractorSpec
from crfkit.estimators.base import Estimator, fixed
from crfkit.models.reading import are_docs, check_nesting
from crfkit.text.spec import TextSpec

if TYPE_CHECKING:
    from crfkit.features import Recipe
    from crfkit.models.model import SequenceModel
    from crfkit.text.alignment import Alignment, How
    from crfkit.text.labeled import Tagged


class Reads(NamedTuple):
    """How an estimator that is being fitted reads raw text."""

    spec: TextSpec | None = None
    alignment: Alignment | None = None


class Documented(Estimator):
    """An estimator that learns from documents, too."""

    tokenizer: Any = None
    sentences: Any = "none"
    alignment: How = "expand"
    features: Any = "auto"
    scheme: str = "auto"

    _reads: Reads = fixed(Reads())  #: of the `fit` that is going on

    def _unfolded(self, X: Any, y: Any = None, *, spec: TextSpec | None = None) -> tuple[Any, Any, Any]:
        """Return tokens and tags for documents, and how they were made; other data as they are."""
        if not are_docs(X):
            return X, y, None
        if y is not None:
            raise ValueError("X is documents, which bring their labels as spans: leave y out")
        from crfkit.text.labeled import sentences_in

        made = sentences_in(
            X,
            self.tokenizer if spec is None else spec.tokenizer,
            sentences=self.sentences if spec is None else spec.sentences,
            alignment=self.alignment,
            scheme="BIO" if self.scheme == "auto" else self.scheme,
        )
        return made.words, made.tags, made

    def _learning(self, X: Any, y: Any) -> tuple[Any, Any, Tagged | None]:
        """Return what `_unfolded` does, of what is learned from, and remember how text is read."""
        self._reads = Reads()
        X, y, made = self._unfolded(X, y)
        if made is not None:
            self._reads = Reads(made.spec, made.alignment)
        elif self.tokenizer is not None:
            self._reads = Reads(TextSpec.of(self.tokenizer, self.sentences))
        return X, y, made

    def _check_text(self, X: Any, recipe: Recipe | None) -> None:
        """Refuse a tokenizer beside features that need more than words, before training."""
        spec = self._reads.spec
        if spec is None:
            return
        if recipe is None and isinstance(X, list | tuple):
            check_nesting(X, recipe)
        if recipe is not None and len(recipe.columns) > 1:
            raise ValueError(
                f"a tokenizer is given ({spec.tokenizer.kind}), and the features read the columns "
                f"{', '.join(recipe.columns)}: a raw text has words only, and the model could not read it; "
                'leave tokenizer out, or give features of words, as in features="word[-1..1]; shape(word)[0]"'
            )
        if recipe is None and not callable(self.features):
            raise ValueError(
                f"a tokenizer is given ({spec.tokenizer.kind}), and X is features of tokens, which nothing "
                "would make of a raw text: give tokens, or features=lambda tokens, i: {...}"
            )

    def _with_text(self, model: SequenceModel) -> SequenceModel:
        """Return a model that knows how it reads text, and how spans became its labels."""
        spec, alignment = self.__dict__.pop("_reads", Reads())  # the fit is over
        if spec is None:
            return model
        from crfkit.training.documents import with_alignment

        function: Callable[[list[str], int], Any] | None = self.features if callable(self.features) else None
        made_by = replace(model.extractor or ExtractorSpec(), text=replace(spec, features=function))
        model = replace(model, extractor=made_by)
        return model if alignment is None else with_alignment(model, alignment)

    @staticmethod
    def _by_sentence(sample_weight: Any, made: Tagged | None) -> Any:
        """Return the weights of documents as those of their sentences."""
        if made is None or sample_weight is None:
            return sample_weight
        weight = np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (made.documents,):
            raise ValueError(
                f"sample_weight has shape {weight.shape}, expected a weight for each of {made.documents} "
                "documents"
            )
        return weight[made.docs]
