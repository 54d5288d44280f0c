"""From columns of text to a batch of attribute ids, by a recipe, natively and on all threads.

Tokens become ids of alphabets that the extractor owns, views are computed once per distinct token, and
templates are expanded in C++. Ids are given in order of first appearance: the same for any number of
threads, and for streamed or whole input. A template without fields that scores transitions (CRF++'s ``B``)
does not make attributes; it asks for plain transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from crfkit import _native
from crfkit.arrays import Floats, Ids
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.data.dataset import Dataset, ExtractorSpec
from crfkit.data.formats.columns import Columns
from crfkit.features.recipe import Field, Recipe
from crfkit.features.views import Value, make_view
from crfkit.native import threads_or_all

__all__ = ["Extractor"]

_KIND = {"node": (True, False), "edge": (False, True), "both": (True, True)}


class Extractor:
    """A recipe with the alphabets that it fills, growing until frozen.

    Parameters
    ----------
    recipe : Recipe
        What to make of each position.
    label : str or int, optional
        The column that holds the label, by name or place (-1: the last one); None: there is none.
    hashed : int, optional
        Hash attribute names to this many ids; `collisions` counts the names that share the id of another.
        Datasets then carry no attribute names, and freezing drops no attribute.

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
    """

    def __init__(self, recipe: Recipe, label: str | int | None = -1, hashed: int | None = None) -> None:
        if hashed is not None and not 1 <= hashed < 2**31:
            raise ValueError(f"hashed is {hashed}, expected 1 to 2**31 - 1")
        self.recipe = recipe
        self.hashed = hashed
        self.label = label
        self.labels = Alphabet()
        self._nameless = Alphabet(), Alphabet()  # of all datasets where names are hashed
        self.frozen = False
        self.tokens = {name: Alphabet() for name in recipe.columns}
        self._marks = Alphabet(["", "B", "I"])  # of gazetteers; the first stands for no match
        self._vectors: list[Field] = []
        self._fields: dict[tuple[object, ...], int] = {}
        self._functions: dict[int, Callable[[Iterable[str]], list[Value]]] = {}
        self._sources: list[tuple[str, str | None]] = []  # of each native column: name, gazetteer
        views: list[tuple[int, str, str, bool]] = []
        templates = []
        for template in recipe.templates:
            node, edge = _KIND[template.kind]
            if edge and not template.fields:
                edge = False
            if not node and not edge:
                continue
            if template.fields and template.fields[0].view == "embedding":
                self._vectors.append(template.fields[0])
                continue
            parts = [
                (literal, self._view(f, views), f.offset, f.absolute)
                for literal, f in zip(template.literals, template.fields, strict=False)
            ]
            parts.append((template.literals[-1], -1, 0, False))
            templates.append((node, edge, parts))
        self.plain_transitions = [
            t.literals[0] for t in recipe.templates if t.kind != "node" and not t.fields
        ]
        self._has_edges = any(edge for _, edge, _ in templates)
        padding = "wapiti" if recipe.dialect == "wapiti" else "crfpp"
        self._native = _native.Features(views, templates, padding)
        self._views = views
        self.attributes = Alphabet.of_native(self._native.node_names)
        self.edge_attributes = Alphabet.of_native(self._native.edge_names)

    def _view(self, f: Field, views: list[tuple[int, str, str, bool]]) -> int:
        key = (f.column, f.view, f.arguments, f.lower)
        if key in self._fields:
            return self._fields[key]
        source = (f.column, str(f.arguments[0]) if f.view == "gazetteer" else None)
        if source not in self._sources:
            self._sources.append(source)
        column = self._sources.index(source)
        if f.view in ("same", "test", "match"):
            views.append((column, f.view, str(f.arguments[0]) if f.arguments else "", f.lower))
        else:
            views.append((column, "python", "", f.lower))
            if f.view == "gazetteer":
                self._functions[len(views) - 1] = lambda marks: [mark or None for mark in marks]
            else:
                self._functions[len(views) - 1] = make_view(f.view, f.arguments, self.recipe.resources)
        self._fields[key] = len(views) - 1
        return len(views) - 1

    @property
    def collisions(self) -> int:
        """How many attribute names share their hashed id with an earlier one; 0 unless hashed."""
        if self.hashed is None:
            return 0
        names = (self._native.node_names, self._native.edge_names)
        return sum(len(name) - len(np.unique(name.hashed(self.hashed))) for name in names)

    def freeze(self) -> Extractor:
        """Stop growing: from now on unknown attributes are dropped and unknown labels are -1."""
        if self.hashed is not None:
            self.labels, self.frozen = self.labels.freeze(), True
        if not self.frozen:
            self.attributes, self.edge_attributes = self.attributes.freeze(), self.edge_attributes.freeze()
            self.labels = self.labels.freeze()
            node, edge = self.attributes._native, self.edge_attributes._native
            assert isinstance(node, _native.FrozenAlphabet)
            assert isinstance(edge, _native.FrozenAlphabet)
            self._native.freeze(node, edge)
            self.frozen = True
        return self

    def __call__(self, columns: Columns, threads: int | None = None) -> Dataset:
        """Return the attributes of every position, with the labels if there is a label column."""
        ids = [self._column(columns, name, gazetteer) for name, gazetteer in self._sources]
        for view, (column, kind, _, _) in enumerate(self._views):
            name, gazetteer = self._sources[column]
            tokens = (self.tokens[name] if gazetteer is None else self._marks)._native
            assert isinstance(tokens, _native.Alphabet)
            if kind == "python":
                lacking = self._native.lacking(view, tokens)
                if lacking:
                    self._native.supply(view, self._functions[view](lacking))
            else:
                self._native.update(view, tokens)
        attr_ptr, attr, edge_ptr, edge_attr = self._native.expand(
            ids, columns.seq_ptr, threads_or_all(threads)
        )
        if self.hashed is not None:
            attr = self._native.node_names.hashed(self.hashed)[attr]
            edge_attr = self._native.edge_names.hashed(self.hashed)[edge_attr]
        label = None
        if self.label is not None:
            place = _place(columns, self.label)
            label = self.labels.merge(columns.alphabets[place])[columns.ids[place]]
        batch = Batch(
            columns.seq_ptr,
            attr_ptr,
            attr,
            label=label,
            edge_ptr=edge_ptr if self._has_edges else None,
            edge_attr=edge_attr if self._has_edges else None,
            dense=np.hstack([self._dense(columns, f) for f in self._vectors]) if self._vectors else None,
        )
        nodes, edges = (self.attributes, self.edge_attributes) if self.hashed is None else self._nameless
        made_by = ExtractorSpec(self.recipe, self.label, self.hashed)
        return Dataset(batch, self.labels, nodes, edges, extractor=made_by)

    def _dense(self, columns: Columns, f: Field) -> Floats:
        """Return the vectors [P, K] of tokens at an offset; zeros where there is none."""
        place = _place(columns, f.column)
        table = self.recipe.resources[str(f.arguments[0])]
        sizes = {len(vector) for vector in table.values()}
        if len(sizes) != 1:
            raise ValueError(f"{f.name()}: the vectors have the sizes {sorted(sizes)}, expected one size")
        size = sizes.pop()
        nothing = np.zeros(size)
        known = np.array([table.get(word, nothing) for word in columns.alphabets[place].strings()])  # [V, K]
        P = len(columns.ids[place])
        sequence = np.repeat(np.arange(len(columns)), np.diff(columns.seq_ptr))  # [P]
        at = np.clip(np.arange(P) + f.offset, 0, max(P - 1, 0))  # [P]
        inside = (sequence[at] == sequence) & (at == np.arange(P) + f.offset)  # [P]
        rows: Floats = known.reshape(-1, size)[columns.ids[place][at]] * inside[:, None]
        return rows

    def _column(self, columns: Columns, name: str, gazetteer: str | None) -> Ids:
        """Return token ids in the extractor's own alphabets, or the marks of a gazetteer."""
        place = _place(columns, name)
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


def _place(columns: Columns, name: str | int) -> int:
    """Return the place of a column by its name or number, which may be a string of digits."""
    named = isinstance(name, str) and name in columns.names
    return columns.place(int(name) if isinstance(name, str) and not named and name.isdigit() else name)
