"""Data: how to read what commands are given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from crfkit.cli.groups.compose import option

if TYPE_CHECKING:
    from collections.abc import Callable

    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.text.formats.reading import Docs
    from crfkit.text.spec import TextSpec

_option = partial(option, "Data")

Encoding = Annotated[
    str | None,
    _option(
        "--encoding",
        help="Encoding of the text: utf-8 (the default), utf-16, latin-1, cp1252 or any that Python knows.",
    ),
]


@dataclass(frozen=True)
class Data:
    """How to read data, as it was given on the command line; its fields are the options.

    Examples
    --------
    >>> Data(columns="word,tag").keywords["columns"]
    ['word', 'tag']
    """

    format: Annotated[
        str | None,
        _option(
            "--format",
            "-f",
            help="Format of tokens: {formats}; of documents: {text_formats}. Default: detected.",
        ),
    ] = None
    columns: Annotated[
        str | None, _option("--columns", help="Names of the columns, separated by commas.")
    ] = None
    separator: Annotated[
        str | None,
        _option(
            "--separator",
            help="What separates columns: tab, blanks or any one character. Default: tab if every line has"
            " one, else blanks.",
        ),
    ] = None
    comment: Annotated[
        str | None, _option("--comment", help="Skip lines that begin with this, such as '#'.")
    ] = None
    header: Annotated[
        bool | None,
        _option(
            "--header/--no-header",
            help="Whether the first line has the names of the columns. Default: yes for CSV, else detected.",
        ),
    ] = None
    sequence_column: Annotated[
        str | None,
        _option(
            "--sequence-column",
            help="Column that numbers the sequences, by name or number from 0. Default: a column named "
            "sequence, sentence_id, ...; else blank lines separate sequences.",
        ),
    ] = None
    encoding: Encoding = None
    tokenizer: Annotated[
        str | None,
        _option(
            "--tokenizer",
            help="How raw text is cut into tokens: words (Unicode's rule), blanks, characters, given, or "
            "pattern=EXPRESSION; words=- and blanks=, make these characters tokens of their own. "
            "Default: that of the model, else words.",
        ),
    ] = None
    sentences: Annotated[
        str | None,
        _option(
            "--sentences",
            help="Where sequences begin in raw text: rule (sentences), lines, blank-lines or none. "
            "Default: that of the model, else none.",
        ),
    ] = None
    alignment: Annotated[
        str | None,
        _option(
            "--alignment",
            help="What to do with spans that cut a token: expand (the default), contract, unknown or strict.",
        ),
    ] = None

    @property
    def cutter(self) -> Any:
        """The tokenizer that is given; None where none is."""
        from crfkit.cli.texts import tokenizer_named

        return None if self.tokenizer is None else tokenizer_named(self.tokenizer)

    @property
    def how(self) -> Any:
        """What becomes of spans that cut a token."""
        from crfkit.cli.messages import check_choice
        from crfkit.text.alignment import ALIGNMENTS

        return "expand" if self.alignment is None else check_choice("--alignment", self.alignment, ALIGNMENTS)

    def documents(self, path: str) -> Docs | None:
        """Return the documents of raw text in a file; None where it holds something else."""
        from crfkit.text.formats.sniffing import documents_at

        names = ("columns", "separator", "comment", "header", "sequence_column", "label_column")
        given = next((name for name in names if getattr(self, name, None) is not None), None)
        if given is not None and self.format is None:
            return None
        found = documents_at(path, self.format, encoding=self.encoding)
        if found is not None and given is not None:
            raise ValueError(
                f"--{given.replace('_', '-')} is for columns, and {path} holds documents of text"
            )
        return found

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of `crfkit.read` and `crfkit.data.stream`, checked."""
        between = "\t" if self.separator in ("tab", "TAB", r"\t") else self.separator
        if between not in (None, "blanks") and (len(between) != 1 or not between.isascii()):
            raise ValueError(
                f"--separator is {self.separator!r}, expected tab, blanks or one character such as ','"
            )
        if self.comment == "":
            raise ValueError("--comment is empty; give what such lines begin with, or leave it out")
        names = _names(self.columns)
        return {
            "format": self.format,
            "columns": names,
            "separator": between,
            "comment": self.comment,
            "header": self.header,
            "sequence": self.sequence_column,
            "encoding": self.encoding,
        }

    def blocks(
        self,
        path: str,
        *,
        attributes: bool | None = None,
        docstart: str | None = None,
        threads: int | None = 1,
        text: Callable[[], TextSpec] | None = None,
        scheme: str | None = "BIO",
        lines: bool = False,
    ) -> Iterator[Columns | Dataset]:
        """Read data in blocks of whole sequences, as they come; an empty input has none.

        Parameters
        ----------
        path : str
            A path, or "-" for standard input.
        attributes : bool, optional
            Whether data with attributes are needed (True) or columns (False): decides where guesses differ.
        docstart : str, optional
            As in `crfkit.read`.
        threads : int, optional
            With more than one (None: one for each core) a file is read on a thread, a block ahead.
        text, scheme
            A function that says how documents of raw text are cut, and how their spans become labels.
        lines : bool
            Whether each line is a raw text.
        """
        from crfkit import data
        from crfkit._safe.background import ahead
        from crfkit.cli.tag_texts import text_docs
        from crfkit.data.source import EmptyInputError
        from crfkit.native import threads_or_all

        docs = text_docs(path, self.encoding) if lines else self.documents(path)
        if docs is not None:
            from crfkit.cli.texts import columns_of

            spec = None if text is None else text()
            yield from columns_of(docs, spec, scheme, self, source=path)
            return
        needs = None if attributes is None else "attributes" if attributes else "columns"
        given = {**self.keywords, "needs": needs, "docstart": docstart}
        parts = data.stream(path, alphabets="fresh", **given)
        if threads_or_all(threads) > 1 and path != "-" and os.path.isfile(path):  # a pipe would be waited for
            parts = ahead(parts)
        try:
            yield from parts
        except EmptyInputError:
            return


@dataclass(frozen=True)
class LabeledData(Data):
    """How to read data that may have labels.

    Examples
    --------
    >>> LabeledData(label_column="-1").label
    -1
    """

    label_column: Annotated[
        str | None,
        _option("--label-column", help="Column of the label, by name or number from 0; -1 is the last."),
    ] = None

    @property
    def label(self) -> str | int | None:
        """The column of the label by number or name, where it is given."""
        given = self.label_column
        return int(given) if given is not None and given.removeprefix("-").isdigit() else given


def _names(given: str | None) -> list[str] | None:
    """Return the names of --columns.

    Examples
    --------
    >>> _names("word, pos,chunk")
    ['word', 'pos', 'chunk']
    """
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise ValueError(f"--columns is {given!r}, expected names between commas, such as word,pos,chunk")
    return names
