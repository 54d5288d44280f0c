"""Sutton & McCallum (2006) section 1.5: skip-chains against linear chains on seminar announcements.

All have the same input features; skip-chains also join identical capitalized words of a mail, with the
disjunction of the features of both ends. Fields are found token by token, so that B- and I- of a field are
one label: five labels, which also makes messages of skips a third of the size. Skip-chains are trained by
Bethe's approximation of the likelihood, from the weights of the chain, which one of them keeps; messages pass
on trees, as in the paper. Labels are the likeliest ones of each token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from crfkit.arrays import Floats, Ids, Pointers
from crfkit.estimators import ChainCRF
from crfkit.graphs import scopes
from crfkit.inference.methods import BeliefPropagation
from crfkit.linear.features import FeatureSelection
from crfkit.linear.graphs.layout import graph_layout
from crfkit.linear.layout import Layout
from crfkit.models.graph_model import GraphModel
from crfkit.objectives import Likelihood
from crfkit.papers.experiment import Given, Keyed, Quantity, Reading
from crfkit.papers.mails import Mails, generated_mails, seminar_mails
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import f1_of_counts, number, with_interval
from crfkit.papers.results import Result
from crfkit.structures.graphs.batch import GraphBatch
from crfkit.structures.graphs.graph import Graph
from crfkit.training.graphs.fit import GraphFit
from crfkit.training.stop import Stop

CHAIN, SKIP, KEPT = "linear chain", "skip-chain", "skip-chain, weights of the chain kept"
LEARNERS = (CHAIN, SKIP, KEPT)
F1, MISSED, OVERALL = "F1", "inconsistent tokens", "overall"
GAINS = {one: f"speaker: F1 of {one} above that of the chain" for one in (SKIP, KEPT)}
#: Tables 1.2 and 1.3: stime, etime, location, speaker.
PAPER = {
    (CHAIN, F1): (97.5, 97.5, 88.3, 77.3, 90.2),
    (SKIP, F1): (96.7, 97.2, 88.1, 80.4, 90.6),
    (CHAIN, MISSED): (12.6, 3.2, 6.4, 30.2),
    (SKIP, MISSED): (17.0, 5.2, 0.6, 4.8),
}
Key = tuple[str, str, str]  # learner, measure, field
PENALTIES = (3.0, 1.0, 0.3)
SKIP_PENALTIES = {SKIP: (100.0, 30.0, 10.0), KEPT: (10.0, 3.0, 1.0)}  # of weights of pairs
FOLDS = 5
TOLERANCE = 1e-4  # of messages
PASSES = {SKIP: 10, KEPT: 14}  # iterations of L-BFGS from the weights of the chain


class Found(NamedTuple):
    """What a learner found in the mails of a fold."""

    counts: Floats  #: [mails, fields, 3]: right, found and true tokens
    missed: list[int]  #: by field: wrong, though the same word of the mail is right elsewhere


def make(given: Given) -> SkipChain:
    """Return the experiment: on the corpus, or quick, on generated mails."""
    mails = generated_mails() if given.quick else seminar_mails(given)
    return SkipChain(mails, given, 2 if given.quick else FOLDS)


@dataclass(frozen=True)
class SkipChain(Keyed[Key]):
    """The experiment on some mails; a run is a fold."""

    mails: Mails
    given: Given
    runs: int
    found: dict[int, dict[str, Found]] = field(default_factory=dict)  #: by fold and learner

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {
            "penalties": list(PENALTIES),
            "penalties of pairs": {one: list(penalties) for one, penalties in SKIP_PENALTIES.items()},
            "iterations": PASSES,
            "mails": len(self.mails),
            "folds": FOLDS,
        }

    def quantities(self) -> list[Quantity]:
        """Return the cells of both tables, and the gains."""
        gains = [Quantity(name, 3.1, self.mails.about) for name in GAINS.values()]
        return [*super().quantities(), *gains]

    def _about(self, key: Key) -> str:
        return self.mails.about

    def _paper(self, key: Key) -> float | None:
        return _paper(key)

    def measure(self, quantity: Quantity, seed: int) -> float | Reading:
        """Return an F1 of tokens in percent, a number of tokens, or the gain, of the fold of a seed."""
        if seed not in self.found:
            self.found[seed] = self._learned(seed % FOLDS)
        found = self.found[seed]
        for learner, gain in GAINS.items():
            if quantity.name == gain:
                pair = (CHAIN, learner)
                both = np.stack([found[one].counts[:, -1] for one in pair], 1)  # [mails, 2, 3]
                chain, skip = f1_of_counts(both.sum(0)).tolist()
                names = [f"{one}, {part}" for one in pair for part in ("right", "found", "true")]
                columns = both.reshape(len(both), -1).T.tolist()
                return Reading(100.0 * (skip - chain), dict(zip(names, columns, strict=True)))
        learner, measure, name = self._keys()[quantity.name]
        if measure == MISSED:
            return float(found[learner].missed[self.mails.fields.index(name)])
        each = 100.0 * f1_of_counts(found[learner].counts.sum(0))  # [fields]
        return float(each.mean() if name == OVERALL else each[self.mails.fields.index(name)])

    def _learned(self, fold: int) -> dict[str, Found]:
        folds = np.array_split(np.random.default_rng(0).permutation(len(self.mails)), FOLDS)
        test = np.sort(folds.pop(fold))
        train = np.concatenate(folds)
        dev, rest = train[: len(train) // 4], train[len(train) // 4 :]
        chains = {l2: self._chain(rest, l2) for l2 in PENALTIES}
        l2 = max(PENALTIES, key=lambda l2: self._mean_f1(dev, self._labeled(chains[l2], dev)))
        chain = self._chain(train, l2)
        found = {CHAIN: self._compared(test, self._labeled(chain, test))}
        for learner, penalties in SKIP_PENALTIES.items():
            tried = {one: self._skip_chain(learner, rest, chains[l2], l2, one) for one in penalties}
            scores = {one: self._mean_f1(dev, self._skip_labeled(skip, dev)) for one, skip in tried.items()}
            skip = self._skip_chain(learner, train, chain, l2, max(scores, key=lambda one: scores[one]))
            found[learner] = self._compared(test, self._skip_labeled(skip, test))
        return found

    def _mean_f1(self, mails: Pointers, found: Ids) -> float:
        return float(f1_of_counts(self._compared(mails, found).counts.sum(0)).mean())

    def _chain(self, train: Pointers, l2: float) -> ChainCRF:
        X, y = self._sequences(train)
        return ChainCRF(objective=Likelihood(l2=l2), n_jobs=self.given.threads).fit(X, y)

    def _labeled(self, chain: ChainCRF, mails: Pointers) -> Ids:
        shares = chain.predict_proba(self._sequences(mails)[0])
        numbers = np.array([int(name) for name in chain.classes_])
        found: Ids = numbers[np.concatenate([share.argmax(axis=1) for share in shares])]
        return found

    def _sequences(self, mails: Pointers) -> tuple[list[Any], list[list[str]]]:
        """Return mails for chains, their labels as strings."""
        spans = [(int(self.mails.ptr[n]), int(self.mails.ptr[n + 1])) for n in mails]
        label = self.mails.label.astype(str).tolist()
        return [self.mails.attributes[a:b] for a, b in spans], [label[a:b] for a, b in spans]

    def batch(self, mails: Pointers) -> GraphBatch:
        """Return some mails as skip-chains."""
        at, ptr, skip = self.mails.tokens(mails), self.mails.ptr_of(mails), self.mails.skips(mails)
        pair = ["token", "token"]
        graph = Graph({"token": 1 + len(self.mails.fields)}, word=["token"], step=pair, skip=pair)
        own = self.mails.attributes[at]
        return graph.batch(
            graph_ptr=ptr,
            labels={"token": self.mails.label[at]},
            scopes={"step": scopes.chain(ptr), "skip": skip},
            features={"word": own, "skip": own[skip[:, 0]].maximum(own[skip[:, 1]])},
        )

    def _skip_chain(
        self, learner: str, train: Pointers, chain: ChainCRF, l2: float, skip_l2: float
    ) -> GraphModel:
        batch, features = self.batch(train), FeatureSelection()
        layout = graph_layout(batch, features)
        w = _from_chain(chain, layout)
        fit = GraphFit(
            batch,
            Likelihood(l2=l2, transition_l2=skip_l2),
            features,
            "lbfgs",
            BeliefPropagation(tol=TOLERANCE),
            Stop(max_iterations=PASSES[SKIP]),
            init=w,
            threads=self.given.threads,
        )
        if learner == SKIP:
            return fit.run(None, None, None, [], 0.0, warn=False)  # it ends early by intent
        skips, gradient = layout.parts["skip"], np.zeros(layout.weights)

        def loss(values: Floats) -> tuple[float, Floats]:
            w[skips], gradient[:] = values, 0.0
            value = fit.problem.value_and_grad(w, gradient)
            return value + 0.5 * skip_l2 * float(values @ values), gradient[skips] + skip_l2 * values

        best = minimize(loss, w[skips], jac=True, method="L-BFGS-B", options={"maxiter": PASSES[KEPT]})
        w[skips] = best.x
        return fit.model(w)

    def _skip_labeled(self, model: GraphModel, mails: Pointers) -> Ids:
        method = BeliefPropagation(tol=TOLERANCE)
        shares = model.predict_proba(self.batch(mails), method=method, threads=self.given.threads)
        found: Ids = shares["token"].argmax(axis=1)
        return found

    def _compared(self, mails: Pointers, found: Ids) -> Found:
        at, size = self.mails.tokens(mails), np.diff(self.mails.ptr)[mails]
        gold, mail = self.mails.label[at], np.repeat(np.arange(len(mails)), size)
        word = mail * (1 + int(self.mails.word.max(initial=0))) + self.mails.word[at]
        counts = np.zeros((len(mails), len(self.mails.fields), 3))
        missed = []
        for k in range(1, 1 + len(self.mails.fields)):
            right = (gold == k) & (found == k)
            for i, which in enumerate((right, found == k, gold == k)):
                counts[:, k - 1, i] = np.bincount(mail[which], minlength=len(mails))
            elsewhere = np.isin(word, word[right])
            missed.append(int((elsewhere & (gold == k) & (found != k)).sum()))
        return Found(counts, missed)

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return both tables, the figure, and what follows."""
        known = self._known(found)
        fields = self.mails.fields
        return Page(
            [
                f"Five-fold cross-validation on {self.mails.about}; a run is a fold, each of which tests on "
                "a fifth of the mails. F1 of tokens in percent. Features are those of Table 1.1; the last "
                "three letters of words stand in for the tags of Brill's tagger. All learners share l2, "
                f"one of {_listed(PENALTIES)}: the one with which the chain is the best on a quarter of the "
                "mails for training. That quarter then chooses the l2 of pairs in skip-chains: one of "
                f"{_listed(SKIP_PENALTIES[SKIP])} where all weights are trained, for {PASSES[SKIP]} "
                f"iterations from the weights of the chain; one of {_listed(SKIP_PENALTIES[KEPT])} where the "
                f"weights of the chain are kept, and pairs are trained for {PASSES[KEPT]} iterations."
            ],
            self._claims(known, found),
            [
                _table("Table 1.2: F1 of tokens", F1, (*fields, OVERALL), known),
                _table("Table 1.3: inconsistently mislabeled tokens of a fold", MISSED, fields, known),
            ],
            [_figure(fields, known)] if known else [],
        )

    def _claims(self, known: Mapping[Key, Result], found: Mapping[str, Result]) -> list[Claim]:
        claims: list[Claim] = []
        for learner, name in GAINS.items():
            texts = (
                f"{learner}: speakers are found better",
                f"{learner}: fewer tokens of speakers are mislabeled though the same word is right elsewhere "
                "in the mail",
            )
            gain = found.get(name)
            before, now = (known.get((one, MISSED, self.mails.fields[-1])) for one in (CHAIN, learner))
            if gain is None or before is None or now is None:
                claims += map(Claim.missing, texts)
                continue
            counts = np.concatenate([np.array([*one.values()]).T for one in gain.series.values()])
            fewer = f"{before.ours:.1f} in the chain, {now.ours:.1f} in the skip-chain, by fold"
            claims += [
                Claim.significant(texts[0], counts.reshape(-1, 2, 3), f1_of_counts, "F1", "mails"),
                Claim(texts[1], now.ours < before.ours, fewer),
            ]
        return claims

    def _keys(self) -> dict[str, Key]:
        tables = {F1: ("Table 1.2", (*self.mails.fields, OVERALL)), MISSED: ("Table 1.3", self.mails.fields)}
        return {
            f"{table}: {learner}, {name}": (learner, measure, name)
            for measure, (table, names) in tables.items()
            for learner, name in product(LEARNERS, names)
        }


