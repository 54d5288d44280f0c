"""CRFs on networks: the same numbers as pytorch-crf in less time, the optimum of a linear CRF, and F1.

Chunks of CoNLL-2000 from scratch, without pretrained vectors: a BiLSTM over words, letters and tags (Huang,
Xu & Yu 2015; Ma & Hovy 2016) with a softmax for each token, with a CRF, with a CRF that keeps to the BIO
scheme, and with a CRF whose scores are those of the network and of a linear CRF's sparse features together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from crfkit._safe.cached import once
from crfkit.constraints import Scheme
from crfkit.linear.features import FeatureSelection
from crfkit.models.model import SequenceModel
from crfkit.objectives import Likelihood
from crfkit.papers.experiment import Given, Quantity
from crfkit.papers.np_chunking_learners import generated
from crfkit.papers.page import Claim, Page, Table
from crfkit.papers.report import with_interval
from crfkit.papers.results import Result
from crfkit.training.stop import Stop
from crfkit.training.train import train

if find_spec("torch") is None:
    raise ValueError("the experiment neural needs PyTorch: pip install 'crfkit[torch]'")

import numpy as np
import torch
from torch import Tensor, nn

from crfkit import torch as layers
from crfkit.papers.neural_models import Sentence, Sentences, Tagger, device, linear_objective, trained

SOFTMAX, CRF, BIO, HYBRID, LINEAR = "softmax", "CRF", "CRF, BIO", "CRF, BIO, sparse features", "linear CRF"
HEADS = (SOFTMAX, CRF, BIO, HYBRID)
L2 = 2.0  # the objective of CRFsuite's default
OURS, THEIRS = "crfkit", "pytorch-crf"
STEPS = 50  # whose losses are compared, in float64


def make(given: Given) -> Neural:
    """Return the experiment: on CoNLL-2000, or quick, on generated sentences."""
    if given.quick:
        data = Sentences(generated(60, 0), generated(20, 1))
        return Neural(data, given, "60 generated sentences", 1, 2, 60)
    train, test = (_sentences(given, f"conll2000/{part}.txt.gz") for part in ("train", "test"))
    about = f"CoNLL-2000: {len(train)} sentences to learn from, {len(test)} to test on"
    return Neural(Sentences(train, test), given, about, 3, 8, 400)


def _sentences(given: Given, path: str) -> list[Sentence]:
    return [[(w, p, y) for w, p, y in rows] for rows in given.columns(path, ["w", "p", "y"])]


@dataclass(frozen=True)
class Neural:
    """The experiment on some sentences."""

    data: Sentences
    given: Given
    about: str
    runs: int
    epochs: int
    iterations: int
    found: dict[Any, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {"epochs": self.epochs, "iterations": self.iterations, "sentences": len(self.data.train)}

    def quantities(self) -> list[Quantity]:
        """Return what is measured."""
        papers = {
            f"F1: {CRF}": 94.13,
            f"F1: {LINEAR}": 93.69,
        }  # Huang, Xu & Yu (2015) Table 2, random vectors
        return [Quantity(name, papers.get(name), self.about) for name in self._names()]

    def _names(self) -> list[str]:
        names = ["linear: objective by torch", "linear: objective by crfkit"]
        if find_spec("torchcrf") is not None:
            names += ["swap: largest relative difference of losses"]
            names += [f"swap: seconds of an epoch, {who}" for who in (OURS, THEIRS)]
        return [*names, *(f"F1: {head}" for head in (LINEAR, *HEADS))]

    def measure(self, quantity: Quantity, seed: int) -> float:
        """Return one number."""
        kind, _, what = quantity.name.partition(": ")
        if kind == "linear":
            if what.endswith("crfkit"):
                assert self.linear.training is not None
                return self.linear.training.loss
            data, layout = self.data.items[0], self.linear.layout
            return float(self._kept("torch", lambda: linear_objective(data, layout, L2, self.iterations))[0])
        if kind == "swap":
            if what.startswith("seconds"):
                return self._epoch(OURS if what.endswith(OURS) else THEIRS, seed)[1]
            a, b = (np.array(self._epoch(who, seed, torch.float64, STEPS)[0]) for who in (OURS, THEIRS))
            return float((np.abs(a - b) / np.abs(b)).max())
        if what == LINEAR:
            return self.data.f1(self.linear.predict(self.data.items[1]))
        return self._f1(what, seed)

    def _kept(self, key: Any, make: Any) -> Any:
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    @once
    def linear(self) -> SequenceModel:
        """The linear CRF that crfkit trains, certified."""
        return train(
            self.data.items[0],
            objective=Likelihood(l2=L2),
            selection=FeatureSelection(transitions="observed"),  # as CRFsuite
            stop=Stop(tolerance=1e-5),
            n_jobs=self.given.threads,
        )

    def _epoch(
        self, who: str, seed: int, dtype: torch.dtype = torch.float32, steps: int | None = None
    ) -> tuple[list[float], float]:
        """Return the losses of one epoch of a BiLSTM with a CRF, or of its first steps, and the seconds.

        In float32 rounding alone moves single losses by a percent after some hundred steps.
        """
        torch.manual_seed(seed)
        net = Tagger(self.data.sizes).to(device(), dtype)
        L = len(self.data.labels)
        if who == OURS:
            head: nn.Module = layers.CRF(L).to(device(), dtype)

            def loss(node: Tensor, batch: dict[str, Tensor], chosen: list[int]) -> Tensor:
                value: Tensor = head.loss(node, batch["labels"], batch["mask"])
                return value

        else:
            import torchcrf

            head = torchcrf.CRF(L, batch_first=True).to(device(), dtype)
            for scores in head.parameters():
                nn.init.zeros_(scores)  # as crfkit's

            def loss(node: Tensor, batch: dict[str, Tensor], chosen: list[int]) -> Tensor:
                gold = batch["labels"].clamp(min=0)
                value: Tensor = -head(node, gold, batch["mask"], reduction="mean")
                return value

        torch.manual_seed(seed)
        start = perf_counter()
        losses = trained(self.data, net, head, loss, 1, seed, steps=steps)
        return losses, perf_counter() - start

    def _f1(self, kind: str, seed: int) -> float:
        torch.manual_seed(seed)
        data = self.data
        net = Tagger(data.sizes).to(device())
        head = layers.CRF(data.labels, constraints=[Scheme("BIO")] if BIO in kind else None).to(device())
        extra = self._sparse() if kind == HYBRID else None
        if extra is not None:
            with torch.no_grad():
                head.edge.copy_(extra[2])

        def added(node: Tensor, part: int, chosen: list[int]) -> Tensor:
            if extra is None:
                return node
            rows = [extra[part][i] for i in chosen]
            return node + nn.utils.rnn.pad_sequence(rows, batch_first=True).to(node.device)

        def loss(node: Tensor, batch: dict[str, Tensor], chosen: list[int]) -> Tensor:
            if kind == SOFTMAX:
                flat = node.flatten(0, 1), batch["labels"].flatten()
                return nn.functional.cross_entropy(*flat, ignore_index=-1)
            value: Tensor = head.loss(added(node, 0, chosen), batch["labels"], batch["mask"])
            return value

        trained(data, net, head, loss, self.epochs, seed)
        found: list[list[str]] = []
        with torch.no_grad():
            for i in range(0, len(data.test), 64):
                chosen = [*range(i, min(i + 64, len(data.test)))]
                batch = data.batch([data.test[j] for j in chosen])
                node = added(net(batch), 1, chosen)
                if kind == SOFTMAX:
                    best, lengths = node.argmax(-1).tolist(), batch["mask"].sum(1).tolist()
                    found += [[data.labels[y] for y in row[:n]] for row, n in zip(best, lengths, strict=True)]
                else:
                    found += head.decode(node, batch["mask"]).names()
        return data.f1(found)

    def _sparse(self) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return scores of labels by the linear CRF for each sentence, of both parts; and its transitions."""
        order = [self.linear.labels.index(y) for y in self.data.labels]
        scores = [self.linear.potentials(part.batch) for part in self.data.items]
        rows = [
            [torch.from_numpy(x[:, order].copy()).float() for x in np.split(one.node, one.seq_ptr[1:-1])]
            for one in scores
        ]
        return rows[0], rows[1], torch.from_numpy(scores[0].edge[0][np.ix_(order, order)]).float()

    def page(self, found: Mapping[str, Result]) -> Page:
        """Return the table and what follows."""
        rows = [[head, with_interval(found.get(f"F1: {head}"), 2)] for head in (LINEAR, *HEADS)]
        tables = [Table("F1 of chunks", ["scores", "F1"], rows)]
        times = {who: found.get(f"swap: seconds of an epoch, {who}") for who in (OURS, THEIRS)}
        if all(times.values()):
            seconds = [[who, with_interval(one, 1)] for who, one in times.items()]
            tables.append(Table("An epoch of the BiLSTM with a CRF", ["layer", "seconds"], seconds))
        notes = [
            f"{self.about}, on {device().type}. {self.epochs} epochs of Adam, batches of 32; no pretrained "
            "vectors, no choice on a dev set. Numbers of the paper are those without pretrained vectors."
        ]
        return Page(notes, [self._same(found), self._optimum(found), self._better(found)], tables)

    def _same(self, found: Mapping[str, Result]) -> Claim:
        text = "with pytorch-crf or with crfkit, losses of training are the same (50 steps in float64, 1e-6)"
        one = found.get("swap: largest relative difference of losses")
        if one is None:
            return Claim(text, None, "pytorch-crf is not installed")
        return Claim(text, one.ours < 1e-6, f"they differ by {one.ours:.1e} at the most")

    def _optimum(self, found: Mapping[str, Result]) -> Claim:
        text = "L-BFGS on gradients of torch reaches the certified optimum of the linear CRF (0.1 %)"
        ours, best = (found.get(f"linear: objective by {who}") for who in ("torch", "crfkit"))
        if ours is None or best is None:
            return Claim.missing(text)
        return Claim(text, ours.ours < 1.001 * best.ours, f"{ours.ours:.2f} and {best.ours:.2f}")

    def _better(self, found: Mapping[str, Result]) -> Claim:
        text = "with a CRF the network is better than with a softmax"
        crf, softmax = found.get(f"F1: {BIO}"), found.get(f"F1: {SOFTMAX}")
        if crf is None or softmax is None:
            return Claim.missing(text)
        why = f"{with_interval(crf, 2)} and {with_interval(softmax, 2)}"
        apart = crf.low is None or softmax.high is None or crf.low > softmax.high
        return Claim(text, crf.ours > softmax.ours and apart, why)
