"""The pool, the labels given so far, and the model that learns from them while people go on.

A training starts when enough labels are new. It runs beside the pages, always from the model that was opened
and all labels given, with a pull to the weights that there were (`crfkit.estimators.continued_training`). How
firmly the model's data held them is known where its file keeps it. Else some sentences of the pool, as the
model labels them, stand for these data. For models of 30, 100 and 300 addresses and three pools, 60 labels
with 50 such sentences raised the accuracy in all nine cases, by 2 to 13 points. Labels alone lowered it in
eight, by 6 to 32 points; a curvature estimated on 100 sentences of the pool lowered it in seven, by 3 to 20.
"""

from __future__ import annotations

import re
import threading
import time
import traceback
from dataclasses import dataclass, field, replace

import numpy as np

from crfkit import FeatureSelection, Likelihood, Stop
from crfkit._safe.background import Aside
from crfkit._safe.printable import counted
from crfkit.arrays import Floats
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import Dataset, labeled
from crfkit.estimators.continued_training import adapt
from crfkit.models.active_learning import uncertainty
from crfkit.models.documents import scheme_of
from crfkit.models.model import SequenceModel
from crfkit.models.reading import read
from crfkit.tags.schemes import OUTSIDE
from crfkit.tags.segments import to_tags
from crfkit.training.events import Begin, Event, Finished, Progress
from crfkit.view import training as training_curves
from crfkit.view.markup import Markup
from crfkit.web.inspector.judging import sides
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.reading import batch_of
from crfkit.web.inspector.store import Answer, Run, Store, StoreError, key_of

__all__ = ["ORDERS", "Labeling", "Live", "check_learns"]

#: How the pool may be ordered.
ORDERS = {"entropy": "Entropy", "margin": "Margin", "density": "Density", "least-confidence": "Confidence"}
_RECALLED = 50  #: sentences of the pool that stand for the data of a model


@dataclass
class Live:
    """The training that runs, or the last one."""

    number: int = 0  #: rises with every change
    state: str = "No training yet: it begins when labels have been given."
    seconds: float = 0.0
    objective: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def picture(self) -> Markup:
        """Return its curves."""
        if not self.objective:
            return Markup("<span></span>")
        return training_curves(self.objective[:], gap=self.gap[:], seconds=self.times[:], title="")

    def tell(self, state: str) -> None:
        """Say how it stands."""
        self.state = state
        self.number += 1

    def hear(self, event: Event) -> None:
        """Listen to a training."""
        if isinstance(event, Begin):
            self.objective, self.gap, self.times = [], [], []
            self.tell(f"Training on {counted(event.sequences, 'sentence')} by {event.optimizer} ...")
        elif isinstance(event, Progress):
            self.gap.append(event.step.gap)
            self.times.append(event.seconds)
            self.seconds = event.seconds
            self.objective.append(event.step.objective)
            self.tell(f"Training, iteration {event.iteration}, {event.seconds:.1f} s")
        elif isinstance(event, Finished):
            self.tell(f"{event.summary.optimizer}: {event.reason}. {event.summary.certificate}")


