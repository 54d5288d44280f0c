"""Gupta (2005) section 4.3: Viterbi, constrained Viterbi, and global constraints solved exactly.

One chain of each run is decoded in three ways: freely; with local constraints, which forbid steps (labels
must spell segments); and with global ones besides. The global constraints are not written by hand: they are
those of a fixed catalog which nearly all training sequences keep. Integer programs of the paper's form
answer some of the sequences again, to see that they agree, and what they take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from time import process_time
from typing import Any

import numpy as np

from crfkit import metrics
from crfkit.data.dataset import Dataset
from crfkit.estimators import ChainCRF
from crfkit.inference.constrained.decoding import WAYS, Answers
from crfkit.inference.constrained.kinds import AtLeast, AtMost, Before, GlobalConstraint, Implies
from crfkit.inference.constrained.program import solve
from crfkit.inference.constrained.trellis import trellis_of
from crfkit.models.model import SequenceModel, gold_labels
from crfkit.papers.corpora import Rows, dataset
from crfkit.papers.experiment import Given, Keyed, Quantity
from crfkit.papers.page import Claim, Figure, Line, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.structures import Chain
from crfkit.structures.constraints import Scheme
from crfkit.tags.segments import Segments, spans

FREE, LOCAL, GLOBAL = "Viterbi", "constrained Viterbi", "global constraints"
METHODS = (FREE, LOCAL, GLOBAL)
SPANS, TOKENS, BROKEN = "F1 of spans", "right tokens", "sequences that break a constraint"
MEASURES = (SPANS, TOKENS, BROKEN)
#: Of the sequences that local constraints leave broken: how they were answered, and what programs say.
DETAILS = (
    "answers by a memory",
    "answers by a program",
    "without an answer",
    "time, constrained Viterbi = 1",
)
AGREE, SECONDS = "programs that agree", "seconds of a program"
SHARE, SEEN, MOST = 0.99, 20, 3  # of training sequences; of those with the labels; occurrences
PROGRAMS = 5  # integer programs in each run
TEMPLATE = (
    "w[-2..2]; w[-1] & w[0]; w[0] & w[1]; lower(w)[-1..1]; shape(w)[-2..2]; prefix(w, 3)[0]; "
    "suffix(w, 3)[-1..1]"
)

Key = tuple[str, int, str, str]  # task, sequences, method, measure


@dataclass(frozen=True)
class Task:
    """Labeled sequences; each run draws some to learn from, and tests on some of the others."""

    name: str
    about: str
    data: Dataset
    sizes: tuple[int, ...]
    tests: int

    def split(self, seed: int, size: int) -> tuple[Dataset, Dataset]:
        """Return training and test sequences; fewer training sequences are the first of more."""
        order = np.random.default_rng(seed).permutation(len(self.data))
        return self.data[order[self.tests :][:size]], self.data[order[: self.tests]]


def make(given: Given) -> Constraints:
    """Return the experiment: on the corpora, or quick, on generated references."""
    if given.quick:
        return Constraints([_generated()], given, 2)
    rows = [*given.columns("citations/cora_references.columns.txt", ["w", "y"])]
    mails = [*given.columns("seminars/columns.txt.gz", ["w", "line", "column", "y"])]
    return Constraints(
        [
            _task(
                "citations",
                "500 references of CORA, 13 fields, 250 to test on",
                rows,
                (25, 50, 100, 200),
                250,
            ),
            _task("seminars", "484 mails, 4 fields, 150 to test on", mails, (25, 50, 100, 200), 150),
        ],
        given,
        3,
    )


def _task(name: str, about: str, rows: Rows, sizes: tuple[int, ...], tests: int) -> Task:
    pairs = [[(token[0], token[-1]) for token in sequence] for sequence in rows]
    return Task(name, about, dataset(pairs, ["w", "y"], TEMPLATE), sizes, tests)


def _generated() -> Task:
    """Return references of words that show their field with errors; fields come once, in one order."""
    rng = np.random.default_rng(0)
    fields = ("author", "title", "date")
    rows: Rows = []
    for _ in range(160):
        row: list[tuple[str, ...]] = []
        for name in fields:
            for i in range(int(rng.integers(1, 4))):
                shown = name if rng.random() < 0.4 else str(rng.choice(fields))
                row.append((f"{shown}{rng.integers(0, 20)}", f"{'I' if i else 'B'}-{name}"))
                if rng.random() < 0.3:
                    row.append((f"{rng.choice(fields)}{rng.integers(0, 20)}", "O"))
                    break
        rows.append(row)
    about = (
        "generated: fields in one order, words that show their field in 6 of 10 cases, and some of none "
        "in between"
    )
    return _task("generated", about, rows, (20, 60), 80)


def mined(gold: Sequence[Segments]) -> list[GlobalConstraint]:
    """Return the constraints of the catalog that nearly all sequences keep.

    A field occurs at most 1, 2 or 3 times, or at least once; every a comes before every b; where a occurs, b
    does.

    Examples
    --------
    >>> mined([[(0, 1, "a"), (1, 2, "b")], [(0, 1, "a")]] * 50)  # doctest: +NORMALIZE_WHITESPACE
    [AtMost(label='a', k=1), AtLeast(label='a', k=1), AtMost(label='b', k=1), Before(a='a', b='b')]
    """
    kinds = sorted({kind for one in gold for *_, kind in one})
    at = [{kind: [a for a, _, other in one if other == kind] for kind in kinds} for one in gold]
    made: list[GlobalConstraint] = []
    always = set()
    for kind in kinds:
        counts = np.array([len(one[kind]) for one in at])
        if k := next((k for k in range(1, MOST + 1) if (counts <= k).mean() >= SHARE), 0):
            made.append(AtMost(kind, k))
        if (counts > 0).mean() >= SHARE:
            made.append(AtLeast(kind, 1))
            always.add(kind)
    for a, b in permutations(kinds, 2):
        both = [one for one in at if one[a] and one[b]]
        if len(both) >= SEEN and np.mean([max(one[a]) < min(one[b]) for one in both]) >= SHARE:
            made.append(Before(a, b))
        some = [bool(one[b]) for one in at if one[a]]
        if b not in always and len(some) >= SEEN and np.mean(some) >= SHARE:
            made.append(Implies(a, b))
    return made


@dataclass(frozen=True)
class Constraints(Keyed[Key]):
    """The experiment on some tasks."""

    tasks: Sequence[Task]
    given: Given
    runs: int
    _kept: dict[Any, dict[tuple[str, str], float]] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"share": SHARE, "seen": SEEN, "most": MOST, "template": TEMPLATE}

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return one number of a run; a run is made once."""
        name, size, method, measure = self._keys()[quantity.name]
        if (name, size, seed) not in self._kept:
            self._kept[name, size, seed] = self._run(*self._task(name).split(seed, size))
        return self._kept[name, size, seed][method, measure]

    def _run(self, train: Dataset, test: Dataset) -> dict[tuple[str, str], float]:
        threads = self.given.threads
        model = ChainCRF(n_jobs=threads).fit(train).model_
        local = replace(model, structure=Chain(model.structure.labels, constraints=[Scheme("BIO")]))
        rules = mined([spans(tags) for tags in gold_labels(train)])
        gold = gold_labels(test)
        batches = {FREE: model.batch_of(test), LOCAL: local.batch_of(test)}
        found = {
            FREE: model._decode(batches[FREE], rules, infeasible="free", threads=threads),
            LOCAL: local._decode(batches[LOCAL], rules, infeasible="free", threads=threads),
        }
        free = {
            FREE: model._path(batches[FREE], threads=threads),
            LOCAL: local._path(batches[LOCAL], threads=threads),
        }
        paths = {**free, GLOBAL: found[LOCAL].path}
        made: dict[tuple[str, str], float] = {}
        for method, path in paths.items():
            tags = local.spelling.tags(path)
            made[method, SPANS] = 100.0 * metrics.metric("span_f1")(gold, tags)
            made[method, TOKENS] = 100.0 * metrics.metric("accuracy")(gold, tags)
            how = found[FREE if method == FREE else LOCAL].how
            broken = how == WAYS.index("none") if method == GLOBAL else how > 0
            made[method, BROKEN] = 100.0 * float(broken.mean())
        how = found[LOCAL].how
        broken = max(int((how > 0).sum()), 1)
        shares = [np.isin(how, [WAYS.index(way) for way in ways]).sum() / broken for ways in _WAYS]
        details = [100.0 * float(share) for share in shares] if how.any() else [100.0, 0.0, 0.0]
        details.append(_seconds(local, batches[LOCAL], rules) / _seconds(local, batches[LOCAL], None))
        made |= {(GLOBAL, name): value for name, value in zip(DETAILS, details, strict=True)}
        return made | self._programs(local, batches[LOCAL], rules, found[LOCAL])

    def _programs(
        self, model: SequenceModel, batch: Any, rules: list[GlobalConstraint], found: Answers
    ) -> dict[tuple[str, str], float]:
        """Answer some of the broken sequences again by programs alone."""
        kept = model.constrained(rules)
        chosen = np.flatnonzero((found.how > 0) & (found.how < WAYS.index("none")))[:PROGRAMS]
        agree, begin = 0, process_time()
        for n in chosen.tolist():
            one = kept.potentials(batch.select([n])).sequence(0)
            trellis, lost = trellis_of(one), float(found.free_score[n] - found.score[n])
            answer = solve(trellis, [rule for _, rule in kept.rules], 2.0 * lost)
            score = -np.inf if answer is None else float(trellis.score[answer[0]].sum())
            agree += abs(score - float(found.score[n])) < 1e-6
        count = max(len(chosen), 1)
        seconds = (process_time() - begin) / count
        share = 100.0 * agree / count if len(chosen) else 100.0  # nothing disagrees
        return {(GLOBAL, AGREE): share, (GLOBAL, SECONDS): seconds}

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the tables, the figure, and what follows."""
        known = self._known(found)
        cases = [(task.name, size) for task in self.tasks for size in task.sizes]
        rows = [
            [
                name,
                str(size),
                method,
                *(with_interval(known.get((name, size, method, one))) for one in MEASURES),
            ]
            for (name, size), method in product(cases, METHODS)
        ]
        more = [*DETAILS, AGREE, SECONDS]
        ways = [
            [name, str(size), *(with_interval(known.get((name, size, GLOBAL, one)), 2) for one in more)]
            for name, size in cases
        ]
        return Page(
            [
                "Section 4.3 of the report has no numbers; ours are percent. Constrained Viterbi forbids "
                "steps that do not spell segments (BIO); global constraints are added to it. They are mined "
                "from the gold of the training sequences: those of a catalog that at least "
                f"{100 * SHARE:g} % of them keep.",
                "The second table is of the sequences whose locally constrained labels break a global "
                "constraint: answered by a dynamic program with a memory for what is broken, by a linear or "
                "integer program, or not at all, where labels stay. "
                f"Up to {PROGRAMS} of them in each run are answered again by programs alone.",
                "\n".join(f"- {task.name}: {task.about}" for task in self.tasks),
            ],
            self._claims(known, cases),
            [
                Table("Labels", ["task", "sequences", "method", *MEASURES], rows),
                Table("How answers were found", ["task", "sequences", *more], ways),
            ],
            [self._figure(known)] if known else [],
        )

    def _claims(self, known: Mapping[Key, Result], cases: Sequence[tuple[str, int]]) -> list[Claim]:
        exact = "programs over the trellis give the best labeling"
        gain = "global constraints gain over constrained Viterbi"
        needed = [(*case, method, SPANS) for case, method in product(cases, METHODS)]
        needed += [(*case, GLOBAL, AGREE) for case in cases]
        if any(key not in known for key in needed):
            return [*map(Claim.missing, (exact, gain))]
        agree = [known[(*case, GLOBAL, AGREE)].ours for case in cases]
        gains = {
            case: known[(*case, GLOBAL, SPANS)].ours - known[(*case, LOCAL, SPANS)].ours for case in cases
        }
        told = ", ".join(f"{name} {size}: {one:+.2f}" for (name, size), one in gains.items())
        return [
            Claim(exact, min(agree) == 100.0, f"{min(agree):.0f} % agree with the dynamic program"),
            Claim(gain, min(gains.values()) > 0.0, f"F1 of spans: {told}"),
        ]

    def _keys(self) -> dict[str, Key]:
        cases = [(task.name, size) for task in self.tasks for size in task.sizes]
        keys = [(*case, method, one) for case, method, one in product(cases, METHODS, MEASURES)]
        keys += [(*case, GLOBAL, one) for case, one in product(cases, (*DETAILS, AGREE, SECONDS))]
        return {
            f"{name}, {size} sequences, {method}: {one}": (name, size, method, one)
            for name, size, method, one in keys
        }

    def _figure(self, known: Mapping[Key, Result]) -> Figure:
        panels: dict[str, dict[str, Line]] = {}
        for task in self.tasks:
            panels[task.name] = {
                method: Line.of({n: known.get((task.name, n, method, SPANS)) for n in task.sizes})
                for method in METHODS
            }
        title = "F1 of spans by the number of sequences that are learned from, with 95 % intervals"
        return Figure("constraints", title, "sequences", SPANS, panels, log="x")


_WAYS = (("DP",), ("k-best", "LP", "ILP"), ("none",))


def _seconds(model: SequenceModel, batch: Any, rules: list[GlobalConstraint] | None) -> float:
    """Return the seconds of the processor that decoding takes, the least of three times."""
    times = []
    for _ in range(3):
        begin = process_time()
        if rules is None:
            model._path(batch, threads=1)
        else:
            model._decode(batch, rules, infeasible="free", threads=1)
        times.append(process_time() - begin)
    return min(times)
