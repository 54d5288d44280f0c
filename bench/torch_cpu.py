"""crfkit.torch on the CPU against pytorch-crf: loss with gradients, and decoding; interleaved.

    python -m bench.torch_cpu [--quick] [--threads N]

pytorch-crf's `decode` returns lists; ours returns a tensor, and lists as well where it says so. Without
torch or pytorch-crf there is nothing to compare: exit code 2. With one thread the clock is the processor's.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.measure import interleaved, plain, write

SIZES = [(256, 128, 23), (32, 64, 9)]  # B, T, L


def calls(B: int, T: int, L: int) -> dict[str, Callable[[], object]]:
    """Return what is timed: ours and theirs on the same scores, all sequences of full length."""
    import torch
    from torchcrf import CRF

    from crfkit.torch import derivatives, ops

    torch.manual_seed(0)
    theirs = CRF(L, batch_first=True)
    node = torch.randn(B, T, L, requires_grad=True)
    labels = torch.randint(L, (B, T))
    length = torch.full((B,), T, dtype=torch.int32)
    start, edge, stop = (
        x.detach().clone().requires_grad_()
        for x in (theirs.start_transitions, theirs.transitions, theirs.end_transitions)
    )
    chains = (node, length, None, None, start, edge, stop)
    leaves = [node, start, edge, stop]
    weights = [node, theirs.start_transitions, theirs.transitions, theirs.end_transitions]

    def our_loss() -> Any:
        total = derivatives.Loss.apply("chain", labels, None, None, 1.0, *chains)[0]
        return torch.autograd.grad(total, leaves)

    def their_loss() -> Any:
        return torch.autograd.grad(-theirs(node, labels), weights)

    for ours, other in zip(our_loss(), their_loss(), strict=True):
        torch.testing.assert_close(ours, other, rtol=1e-2, atol=5e-3)  # theirs are float32 sums
    with torch.no_grad():
        assert ops.chain.best(*chains)[0].tolist() == theirs.decode(node)

    def our_lists() -> Any:
        with torch.no_grad():
            return ops.chain.best(*chains)[0].tolist()

    return {
        "loss and gradient": our_loss,
        "loss and gradient, pytorch-crf": their_loss,
        "decode": lambda: ops.chain.best(*chains),
        "decode to lists": our_lists,
        "decode, pytorch-crf": lambda: theirs.decode(node),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="three repetitions instead of nine")
    parser.add_argument("--threads", type=int, help="threads of torch and of crfkit")
    options = parser.parse_args()
    try:
        import torch
        import torchcrf  # noqa: F401
    except ImportError as error:
        print(f"{error.name} is not installed: pip install torch pytorch-crf", file=sys.stderr)
        raise SystemExit(2) from error
    if options.threads:
        torch.set_num_threads(options.threads)
    console = Console()
    rows: list[dict[str, Any]] = []
    for B, T, L in SIZES:
        clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
        timings = interleaved(calls(B, T, L), 3 if options.quick else 9, clock=clock)
        table = Table("", "ms", "spread", "times faster", title=f"B {B}, T {T}, L {L}")
        for name, timing in timings.items():
            peer = timings.get(name.split(" to ")[0] + ", pytorch-crf")
            ratio = peer.median / timing.median if peer else None
            table.add_row(
                name,
                f"{timing.median * 1e3:.3f}",
                f"{timing.spread:.0%}",
                f"{ratio:.0f}" if ratio else "",
            )
            size = {"B": B, "T": T, "L": L, "threads": torch.get_num_threads()}
            rows.append({**size, "call": name, "ratio": ratio, "timing": plain(timing)})
        console.print(table)
    console.print(f"written to {write('torch_cpu', rows)}")


if __name__ == "__main__":
    main()
