"""Data sets: real ones that are shipped, made-up ones, and corpora in a folder of your own.

====================  ==================================================================================
`load_addresses`      1,513 and 138 real addresses of the United States, with a label for each word
`make_addresses`      as many made-up addresses as asked for, of seven countries
`list_corpora`        the corpora that `load_corpus` knows, and which of them are there
`load_corpus`         one of them, from the folder that the environment variable CRFKIT_DATA names
====================  ==================================================================================

Each gives a `Sample`: training, dev and test part, with what they are and under which license. Nothing is
downloaded.

>>> from crfkit.datasets import load_addresses
>>> print(load_addresses())
addresses: 1,513 to train on, 138 to test on, 29 labels; MIT
"""

from typing import TYPE_CHECKING

from crfkit._safe.lazy import lazily

if TYPE_CHECKING:
    from crfkit.datasets.addresses import load_addresses
    from crfkit.datasets.corpora import list_corpora, load_corpus
    from crfkit.datasets.generate import make_addresses
    from crfkit.datasets.sample import Sample

__all__ = ["Sample", "list_corpora", "load_addresses", "load_corpus", "make_addresses"]

lazily(
    __name__,
    {
        "Sample": ".sample",
        "list_corpora": ".corpora",
        "load_addresses": ".addresses",
        "load_corpus": ".corpora",
        "make_addresses": ".generate",
    },
)
