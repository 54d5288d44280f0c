"""CRF layers on a GPU: loss with gradient, and decoding, beside pytorch-crf and torch-struct.

    python -m bench.torch_gpu [--shapes 256,128,23 ...] [--peers FOLDER] [--steps] [--json FILE]

Every figure is the wall time of eager calls, synchronized at the end of a loop; rounds of crfkit and of its
peers take turns, medians and ranges are shown. "decode" of crfkit leaves labels on the device; the list that
pytorch-crf returns is timed too (crfkit.compat.torchcrf). Peers are what is installed, or pure Python sources
in FOLDER. `--steps` adds training steps of a BiLSTM with a CRF (batch 32, 50 positions).

A checkout that is not installed needs ``PYTHONPATH=src``, the built module ``_native.*.so`` in src/crfkit,
NumPy, rich and torch.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from crfkit.compat import torchcrf
from crfkit.torch import CRF

SHAPES = ["256,128,23", "512,128,45", "64,128,256", "8,4096,23", "256,128,9", "64,128,128"]
SHAPES += ["1,100000,9", "32,512,1000"]
MOST = 6e9  # B T L^2 and up: pytorch-crf's graph does not fit
SLOW = 50_000  # positions of a sequence and up: one call of pytorch-crf takes minutes


def seconds(call: Callable[[], object], budget: float, most: int = 200) -> float:
    """Return seconds per call of a loop that fills the budget, the device idle before and after it."""
    torch.cuda.synchronize()
    start = perf_counter()
    call()
    torch.cuda.synchronize()
    first = perf_counter() - start
    count = max(1, min(most, int(budget / max(first, 1e-5))))
    if count == 1:
        return first
    start = perf_counter()
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    return (perf_counter() - start) / count


class Case:
    """One batch, and the calls on it that are compared."""

    def __init__(self, B: int, T: int, L: int, peers: dict[str, Any]) -> None:
        torch.manual_seed(0)
        self.node = torch.randn(B, T, L, device="cuda", requires_grad=True)
        self.labels = torch.randint(L, (B, T), device="cuda")
        self.crf = CRF(L).cuda()
        self.drop_in = torchcrf.CRF(L, batch_first=True).cuda()
        self.calls: dict[str, dict[str, Callable[[], object]]] = {
            "loss": {"crfkit": lambda: self._step(lambda: self.crf.loss(self.node, self.labels))},
            "decode": {
                "crfkit": lambda: self.crf.decode(self.node.detach()),
                "crfkit, lists": lambda: self.drop_in.decode(self.node.detach()),
            },
        }
        if "torchcrf" in peers:
            peer = peers["torchcrf"].CRF(L, batch_first=True).cuda()
            self.calls["loss"]["pytorch-crf"] = lambda: self._step(
                lambda: -peer(self.node, self.labels, reduction="mean")
            )
            self.calls["decode"]["pytorch-crf"] = lambda: peer.decode(self.node.detach())
        if "torch_struct" in peers and L <= 64 and T < 4096:
            dist = peers["torch_struct"].LinearChainCRF
            self.calls["loss"]["torch-struct"] = lambda: self._step(lambda: self._struct_loss(dist))
            self.calls["decode"]["torch-struct"] = lambda: dist(self._edges().detach()).argmax

    def _edges(self) -> Tensor:
        edges = self.node[:, 1:, :, None] + self.crf.edge.T
        first = edges[:, :1] + self.node[:, :1, None, :]
        return torch.cat([first, edges[:, 1:]], 1)  # [B, T - 1, to, from]

    def _struct_loss(self, dist: Any) -> Tensor:
        made = dist(self._edges())
        gold = self.node.gather(2, self.labels[..., None]).sum((1, 2))
        gold = gold + self.crf.edge[self.labels[:, :-1], self.labels[:, 1:]].sum(1)
        return (made.partition - gold).mean()

    def _step(self, loss: Callable[[], Tensor]) -> None:
        self.node.grad = None
        self.crf.zero_grad()
        loss().backward()

    def memory(self) -> float:
        """Return the most that a loss with its gradient takes beside the emissions, as a multiple of them."""
        self._step(lambda: self.crf.loss(self.node, self.labels))
        self.node.grad = None
        self.crf.zero_grad()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        self.crf.loss(self.node, self.labels).backward()
        torch.cuda.synchronize()
        extra = torch.cuda.max_memory_allocated() - before
        return float(extra / (self.node.numel() * self.node.element_size()))

    def same_bits(self) -> bool:
        """Say whether two calls give the same bits."""
        found = []
        for _ in range(2):
            self._step(lambda: self.crf.loss(self.node, self.labels))
            grads = [self.node.grad, *(p.grad for p in self.crf.parameters())]
            found.append([x.clone() for x in grads if x is not None])
        return all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def measured(case: Case, rounds: int, quick: bool) -> dict[str, dict[str, list[float]]]:
    """Return seconds of each call, round by round, crfkit and its peers in turn."""
    found: dict[str, dict[str, list[float]]] = {}
    for what, calls in case.calls.items():
        times: dict[str, list[float]] = {name: [] for name in calls}
        for name in calls:
            if name.startswith("crfkit") or not quick:
                seconds(calls[name], 0.0)  # warm up, compile
        for _ in range(rounds):
            for name, call in calls.items():
                try:
                    times[name].append(seconds(call, 0.15 if name.startswith("crfkit") else 0.0))
                except torch.OutOfMemoryError:
                    times[name].append(float("inf"))
                    torch.cuda.empty_cache()
        found[what] = times
    return found


class Tagger(nn.Module):
    """Embeddings, a BiLSTM, a linear layer and a CRF."""

    def __init__(self, L: int, crf: nn.Module, loss: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.embed = nn.Embedding(20_000, 100)
        self.lstm = nn.LSTM(100, 128, batch_first=True, bidirectional=True)
        self.out = nn.Linear(256, L)
        self.crf = crf
        self.loss = loss

    def forward(self, words: Tensor, labels: Tensor) -> Tensor:
        return self.loss(self.crf, self.out(self.lstm(self.embed(words))[0]), labels)


def steps(peers: dict[str, Any]) -> dict[str, float]:
    """Return seconds of a training step of a BiLSTM with each CRF (batch 32, 50 positions, 23 labels)."""
    words = torch.randint(20_000, (32, 50), device="cuda")
    labels = torch.randint(23, (32, 50), device="cuda")
    layers: dict[str, tuple[nn.Module, Any]] = {
        "crfkit": (CRF(23), lambda crf, x, y: crf.loss(x, y)),
        "none": (nn.Identity(), lambda _, x, y: nn.functional.cross_entropy(x.flatten(0, 1), y.flatten())),
    }
    if "torchcrf" in peers:
        layers["pytorch-crf"] = (
            peers["torchcrf"].CRF(23, batch_first=True),
            lambda crf, x, y: -crf(x, y, reduction="mean"),
        )
    found = {}
    for name, (crf, loss) in layers.items():
        model = Tagger(23, crf, loss).cuda()
        optimizer = torch.optim.Adam(model.parameters())

        def step(model: Tagger = model, optimizer: torch.optim.Optimizer = optimizer) -> None:
            optimizer.zero_grad()
            model(words, labels).backward()
            optimizer.step()

        seconds(step, 0.0)
        found[name] = median(seconds(step, 0.5) for _ in range(3))
    return found


def load_peers(folder: str | None) -> dict[str, Any]:
    """Return the peers that can be imported."""
    if folder:
        sys.path.insert(0, folder)
    found = {}
    for name in ("torchcrf", "torch_struct"):
        try:
            found[name] = import_module(name)
        except ImportError as error:
            print(f"without {name}: {error}", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", default=SHAPES, help="batch,positions,labels")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", metavar="FOLDER", help="where sources of the peers lie")
    parser.add_argument("--steps", action="store_true", help="training steps of a BiLSTM-CRF too")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("this benchmark needs a CUDA device")
        return 2
    peers = load_peers(args.peers)
    card = torch.cuda.get_device_name()
    table = Table(title=f"{card}, torch {torch.__version__}: milliseconds (lowest to highest), times faster")
    for column in ("B,T,L", "call", "who", "ms", "range", "crfkit is", "memory", "same bits"):
        table.add_column(column, justify="left" if column in ("call", "who") else "right")
    results: list[dict[str, Any]] = []
    console = Console(width=120)

    def keep() -> None:
        if args.json:
            with open(args.json, "w") as file:
                json.dump({"card": card, "torch": torch.__version__, "results": results}, file, indent=1)

    if args.steps:
        for name, time in steps(peers).items():
            console.print(f"training step of a BiLSTM, CRF {name}: {time * 1e3:.2f} ms")
            results.append({"shape": "32,50,23", "call": "step", "who": name, "ms": time * 1e3})
    for shape in args.shapes:
        B, T, L = map(int, shape.split(","))
        case = Case(B, T, L, peers if T < SLOW and B * T * L**2 < MOST else {})
        found = measured(case, args.rounds, quick=T >= 4096)
        memory, bits = case.memory(), case.same_bits()
        for what, times in found.items():
            ours = median(times["crfkit"])
            for name, each in times.items():
                mid = median(each)
                row = {"shape": shape, "call": what, "who": name, "ms": mid * 1e3, "ratio": mid / ours}
                row |= {"low": min(each) * 1e3, "high": max(each) * 1e3, "memory": memory, "bits": bits}
                results.append(row)
                note = (f"{memory:.2f}", str(bits)) if name == "crfkit" and what == "loss" else ("", "")
                spread = f"{min(each) * 1e3:.3f}-{max(each) * 1e3:.3f}"
                faster = "" if name == "crfkit" else f"{mid / ours:,.0f}x"
                table.add_row(shape, what, name, f"{mid * 1e3:.3f}", spread, faster, *note)
                print(shape, what, name, f"{mid * 1e3:.3f} ms", f"({spread})", faster, *note, flush=True)
        keep()
        del case
        gc.collect()
        torch.cuda.empty_cache()
    console.print(table)
    keep()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
