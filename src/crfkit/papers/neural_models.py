"""What `crfkit reproduce neural` trains: a BiLSTM over words, letters and tags, and a linear CRF by torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn

from crfkit._safe.cached import once
from crfkit.data.dataset import Dataset
from crfkit.features import ItemExtractor
from crfkit.linear.layout import Layout
from crfkit.metrics import span_scores

Sentence = Sequence[tuple[str, str, str]]  # word, part of speech, chunk
PAD, UNKNOWN = 0, 1


def device() -> torch.device:
    """Return the GPU, or the CPU where there is none."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def features(sentence: Sentence) -> list[list[str]]:
    """Return the attributes of CRFsuite's example for chunking: n-grams of words and tags around each."""
    columns = {"w": [w for w, _, _ in sentence], "pos": [p for _, p, _ in sentence]}
    grams = [("w", o, 1) for o in range(-2, 3)] + [("w", -1, 2), ("w", 0, 2)]
    grams += [("pos", o, n) for n in (1, 2, 3) for o in range(-2, 4 - n)]
    items: list[list[str]] = [[] for _ in sentence]
    for name, offset, n in grams:
        for t in range(max(0, -offset), min(len(sentence), len(sentence) - offset - n + 1)):
            items[t].append(f"{name}[{offset}]{n}=" + "|".join(columns[name][t + offset : t + offset + n]))
    items[0].append("__BOS__")
    items[-1].append("__EOS__")
    return items


@dataclass(frozen=True)
class Sentences:
    """Sentences to learn from and to test on, as numbers."""

    train: Sequence[Sentence]
    test: Sequence[Sentence]

    @once
    def labels(self) -> list[str]:
        """Chunk tags of the training sentences."""
        return sorted({y for sentence in self.train for _, _, y in sentence})

    @once
    def _ids(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        words = Counter(w.lower() for sentence in self.train for w, _, _ in sentence)
        tags = sorted({p for sentence in self.train for _, p, _ in sentence})
        letters = sorted({c for sentence in self.train for w, _, _ in sentence for c in w})
        known = [w for w, n in words.items() if n > 1]
        return _numbered(known), _numbered(tags), _numbered(letters)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Return how many words, tags, letters and labels there are, the first two ids of each included."""
        words, tags, letters = self._ids
        return len(words) + 2, len(tags) + 2, len(letters) + 2, len(self.labels)

    @once
    def items(self) -> tuple[Dataset, Dataset]:
        """Sparse attributes of both parts."""
        extract = ItemExtractor()
        train = extract([features(s) for s in self.train], [[y for _, _, y in s] for s in self.train])
        return train, extract.freeze()([features(s) for s in self.test], None)

    def batch(self, sentences: Sequence[Sentence]) -> dict[str, Tensor]:
        """Return padded words, tags, letters, labels (-1: not among those learned) and mask."""
        words, tags, letters = self._ids
        number = {y: i for i, y in enumerate(self.labels)}
        B, T = len(sentences), max(map(len, sentences))
        W = max(min(len(w), 20) for s in sentences for w, _, _ in s)
        made = {name: np.zeros((B, T), np.int64) for name in ("words", "tags")}
        chars, labels = np.zeros((B, T, W), np.int64), np.full((B, T), -1)
        for b, sentence in enumerate(sentences):
            for t, (w, p, y) in enumerate(sentence):
                made["words"][b, t] = words.get(w.lower(), UNKNOWN)
                made["tags"][b, t] = tags.get(p, UNKNOWN)
                chars[b, t, : min(len(w), W)] = [letters.get(c, UNKNOWN) for c in w[:W]]
                labels[b, t] = number.get(y, -1)
        mask = np.arange(T) < np.array([[len(s)] for s in sentences])
        arrays = {**made, "chars": chars, "labels": labels, "mask": mask}
        return {name: torch.from_numpy(x).to(device()) for name, x in arrays.items()}

    def batches(self, size: int, seed: int) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
        """Yield numbers of training sentences of like length, and their batch, in random order."""
        rng = np.random.default_rng(seed)
        lengths = np.array([len(s) for s in self.train]) + rng.random(len(self.train))
        groups = np.array_split(np.argsort(lengths), max(len(lengths) // size, 1))
        for i in rng.permutation(len(groups)):
            chosen = groups[i].tolist()
            yield chosen, self.batch([self.train[j] for j in chosen])

    def f1(self, found: Sequence[Sequence[str]]) -> float:
        """Return the F1 of chunks of the test sentences in percent."""
        gold = [[y for _, _, y in sentence] for sentence in self.test]
        return 100.0 * span_scores(gold, found).overall.f1


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: i + UNKNOWN + 1 for i, name in enumerate(names)}


class Tagger(nn.Module):
    """Embeddings of words and tags, a convolution over letters, a BiLSTM, and scores of labels."""

    def __init__(self, sizes: tuple[int, int, int, int], hidden: int = 100, dropout: float = 0.5) -> None:
        super().__init__()
        words, tags, letters, L = sizes
        self.words = nn.Embedding(words, 100, padding_idx=PAD)
        self.tags = nn.Embedding(tags, 20, padding_idx=PAD)
        self.letters = nn.Embedding(letters, 30, padding_idx=PAD)
        self.shapes = nn.Conv1d(30, 30, 3, padding=1)
        self.lstm = nn.LSTM(150, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, L)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return scores [B, T, L]."""
        B, T, W = batch["chars"].shape
        letters = self.letters(batch["chars"]).view(B * T, W, -1).transpose(1, 2)
        shapes = self.shapes(letters).amax(-1).view(B, T, -1)
        x = torch.cat([self.words(batch["words"]), self.tags(batch["tags"]), shapes], -1)
        scores: Tensor = self.out(self.dropout(self.lstm(self.dropout(x))[0]))
        return scores


Loss = Callable[[Tensor, dict[str, Tensor], list[int]], Tensor]


def trained(
    data: Sentences,
    net: nn.Module,
    head: nn.Module,
    loss: Loss,
    epochs: int,
    seed: int,
    size: int = 32,
    steps: int | None = None,
) -> list[float]:
    """Train by Adam and return the loss of every step; at most `steps` of them."""
    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=2e-3)
    losses = []
    net.train()
    for epoch in range(epochs):
        for chosen, batch in islice(data.batches(size, seed + 1000 * epoch), steps):
            optimizer.zero_grad()
            value = loss(net(batch), batch, chosen)
            value.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            losses.append(value.detach())
    net.eval()
    return torch.stack(losses).tolist() if losses else []


