"""A BiLSTM with a CRF layer, trained on made-up addresses. Needs PyTorch.

python examples/bilstm_crf.py --epochs 5 --device cuda
"""

from __future__ import annotations

import argparse

import torch
from torch.nn.utils.rnn import pad_sequence

from crfkit import Doc, datasets
from crfkit.torch import CRF


class Tagger(torch.nn.Module):
    """Words to labels: embedding, BiLSTM, scores, CRF."""

    def __init__(self, words: int, labels: list[str], size: int = 64) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(words, size, padding_idx=0)
        self.lstm = torch.nn.LSTM(size, size, batch_first=True, bidirectional=True)
        self.scores = torch.nn.Linear(2 * size, len(labels))
        self.crf = CRF(labels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.scores(self.lstm(self.embedding(x))[0])
        return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--lines", type=int, default=2000)
    given = parser.parse_args()
    torch.manual_seed(0)
    made = datasets.make_addresses(given.lines)
    labels = sorted({label for doc in made.train for label in doc.labels or ()})
    words = {word: i for i, word in enumerate({w.lower() for d in made.train for w in d.text.split()}, 2)}

    def coded(docs: list[Doc]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x = [torch.tensor([words.get(w.lower(), 1) for w in doc.text.split()]) for doc in docs]
        y = [torch.tensor([labels.index(label) for label in doc.labels or ()]) for doc in docs]
        padded = pad_sequence(x, batch_first=True)
        gold = pad_sequence(y, batch_first=True, padding_value=-100)
        return padded.to(given.device), gold.to(given.device), (padded > 0).to(given.device)

    model = Tagger(len(words) + 2, labels).to(given.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(1, given.epochs + 1):
        for start in range(0, len(made.train), 64):
            x, y, mask = coded(made.train[start : start + 64])
            optimizer.zero_grad()
            loss = model.crf.loss(model(x), y, mask)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            x, y, mask = coded(made.test)
            best = model.crf.decode(model(x), mask).labels
        right = ((best == y) & mask).sum() / mask.sum()
        print(f"epoch {epoch}: loss {loss.item():.2f}, accuracy {right.item():.3f}")


if __name__ == "__main__":
    main()
