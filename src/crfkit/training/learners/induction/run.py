"""The run of an induction: the features so far, and what each round does to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crfkit.arrays import Pointers
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset
from crfkit.features import Conjunctions
from crfkit.features.conjunctions import AND
from crfkit.linear.features import Chosen, FeatureSelection
from crfkit.models.model import SequenceModel
from crfkit.objectives import Likelihood
from crfkit.structures.structure import Structure
from crfkit.training.data import TrainingData
from crfkit.training.fit import Fit, with_labels_of
from crfkit.training.learners.induction.options import Induction
from crfkit.training.learners.induction.ranking import Found, Tokens, best_features, tokens_of
from crfkit.training.learners.induction.report import Example, InducedFeature
from crfkit.training.stop import Stop

_EXAMPLES = 3


class InductionRun:
    """The features so far, data with their conjunctions, and a model that is trained a little."""

    def __init__(
        self,
        data: Dataset,
        structure: Structure,
        objective: Likelihood,
        features: FeatureSelection,
        options: Induction,
        seed: int,
        threads: int | None,
    ) -> None:
        known = TrainingData(data, threads)
        self.structure = with_labels_of(structure, known.labels.strings()).settled(known.batches)
        self.data, self.options, self.features = data, options, features
        self.L = len(self.structure.labels)
        self.seed, self.threads = seed, threads
        self.objective = objective.settled(self.structure.labels, known.label_counts)
        self.weight = self.objective.sequence_weights(self.structure, data.batch)  # [N]
        before = None if data.extractor is None else data.extractor.conjunctions
        parts: dict[str, int] = {}
        for (left, _), name in () if before is None else zip(before.pairs, before.names, strict=True):
            parts[name] = parts.get(left, 1) + 1
        self.parts: Pointers = np.array([parts.get(name, 1) for name in data.attributes], dtype=np.int64)
        self.keys: Pointers = np.zeros(0, dtype=np.int64)  # attribute * L + label, rising
        if options.start == "observed":
            assert data.batch.label is not None
            gold = np.repeat(data.batch.label, np.diff(data.batch.attr_ptr))
            self.keys = np.unique(data.batch.attr * np.int64(self.L) + gold)
        self.model: SequenceModel | None = None
        self.train()

    def state(self) -> tuple[Dataset, Pointers]:
        """Return what `used` needs to go back here."""
        return self.data, self.keys

    def used(self, data: Dataset, keys: Pointers) -> tuple[Dataset, Pointers]:
        """Return data with only the attributes of features and their parts, and the pairs of the features."""
        used = np.zeros(len(data.attributes), dtype=np.bool_)
        used[keys // self.L] = True
        made_by = data.extractor
        if made_by is not None and made_by.conjunctions is not None:
            used = made_by.conjunctions.needed(data.attributes, used)
        new = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        strings = data.attributes.strings()
        names = Alphabet(strings[a] for a in np.flatnonzero(used).tolist())
        if made_by is not None and made_by.conjunctions is not None:
            whole = made_by.conjunctions
            pairs = [pair for pair, name in zip(whole.pairs, whole.names, strict=True) if name in names]
            made_by = replace(made_by, conjunctions=Conjunctions(pairs) if pairs else None)
        batch = data.batch.renamed(attributes=new)
        chosen = np.stack([new[keys // self.L].astype(np.int64), keys % self.L], axis=1)
        return replace(data, batch=batch, attributes=names, extractor=made_by), chosen

    def train(self) -> SequenceModel:
        """Train for a few iterations, from the present weights."""
        ready, pairs = self.used(self.data, self.keys)
        fit = Fit(
            TrainingData(ready, self.threads),
            self.structure,
            self.objective,
            replace(self.features, which=Chosen(pairs)),
            "lbfgs",
            Stop(),
            self.model,
            self.seed,
        )
        self.model, self._batch = fit.little(self.options.iterations), ready.batch
        return self.model

    def look(self) -> tuple[Tokens, Found]:
        """Return the wrong tokens and the features that gain most there."""
        options = self.options
        assert self.model is not None
        p = np.concatenate(self.model.predict_proba(self._batch, threads=self.threads))
        tokens = tokens_of(self.data.batch, p, self.weight, options.margin)
        found = best_features(
            tokens,
            self.objective.l2,
            self.keys,
            self.parts,
            most=options.per_round,
            beam=options.beam,
            longest=options.max_length,
            least=options.min_gain,
            overlap=options.overlap,
            threads=self.threads,
        )
        strings = self.data.attributes
        good = np.ones(len(found), dtype=np.bool_)
        pairs: dict[str, tuple[int, int]] = {}
        for i, (left, right) in enumerate(zip(found.left.tolist(), found.right.tolist(), strict=True)):
            if right >= 0:  # the name must be new, or stand for the same pair
                name = f"{strings[left]}{AND}{strings[right]}"
                good[i] = name not in strings and pairs.setdefault(name, (left, right)) == (left, right)
        return tokens, found[good]

    def add(self, found: Found) -> list[int]:
        """Add features; return the attribute of each."""
        strings, joint = self.data.attributes, found.right >= 0
        pairs = list(
            dict.fromkeys(
                (strings[left], strings[right])
                for left, right in zip(found.left[joint].tolist(), found.right[joint].tolist(), strict=True)
            )
        )
        attributes = found.left.astype(np.int64)
        if pairs:
            made = Conjunctions(pairs)
            parts = self.parts[strings.freeze().ids([left for left, _ in pairs])] + 1
            self.data = made(self.data, self.threads)
            self.parts = np.concatenate([self.parts, parts])
            ids = dict(zip(pairs, self.data.attributes.freeze().ids(made.names).tolist(), strict=True))
            for i in np.flatnonzero(joint).tolist():
                attributes[i] = ids[strings[int(found.left[i])], strings[int(found.right[i])]]
        self.keys = np.union1d(self.keys, attributes * self.L + found.label)
        return [int(a) for a in attributes]

    def described(
        self, tokens: Tokens, found: Found, attributes: Sequence[int]
    ) -> tuple[InducedFeature, ...]:
        """Return the features with their names and some of the tokens that they explain."""
        labels, seq_ptr = self.structure.labels, self.data.batch.seq_ptr
        order = np.argsort(tokens.rows.id, kind="stable")
        rows = np.repeat(np.arange(len(tokens)), np.diff(tokens.rows.ptr))[order]  # by attribute
        begin = np.searchsorted(tokens.rows.id[order], np.arange(tokens.attributes + 1))
        right_already = tokens.gold == tokens.predicted
        there = np.zeros(len(tokens), dtype=np.bool_)
        made = []
        for i, attribute in enumerate(attributes):
            left, right, y = int(found.left[i]), int(found.right[i]), int(found.label[i])
            at = rows[begin[left] : begin[left + 1]]
            if right >= 0:
                there[at] = True
                other = rows[begin[right] : begin[right + 1]]
                there[at], at = False, np.unique(other[there[other]])
            helped = at[(tokens.gold[at] == y) == (found.mu[i] > 0.0)]
            helped = helped[np.argsort(right_already[helped], kind="stable")]
            examples = []
            for j in helped[:_EXAMPLES].tolist():
                p = int(tokens.position[j])
                n = int(np.searchsorted(seq_ptr, p, side="right")) - 1
                gold, predicted = labels[int(tokens.gold[j])], labels[int(tokens.predicted[j])]
                examples.append(Example(n, p - int(seq_ptr[n]), gold, predicted))
            name = self.data.attributes[attribute]
            made.append(
                InducedFeature(
                    name,
                    labels[y],
                    float(found.gain[i]),
                    float(found.mu[i]),
                    len(at),
                    len(helped),
                    tuple(examples),
                )
            )
        return tuple(made)
