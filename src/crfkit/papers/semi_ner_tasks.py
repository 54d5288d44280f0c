"""The five tasks of Sarawagi & Cohen (2004), section 3.1, on corpora that can be had; and a generated one.

==========  ===========================  =================================================================
the paper   here                         dictionary from outside
==========  ===========================  =================================================================
state       US addresses: StateName      names and abbreviations of states
city        US addresses: PlaceName      cities of the United States
person      Enron mails: names           first names, nicknames and frequent last names
title       job adverts: knowledge       knowledge spans of other adverts
company     seminar mails: speaker       as for person
==========  ===========================  =================================================================

There are as many addresses as in the paper; of the other corpora so much that the experiment takes well under
an hour. A document is one sequence, as entries of the internal dictionary are left out by sequence.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from crfkit.data.formats.columns import Columns
from crfkit.data.reading import read as read_data
from crfkit.papers.experiment import Given
from crfkit.tags import spans, to_tags
from crfkit.tags.schemes import OUTSIDE

_PRONOUNS = {
    *("i", "me", "my", "mine", "you", "your", "yours", "he", "him", "his", "she", "her", "it", "its"),
    *("we", "us", "our", "they", "them", "their", "these"),
}

Span: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True)
class Document:
    """Words, and segments as (start, end, label) with the end one past the last word."""

    words: tuple[str, ...]
    spans: tuple[Span, ...]

    def phrases(self) -> list[str]:
        """Return the texts of the segments."""
        return [" ".join(self.words[start:end]) for start, end, _ in self.spans]

    def tags(self) -> list[str]:
        """Return the segments as tags of BIO."""
        return [tag or OUTSIDE for tag in to_tags(self.spans, len(self.words))]


@dataclass(frozen=True)
class Task:
    """Documents whose entities are to be found, and a dictionary of similar strings."""

    name: str  #: as the paper has it
    label: str  #: of the entities
    about: str  #: what the documents are, in a few words
    documents: Sequence[Document]
    dictionary: Sequence[str]

    def split(self, seed: int, share: float) -> tuple[list[Document], list[Document]]:
        """Return a share of the documents to train on and 30 % to test on.

        The held-out documents do not depend on the share, and a larger share contains a smaller one.
        """
        order = list(range(len(self.documents)))
        random.Random(f"{self.name} {seed}").shuffle(order)
        held = round(0.3 * len(order))
        some = max(1, round(share * len(order)))
        train, test = (
            [self.documents[n] for n in which] for which in (order[held : held + some], order[:held])
        )
        return train, test


def _columns(path: Path, docstart: str | None = None) -> list[list[tuple[str, ...]]]:
    """Return the sequences of a file, each a list of rows."""
    read = read_data(path, format="columns", docstart=docstart)
    assert isinstance(read, Columns)
    rows = list(zip(*(column.tolist() for column in read.strings()), strict=True))
    return [rows[a:b] for a, b in pairwise(read.seq_ptr.tolist())]


def _lines(path: Path) -> list[list[str]]:
    """Return the fields of each line of a list."""
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as file
    ):
        return [line.strip().split("\t") for line in file if line.strip()]


def _document(words: Sequence[str], tags: Sequence[str], label: str) -> Document:
    """Return a document with the segments of one label, and no others."""
    return Document(tuple(words), tuple(span for span in spans(tags) if span[2] == label))


def _distinct(documents: Iterable[Document]) -> list[Document]:
    return list({document.words: document for document in documents}.values())


def _joined(parts: Sequence[Document]) -> Document:
    """Return several lines as one document."""
    words: list[str] = []
    spans: list[Span] = []
    for one in parts:
        spans += [(start + len(words), end + len(words), label) for start, end, label in one.spans]
        words += one.words
    return Document(tuple(words), tuple(spans))


def _sample(documents: list[Document], most: int) -> list[Document]:
    """Return at most `most` documents, always the same ones."""
    return documents if len(documents) <= most else random.Random(0).sample(documents, most)


def _address(given: Given, name: str, label: str, dictionary: list[str]) -> Task:
    """Return addresses; commas, which stand on tokens, are taken off, as the paper's tokens have none."""
    documents: list[Document] = []
    for file in ("labeled_train.txt", "labeled_test.txt"):
        for rows in _columns(given.file(f"usaddress/{file}")):
            words = [word.strip(",;") or word for word, _ in rows]
            documents.append(_document(words, [f"I-{kind}" for _, kind in rows], label))
    return Task(name, label, f"usaddress, {label}", _sample(_distinct(documents), 395), dictionary)


def _state(given: Given) -> Task:
    short = [text for text in _listed(given, "nltk_usstateabbrev.txt") if "." in text]  # Ala., but not AL
    return _address(given, "state", "StateName", [*_listed(given, "nltk_usstates.txt"), *short])


