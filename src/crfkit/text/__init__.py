"""Raw text: documents with spans of characters, in code points, UTF-16 units or bytes.

==============  ================================================================================
`Doc`           a text with tokens, sentences and labeled spans; frozen
`Span`          (start, end, label, probability); in a `Doc` also its text and its tokens
`Words`         a tokenizer, by Unicode's rule; others are `Characters`, `Blanks`, `Pattern`
                and `Given`; the table is in `crfkit.text.tokenizers`
`Sentences`     where sentences begin: lines, blank lines, Unicode's rule, or one for all
`align`         documents whose spans fit their tokens, and an `Alignment`, which counts
`read`          documents of a file, as tools for annotation write them: `Docs`
`write`         documents to a file, in one of `FORMATS`
`train`         a model of documents: it is `crfkit.train`
==============  ================================================================================

>>> from crfkit.text import Doc
>>> doc = Doc("Ana lives in New York", spans=[(0, 3, "PER"), (13, 21, "LOC")])
>>> [(span.text, span.label) for span in doc.spans]
[('Ana', 'PER'), ('New York', 'LOC')]
"""

from typing import TYPE_CHECKING, Any

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.text.alignment import Alignment, align
    from crfkit.text.doc import Doc
    from crfkit.text.formats.reading import Docs, read
    from crfkit.text.formats.writing import write
    from crfkit.text.sentences import Sentences
    from crfkit.text.spans import Span
    from crfkit.text.tokenizers import Blanks, Characters, Given, Pattern, Words

#: The names of all formats of documents.
FORMATS: tuple[str, ...]

__all__ = [
    "FORMATS",
    "Alignment",
    "Blanks",
    "Characters",
    "Doc",
    "Docs",
    "Given",
    "Pattern",
    "Sentences",
    "Span",
    "Words",
    "align",
    "read",
    "write",
]

_lazily = lazily(
    __name__,
    {
        "Alignment": ".alignment",
        "Doc": ".doc",
        "Docs": ".formats.reading",
        "Sentences": ".sentences",
        "Span": ".spans",
        "align": ".alignment",
        "read": ".formats.reading",
        "write": ".formats.writing",
        **dict.fromkeys(["Blanks", "Characters", "Given", "Pattern", "Words"], ".tokenizers"),
    },
)


if not TYPE_CHECKING:  # for type checkers, what is not above does not exist

    def __getattr__(name: str) -> Any:
        if name == "FORMATS":
            from crfkit.text.formats.registry import FORMATS as ALL

            return tuple(ALL)
        if name == "train":  # where people look for it who begin with documents
            import crfkit

            return crfkit.train
        return _lazily(name)
