"""Sutton & McCallum (2006) section 1.4.2, after Sutton, Rohanimanesh & McCallum (2004): dynamic CRFs.

Parts of speech and noun phrases of the same sentences: both at once by a factorial CRF, one after the other
by a pipeline of chains, and each for itself. All learners have the same input features, and the second chain
of the pipeline sees tags as well. Everything is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from crfkit.arrays import Floats
from crfkit.estimators import ChainCRF, FactorialCRF
from crfkit.objectives import Likelihood
from crfkit.papers.experiment import Given, Keyed, Quantity, Reading
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import f1_of_counts, with_interval
from crfkit.papers.results import Result
from crfkit.tags import spans as segments

JOINT, LINKED, NARROW, PIPELINE, CASCADE, APART = (
    "factorial CRF",
    "factorial CRF, links to the tag before",
    "pipeline, one tag",
    "pipeline, trained on gold tags",
    "pipeline, trained on predicted tags",
    "two chains",
)
LEARNERS = (JOINT, LINKED, NARROW, PIPELINE, CASCADE, APART)
LINKS = {JOINT: [("p", "y")], LINKED: [("p", "y"), ("p[-1]", "y")]}
#: Whom a pipeline is compared with: those that see the same tag, and those that see tags around.
RIVALS = {JOINT: NARROW, LINKED: PIPELINE}
POS, NP, BOTH, F1 = "tags", "phrases", "both", "F1 of phrases"
MEASURES = (POS, NP, BOTH, F1)
PENALTIES = (3.0, 1.0, 0.3)
HELD_OUT = 500  # training sentences on which penalties are chosen, at the most
SIZES = (223, 447, 1000, 8936)
CHOOSING = 447  # sentences that are learned from to choose

WORDS = (
    "w[-2..2]; lower(w)[0]; prefix(w, 2)[0]; prefix(w, 3)[0]; suffix(w, 1)[0]; suffix(w, 2)[0]; "
    "suffix(w, 3)[0]; shape(w)[-1..1]"
)
TAGS = WORDS + "; p[-2..2]; p[-1] & p[0]; p[0] & p[1]"
TAG = WORDS + "; p[0]"

Key = tuple[int, str, str]  # sentences, learner, measure
Sentence = list[tuple[str, str, str]]  # word, tag, phrase


@dataclass(frozen=True)
class Found:
    """What a learner found in the test sentences."""

    right: Floats  #: [sentences, 4] tokens in all, with the right tag, phrase, and both
    phrases: Floats  #: [sentences, 3] right, found and true phrases

    def measure(self, name: str) -> float:
        """Return one of `MEASURES`, in percent."""
        if name == F1:
            return 100.0 * float(f1_of_counts(self.phrases.sum(0)))
        total = self.right.sum(0)
        return 100.0 * float(total[1 + MEASURES.index(name)] / total[0])


def make(given: Given) -> DynamicCRF:
    """Return the experiment: on the corpus, or quick, on generated sentences."""
    if given.quick:
        made = _generated(600)
        return DynamicCRF("generated sentences", made[:300], made[300:], given, (60, 240), 2, 225)
    train, test = (_sentences(given, name) for name in ("train", "test"))
    return DynamicCRF(f"conll2000, {len(test):,} test sentences", train, test, given, SIZES, 3, CHOOSING)


def _sentences(given: Given, name: str) -> list[Sentence]:
    found = given.columns(f"conll2000/{name}.txt.gz", ["w", "p", "y"])
    return [[(w, p, y if y.endswith("-NP") else "O") for w, p, y in rows] for rows in found]


def _generated(count: int) -> list[Sentence]:
    """Return sentences whose words show the tag or the phrase, with errors, but never both."""
    rng = np.random.default_rng(0)
    follows = {"B-NP": ["I-NP", "I-NP", "O"], "I-NP": ["I-NP", "O"], "O": ["B-NP", "O", "O"]}
    tags = {"B-NP": ["D", "J"], "I-NP": ["J", "N"], "O": ["V", "D"]}
    made = []
    for _ in range(count):
        sentence: Sentence = []
        chunk = "O"
        for _ in range(int(rng.integers(4, 12))):
            chunk = str(rng.choice(follows[chunk]))
            tag = str(rng.choice(tags[chunk]))
            shown = tag if rng.random() < 0.5 else chunk
            if rng.random() < 0.2:
                shown = str(rng.choice(["D", "J", "N", "V", *follows]))
            sentence.append((f"{shown}{rng.integers(0, 3)}", tag, chunk))
        made.append(sentence)
    return made


@dataclass(frozen=True)
class DynamicCRF(Keyed[Key]):
    """The experiment on some sentences; the largest size is all of them, once."""

    data: str
    train: Sequence[Sentence]
    test: Sequence[Sentence]
    given: Given
    sizes: tuple[int, ...]
    runs: int
    choosing: int  #: sentences that are learned from to choose penalties
    found: dict[tuple[int, int], dict[str, Found]] = field(default_factory=dict)  #: by size and seed
    chosen: dict[str, float] = field(default_factory=dict)  #: penalty by learner

    @property
    def held_out(self) -> int:
        """Training sentences on which penalties are chosen."""
        return min(HELD_OUT, len(self.train) // 4)

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"penalties": list(PENALTIES), "sentences": list(self.sizes), "template": TAGS}

    def quantities(self) -> list[Quantity]:
        """Return every measure of every learner, by the number of sentences, and the gains in F1."""
        gains = [_gain(size, one) for size, one in product(self.sizes, RIVALS)]
        return [*super().quantities(), *(Quantity(name, None, self.data) for name in gains)]

    def _about(self, key: Key) -> str:
        return self.data

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return a share of tokens or an F1 in percent, or a factorial CRF's F1 above its rival's."""
        for size, one in product(self.sizes, RIVALS):
            if quantity.name == _gain(size, one):
                return self._gained(one, self._learned(size, seed))
        size, learner, name = self._keys()[quantity.name]
        return self._learned(size, seed)[learner].measure(name)

    def _gained(self, one: str, found: Mapping[str, Found]) -> Reading:
        pair = (RIVALS[one], one)
        both = np.stack([found[learner].phrases for learner in pair], 1)  # [sentences, 2, 3]
        names = [f"{learner}, {part}" for learner in pair for part in ("right", "found", "true")]
        gain = found[one].measure(F1) - found[RIVALS[one]].measure(F1)
        return Reading(gain, dict(zip(names, both.reshape(len(both), -1).T.tolist(), strict=True)))

    def _learned(self, size: int, seed: int) -> dict[str, Found]:
        if not self.chosen:
            self._choose()
        if size >= len(self.train):
            seed = 0  # all sentences, once
        if (size, seed) not in self.found:
            order = np.random.default_rng(seed).permutation(len(self.train))[:size]
            rows = [
                self.train[n] for n in (np.sort(order) if size < len(self.train) else range(len(self.train)))
            ]
            self.found[size, seed] = {
                learner: self._compared(self.test, self._labeled(learner, rows, self.test))
                for learner in LEARNERS
            }
        return self.found[size, seed]

    def _choose(self) -> None:
        """Choose the penalty of each model on held-out training sentences: tags and phrases together."""
        dev = self.train[-self.held_out :]
        rows = self.train[: min(self.choosing, len(self.train) - len(dev))]
        scores: dict[str, dict[float, float]] = {}
        for l2 in PENALTIES:
            self.chosen.update(dict.fromkeys((JOINT, POS, WORDS, TAGS), l2))
            found = {one: self._compared(dev, self._labeled(one, rows, dev)) for one in (JOINT, APART)}
            gold = self._compared(dev, self._phrases(rows, dev, [[p for _, p, _ in row] for row in dev]))
            for name, (one, measure) in {JOINT: (found[JOINT], BOTH), POS: (found[APART], POS)}.items():
                scores.setdefault(name, {})[l2] = one.measure(measure)
            scores.setdefault(WORDS, {})[l2] = found[APART].measure(F1)
            scores.setdefault(TAGS, {})[l2] = gold.measure(F1)
        self.chosen.update({name: max(one, key=lambda l2: one[l2]) for name, one in scores.items()})

    # ---- learners

    def _labeled(
        self, learner: str, rows: Sequence[Sentence], test: Sequence[Sentence]
    ) -> tuple[list[list[str]], list[list[str]]]:
        """Return tags and phrases of the test sentences."""
        if learner in LINKS:
            y = {"p": [[p for _, p, _ in row] for row in rows], "y": [[y for _, _, y in row] for row in rows]}
            objective = Likelihood(l2=self.chosen[JOINT])
            crf = FactorialCRF(
                links=LINKS[learner], features=WORDS, objective=objective, n_jobs=self.given.threads
            )
            found = crf.fit(_words(rows), y).predict(_words(test))
            return found["p"], found["y"]
        if learner == APART:
            return self._tags(rows, test), self._chain(
                WORDS, WORDS, _words(rows), [[y for _, _, y in row] for row in rows], _words(test)
            )
        tags = self._tags(rows, test)
        if learner in (NARROW, PIPELINE):
            return self._phrases(rows, test, tags, TAG if learner == NARROW else TAGS)
        half = len(rows) // 2  # tags of each half by a chain that has seen the other
        first, last = self._tags(rows[half:], rows[:half]), self._tags(rows[:half], rows[half:])
        return self._phrases(_retagged(rows, first + last), test, tags)

    def _tags(self, rows: Sequence[Sentence], test: Sequence[Sentence]) -> list[list[str]]:
        return self._chain(POS, WORDS, _words(rows), [[p for _, p, _ in row] for row in rows], _words(test))

    def _phrases(
        self, rows: Sequence[Sentence], test: Sequence[Sentence], tags: list[list[str]], template: str = TAGS
    ) -> tuple[list[list[str]], list[list[str]]]:
        """Return the tags, and phrases by a chain that has learned from the tags of `rows`."""
        seen = [[{"w": w, "p": p} for w, p, _ in row] for row in _retagged(test, tags)]
        shown = [[{"w": w, "p": p} for w, p, _ in row] for row in rows]
        return tags, self._chain(TAGS, template, shown, [[y for _, _, y in row] for row in rows], seen)

    def _chain(self, name: str, template: str, X: Any, y: Any, test: Any) -> list[list[str]]:
        objective = Likelihood(l2=self.chosen[name])
        crf = ChainCRF(features=template, objective=objective, n_jobs=self.given.threads)
        found: list[list[str]] = crf.fit(X, y).predict(test)
        return found

    def _compared(self, test: Sequence[Sentence], found: tuple[list[list[str]], list[list[str]]]) -> Found:
        right, phrases = np.zeros((len(test), 4)), np.zeros((len(test), 3))
        for n, (row, tags, chunks) in enumerate(zip(test, *found, strict=True)):
            tag = [p == mine for (_, p, _), mine in zip(row, tags, strict=True)]
            chunk = [y == mine for (_, _, y), mine in zip(row, chunks, strict=True)]
            both = sum(a and b for a, b in zip(tag, chunk, strict=True))
            right[n] = len(row), sum(tag), sum(chunk), both
            gold, mine = ({*segments(one)} for one in ([y for _, _, y in row], chunks))
            phrases[n] = len(gold & mine), len(mine), len(gold)
        return Found(right, phrases)

    # ---- the page

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, the figure, and what follows."""
        known = self._known(found)
        penalties = ", ".join(f"{one:g}" for one in PENALTIES)
        return Page(
            [
                f"Parts of speech and noun phrases (IOB2) of {self.data}; shares of tokens and F1 of "
                f"phrases in percent. {self.runs} draws of training sentences, but for all of them, which "
                "are learned from once. Features: words around, prefixes and suffixes, shapes; the second "
                "chain of a pipeline sees the tag of the word, or tags around and pairs of them as well. It "
                "is trained on gold tags, or on tags of a chain that has learned from the other half of the "
                "sentences. A factorial CRF joins the labels of a word, or also each phrase with the tag "
                "before.",
                f"The l2 of each model, one of {penalties}, is the best on {self.held_out} sentences at the "
                f"end of the training data after learning from {self.choosing} others. Every sum is "
                "exact, those of factorial CRFs too, which share their l2. The section quotes no numbers.",
            ],
            self._claims(known, found),
            [self._table(measure, known) for measure in MEASURES],
            [self._figure(known)] if known else [],
        )

    def _table(self, measure: str, known: Mapping[Key, Result]) -> Table:
        title = measure if measure == F1 else f"tokens with the right {measure}"
        rows = [
            [f"{size:,}", *(with_interval(known.get((size, one, measure)), 2) for one in LEARNERS)]
            for size in self.sizes
        ]
        return Table(title, ["sentences", *LEARNERS], rows)

    def _claims(self, known: Mapping[Key, Result], found: Mapping[str, Result]) -> list[Claim]:
        claims: list[Claim] = []
        for one, rival in RIVALS.items():
            texts = (
                f"{one}: more tokens with both labels right than {rival}, at every size",
                f"{one}: better phrases than {rival}, when all sentences are learned from",
            )
            whole = found.get(_gain(self.sizes[-1], one))
            pairs = [[known.get((size, name, BOTH)) for name in (rival, one)] for size in self.sizes]
            if whole is None or any(result is None for pair in pairs for result in pair):
                claims += map(Claim.missing, texts)
                continue
            gains = [joint.ours - other.ours for other, joint in pairs if other and joint]
            told = ", ".join(f"{gain:+.2f} at {size:,}" for gain, size in zip(gains, self.sizes, strict=True))
            counts = np.array([*next(iter(whole.series.values())).values()]).T.reshape(-1, 2, 3)
            claims.append(Claim(texts[0], min(gains) > 0.0, told))
            claims.append(Claim.significant(texts[1], counts, f1_of_counts, "F1", "sentences"))
        return claims

    def _figure(self, known: Mapping[Key, Result]) -> Figure:
        panels: dict[str, dict[str, Line]] = {}
        for measure, learner in product(MEASURES, LEARNERS):
            line = Line.of({size: known.get((size, learner, measure)) for size in self.sizes})
            panels.setdefault(measure, {})[learner] = line
        title = "Right tokens and F1 of phrases by the sentences that are learned from"
        return Figure("dcrf", title, "sentences", "percent", panels, log="x")

    def _keys(self) -> dict[str, Key]:
        return {
            f"{size} sentences: {learner}, {measure}": (size, learner, measure)
            for size, learner, measure in product(self.sizes, LEARNERS, MEASURES)
        }


def _words(rows: Sequence[Sentence]) -> list[list[dict[str, str]]]:
    return [[{"w": w} for w, _, _ in row] for row in rows]


def _retagged(rows: Sequence[Sentence], tags: list[list[str]]) -> list[Sentence]:
    pairs = zip(rows, tags, strict=True)
    return [[(w, p, y) for (w, _, y), p in zip(row, mine, strict=True)] for row, mine in pairs]


def _gain(size: int, one: str) -> str:
    return f"{size} sentences: F1 of {one} above {RIVALS[one]}"
