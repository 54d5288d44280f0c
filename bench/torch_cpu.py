"""crfkit.torch on the CPU against pytorch-crf: loss with gradients, and decoding; interleaved.

The smallest size says what a call costs the host; what autograd takes for nothing stands beside.

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

SIZES = [(256, 128, 23), (32, 64, 9), (1, 2, 2)]  # B, T, L


def calls(B: int, T: int, L: int) -> dict[str, Callable[[], object]]:
    """Return what is timed: ours and theirs on the same scores, all sequences of full length."""
    import torch
    import torchcrf

    from crfkit.torch import CRF

    class Nothing(torch.autograd.Function):
        """A function that hands back a number and its inputs."""

        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            ctx.save_for_backward(*given)
            return given[0].new_empty(())

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            return ctx.saved_tensors

    torch.manual_seed(0)
    theirs, ours = torchcrf.CRF(L, batch_first=True), CRF(L)
    weights = [theirs.start_transitions, theirs.transitions, theirs.end_transitions]
    with torch.no_grad():
        for own, other in zip((ours.start, ours.edge, ours.stop), weights, strict=True):
            own.copy_(other)
    node = torch.randn(B, T, L, requires_grad=True)
    labels = torch.randint(L, (B, T))
    leaves = [node, ours.start, ours.edge, ours.stop]

    def our_loss() -> Any:
        return torch.autograd.grad(ours.loss(node, labels, reduction="sum"), leaves)

    def their_loss() -> Any:
        return torch.autograd.grad(-theirs(node, labels), [node, *weights])

    for mine, other in zip(our_loss(), their_loss(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-2, atol=5e-3)  # theirs are float32 sums
    assert ours.decode(node).lists() == theirs.decode(node)

    def nothing() -> Any:
        return torch.autograd.grad(Nothing.apply(*leaves), leaves)

    return {
        "loss and gradient": our_loss,
        "loss and gradient, pytorch-crf": their_loss,
        "decode": lambda: ours.decode(node),
        "decode to lists": lambda: ours.decode(node).lists(),
        "decode, pytorch-crf": lambda: theirs.decode(node),
        "a function of autograd that does nothing": lambda: torch.autograd.grad(
            Nothing.apply(*leaves), leaves
        ),
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