def _listed(penalties: tuple[float, ...]) -> str:
    return ", ".join(f"{one:g}" for one in penalties)


def _paper(key: Key) -> float | None:
    learner, measure, name = key
    if learner == KEPT:
        return None
    return PAPER[learner, measure][("stime", "etime", "location", "speaker", OVERALL).index(name)]


def _from_chain(chain: ChainCRF, layout: Layout) -> Floats:
    """Return the weights of a chain as those of a skip-chain; those of skips are 0."""
    from scipy.sparse import csr_array

    model, labels = chain.model_, [str(name) for name in chain.classes_]
    kinds, w = layout.slots["word"].cells, np.zeros(layout.weights)
    ours = np.array([int(name) for name in labels])
    node, word, at = model.layout.block["node"], layout.block["word"], model.layout.parts
    shape = (len(node.ptr) - 1, kinds)
    weights = csr_array((model.w[at["node"]], ours[node.cell], node.ptr), shape=shape)
    w[layout.parts["word"]] = weights[np.repeat(np.arange(shape[0]), np.diff(word.ptr)), word.cell]
    steps = np.zeros((kinds, kinds))
    first, then = np.divmod(model.layout.block["transition"].cell, len(labels))
    steps[ours[first], ours[then]] = model.w[at["transition"]]
    w[layout.parts["step"]] = steps.ravel()
    return w


def _table(title: str, measure: str, names: tuple[str, ...], known: Mapping[Key, Result]) -> Table:
    header = ["learner", *(f"{name}, {who}" for name in names for who in ("paper", "ours"))]
    rows = []
    for learner in LEARNERS:
        keys = [(learner, measure, name) for name in names]
        rows.append([learner, *(t for k in keys for t in (number(_paper(k)), with_interval(known.get(k))))])
    return Table(title, header, rows)


def _figure(fields: tuple[str, ...], known: Mapping[Key, Result]) -> Figure:
    panels: dict[str, dict[str, Line]] = {}
    for name in fields:
        panels[name] = {}
        for learner in LEARNERS:
            one = known.get((learner, F1, name))
            runs = {} if one is None else one.runs
            panels[name][learner] = Line([int(seed) + 1.0 for seed in runs], [*runs.values()])
    return Figure("folds", "F1 of tokens by fold", "fold", "F1, percent", panels)
