"""Stock recipes: `stock` of a kind of task, and that of tokens where nothing is given.

Each was chosen on other data than its figures are of (words only, where nothing else is said; likelihood
with l2 = 1, which nobody tuned), which are those of ``features="auto"`` in brackets:

===========  ===============================  ==============================================================
kind         chosen on                        figures
===========  ===============================  ==============================================================
"ner"        Dutch news (CoNLL-2002), dev     F1 of Spanish dev 76.0 (75.5), test 80.9 (80.0), Dutch test 79.8
                                              (77.8), genes (BC2GM) 73.3 (72.2), e-mail (Enron) 75.8 (74.5)
"pos"        English Web Treebank, dev        accuracy of its test part 94.9 (94.7)
"chunk"      4,000 sentences of CoNLL-2000    F1 of its test part 92.0 (91.4), with tags 94.0 (93.7)
"address"    a fifth of usaddress's training  accuracy of its test part 99.0 (97.5)
"segment"    Brown, Dutch news, no blanks     F1 of words of e-mail (Enron) 85.9 (71.7), Spanish 89.7 (68.6)
===========  ===============================  ==============================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from crfkit.features.gazetteer import Gazetteer
from crfkit.features.quoted import quote
from crfkit.features.recipe import Recipe
from crfkit.features.views import SIMILARITIES

if TYPE_CHECKING:
    from crfkit.data.formats.columns import Columns

#: Of each kind: the lines of words, and those of tags beside them.
STOCK: Final[dict[str, tuple[str, str]]] = {
    "ner": (
        """
        bias
        {w}[-2..2]; lower({w})[-2..2]
        lower({w})[-1] & lower({w})[0]; lower({w})[0] & lower({w})[1]
        shape({w})[-3..3]
        shape({w})[-1] & shape({w})[0]; shape({w})[0] & shape({w})[1]
        shape({w})[-1] & shape({w})[0] & shape({w})[1]
        shape({w})[-2] & shape({w})[-1] & shape({w})[0]; shape({w})[0] & shape({w})[1] & shape({w})[2]
        ngrams({w}, 3, 4)[0]
        prefix({w}, 1)[0]; prefix({w}, 2)[0]; prefix({w}, 3)[-1..1]; prefix({w}, 4)[0]
        suffix({w}, 1)[0]; suffix({w}, 2)[0]; suffix({w}, 3)[-1..1]; suffix({w}, 4)[0]
        is({w}, "[0-9]")[0]
        """,
        "{t}[-2..2]; {t}[-1] & {t}[0]; {t}[0] & {t}[1]",
    ),
    "pos": (
        """
        bias
        {w}[-1..1]; lower({w})[-2..2]
        lower({w})[-1] & lower({w})[0]; lower({w})[0] & lower({w})[1]
        shape({w})[-1..1]
        prefix({w}, 1)[0]; prefix({w}, 2)[0]; prefix({w}, 3)[0]; prefix({w}, 4)[0]
        suffix({w}, 1)[0]; suffix({w}, 2)[-1..1]; suffix({w}, 3)[-1..1]; suffix({w}, 4)[0]; suffix({w}, 5)[0]
        ngrams({w}, 2, 4)[0]
        is({w}, "[0-9]")[0]; is({w}, "-")[0]
        """,
        "{t}[-1..1]",
    ),
    "chunk": (
        """
        bias
        {w}[-1..1]; lower({w})[-2..2]
        lower({w})[-1] & lower({w})[0]; lower({w})[0] & lower({w})[1]
        shape({w})[-1..1]
        prefix({w}, 2)[0]; prefix({w}, 3)[0]
        suffix({w}, 1)[0]; suffix({w}, 2)[-1..1]; suffix({w}, 3)[-1..1]; suffix({w}, 4)[0]
        is({w}, "[0-9]")[0]
        """,
        """
        {t}[-2..2]
        {t}[-2] & {t}[-1]; {t}[-1] & {t}[0]; {t}[0] & {t}[1]; {t}[1] & {t}[2]
        {t}[-2] & {t}[-1] & {t}[0]; {t}[-1] & {t}[0] & {t}[1]; {t}[0] & {t}[1] & {t}[2]
        lower({w})[0] & {t}[-1]; lower({w})[0] & {t}[0]; lower({w})[0] & {t}[1]; lower({w})[-1] & {t}[0]
        """,
    ),
    "address": (
        """
        bias
        lower({w})[-2..2]
        lower({w})[-1] & lower({w})[0]; lower({w})[0] & lower({w})[1]
        regex({w}, "[^.,;()]+")[-2..2]
        is({w}, ",$")[-2..1]; is({w}, ",$")[-1] & shape({w})[0]; is({w}, ",$")[0] & lower({w})[1]
        is({w}, "^[0-9]+,?$")[-1..2]; is({w}, "[0-9]")[-2..2]
        shape({w})[-2..2]; shape({w})[-1] & shape({w})[0] & shape({w})[1]
        length({w})[0]; ngrams({w}, 3, 4)[0]
        prefix({w}, 2)[0]; prefix({w}, 3)[0]
        suffix({w}, 2)[-1..1]; suffix({w}, 3)[0]; suffix({w}, 4)[0]
        """,
        "{t}[-1..1]",
    ),
    "segment": (
        """
        bias
        {w}[-3..3]
        {w}[-2] & {w}[-1]; {w}[-1] & {w}[0]; {w}[0] & {w}[1]; {w}[1] & {w}[2]; {w}[-1] & {w}[1]
        {w}[-3] & {w}[-2] & {w}[-1]; {w}[-2] & {w}[-1] & {w}[0]; {w}[-1] & {w}[0] & {w}[1]
        {w}[0] & {w}[1] & {w}[2]; {w}[1] & {w}[2] & {w}[3]
        {w}[-4] & {w}[-3] & {w}[-2] & {w}[-1]; {w}[1] & {w}[2] & {w}[3] & {w}[4]
        {w}[-3] & {w}[-2] & {w}[-1] & {w}[0]; {w}[-2] & {w}[-1] & {w}[0] & {w}[1]
        {w}[-1] & {w}[0] & {w}[1] & {w}[2]; {w}[0] & {w}[1] & {w}[2] & {w}[3]
        shape({w})[-1] & shape({w})[0] & shape({w})[1]
        """,
        "{t}[-1..1]",
    ),
}
_BITS: Final = (4, 6, 10, 20)  #: of names of clusters, as hierarchies of Brown clusters have them


def stock(
    kind: str,
    columns: Sequence[str] = ("word",),
    *,
    gazetteer: Any = None,
    clusters: Mapping[str, str] | None = None,
    embeddings: Mapping[str, Any] | None = None,
) -> Recipe:
    """Return a good recipe for a kind of task; ``features="ner"`` of an estimator means the same.

    Parameters
    ----------
    kind : {"ner", "pos", "chunk", "address", "segment"}
        Names in text, parts of speech, phrases, parts of addresses; words of characters, for "segment".
    columns : sequence of str
        The column of words, and those of tags beside them, such as parts of speech.
    gazetteer : Gazetteer, list of phrases, or mapping of names to these, optional
        Lists of names. Those of lists of phrases are found whatever their case.
    clusters : mapping, optional
        The cluster of each word, such as the bits of Brown clusters, whose beginnings are clusters, too.
    embeddings : mapping, optional
        The vector of each word.

    Examples
    --------
    >>> recipe = stock("ner", gazetteer=["New York"], clusters={"york": "0110"})
    >>> print(recipe)  # doctest: +ELLIPSIS
    bias
    word[-2]
    ...
    gazetteer(word, "names")[1]
    lookup(word, "clusters 4")[-1]
    ...
    >>> stock("chunk", ["word", "pos"]).columns
    ('word', 'pos')
    """
    if kind not in STOCK:
        raise ValueError(f"there is no stock recipe {kind!r:.60}; the kinds are {', '.join(STOCK)}")
    word, *tags = _named(columns)
    of_words, of_tags = STOCK[kind]
    lines = [of_words.format(w=word), *(of_tags.format(w=word, t=tag) for tag in tags)]
    tables: dict[str, Any] = {}
    for name, entries in _gazetteers(gazetteer):
        tables[name] = entries
        lines.append(f"gazetteer({word}, {quote(name)})[-1..1]")
    if clusters is not None:
        for bits in _BITS:
            if bits == _BITS[0] or max(map(len, clusters.values()), default=0) > bits // 2:
                tables[f"clusters {bits}"] = {token: path[:bits] for token, path in clusters.items()}
                lines.append(f"lookup({word}, {quote(f'clusters {bits}')})[-1..1]")
    if embeddings is not None:
        tables["embeddings"] = embeddings
        lines.append(f'embedding({word}, "embeddings")[0]')
    return Recipe.parse("\n".join(lines), tables)


def _gazetteers(given: Any) -> Iterable[tuple[str, Gazetteer]]:
    if given is None:
        return
    for name, one in (given if isinstance(given, Mapping) else {"names": given}).items():
        yield str(name), one if isinstance(one, Gazetteer) else Gazetteer(one, lower=True)


def _named(columns: Sequence[str]) -> Sequence[str]:
    if isinstance(columns, str) or not columns:
        raise ValueError(f"columns is {columns!r:.60}, expected names: that of the words first")
    odd = [name for name in columns if not re.fullmatch(r"\w+", name)]
    if odd:
        raise ValueError(
            f"the column {odd[0]!r} has no name that a recipe can use; give --columns word,tag,..."
        )
    return columns


def label_of(read: Columns, label: str | int | None) -> str | int:
    """Return the column of the label: as given, named "label", that of CoNLL-U, or the last."""
    from crfkit.data.formats.columns import CONLLU

    label = read.label if label is None else label
    if label is not None:
        return label
    if "label" in read.names:
        return "label"
    return CONLLU.index("upos") if read.format == "conllu" else -1


def columns_read(read: Columns, label: int | None) -> list[str]:
    """Return what a recipe reads where none is given: of CoNLL-U the forms, else all but the label."""
    from crfkit.data.formats.columns import CONLLU

    if read.format == "conllu":
        return [read.names[CONLLU.index("form")]]
    return [name for c, name in enumerate(read.names) if c != label]


def default_recipe(
    columns: Sequence[str], segments: bool = False, tables: Mapping[str, Any] | None = None
) -> Recipe:
    """Return a recipe for tokens in the first column and tags in the others, or for their segments.

    It compares tokens, or segments, with the entries of dictionaries.

    Examples
    --------
    >>> len(default_recipe(["0"]).templates), len(default_recipe(["0", "1"]).templates)
    (18, 25)
    """
    word, *tags = _named(columns)
    lines = ["bias", f"{word}[-2..2]", f"{word}[-1] & {word}[0]", f"{word}[0] & {word}[1]"]
    lines += [f"lower({word})[0]", f"shape({word})[-1..1]"]
    lines += [f"{view}({word}, {n})[0]" for view in ("prefix", "suffix") for n in (2, 3, 4)]
    for tag in tags:
        lines += [f"{tag}[-2..2]", f"{tag}[-1] & {tag}[0]", f"{tag}[0] & {tag}[1]"]
    if segments:
        # Words and shapes at both ends, beside the words before and after alone, raised F1 from 69.8 to 71.2
        # on the first 800 sentences of esp.testa (where they were chosen) and from 67.6 to 68.2 on the first
        # 1,200 of ned.testa (CoNLL-2002; trained on 2,000 and 2,500 sentences; chains: 70.0 and 67.6).
        lines += [f"begin: {word}[-2..1]", f"end: {word}[-1..2]"]
        lines += [f"{kind}: shape({word})[-1..1]" for kind in ("begin", "end")]
        lines += [f"segment: {view}[..8]" for view in (word, f"shape({word})", *tags)]
    for name in tables or {}:
        lines += compared(word, name, segments)
    return Recipe.parse("\n".join(lines), dict(tables or {}))


def compared(word: str, name: str, segments: bool) -> list[str]:
    """Return the lines that compare words, or segments, with a dictionary."""
    kind, place = ("segment: ", "[..]") if segments else ("", "[0]")
    return [f"{kind}{similarity}({word}, {quote(name)}){place}" for similarity in SIMILARITIES]
