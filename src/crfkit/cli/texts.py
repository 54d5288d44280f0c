"""Documents of raw text where commands read columns: each token with a column ``word`` and one ``label``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from crfkit.cli.groups.data import Data, LabeledData
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.models.model import SequenceModel
    from crfkit.text.alignment import Alignment
    from crfkit.text.doc import Doc
    from crfkit.text.formats.reading import Docs
    from crfkit.text.spec import TextSpec

_AT_A_TIME: Final = 500  #: documents


def tokenizer_named(given: str) -> Any:
    r"""Return the tokenizer that an option names: a kind, and perhaps its first option behind ``=``.

    Examples
    --------
    >>> tokenizer_named("words"), tokenizer_named("blanks=,;"), tokenizer_named(r"pattern=\w+")
    (Words(split='', unicode='15.0.0'), Blanks(keep=',;'), Pattern(expression='\\w+'))
    """
    from crfkit.text.tokenizers import TOKENIZERS, tokenizer_of

    kind, equals, value = given.partition("=")
    first = {"words": "split", "blanks": "keep", "pattern": "expression"}.get(kind)
    if equals and (first is None or kind not in TOKENIZERS):
        raise ValueError(
            f"--tokenizer is {given!r}, expected words, words=CHARACTERS, blanks, blanks=CHARACTERS, "
            "characters, given or pattern=EXPRESSION"
        )
    return tokenizer_of({"kind": kind, first: value} if equals and first else kind)


def columns_of(
    docs: Iterable[Doc],
    spec: TextSpec | None,
    scheme: str | None,
    reading: Data,
    add: Callable[[Alignment, TextSpec], object] | None = None,
    source: str = "",
) -> Iterator[Columns]:
    """Yield documents as columns, some at a time; the label of what nobody has looked at is empty."""
    from crfkit.data.formats.columns import Columns
    from crfkit.text.labeled import in_columns, sentences_in

    tokenizer = spec.tokenizer if spec is not None else reading.cutter
    rule: Any = spec.sentences if spec is not None else reading.sentences or "none"
    walk = iter(docs)
    while some := list(islice(walk, _AT_A_TIME)):
        made = sentences_in(some, tokenizer, sentences=rule, alignment=reading.how, scheme=scheme)
        tokenizer = made.spec.tokenizer  # of all documents that of the first
        if add is not None:
            add(made.alignment, made.spec)
        yield replace(Columns.from_rows(in_columns(made), ["word", "label"]), source=source)


def spec_for_model(model: SequenceModel, reading: Data, source: str) -> TextSpec:
    """Return how a model reads documents: by its own tokenizer, or by the one that is given."""
    from crfkit.models.text_parts import check_reads_text
    from crfkit.text.spec import TextSpec

    if reading.tokenizer is not None or model.text is None:
        if reading.tokenizer is None:
            check_reads_text(model)
            raise ValueError(
                f"{source} was trained on tokens and has no tokenizer; say how text is cut: --tokenizer "
                "words, or blanks"
            )
        spec = TextSpec.of(reading.cutter, reading.sentences or "none")
        check_reads_text(model, spec)
        return spec
    return model.text if reading.sentences is None else TextSpec.of(model.text.tokenizer, reading.sentences)


class TrainingTexts:
    """Reads training data, documents among them, and remembers how text became tokens."""

    def __init__(self, reading: LabeledData) -> None:
        self.reading = reading
        self.spec: TextSpec | None = None
        self.alignment: Alignment | None = None

    def read(self, path: str, say: Callable[[str], object] | None = None) -> Columns | Dataset:
        """Return the data of a file; documents as columns."""
        from crfkit.data.assemble import concatenate
        from crfkit.data.reading import read

        docs = self.reading.documents(path)
        if docs is None:
            return read(path, say=say, **self.reading.keywords)
        parts = list(self._columns(docs, path))
        if not parts:
            raise ValueError(f"{path} holds no document; give labeled documents")
        return concatenate(parts)

    def stream(self, path: str, **given: Any) -> Iterator[Columns | Dataset]:
        """Yield the data of a file in chunks; documents as columns."""
        from crfkit.data.reading import stream

        docs = self.reading.documents(path)
        return stream(path, **given) if docs is None else iter(self._columns(docs, path))

    def _columns(self, docs: Docs, path: str) -> Iterator[Columns]:
        return columns_of(docs, self.spec, "BIO", self.reading, self._add, path)

    def _add(self, alignment: Alignment, spec: TextSpec) -> None:
        self.spec = spec
        self.alignment = alignment if self.alignment is None else self.alignment + alignment

    def finished(self, model: SequenceModel, alignment: Alignment | None) -> SequenceModel:
        """Return a model that knows how it reads text; columns leave it as it is."""
        from crfkit.data.dataset import ExtractorSpec
        from crfkit.models.text_parts import check_reads_text
        from crfkit.training.documents import with_alignment

        if self.spec is None:
            return model
        check_reads_text(model, self.spec)
        model = replace(model, extractor=replace(model.extractor or ExtractorSpec(), text=self.spec))
        return model if alignment is None else with_alignment(model, alignment)
