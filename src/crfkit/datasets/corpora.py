"""Corpora of the field in a folder of your own, which the environment variable CRFKIT_DATA names.

crfkit ships none of them and downloads nothing: many may only be used for research. The folder holds files
with a column for each field, plain or gzip; `list_corpora` says where each is looked for. A file that differs
from the one that crfkit's own figures were measured on (by SHA-256) gives a `crfkit.errors.DataWarning`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crfkit.data.formats.columns import Columns
from crfkit.data.reading import read
from crfkit.datasets.sample import Sample
from crfkit.errors import DataWarning, warn_about

__all__ = ["CORPORA", "Corpus", "list_corpora", "load_corpus"]


@dataclass(frozen=True)
class Corpus:
    """A corpus as the registry has it."""

    about: str
    columns: tuple[str, ...]
    label: str
    files: dict[str, tuple[str, str]]  #: of each part: the path in the folder, how its SHA-256 begins
    license: str = "not stated"


def _conll2002(language: str, *hashes: str) -> dict[str, tuple[str, str]]:
    parts = zip(("train", "dev", "test"), ("train", "testa", "testb"), hashes, strict=True)
    return {part: (f"conll2002/{language}.{name}.gz", sha) for part, name, sha in parts}


def _three(pattern: str, *hashes: str) -> dict[str, tuple[str, str]]:
    return {
        part: (pattern.format(part), sha) for part, sha in zip(("train", "dev", "test"), hashes, strict=True)
    }


CORPORA: Final[dict[str, Corpus]] = {
    "conll2000": Corpus(
        "phrases of English news (CoNLL-2000)",
        ("word", "pos", "chunk"),
        "chunk",
        {
            "train": ("conll2000/train.txt.gz", "bb828b11822d90dd"),
            "test": ("conll2000/test.txt.gz", "e9b6ab142898d592"),
        },
    ),
    "conll2002-es": Corpus(
        "names in Spanish news (CoNLL-2002)",
        ("word", "pos", "entity"),
        "entity",
        _conll2002("esp", "6fec38aa20e7b718", "a88c38bad39f89de", "1fbfa09758f9caaa"),
        "research only",
    ),
    "conll2002-nl": Corpus(
        "names in Dutch news (CoNLL-2002)",
        ("word", "pos", "entity"),
        "entity",
        _conll2002("ned", "554903fbaf879974", "091851c497f64327", "ce6fad65e951c1fa"),
        "research only",
    ),
    "ewt": Corpus(
        "parts of speech in English of the web (UD English EWT)",
        ("word", "upos", "xpos"),
        "upos",
        _three("ud/en_ewt.{}.txt.gz", "b7696b02f5b9f83b", "422c482e826a79a1", "abc555d9d10a68d7"),
        "CC BY-SA 4.0",
    ),
    "ptb-sample": Corpus(
        "parts of speech in English news (5 % of the Penn Treebank)",
        ("word", "pos"),
        "pos",
        {"train": ("ptb/wsj_sample.txt.gz", "2562f4e1e6754fe3")},
        "non-commercial use only",
    ),
    "brown": Corpus(
        "parts of speech in English of many kinds (Brown corpus)",
        ("word", "pos"),
        "pos",
        {"train": ("brown/brown.txt.gz", "cc1c8446d8285493")},
        "non-commercial use only",
    ),
    "bc2gm": Corpus(
        "genes in abstracts of papers (BioCreative II)",
        ("word", "entity"),
        "entity",
        {
            "train": ("bc2gm/train.txt.gz", "88611ab8f9462a89"),
            "dev": ("bc2gm/devel.txt", "9ff2b4fcb67d139e"),
            "test": ("bc2gm/test.txt.gz", "19a77bb6aec174c9"),
        },
        "CC BY 4.0",
    ),
    "skillspan-house": Corpus(
        "skills and knowledge in adverts of jobs (SkillSpan)",
        ("word", "skill", "knowledge"),
        "skill",
        _three("skillspan/house_{}.txt", "e31822c507086558", "e57afa8fa222596e", "3efc48b00cf2e97d"),
        "MIT",
    ),
    "skillspan-tech": Corpus(
        "skills and knowledge in adverts of technical jobs (SkillSpan)",
        ("word", "skill", "knowledge"),
        "knowledge",
        _three("skillspan/tech_{}.txt", "cc51aff47b0ade43", "f1bcd0acbfdddd85", "d16905812d6b4805"),
        "MIT",
    ),
    "enron": Corpus(
        "people, organizations and places in e-mail (Enron)",
        ("word", "entity"),
        "entity",
        {
            "train": ("email_enron/train.txt", "1d10d369a61f17d8"),
            "test": ("email_enron/test.txt", "5345c0af3c223d04"),
        },
        "Apache-2.0",
    ),
    "person-names": Corpus(
        "parts of names of persons (probablepeople)",
        ("word", "label"),
        "label",
        {"train": ("probablepeople/person_train.txt", "b391bd9c48109bbb")},
        "MIT",
    ),
    "references": Corpus(
        "fields of references (Cora)",
        ("word", "field"),
        "field",
        {"train": ("citations/cora_references.columns.txt", "3696958a207d10b4")},
    ),
}


def list_corpora(folder: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Return the corpora that `load_corpus` knows: what each is, and which of its files are missing.

    Parameters
    ----------
    folder : path, optional
        Where they are; None: what CRFKIT_DATA names.

    Examples
    --------
    >>> list_corpora("/nowhere")["conll2000"]
    'phrases of English news (CoNLL-2000); missing: conll2000/train.txt.gz, conll2000/test.txt.gz'
    """
    given = folder if folder is not None else os.environ.get("CRFKIT_DATA")
    found = {}
    for name, corpus in CORPORA.items():
        paths = [path for path, _ in corpus.files.values()]
        missing = [path for path in paths if given is None or not Path(given, path).is_file()]
        found[name] = corpus.about + (f"; missing: {', '.join(missing)}" if missing else "")
    return found


