"""Documents where sequences are expected: their sentences, with the tags that a model would give them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from crfkit.models.results import PerSequence
from crfkit.models.text_parts import check_reads_text
from crfkit.tags.detection import scheme_in
from crfkit.tags.schemes import OUTSIDE
from crfkit.text.doc import Doc
from crfkit.text.labeled import sentences_in
from crfkit.text.spec import TextSpec

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel


def spec_of(model: SequenceModel) -> TextSpec:
    """Return how a model reads text; refuse one that does not."""
    if model.text is None:
        check_reads_text(model)
        raise ValueError(
            "the model was trained on tokens and has no tokenizer, and X is documents of raw text; give it "
            'one: model.with_text("words")'
        )
    return model.text


def scheme_of(model: SequenceModel) -> str | None:
    """Return the scheme by which a model spells spans; None where runs of equal labels are spans."""
    if model.scheme is not None:
        return model.scheme
    if model.segmental or model.tags is None:
        return None
    if model.label_scheme is not None:
        return model.label_scheme.name
    if {name[:1] for name in model.answers if name != OUTSIDE} == {"I"}:
        return "IO"
    found = scheme_in(model.answers)
    return None if found is None else found.name


def tagged(model: SequenceModel, docs: Iterable[Doc], y: Any = None, *, gold: bool = True) -> tuple[Any, Any]:
    """Return the sentences of documents as the model cuts them, and the tags of their spans where y is None.

    Spans that cut a token are expanded: a tokenizer that cannot find their ends makes no mistakes of labels.
    """
    spec = spec_of(model)
    made = sentences_in(docs, spec.tokenizer, sentences=spec.sentences, scheme=scheme_of(model))
    words: Any = made.words
    if spec.features is not None:
        words = [[spec.features(one, i) for i in range(len(one))] for one in made.words]
    return words, made.tags if y is None and gold else y


def labeled_docs(
    model: SequenceModel,
    docs: Iterable[Doc],
    given: Any,
    method: Any,
    constraints: Any,
    infeasible: str,
    threads: int | None,
) -> Any:
    """Return documents with the spans that a model finds in their texts."""
    if given is not None or method not in (None, "viterbi") or infeasible != "raise":
        raise ValueError(
            "X is documents; given, method and infeasible are for sequences of tokens: call model(text, "
            "fixed=[(start, end, label)]) for what is known of a text"
        )
    model = model if constraints is None else model.constrained(constraints)
    return PerSequence(model.pipe(docs, threads=threads))


def reads_text(model: SequenceModel, features: Any = None) -> SequenceModel:
    """Return a model that reads raw text: itself, or at blanks where it has no tokenizer."""
    if model.text is not None:
        return model
    function = features if callable(features) else None

    def made() -> SequenceModel:
        return model.with_text("blanks", features=function)

    found: SequenceModel = model._once("by blanks", made)
    return found
