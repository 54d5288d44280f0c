"""The operators of semi-Markov chains, `torch.ops.crfkit.segment_*`.

A sequence is cut into labeled segments of at most D places:

score = start[y_1] + sum_j (node of its places + duration[d_j - 1, y_j] + segment[b_j, d_j - 1, y_j])
        + sum_{j>1} edge[y_{j-1}, y_j] + stop[y_J]

for segments j that begin at b_j and have d_j places. All take ``node, segment, length, first, index, start,
edge, stop, duration``:

==========  ==================================================================================================
node        [B, T, L] or packed [P, L], or None: scores of places; any strides but 1 for labels
segment     [B, T, D, L] or packed [P, D, L], or None: scores of segments, at the row where they begin;
            those that would run past the end of their sequence are not read. One of the two is given
length, first, index  as in `crfkit.torch.ops`
start, stop [L]; edge [L, L] as ``edge[from, to]``; duration [D, L]: float32 or float64
==========  ==================================================================================================

Gold is ``labels`` int64 and ``begins`` bool, at rows as those of `node`. A place with a label begins a
segment or goes on with one, as `begins` says; a label < 0 is not known, nor, unless `begins` says so, whether
a segment begins there. The first place always begins one. Gold that cannot be, such as a segment of more than
D places, has the loss +inf and no gradient. Answers have the forms of `crfkit.torch.ops`; gradients of scores
that are not given are empty; segmentations are labels int64 (-1 outside) and begins bool (False outside).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from crfkit.torch import segment_cpu
from crfkit.torch.cuda import segment_choose as segment_cuda
from crfkit.torch.registry import register
from crfkit.torch.segment_reference import rows_like, total_dtype

__all__ = ["best", "hvp", "kbest", "log_partition", "loss", "marginals", "sample"]

_SEGMENTS = (
    "Tensor? node, Tensor? segment, Tensor length, Tensor? first, Tensor? index, "
    "Tensor start, Tensor edge, Tensor stop, Tensor duration"
)
_GRADIENT = "Tensor node, Tensor segment, Tensor start, Tensor edge, Tensor stop, Tensor duration"

# Name: what follows the arguments of the segments, and what is returned; see `crfkit.torch.ops`.
_SCHEMAS = {
    "log_partition": ("", "(Tensor logz, Tensor in_logs)"),
    "loss": (
        ", Tensor labels, Tensor begins, Tensor? weight, float scale, bool grad",
        f"(Tensor total, Tensor loss, {_GRADIENT}, Tensor in_logs)",
    ),
    "marginals": (", Tensor weight", f"({_GRADIENT}, Tensor logz, Tensor in_logs)"),
    "hvp": (
        ", Tensor weight, Tensor? along_node, Tensor? along_segment, Tensor along_start, Tensor along_edge, "
        "Tensor along_stop, Tensor along_duration",
        f"({_GRADIENT}, Tensor dot, Tensor logz)",
    ),
    # ties go to the lowest label and then to the shorter segment, from the end to the beginning
    "best": ("", "(Tensor labels, Tensor begins, Tensor score)"),
    "kbest": (", int k", "(Tensor labels, Tensor begins, Tensor score)"),
    "sample": (", int n, Tensor seed", "(Tensor labels, Tensor begins)"),
}


def _values(args: tuple[Any, ...]) -> Tensor:
    return rows_like(args[0], args[1]).new_empty(args[2].shape, dtype=torch.float64)


def _flags(args: tuple[Any, ...]) -> Tensor:
    return rows_like(args[0], args[1]).new_empty(args[2].shape, dtype=torch.uint8)


def _gradients(args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    scores = (args[0], args[1], *args[5:9])
    return tuple(args[5].new_empty(0) if x is None else x.new_empty(x.shape) for x in scores)


def _rows(args: tuple[Any, ...], count: int | None = None) -> tuple[Tensor, Tensor]:
    like, packed = rows_like(args[0], args[1]), args[3] is not None
    shape = list(like.shape[: 1 if packed else 2])
    if count is not None:
        shape.insert(0 if packed else 1, count)
    return like.new_empty(shape, dtype=torch.int64), like.new_empty(shape, dtype=torch.bool)


# What each operator returns, without values: for torch.compile and torch.export.
def _fake_log_partition(*args: Any) -> tuple[Tensor, ...]:
    return _values(args), _flags(args)


def _fake_loss(*args: Any) -> tuple[Tensor, ...]:
    made = _gradients(args) if args[-1] else tuple(args[5].new_empty(0) for _ in range(6))
    total = args[5].new_empty((), dtype=total_dtype(args[0], args[1], args[6]))
    return (total, _values(args), *made, _flags(args))


def _fake_marginals(*args: Any) -> tuple[Tensor, ...]:
    return (*_gradients(args), _values(args), _flags(args))


def _fake_hvp(*args: Any) -> tuple[Tensor, ...]:
    return (*_gradients(args), _values(args), _values(args))


def _fake_best(*args: Any) -> tuple[Tensor, ...]:
    return (*_rows(args), _values(args))


def _fake_kbest(*args: Any) -> tuple[Tensor, ...]:
    score = rows_like(args[0], args[1]).new_empty((args[2].shape[0], args[-1]), dtype=torch.float64)
    return (*_rows(args, args[-1]), score)


def _fake_sample(*args: Any) -> tuple[Tensor, ...]:
    return _rows(args, args[-2])


_FAKES: dict[str, Callable[..., Any]] = {
    "log_partition": _fake_log_partition,
    "loss": _fake_loss,
    "marginals": _fake_marginals,
    "hvp": _fake_hvp,
    "best": _fake_best,
    "kbest": _fake_kbest,
    "sample": _fake_sample,
}


def _register(name: str) -> Callable[..., Any]:
    more, returns = _SCHEMAS[name]
    devices = getattr(segment_cpu, name), getattr(segment_cuda, name)
    return register(f"segment_{name}", _SEGMENTS + more, returns, *devices, _FAKES[name])


log_partition = _register("log_partition")
loss = _register("loss")
marginals = _register("marginals")
hvp = _register("hvp")
best = _register("best")
kbest = _register("kbest")
sample = _register("sample")
