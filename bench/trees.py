"""Trees and alignments of crfkit.torch on the CPU beside torch-struct: sums with gradients, best.

    python -m bench.trees [--quick] [--threads N]

Sentences of one length, float32; calls take turns. torch-struct has no best tree that may cross, and its
alignments need a library that is not on PyPI: these stand alone. Without torch or torch-struct there is
nothing to compare: exit code 2.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.measure import interleaved, plain, write

SIZES = [(32, 20), (32, 40)]  # sentences, words
LABELS = 20  # of constituents


def calls(B: int, T: int) -> dict[str, Callable[[], object]]:
    """Return what is timed; theirs have the names of ours with ", torch-struct" behind them."""
    import torch
    import torch_struct

    from crfkit.torch import Alignments, ConstituencyTrees, DependencyTrees

    torch.manual_seed(0)
    arcs = torch.randn(B, T, T, requires_grad=True)
    spans = torch.randn(B, T, T, LABELS, requires_grad=True)
    steps = torch.randn(B, T, T, 3, requires_grad=True)

    def gradient(sums: Callable[[], Any], scores: Any) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(sums().sum(), scores)[0]

    def crossing() -> Any:
        return DependencyTrees(arcs, projective=False)

    made: dict[str, Callable[[], Any]] = {
        "projective, sum and gradient": gradient(
            lambda: DependencyTrees(arcs, multiroot=True).log_partition(), arcs
        ),
        "projective, sum and gradient, torch-struct": gradient(
            lambda: torch_struct.DependencyCRF(arcs).partition, arcs
        ),
        "projective, best": lambda: DependencyTrees(arcs, multiroot=True).best(),
        "projective, best, torch-struct": lambda: torch_struct.DependencyCRF(arcs).argmax,
        "crossing, sum and gradient": gradient(lambda: crossing().log_partition(), arcs),
        "crossing, sum and gradient, torch-struct": gradient(
            lambda: torch_struct.NonProjectiveDependencyCRF(arcs).partition, arcs
        ),
        "crossing, best": lambda: crossing().best(),
        "crossing, 10 draws": lambda: crossing().sample(10),
        "binary, 20 labels, sum and gradient": gradient(
            lambda: ConstituencyTrees(spans).log_partition(), spans
        ),
        "binary, 20 labels, sum and gradient, torch-struct": gradient(
            lambda: torch_struct.TreeCRF(spans).partition, spans
        ),
        "binary, 20 labels, best": lambda: ConstituencyTrees(spans).best(),
        "binary, 20 labels, best, torch-struct": lambda: torch_struct.TreeCRF(spans).argmax,
        "alignment, sum and gradient": gradient(lambda: Alignments(steps).log_partition(), steps),
        "alignment, best": lambda: Alignments(steps).best(),
    }
    for name in ("projective, sum and gradient", "binary, 20 labels, sum and gradient"):
        torch.testing.assert_close(made[name](), made[name + ", torch-struct"](), rtol=1e-3, atol=1e-3)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of nine")
    parser.add_argument("--threads", type=int, help="threads of torch and of crfkit")
    options = parser.parse_args()
    try:
        import torch
        import torch_struct  # noqa: F401
    except ImportError as error:
        print(f"{error.name} is not installed: pip install torch torch-struct", file=sys.stderr)
        raise SystemExit(2) from error
    warnings.simplefilter("ignore", UserWarning)  # torch's own, about torch-struct
    if options.threads:
        torch.set_num_threads(options.threads)
    console = Console()
    rows: list[dict[str, Any]] = []
    for B, T in SIZES:
        clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
        timings = interleaved(calls(B, T), 3 if options.quick else 9, clock=clock)
        table = Table("", "ms", "spread", "times faster", title=f"{B} sentences of {T} words")
        for name, timing in timings.items():
            peer = timings.get(name + ", torch-struct")
            ratio = peer.median / timing.median if peer else None
            table.add_row(
                name, f"{timing.median * 1e3:.3f}", f"{timing.spread:.0%}", f"{ratio:.1f}" if ratio else ""
            )
            size = {"B": B, "T": T, "threads": torch.get_num_threads()}
            rows.append({**size, "call": name, "ratio": ratio, "timing": plain(timing)})
        console.print(table)
    console.print(f"written to {write('trees', rows)}")


if __name__ == "__main__":
    main()
