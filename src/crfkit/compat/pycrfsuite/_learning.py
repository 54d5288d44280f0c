"""One training as CRFsuite does it: features, iterations and model, with a log line for each.

CRFsuite minimizes loss + c1 |w| + c2 |w|^2, without the half: l2 here is 2 * c2. A feature is kept where the
sum of its values reaches ``feature.minfreq``; a minimum of 0 keeps all. With a higher minimum the possible
features that the data never show are dropped again, as there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from crfkit import inference
from crfkit._safe.interrupts import Interrupts, interrupts
from crfkit.arrays import Floats, Ids, pointers
from crfkit.compat.pycrfsuite._items import Rows
from crfkit.compat.pycrfsuite._methods import METHODS, Method
from crfkit.compat.pycrfsuite._params import Parameters
from crfkit.data.alphabet import Alphabet
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.linear.score import score
from crfkit.models.files.compact import compacted
from crfkit.models.files.cqdb import write_strings
from crfkit.models.files.crfsuite_write import crfsuite_bytes
from crfkit.models.model import Names, SequenceModel
from crfkit.structures import Chain
from crfkit.training.runs.convergence import has_converged, remedy_for, warn_of_end

__all__ = ["Example", "Learning"]


class Example(NamedTuple):
    """A labeled sequence."""

    rows: Rows
    label: Ids  #: [T]


class Learning:
    """The data and parameters of a training; `say` receives the log."""

    def __init__(
        self,
        examples: list[Example],
        held: list[Example],
        labels: Alphabet,
        attributes: Alphabet,
        params: Parameters,
        say: Callable[[str], None],
    ) -> None:
        self.examples, self.labels, self.attributes = examples, labels, attributes
        self.algorithm, self.values, self.say = params.algorithm, params.values, say
        self.held = _batch(held) if held else None
        names = [*labels.strings(), *attributes.strings()]
        if any("\0" in name for name in names):
            bad = next(name for name in names if "\0" in name)
            raise ValueError(f"{bad!r} holds a NUL, which CRFsuite's files cannot hold; rename it")

    def run(self, path: str) -> None:
        """Train, and write the model unless the path is empty.

        Ctrl-C ends the iterations, and is raised when the model so far is written.
        """
        with interrupts() as signals:
            self._run(path, signals)
        if signals.asked:
            raise KeyboardInterrupt

    def _run(self, path: str, signals: Interrupts) -> None:
        batch = _batch(self.examples)
        layout = self._layout(batch)
        began = time.perf_counter()
        w = np.zeros(0 if layout is None else layout.weights)
        method = METHODS[self.algorithm](self.values)
        for line in method.describe():
            self.say(line)
        self.say("\n")
        if layout is None or not layout.weights:
            self.say(f"{method.name} terminated with error: the data have no features\n")
        elif layout.labels == 1:
            self.say(f"{method.name} terminated with error: there is one label, and nothing to learn\n")
        else:
            chain = Chain(self.labels.strings())
            w = self._iterate(method, chain, layout, batch, signals)
        self.say(f"Total seconds required for training: {time.perf_counter() - began:.3f}\n")
        self.say("\n")
        if path:
            self._store(path, layout, w)

    def _layout(self, batch: Batch) -> Layout | None:
        """Log which features there are, and return them; None without labels."""
        began, v, say = time.perf_counter(), self.values, self.say
        minfreq, states = float(v["feature.minfreq"]), bool(v["feature.possible_states"])
        steps = bool(v["feature.possible_transitions"])
        say("Feature generation\n")
        say("type: CRF1d\n")
        say(f"feature.minfreq: {minfreq:f}\n")
        say(f"feature.possible_states: {states:d}\n")
        say(f"feature.possible_transitions: {steps:d}\n")
        layout = None
        if len(self.labels) and batch.positions:
            make = Layout.all_pairs if states and minfreq <= 0.0 else Layout.observed
            layout = make(
                batch,
                len(self.labels),
                transitions="all" if steps and minfreq <= 0.0 else "observed",
                min_count=max(minfreq, 0.0),
                count="value",
                attributes=len(self.attributes),
            )
            if minfreq > 0.0:
                layout = _frequent_steps(layout, batch, minfreq)
        for percent in range(0, 102, 2):
            say(str(percent // 10) if percent % 10 == 0 else ".")
        say("\n")
        say(f"Number of features: {0 if layout is None else layout.weights}\n")
        say(f"Seconds required: {time.perf_counter() - began:.3f}\n")
        say("\n")
        return layout

    def _iterate(
        self, method: Method, chain: Chain, layout: Layout, batch: Batch, signals: Interrupts
    ) -> Floats:
        """Log each iteration; return the final weights."""
        w, say, began = np.zeros(layout.weights), self.say, time.perf_counter()
        for number, done in enumerate(method.rounds(layout, chain, batch, say), start=1):
            w = done.w
            if not done.lines:  # the end, which may have other weights than the last iteration
                if done.last is not None and done.last.end is not None:
                    end = done.last.end
                    remedy = remedy_for(end, None, int(self.values["max_iterations"]))
                    warn_of_end(end, has_converged(end, np.nan, 0.0), done.last.stopped, remedy)
                break
            say(f"***** {done.title} #{number} *****\n")
            for line in done.lines:
                say(line)
            say(f"Seconds required for this iteration: {time.perf_counter() - began:.3f}\n")
            if self.held is not None:
                for line in _judged(layout, chain, w, self.held):
                    say(line)
            say("\n")
            began = time.perf_counter()
            if signals.asked:
                w = w.copy()
                break
        return w

    def _store(self, path: str, layout: Layout | None, w: Floats) -> None:
        began, say, L = time.perf_counter(), self.say, len(self.labels)
        say("Storing the model\n")
        active = attributes = 0
        data = _EMPTY
        if L:
            if layout is None:
                layout = Layout.of_chain(L, np.zeros(len(self.attributes) + 1, np.int64), *_nothing())
            names = Names(self.labels, self.attributes)
            model = compacted(SequenceModel(Chain(self.labels.strings()), layout, names, w))
            active, attributes = model.layout.weights, len(model.attributes)
            data = crfsuite_bytes(model)
        say(f"Number of active features: {active} ({len(w)})\n")
        say(f"Number of active attributes: {attributes} ({len(self.attributes)})\n")
        say(f"Number of active labels: {L} ({L})\n")
        for what in ("labels", "attributes", "feature references for transitions"):
            say(f"Writing {what}\n")
        say("Writing feature references for attributes\n")
        with open(path, "wb") as file:
            file.write(data)
        say(f"Seconds required: {time.perf_counter() - began:.3f}\n")
        say("\n")


def _nothing() -> tuple[Any, ...]:
    """Return a layout's arrays after node_ptr, without weights."""
    none = np.zeros(0, dtype=np.int32)
    return none, np.zeros(1, dtype=np.int64), none, none