def linear_objective(data: Dataset, layout: Layout, l2: float, iterations: int) -> tuple[float, int]:
    """Return the least loss plus penalty that L-BFGS finds for a linear CRF by torch alone, and its calls.

    Scores are sums of rows of a table over crfkit's attributes, with a weight where `layout` has one.
    """
    from crfkit.torch import functional

    batch, where = data.batch, device()
    node, L = layout.block["node"], layout.labels
    A = len(node.ptr) - 1
    mask = torch.zeros(A * L, dtype=torch.float64)
    mask[torch.from_numpy(np.repeat(np.arange(A), np.diff(node.ptr)) * L + node.cell)] = 1.0
    edge_mask = torch.zeros(L * L, dtype=torch.float64)
    edge_mask[torch.from_numpy(layout.block["transition"].cell.astype(np.int64))] = 1.0
    mask, edge_mask = mask.view(A, L).to(where), edge_mask.view(L, L).to(where)
    weight = torch.zeros(A, L, dtype=torch.float64, device=where, requires_grad=True)
    edge = torch.zeros(L, L, dtype=torch.float64, device=where, requires_grad=True)
    assert batch.label is not None
    arrays = (batch.attr, batch.attr_ptr, batch.seq_ptr, batch.label)
    attr, ptr, ends, labels = (torch.from_numpy(x.astype(np.int64)).to(where) for x in arrays)
    optimizer = torch.optim.LBFGS(
        [weight, edge],
        max_iter=iterations,
        max_eval=2 * iterations,
        history_size=10,
        line_search_fn="strong_wolfe",
        tolerance_change=0.0,
        tolerance_grad=1e-2,
    )
    values: list[float] = []

    def objective() -> Tensor:
        optimizer.zero_grad()
        w, e = weight * mask, edge * edge_mask
        scores = nn.functional.embedding_bag(attr, w, ptr[:-1], mode="sum")  # [P, L]
        loss = functional.chain_loss(scores, e, labels, offsets=ends, reduction="sum")
        total = loss + 0.5 * l2 * ((w**2).sum() + (e**2).sum())
        total.backward()
        values.append(float(total.detach()))
        return total

    optimizer.step(objective)
    return min(values), len(values)