def _city(given: Given) -> Task:
    rows = _lines(given.file("gazetteers/world_cities.txt.gz"))
    cities = [row[0] for row in rows if row[1:2] == ["United States"]]
    return _address(given, "city", "PlaceName", [*_listed(given, "nltk_uscities.txt"), *cities])


def _listed(given: Given, *files: str) -> list[str]:
    return [row[0] for file in files for row in _lines(given.file(f"gazetteers/{file}"))]


def _names(given: Given) -> list[str]:
    first = _listed(given, "names_male.txt", "names_female.txt", "nicknames.txt")
    last = _listed(given, "us_census_last_names.txt.gz")[:5000]  # the most frequent come first
    return [*first, *(name.title() for name in last)]


def _is_name(words: Sequence[str]) -> bool:
    """Whether a mention of a person is a name: a capital, and neither a pronoun nor an address.

    Examples
    --------
    >>> [_is_name(text.split()) for text in ("Allen , Phillip K.", "the trader", "I", "a.b@enron.com")]
    [True, False, False, False]
    """
    return not any("@" in word for word in words) and any(
        word[0].isupper() and word.lower() not in _PRONOUNS for word in words
    )


def _person(given: Given) -> Task:
    """Return threads of mails; mentions that are not names (pronouns, "the trader", addresses) are O."""
    threads: list[list[Document]] = []
    for file in ("train.txt", "test.txt"):
        for rows in _columns(given.file(f"email_enron/{file}"), "keep"):
            if rows[0][0] == "-DOCSTART-":
                threads.append([])
                continue
            words = [row[0] for row in rows]
            found = _document(words, [row[1] for row in rows], "P").spans
            names = tuple(span for span in found if _is_name(words[span[0] : span[1]]))
            threads[-1].append(Document(tuple(words), names))
    documents = [_joined(thread) for thread in threads]
    return Task("person", "P", "email_enron, P without pronouns and addresses", documents, _names(given))


def _adverts(given: Given, source: str) -> list[Document]:
    """Return job adverts; where one ends is not known, so 20 sentences in a row are a document."""
    sentences: list[Document] = []
    for part in ("train", "dev", "test"):
        for rows in _columns(given.file(f"skillspan/{source}_{part}.txt")):
            sentences.append(_document([row[0] for row in rows], [row[2] for row in rows], "Knowledge"))
    once = _distinct(sentences)  # adverts repeat set phrases
    return [_joined(once[n : n + 20]) for n in range(0, len(once), 20)]


def _title(given: Given) -> Task:
    known = {text for document in _adverts(given, "house") for text in document.phrases()}
    documents = _sample(_adverts(given, "tech"), 100)
    return Task("title", "Knowledge", "skillspan tech, Knowledge", documents, sorted(known))


def _company(given: Given) -> Task:
    """Return seminar mails."""
    documents: list[Document] = []
    for rows in _columns(given.file("seminars/columns.txt.gz")):
        words, tags = [row[0] for row in rows], [row[-1] for row in rows]
        documents.append(_document(words, tags, "speaker"))
    return Task("company", "speaker", "seminars, speaker", _sample(documents, 200), _names(given))


#: The tasks in the order of the paper's Table 1.
TASKS: dict[str, Callable[[Given], Task]] = {
    "state": _state,
    "title": _title,
    "person": _person,
    "city": _city,
    "company": _company,
}


def generated(name: str, seed: int = 0) -> Task:
    """Return a small task made up at random: names of one to three words among other words.

    Examples
    --------
    >>> task = generated("city")
    >>> len(task.documents), task.documents[0].spans[0]
    (60, (6, 8, 'X'))
    """
    draw = random.Random(f"{name} {seed}")
    syllables = ["ba", "ko", "lu", "mi", "ren", "sta", "tor", "ven", "wa", "zi"]

    def word() -> str:
        return "".join(draw.choice(syllables) for _ in range(draw.randint(2, 3)))

    entities = [[word().title() for _ in range(draw.choice([1, 2, 2, 3]))] for _ in range(40)]
    others = [word() if draw.random() < 0.5 else word().title() for _ in range(60)]
    documents: list[Document] = []
    for _ in range(60):
        words: list[str] = []
        spans: list[Span] = []
        for _ in range(draw.randint(1, 2)):
            before = [draw.choice(others) for _ in range(draw.randint(3, 5))]
            entity = draw.choice(entities)
            words += [*before, draw.choice([*others[:9], "in", "near", "to"]), *entity]
            spans.append((len(words) - len(entity), len(words), "X"))
        documents.append(Document(tuple(words), tuple(spans)))
    listed = [" ".join(entity) for entity in entities[5:]]
    return Task(name, "X", "generated", documents, listed)