def _empty_model() -> bytes:
    """Return the file of a model without labels, as CRFsuite writes it."""
    strings = write_strings([])
    feat = 48 + 12
    places = [48, feat, feat + len(strings), feat + 2 * len(strings), feat + 2 * len(strings) + 20]
    head = np.array([places[4] + 12, 100, 0, 0, 0, *places], dtype="<u4").tobytes()
    chunks = [("FEAT", 12, 0), ("LFRF", 20, 2), ("AFRF", 12, 0)]
    feat_, lfrf, afrf = (n.encode() + np.array([s, c], dtype="<u4").tobytes() for n, s, c in chunks)
    return b"".join([b"lCRF", head[:4], b"FOMC", head[4:], feat_, strings, strings, lfrf, bytes(8), afrf])


_EMPTY = _empty_model()


def _batch(examples: list[Example]) -> Batch:
    """Join sequences into one batch."""
    rows = [example.rows for example in examples]
    lengths = np.array([len(ptr) - 1 for ptr, _, _ in rows], dtype=np.int64)
    counts = np.concatenate([np.zeros(0, np.int64), *(np.diff(ptr) for ptr, _, _ in rows)])
    value = None
    if any(v is not None for _, _, v in rows):
        value = np.concatenate([np.ones(len(attr)) if v is None else v for _, attr, v in rows])
    return Batch(
        pointers(lengths),
        pointers(counts),
        np.concatenate([np.zeros(0, np.int32), *(attr for _, attr, _ in rows)]),
        value,
        np.concatenate([np.zeros(0, np.int32), *(example.label for example in examples)]),
    )


def _frequent_steps(layout: Layout, batch: Batch, minfreq: float) -> Layout:
    """Drop transitions that the data show less often."""
    y = np.asarray(batch.label, dtype=np.int64)
    inside = np.ones(len(y), dtype=np.bool_)
    inside[batch.seq_ptr[:-1][np.diff(batch.seq_ptr) > 0]] = False
    at, L = np.flatnonzero(inside), layout.labels
    seen = np.bincount(y[at - 1] * L + y[at], minlength=L * L)
    cells = layout.transition_cell
    return layout.with_block("transition", cells[seen[cells] >= minfreq])


def _judged(layout: Layout, chain: Chain, w: Floats, held: Batch) -> Iterator[str]:
    """Give the lines about the holdout group."""
    found = inference.decode(chain.potentials_of(score(layout, w, held), held))
    model = np.concatenate([np.zeros(0, np.int32), *(labeling.labels for labeling in found)])
    ref, L = np.asarray(held.label), layout.labels
    right = model == ref
    counts = [np.bincount(y, minlength=L).tolist() for y in (ref[right], model, ref)]
    sums = np.zeros(3)
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    for name, m, n, r in zip(chain.labels, *counts, strict=True):
        rates = np.array([m / n if n else 0.0, m / r if r else 0.0, 2 * m / (n + r) if n + r else 0.0])
        sums += rates
        shown = ", ".join(f"{rate:.4f}" for rate in rates) if r else "******, ******, ******"
        yield f"    {name}: ({m}, {n}, {r}) ({shown})\n"
    yield "Macro-average precision, recall, F1: ({:f}, {:f}, {:f})\n".format(*(sums / L))
    wrong = pointers(~right)[held.seq_ptr]
    whole = int(np.count_nonzero(np.diff(wrong) == 0))
    for what, good, total in (("Item", int(right.sum()), len(ref)), ("Instance", whole, held.sequences)):
        yield f"{what} accuracy: {good} / {total} ({good / max(total, 1):.4f})\n"