class Labeling:
    """A pool of sentences, the answers for them, and the model that learned from these.

    Parameters
    ----------
    model : SequenceModel
        As it was opened.
    pool : Material
    store : Store
    data : Material, optional
        Labeled data that each training is judged on.
    every : int
        A training starts after this many new labels.
    """

    def __init__(
        self,
        model: SequenceModel,
        pool: Material,
        store: Store,
        data: Material | None = None,
        every: int = 20,
    ) -> None:
        check_learns(model)
        self.opened, self.model, self.pool, self.store = model, model, pool, store
        self.data, self.every = data, every
        self.keys = [key_of(words) for words in pool.words]
        self.version = 0  #: of the model
        self.live = Live()
        self.closed = False
        self.trained = 0  #: answers that the model has learned from
        self._orders: dict[tuple[int, str], Floats] = {}
        self._aside = Aside()
        self._lock = threading.Lock()
        self._running = False
        if not store.runs() and data is not None:
            self._note(0, 0.0)
        if self.labels():
            self.train()

    def answers(self) -> dict[str, Answer]:
        """Return what was said of sentences of this pool, skipped ones among them, by key."""
        return {key: one for key, one in self.store.latest().items() if one.action != "undo"}

    def labels(self) -> list[Answer]:
        """Return the sentences that have labels."""
        return [one for one in self.store.latest().values() if one.action == "label"]

    def order(self, method: str) -> tuple[list[int], Floats]:
        """Return the sentences that nobody has answered for, the most uncertain first, and how much."""
        model, version = self.model, self.version
        found = self._orders.get((version, method))
        if found is None:
            batch = batch_of(model, self.pool.X)
            found = uncertainty(model, batch, method, threads=1)  # type: ignore[arg-type]
            self._orders = {key: one for key, one in self._orders.items() if key[0] == version}
            self._orders[version, method] = found
        done = self.answers()
        seen: set[str] = set()
        left = []
        for n in np.argsort(-found, kind="stable").tolist():
            if self.keys[n] not in done and self.keys[n] not in seen and len(self.pool.words[n]):
                seen.add(self.keys[n])  # the same sentence twice is one
                left.append(n)
        return left, found

    def answered(self) -> None:
        """Look whether there is enough to learn from."""
        if len(self.labels()) >= self.trained + self.every:
            self.train()

    def train(self) -> bool:
        """Start a training, where none runs; return whether one was started."""
        with self._lock:
            if self._running or self.closed:
                return False
            self._running = True
        self.live.tell("Training is about to begin ...")
        later = self._aside.submit(self._learn)
        if not later.running:  # where no thread can start, it is done here
            later.result()
        return True

    @property
    def running(self) -> bool:
        """Whether a training runs."""
        return self._running

    def close(self) -> None:
        """End the training that runs, and close the file."""
        self.closed = True
        self._aside.close()
        self.store.close()

    # ---- within

    def _learn(self) -> None:
        try:
            begun = time.perf_counter()
            answers = self.labels()
            data = self._dataset(answers)
            made = adapt(
                self._before(),
                data,
                structure=self.opened.structure,
                features=FeatureSelection(),
                objective=_objective(self.opened),
                optimizer="auto",
                stop=Stop(),
                threads=1,
                listeners=[self.live.hear],
            )
            self.model, self.trained = _like(made, self.opened), len(answers)
            self.version += 1
            self._note(len(answers), time.perf_counter() - begun)
        except Exception as error:  # it must not end the thread: pages say it
            if not self.closed:
                traceback.print_exc()
                self.live.tell(f"The training failed: {error}")
        finally:
            self._running = False
            self.live.number += 1

    def _note(self, answers: int, seconds: float) -> None:
        score, metric = None, ""
        if self.data is not None:
            found = sides(self.model, self.data)
            score, metric = found.score(), found.metric
        try:
            self.store.add_run(Run(answers, metric, score, seconds))
        except StoreError as error:
            self.live.tell(str(error))
            return
        if answers:
            judged = "" if score is None else f" {metric} {score:.4f} on {self.data and self.data.name}."
            self.live.tell(f"Learned from {counted(answers, 'label')} in {seconds:.1f} s.{judged}")

    def _before(self) -> SequenceModel:
        """Return the model that was opened; nothing holds its weights where its file does not say what."""
        if self.opened.curvature is not None:
            return self.opened
        return replace(self.opened, curvature=np.zeros(len(self.opened.w), np.float32))

    def _recalled(self, answered: set[str]) -> list[int]:
        """Return sentences of the pool that stand for the data of the model, as it labels them."""
        if self.opened.curvature is not None:
            return []
        left = [n for n, key in enumerate(self.keys) if key not in answered and len(self.pool.words[n])]
        return left[:_RECALLED]

    def _dataset(self, answers: list[Answer]) -> Dataset:
        """Return labeled sentences as data with names of their own."""
        model = self.opened
        numbers = {key: n for n, key in enumerate(self.keys)}
        chosen = [numbers[one.sentence] for one in answers if one.sentence in numbers]
        y = [tags_of(model, one) for one in answers if one.sentence in numbers]
        recalled = self._recalled({one.sentence for one in answers})
        if recalled:
            chosen += recalled
            y += [[*labels] for labels in model.predict(self.pool.read(recalled), threads=1)]
        if model.segmental:
            from crfkit.text.alignment import Alignment
            from crfkit.text.labeled import Tagged
            from crfkit.training.documents import dataset_of_docs

            words = [list(self.pool.words[n]) for n in chosen]
            made = Tagged(words, y, Alignment(), model.text, [*range(len(words))], len(words))  # type: ignore[arg-type]
            return dataset_of_docs(made, model.structure, model.recipe, 1)
        return labeled(read(self.pool.read(chosen), model.recipe, 1), y, Alphabet())


def tags_of(model: SequenceModel, one: Answer) -> list[str | None]:
    """Return the labels of a sentence as the model has them; None where nobody decided."""
    T = len(one.words)
    scheme = scheme_of(model)
    tags: list[str | None]
    if scheme is None and not model.segmental:
        tags = [OUTSIDE if OUTSIDE in model.answers else None] * T
        for a, b, y in one.spans:
            tags[a:b] = [y] * (b - a)
    else:
        tags = list(to_tags(one.spans, T, scheme or "BIO"))
    for t in one.open:
        tags[t] = None
    return tags


def check_learns(model: SequenceModel) -> None:
    """Refuse a model that cannot learn from labels of a pool."""
    if model.recipe is None:
        raise ValueError(
            "the model has no recipe that makes attributes of words, so it cannot learn from a pool; train "
            "one with crfkit train, and leave --pool out for this one"
        )
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"the model decides by {model.rule}, which does not say which sentences it is unsure of"
        )
    if model.encoding is not None or model.structure.local or (model.segmental and model.text is None):
        raise ValueError(f"labels of a pool are for chains and segments of words, not for {model.told}")


def _objective(model: SequenceModel) -> Likelihood:
    """Return the likelihood with the penalty that the model was trained with, where its record says so."""
    told = "" if model.training is None else model.training.objective
    found = re.search(r"\bl2=([0-9.e+-]+)", told) if told.startswith("Likelihood") else None
    return Likelihood(l2=float(found[1])) if found and float(found[1]) > 0 else Likelihood()


def _like(made: SequenceModel, before: SequenceModel) -> SequenceModel:
    """Return a model that reads what the one before read."""
    return replace(made, extractor=before.extractor)
