r"""Reading and writing data in any format.

=============  ============================================================  =================
format         what it is                                                    gives
=============  ============================================================  =================
``columns``    one token to a line, columns between TABs or blanks (CoNLL)   `Columns`
``conllu``     CoNLL-U: ten named columns; comments and 1-2, 1.1 skipped     `Columns`
``crfpp``      columns as CRF++ reads them                                   `Columns`
``wapiti``     columns as Wapiti reads them                                  `Columns`
``segmented``  words between blanks, a sentence in each line; characters    `Columns`
``csv``        comma-separated values, one row per token                     `Columns`
``parquet``    the same as a Parquet file                                    `Columns`
``jsonl``      one JSON object per sequence, in lines or in an array; with   either
               tokens or with items
``crfsuite``   CRFsuite's text: label and attributes between TABs            `Dataset`
``mallet``     SimpleTagger's text: features and label between spaces        `Dataset`
=============  ============================================================  =================

Templates turn `Columns` into a `Dataset`; a `Dataset` has attributes already. The modules in
`crfkit.data.formats` say exactly what each format can hold. Without a format, the content decides (for
CSV, the name); pass ``say=print`` to see which format was chosen and why.
"""

from typing import TYPE_CHECKING, Any

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.data.assemble import concatenate
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.data.formats.guess import guess
    from crfkit.data.formats.tables import to_table
    from crfkit.data.reading import stream
    from crfkit.data.writing import write

#: The names of all formats.
FORMATS: tuple[str, ...]

__all__ = [
    "FORMATS",
    "Columns",
    "Dataset",
    "concatenate",
    "guess",
    "stream",
    "to_table",
    "write",
]

_lazily = lazily(
    __name__,
    {
        "Columns": ".formats.columns",
        "Dataset": ".dataset",
        "concatenate": ".assemble",
        "guess": ".formats.guess",
        "stream": ".reading",
        "to_table": ".formats.tables",
        "write": ".writing",
    },
)


if not TYPE_CHECKING:  # for type checkers, what is not above does not exist

    def __getattr__(name: str) -> Any:
        if name == "FORMATS":  # as the registry has them now
            from crfkit.data.formats.registry import names

            return names()
        return _lazily(name)
