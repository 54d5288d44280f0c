"""From columns of text to a batch of attribute ids, by a recipe, natively and on all threads.

Tokens become ids of alphabets that the extractor owns, views are computed once per distinct token, and
templates are expanded in C++. Ids are given in order of first appearance: the same for any number of
threads, and for streamed or whole input; those of numbers (``value(length)``, similarities) come first. A
template without fields that scores transitions (CRF++'s ``B``) does not make attributes; it asks for plain
transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from crfkit import _native
from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, Ids, Ragged, handed_over
from crfkit.checks import check_number
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.features.numbers import Numbers, moved, with_numbers
from crfkit.features.recipe import Field, Kind, Recipe
from crfkit.features.views import Value, make_view
from crfkit.native import threads_or_all

#: Views that native code has, of lower case and shape for words in ASCII; Python has the others.
_NATIVE = ("prefix", "suffix", "length", "lower", "shape")
_KINDS: tuple[Kind, ...] = ("node", "edge", "begin", "end", "segment")  # in the order of native results


class Extractor:
    """Makes data sets from columns, by a recipe; keeps the names of attributes and labels so far.

    Parameters
    ----------
    recipe : Recipe
        What to make of each position.
    label : str or int, optional
        The column that holds the label, by name or place (-1: the last one); None: there is none.
    hashed : int, optional
        Hash attribute names to this many ids; `collisions` counts the names that share the id of another.
        Datasets then carry no attribute names, and freezing drops no attribute.
    longest : int, optional
        The most positions of a segment; needed where the recipe has templates of segments.

    Examples
    --------
    >>> from crfkit.features import Extractor, Recipe
    >>> from crfkit.data.formats.columns import Columns
    >>> data = Columns.from_rows([[("the", "D"), ("dog", "N")]], names=["word", "tag"])
    >>> extract = Extractor(Recipe.parse("word[0]; suffix(word, 1)[-1]"), label="tag")
    >>> dataset = extract(data)
    >>> dataset.attributes.strings()
    ['word[0]=the', 'suffix(word, 1)[-1]=_B-1', 'word[0]=dog', 'suffix(word, 1)[-1]=e']
    >>> dataset.labels.strings(), dataset.batch.label.tolist()
    (['D', 'N'], [0, 1])

    Segments, as `crfkit.features.recipe` has them:

    >>> extract = Extractor(Recipe.parse("begin: word[-1]; segment: word[..]"), label=None, longest=2)
    >>> extract(data).segment_attributes.strings()[2:]
    ['segment:word[..]=the', 'segment:word[..]=the dog', 'segment:word[..]=dog']
    """

    def __init__(
        self,
        recipe: Recipe,
        label: str | int | None = -1,
        hashed: int | None = None,
        longest: int | None = None,
    ) -> None:
        if hashed is not None and not 1 <= hashed < 2**31:
            raise ValueError(f"hashed is {hashed}, expected 1 to 2**31 - 1")
        if longest is not None:
            check_number("longest", longest, 1, whole=True)
        self.recipe = recipe
        self.hashed = hashed
        self.label = label
        self.longest = longest
        self.labels = Alphabet()
        self._nameless = Alphabet(), Alphabet(), Alphabet()  # of all datasets where names are hashed
        self.frozen = False
        self.tokens = {name: Alphabet() for name in recipe.columns}
        self._marks = Alphabet(["", "B", "I"])  # of gazetteers; the first stands for no match
        self._vectors: list[Field] = []
        self._fields: dict[tuple[object, ...], int] = {}
        self.functions: dict[int, Callable[[Iterable[str]], list[Value]]] = {}
        self.sources: dict[tuple[str, str | None], int] = {}  # native columns: name, gazetteer
        views: list[tuple[int, str, str, bool]] = []
        templates = []
        self._numbers = Numbers(recipe)
        self._phrases: dict[int, Field] = {}  # views that are joined over segments
        for template in recipe.templates:
            if template.number is not None:
                continue
            kind = template.kind
            if not template.fields and kind in ("edge", "both"):
                if kind == "edge":
                    continue
                kind = "node"
            if template.fields and template.fields[0].view == "embedding":
                self._vectors.append(template.fields[0])
                continue
            parts = [
                (literal, self._view(f, views), f.offset, _counted_from(f))
                for literal, f in zip(template.literals, template.fields, strict=False)
            ]
            parts.append((template.literals[-1], -1, 0, ""))
            templates.append((kind, parts))
        self.plain_transitions = [
            t.literals[0] for t in recipe.templates if t.kind in ("edge", "both") and not t.fields
        ]
        made = {kind for kind, _ in [*templates, *self._numbers.names()]}
        self._made = made | {"edge"} if "both" in made else made  # kinds that there are
        padding = "wapiti" if recipe.dialect == "wapiti" else "crfpp"
        self._native = _native.Features(views, templates, padding)
        self.views = views
        self.attributes = Alphabet.of_native(self._native.node_names)
        self.edge_attributes = Alphabet.of_native(self._native.edge_names)
        self.segment_attributes = Alphabet.of_native(self._native.segment_names)
        for number_kind, name in self._numbers.names():  # first: ids do not depend on how input is cut
            self._names_of(number_kind).add(name)

    def _names_of(self, kind: Kind) -> Alphabet:
        if kind == "edge":
            return self.edge_attributes
        return self.attributes if kind == "node" else self.segment_attributes

    def _view(self, f: Field, views: list[tuple[int, str, str, bool]]) -> int:
        if not f.column:
            return -1  # the length of a segment
        key = (f.column, f.view, f.arguments, f.lower)
        if f.anchor == "all":
            self._phrases[self._fields.get(key, len(views))] = f
        if key in self._fields:
            return self._fields[key]
        source = (f.column, str(f.arguments[0]) if f.view == "gazetteer" else None)
        column = self.sources.setdefault(source, len(self.sources))
        argument = str(f.arguments[0]) if f.arguments else ""
        if f.view in ("same", "test", "match"):
            views.append((column, f.view, argument, f.lower))
        else:
            views.append((column, f.view if f.view in _NATIVE else "python", argument, False))
            if f.view == "gazetteer":
                self.functions[len(views) - 1] = lambda marks: [mark or None for mark in marks]
            else:
                self.functions[len(views) - 1] = make_view(f.view, f.arguments, self.recipe.resources)
        self._fields[key] = len(views) - 1
        return len(views) - 1

    @property
    def collisions(self) -> int:
        """How many attribute names share their hashed id with an earlier one; 0 unless hashed."""
        if self.hashed is None:
            return 0
        return sum(len(name) - len(np.unique(name.hashed(self.hashed))) for name in self._all_names())

    def _all_names(self) -> tuple[_native.Alphabet, _native.Alphabet, _native.Alphabet]:
        return self._native.node_names, self._native.edge_names, self._native.segment_names

    def freeze(self) -> Extractor:
        """Stop growing: from now on unknown attributes are dropped and unknown labels are -1."""
        if self.hashed is not None:
            self.labels, self.frozen = self.labels.freeze(), True
        if not self.frozen:
            self.attributes, self.edge_attributes = self.attributes.freeze(), self.edge_attributes.freeze()
            self.segment_attributes, self.labels = self.segment_attributes.freeze(), self.labels.freeze()
            frozen = [self._names_of(kind)._native for kind in ("node", "edge", "segment")]
            self._native.freeze(*(names for names in frozen if isinstance(names, _native.FrozenAlphabet)))
            self.frozen = True
        return self

    def __call__(self, columns: Columns, threads: int | None = None, *, leave_out: bool = False) -> Dataset:
        """Return the attributes of every position, with the labels if there is a label column.

        Parameters
        ----------
        columns : Columns
        threads : int, optional
            All cores by default; the result does not depend on it.
        leave_out : bool
            These are the data that internal dictionaries were made of, from the first sequence on: entries
            that come from the sequence at hand only do not count.
        """
        if self.recipe.lacks_mean:
            raise ValueError(
                "the recipe has square(length) without a mean; write it as square(length, 2.5), or take it "
                "from the data: recipe.settled(mean)"
            )
        if "segment" in self._made and self.longest is None:
            raise ValueError(
                "the recipe has templates of segments, but longest is not given; give the positions of the "
                "longest segments, as in Extractor(recipe, label, longest=6)"
            )
        ids = [self._column(columns, name, gazetteer) for name, gazetteer in self.sources]
        sources = [*self.sources]
        for view, (column, *_) in enumerate(self.views):
            name, gazetteer = sources[column]
            tokens = (self.tokens[name] if gazetteer is None else self._marks)._native
            assert isinstance(tokens, _native.Alphabet)
            lacking = self._native.update(view, tokens)
            if lacking:
                values = self.functions[view](lacking)
                if view in self._phrases:
                    _check_single(self._phrases[view], lacking, values)
                self._native.supply(view, tokens, values)
        expanded = self._native.expand(ids, columns.seq_ptr, threads_or_all(threads), self.longest or 0)
        found = {kind: Ragged(*pair, None) for kind, pair in zip(_KINDS, expanded, strict=True)}
        numbers = self._numbers(columns, self.longest or 0, leave_out, threads)
        for kind in _KINDS:
            mine = [(self._names_of(kind).find(name), v) for of, name, v in numbers if of == kind]
            if mine and len(found[kind].ptr) == 1:  # there are no other templates of this kind
                found[kind] = found[kind]._replace(ptr=np.zeros(len(mine[0][1]) + 1, dtype=np.int64))
            found[kind] = with_numbers(found[kind], [(id, v) for id, v in mine if id >= 0])
        if self.hashed is not None:
            hashes = [names.hashed(self.hashed) for names in self._all_names()]
            for kind, ids_of in zip(_KINDS, [*hashes, hashes[2], hashes[2]], strict=True):
                found[kind] = found[kind]._replace(id=ids_of[found[kind].id])
        label = None
        if self.label is not None:
            label = columns.gold(columns.found(self.label), self.labels)
        extra: dict[str, Any] = {
            f"{kind}_{part}": array
            for kind in _KINDS[1:]
            if kind in self._made
            for part, array in zip(("ptr", "attr", "value"), found[kind], strict=True)
        }
        node = found["node"]
        for array in (*node, *extra.values()):
            if array is not None:
                handed_over(array)
        dense = np.hstack([self._dense(columns, f) for f in self._vectors]) if self._vectors else None
        batch = Batch(columns.seq_ptr, node.ptr, node.id, node.value, label, dense=dense, **extra)
        named = (self.attributes, self.edge_attributes, self.segment_attributes)
        nodes, edges, segments = named if self.hashed is None else self._nameless
        made_by = ExtractorSpec(self.recipe, self.label, self.hashed, self.longest, width=len(columns.names))
        return Dataset(batch, self.labels, nodes, edges, segments, extractor=made_by)

    def _dense(self, columns: Columns, f: Field) -> Floats:
        """Return the vectors [P, K] of tokens at an offset; zeros where there is none."""
        place = columns.found(f.column)
        table = self.recipe.resources[str(f.arguments[0])]
        sizes = {len(vector) for vector in table.values()}
        if len(sizes) != 1:
            raise ValueError(f"{f.name()}: the vectors have the sizes {sorted(sizes)}, expected one size")
        size = sizes.pop()
        nothing = np.zeros(size)
        known = np.array([table.get(word, nothing) for word in columns.alphabets[place].strings()])  # [V, K]
        at, inside = moved(columns.seq_ptr, f.offset)
        rows: Floats = known.reshape(-1, size)[columns.ids[place][at]] * inside[:, None]
        return rows

    def _column(self, columns: Columns, name: str, gazetteer: str | None) -> Ids:
        """Return token ids in the extractor's own alphabets, or the marks of a gazetteer."""
        place = columns.found(name)
        if gazetteer is None:
            return self.tokens[name].merge(columns.alphabets[place])[columns.ids[place]]
        marked = np.zeros(len(columns.ids[place]), dtype=np.int32)  # [P]
        find = self.recipe.resources[gazetteer].marks
        words = columns.alphabets[place].strings()
        number = {None: 0, "B": 1, "I": 2}
        for n in range(len(columns)):
            begin, end = int(columns.seq_ptr[n]), int(columns.seq_ptr[n + 1])
            tokens = [words[i] for i in columns.ids[place][begin:end].tolist()]
            marked[begin:end] = [number[mark] for mark in find(tokens)]
        return marked


def _check_single(f: Field, tokens: list[str], values: list[Value]) -> None:
    """Refuse a token with several values in a phrase."""
    for token, value in zip(tokens, values, strict=True):
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"{f.text()} has several values for {quoted(token)}, which do not make a phrase; use a table "
                "with one value for each token"
            )


def _counted_from(f: Field) -> str:
    """Return what native templates call that from which the offset of a field counts."""
    if not f.column:
        return "length"
    return "sequence" if f.absolute else f.anchor
