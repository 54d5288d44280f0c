"""How a model takes texts: what it can read, the sentences of a text, and some of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from crfkit.arrays import Pointers
from crfkit.text.spec import LONGEST, Cut, TextSpec

if TYPE_CHECKING:
    from crfkit.models.model import SequenceModel
    from crfkit.text.doc import Doc

__all__ = ["FUNCTION", "Ways", "check_reads_text", "checked_text", "items_of", "one_sentence", "parts_of"]
__all__ += ["sentences_of", "words_of"]


class Ways(NamedTuple):
    """What decides how texts are labeled."""

    sure: bool  #: spans have probabilities
    swift: bool  #: one sentence goes to the tagger
    plain: bool  #: labels are those of tokens, and do not spell spans

    @classmethod
    def of(cls, model: SequenceModel) -> Ways:
        """Return what of a model decides."""
        plain = not model.segmental and model.tags is None
        sure = model.segmental or plain or model.layout.order <= 1
        sure = sure and (not model.rule or hasattr(model, "predict_proba"))
        function = model.text is not None and model.text.features is not None
        return cls(sure, sure and not model.constraints and not function, plain)


def check_reads_text(model: SequenceModel, spec: TextSpec | None = None) -> None:
    """Refuse a tokenizer for a model that reads more than words, or that cannot make features of them."""
    recipe = model.recipe
    if recipe is not None:
        if len(recipe.columns) > 1:
            raise ValueError(
                f"the model reads the columns {', '.join(recipe.columns)}, and a raw text has words only: it "
                "cannot read text; train one on words alone"
            )
        return
    if model.feature_map is not None:
        raise ValueError(f"the model reads {model.feature_map.takes}: it cannot read raw text")
    if spec is None or spec.features is None:
        raise ValueError(
            "the model reads features of tokens and has no recipe that makes them of text; give the function "
            "that made them: model.with_text(tokenizer, features=lambda tokens, i: ...)"
        )


def one_sentence(model: SequenceModel, text: str | Doc) -> list[Any]:
    """Return the tokens of a text that is one sentence, as the model reads them."""
    spec = model._spec()
    found = sentences_of(checked_text(text), spec.cut(text))
    if len(found) != 1:
        raise ValueError(f"the text has {len(found)} sentences, expected one: give them one by one")
    return found[0] if spec.features is None else items_of(spec.features, found[0])


FUNCTION: Final = (
    "features is a function, which a file cannot hold: save the model without it, and call with_text again "
    "after loading"
)


def checked_text(text: str | Doc) -> str | Doc:
    """Return a text, or a document in code points; refuse anything else."""
    from crfkit.text.doc import Doc

    if isinstance(text, str):
        return text
    if not isinstance(text, Doc):
        raise TypeError(f"expected a text or a Doc, not {text!r:.60} of type {type(text).__name__}")
    return text.in_unit("codepoint")


def words_of(given: str | Doc, offsets: Pointers) -> list[str]:
    """Return the tokens of a text."""
    text = given if isinstance(given, str) else given.text
    return [text[a:b] for a, b in offsets.tolist()]


def sentences_of(given: str | Doc, cut: Cut) -> list[list[str]]:
    """Return the tokens of each sentence; none of a text without tokens."""
    words = words_of(given, cut.offsets)
    if cut.sentences is None:
        return [words] if words else []
    begins = cut.sentences.tolist()
    return [words[a - begins[0] : b - begins[0]] for a, b in pairwise(begins)]


def parts_of(cut: Cut) -> Iterator[Cut]:
    """Yield sentences some at a time, so that what becomes of them stays small."""
    offsets, pointers = cut
    if pointers is None or len(offsets) <= LONGEST:
        yield cut
        return
    first = 0
    while first + 1 < len(pointers):
        last = max(int(np.searchsorted(pointers, pointers[first] + LONGEST, "right")) - 1, first + 1)
        yield Cut(offsets[pointers[first] : pointers[last]], pointers[first : last + 1])
        first = last


def items_of(features: Callable[[list[str], int], Any], tokens: list[str]) -> list[Any]:
    """Return what a function of features makes of each token."""
    return [features(tokens, i) for i in range(len(tokens))]