def load_corpus(name: str, folder: str | os.PathLike[str] | None = None) -> Sample:
    """Return a corpus of the folder CRFKIT_DATA, as columns that name their label.

    Parameters
    ----------
    name : str
        One of `list_corpora`.
    folder : path, optional
        Where it is; None: what CRFKIT_DATA names.

    Returns
    -------
    Sample
        ``train``, ``dev`` and ``test`` are Columns; None where the corpus has no such part.

    Examples
    --------
    >>> load_corpus("conll2002-es", "/nowhere")
    Traceback (most recent call last):
    FileNotFoundError: /nowhere/conll2002/esp.train.gz is not there; CRFKIT_DATA, or folder, names the folder
    """
    if name not in CORPORA:
        raise ValueError(f"there is no corpus {name!r:.60}; the corpora are {', '.join(CORPORA)}")
    given = folder if folder is not None else os.environ.get("CRFKIT_DATA")
    if given is None:
        raise ValueError(
            f"the corpus {name} is not shipped: set CRFKIT_DATA to the folder that holds it, or give folder"
        )
    corpus = CORPORA[name]
    parts = {part: _part(Path(given, path), sha, corpus) for part, (path, sha) in corpus.files.items()}
    return Sample(name, **parts, about=corpus.about, license=corpus.license)


def _part(path: Path, sha: str, corpus: Corpus) -> Columns:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; CRFKIT_DATA, or folder, names the folder")
    if not hashlib.sha256(path.read_bytes()).hexdigest().startswith(sha):
        warn_about(f"{path} is not the file that figures of crfkit were measured on", DataWarning)
    columns = read(path, "columns", columns=corpus.columns, label=corpus.label, header=False, separator=" ")
    assert isinstance(columns, Columns)
    return columns
