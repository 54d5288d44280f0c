"""Gupta (2005) section 4.2, after McCallum (2003): induced features against as many fixed ones.

Features are pairs of a test of the input and a label. The fixed ones are those that the training sentences
show most often, of tests of single words (atoms) alone, or of these and conjunctions that somebody wrote
down. The induced ones are found by their gain, of the same atoms. Transitions are in all models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crfkit.data.dataset import Dataset
from crfkit.linear.features import Chosen, FeatureSelection
from crfkit.objectives import Likelihood
from crfkit.papers.corpora import Rows, dataset
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.structures.chains.chain import Chain
from crfkit.training.learners.induction.options import Induction
from crfkit.training.learners.induction.run import InductionRun
from crfkit.training.train import train

INDUCED, INDUCED_ATOMS = "induced", "induced, atoms only"
FIXED, FIXED_ATOMS = "fixed conjunctions", "fixed, atoms only"
LEARNERS = (INDUCED, INDUCED_ATOMS, FIXED, FIXED_ATOMS)
ALL = "fixed conjunctions, all that occur"

ATOMS = "bias; w[-2..2]; lower(w)[-1..1]; shape(w)[-1..1]; prefix(w, 2)[0]; prefix(w, 3)[0]; "
ATOMS += "suffix(w, 2)[0]; suffix(w, 3)[0]; suffix(w, 4)[0]; p[-1..1]"
CONJUNCTIONS = (
    "w[-1] & w[0]; w[0] & w[1]; shape(w)[-1] & shape(w)[0]; shape(w)[0] & shape(w)[1]; "
    "shape(w)[-1] & shape(w)[0] & shape(w)[1]; w[-1] & shape(w)[0]; shape(w)[0] & w[1]; "
    "suffix(w, 3)[0] & shape(w)[0]; p[-1] & p[0]; p[0] & p[1]"
)
NAMES = ["w", "p", "y"]
Key = tuple[str, int]  # learner, features


def make(given: Given) -> InductionExperiment:
    """Return the experiment: on Spanish names, or quick, on generated sentences."""
    if given.quick:
        return InductionExperiment(_generated(80, 0), _generated(40, 1), given, (8, 16, 32), 60, 2)
    train, test = ([*given.columns(f"conll2002/esp.{part}.gz", NAMES)] for part in ("train", "testb"))
    return InductionExperiment(train, test, given, (250, 500, 1000, 2000), 1000, 3)


def _generated(count: int, seed: int) -> Rows:
    """Return sentences in which a capital letter means a name where the word is a noun, else its absence."""
    rng = np.random.default_rng(seed)
    made: Rows = []
    for _ in range(count):
        row: list[tuple[str, ...]] = []
        for capital, noun in rng.integers(0, 2, size=(8, 2)).tolist():
            word = "".join(rng.choice(list("abcde"), size=5))
            label = "B-X" if capital == noun and rng.random() < 0.95 else "O"
            row.append((word.capitalize() if capital else word, "n" if noun else "v", label))
        made.append(row)
    return made


@dataclass(frozen=True)
class InductionExperiment(Keyed[Key]):
    """The experiment on some sentences."""

    sentences: Rows
    test: Rows
    given: Given
    sizes: Sequence[int]  #: numbers of features; a round adds as many as the first
    learned_from: int  #: sentences of a run
    runs: int
    known: dict[Key, dict[int, float]] = field(default_factory=dict)  #: F1 of the runs so far

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {
            "atoms": ATOMS,
            "conjunctions": CONJUNCTIONS,
            "sizes": list(self.sizes),
            "sentences": self.learned_from,
        }

    def _about(self, key: Key) -> str:
        return f"{self.learned_from} sentences, tested on {len(self.test)}"

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return the F1 of segments on the test sentences, in percent."""
        learner, size = self._keys()[quantity.name]
        if (learner, seed) not in self.known:
            induced = learner in (INDUCED, INDUCED_ATOMS)
            self.known[learner, seed] = (self._induced if induced else self._fixed)(learner, seed)
        return self.known[learner, seed][size]

    def _data(self, learner: str, seed: int) -> tuple[Dataset, Dataset]:
        chosen = np.random.default_rng(seed).permutation(len(self.sentences))[: self.learned_from]
        recipe = f"{ATOMS}; {CONJUNCTIONS}" if learner in (FIXED, ALL) else ATOMS
        parts = ([self.sentences[n] for n in chosen.tolist()], self.test)
        learn, test = (dataset(rows, NAMES, recipe, self.given.threads) for rows in parts)
        return learn, test

    def _induced(self, learner: str, seed: int) -> dict[int, float]:
        """Return the F1 at each size on the way of one induction."""
        data, test = self._data(learner, seed)
        step = self.sizes[0]
        options = Induction(per_round=step, max_length=1 if learner == INDUCED_ATOMS else 3)
        run = InductionRun(data, Chain(), Likelihood(), FeatureSelection(), options, seed, self.given.threads)
        scores = {}
        for size in range(step, self.sizes[-1] + 1, step):
            run.add(run.look()[1])
            run.train()
            if size in self.sizes:
                scores[size] = self._score(*run.used(*run.state()), test)
        return scores

    def _fixed(self, learner: str, seed: int) -> dict[int, float]:
        """Return the F1 with the features that occur most often, as many as each size; 0: with all."""
        data, test = self._data(learner, seed)
        batch, L = data.batch, len(data.labels)
        assert batch.label is not None
        shown = batch.attr * np.int64(L) + np.repeat(batch.label, np.diff(batch.attr_ptr))
        keys, counts = np.unique(shown, return_counts=True)
        keys = keys[np.argsort(-counts, kind="stable")]
        scores = {}
        for size in (0,) if learner == ALL else self.sizes:
            most = keys[: size or len(keys)]
            scores[size] = self._score(data, np.stack([most // L, most % L], axis=1), test)
        return scores

    def _score(self, data: Dataset, pairs: Any, test: Dataset) -> float:
        """Return the F1 of a model with these features."""
        features, threads = FeatureSelection(Chosen(pairs)), self.given.threads
        model = train(data, selection=features, objective=Likelihood(), n_jobs=threads, progress=False)
        return 100.0 * float(model.evaluate(test, metric="span_f1", threads=threads))

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the table, the figure, and what follows."""
        scores = self._known(found)
        rows = [
            [f"{size:,}", *(with_interval(scores.get((one, size))) for one in LEARNERS)]
            for size in self.sizes
        ]
        rows.append(["all", "", "", with_interval(scores.get((ALL, 0))), ""])
        return Page(
            [
                "Section 4.2 of the report has no numbers; McCallum (2003) found fewer induced features, "
                "with a higher F1, than a large fixed set. F1 of segments in percent, learned from a draw of "
                f"{self.learned_from} sentences, l2 = 1. Fixed features are the most frequent ones. "
                f"Induction adds {self.sizes[0]} features a round.",
                f"Atoms: `{ATOMS}`. Fixed conjunctions besides: `{CONJUNCTIONS}`.",
            ],
            self._claims(scores),
            [Table("F1 of segments by the number of features", ["features", *LEARNERS], rows)],
            [self._figure(scores)] if scores else [],
        )

    def _claims(self, scores: Mapping[Key, Result]) -> list[Claim]:
        texts = (
            "induced features are better than as many fixed ones, at every size",
            "few induced features are better than all fixed ones",
            "conjunctions help: induced ones are better than induced atoms, at every size",
        )
        if len(scores) < len(self._keys()):
            return [*map(Claim.missing, texts)]
        f1 = {key: one.ours for key, one in scores.items()}

        def told(cases: Sequence[tuple[Key, Key]]) -> tuple[bool, str]:
            words = [
                f"{a[1]:,} {a[0]} {f1[a]:.1f}, {f'{b[1]:,} ' if b[1] else ''}{b[0]} {f1[b]:.1f}"
                for a, b in cases
            ]
            return all(f1[a] > f1[b] for a, b in cases), "; ".join(words)

        sizes, fixed = self.sizes, (FIXED, FIXED_ATOMS)
        return [
            Claim(texts[0], *told([((INDUCED, n), (one, n)) for n in sizes for one in fixed])),
            Claim(texts[1], *told([((INDUCED, sizes[-1]), (ALL, 0))])),
            Claim(texts[2], *told([((INDUCED, n), (INDUCED_ATOMS, n)) for n in sizes])),
        ]

    def _keys(self) -> dict[str, Key]:
        keys = {f"{one}, {size:,} features": (one, size) for one in LEARNERS for size in self.sizes}
        return {**keys, ALL: (ALL, 0)}

    def _figure(self, scores: Mapping[Key, Result]) -> Figure:
        lines = {one: Line.of({n: scores.get((one, n)) for n in self.sizes}) for one in LEARNERS}
        if (ALL, 0) in scores:
            lines[ALL] = Line([float(n) for n in self.sizes], [scores[ALL, 0].ours] * len(self.sizes))
        title = "F1 by the number of features, with 95 % intervals"
        return Figure("induction", title, "features", "F1 of segments", {"": lines})
