"""How a model reads raw text: its tokenizer and its rule of sentences, as plain data in the model file.

`TextSpec` cuts a text into sentences of tokens, which are the sequences that a model labels. What cuts is
loaded when it is used: models of other data do without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from crfkit.arrays import Pointers
from crfkit.errors import DataWarning, warn_about

if TYPE_CHECKING:
    from crfkit.text.doc import Doc
    from crfkit.text.sentences import Sentences
    from crfkit.text.tokenizers import Tokenizer

__all__ = ["LONGEST", "Cut", "Features", "TextSpec"]

LONGEST: Final = 10_000  #: tokens of a sentence; longer ones are cut, so that memory stays bounded
#: A function of the tokens of a sentence and a position, which gives the features of the latter.
Features: TypeAlias = "Callable[[list[str], int], Any]"


class Cut(NamedTuple):
    """A text in tokens and sentences."""

    offsets: Pointers  #: [tokens, 2], in code points
    sentences: Pointers | None  #: pointers into the tokens; None: one sentence


@dataclass(frozen=True)
class TextSpec:
    """How raw text becomes sequences of tokens.

    Parameters
    ----------
    tokenizer : Tokenizer
    sentences : Sentences
    features : function, optional
        ``f(tokens, i)``, which makes features of tokens where the model has no recipe; no file keeps it.

    Examples
    --------
    >>> spec = TextSpec.of("words", "rule")
    >>> cut = spec.cut("It rains. We stay.")
    >>> len(cut.offsets), cut.sentences.tolist(), TextSpec.of_dict(spec.to_dict()) == spec
    (6, [0, 3, 6], True)
    """

    tokenizer: Tokenizer
    sentences: Sentences
    features: Features | None = None

    @classmethod
    def of(
        cls, tokenizer: Any, sentences: Sentences | str = "none", features: Features | None = None
    ) -> TextSpec:
        """Return a spec of a tokenizer and a rule of sentences, or of their names."""
        from crfkit.text.sentences import Sentences
        from crfkit.text.tokenizers import tokenizer_of

        return cls(tokenizer_of(tokenizer), Sentences.of(sentences), features)

    def cut(self, given: str | Doc) -> Cut:
        """Return where the tokens and sentences of a text are; a document may bring its tokens (`Given`)."""
        pointers = None
        if isinstance(given, str):
            text, offsets = given, self.tokenizer(given)
        elif self.tokenizer.kind == "given":
            if given.tokens is None:
                raise ValueError(f"{given.name}the tokenizer is Given(), but the document has no tokens")
            offsets, text, pointers = given.tokens, given.text, given.sentences
        else:
            text, offsets = given.text, self.tokenizer(given.text)
        if pointers is None or self.sentences.rule != "none":
            pointers = self.sentences.pointers(text, offsets)
        return Cut(offsets, pointers if len(offsets) <= LONGEST else _shortened(pointers, len(offsets)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, which `of_dict` reads."""
        return {"tokenizer": self.tokenizer.to_dict(), "sentences": self.sentences.to_dict()}

    @classmethod
    def of_dict(cls, plain: object) -> TextSpec | None:
        """Return what `to_dict` described; raise a ValueError on anything else."""
        if plain is None:
            return None
        if not isinstance(plain, Mapping) or set(plain) != {"tokenizer", "sentences"}:
            raise ValueError("the tokenizer is damaged")
        try:
            return cls.of(*(dict(plain[name]) for name in ("tokenizer", "sentences")))  # type: ignore[arg-type]
        except TypeError as error:
            raise ValueError(f"the tokenizer is damaged: {error}") from None


def _shortened(pointers: Pointers | None, tokens: int) -> Pointers | None:
    """Return pointers to sentences of which none is longer than `LONGEST`."""
    whole = np.array([0, tokens], np.int64) if pointers is None else pointers
    most = int(np.diff(whole).max())
    if most <= LONGEST:
        return pointers
    warn_about(
        f"a sentence of {most:,} tokens is cut into pieces of {LONGEST:,}; sentences='rule' finds where "
        "sentences begin",
        DataWarning,
    )
    parts = [np.arange(a, b, LONGEST) for a, b in pairwise(whole.tolist())]
    made: Pointers = np.append(np.concatenate(parts), tokens)
    return made
