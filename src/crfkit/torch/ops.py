"""The operators of three structures, `torch.ops.crfkit.*`: a schema, an implementation for each device.

`chain`, chains of order 1, take ``node, length, first, index, start, edge, stop``:

==========  ==================================================================================================
node        [B, T, L] with any strides but 1 for labels, or packed [P, L]; float16, bfloat16, float32, float64
length      [B] int32: positions of each chain
first       [B] int64 or None: the row of `node` where a packed sequence begins
index       [B, T] int32 or None: where the places of a chain lie (`crfkit.torch.rows`)
start, stop [L] float32 or float64
edge        [L, L] as ``edge[from, to]``; or, with any strides, [B, T, L, L] (packed: [P, L, L]) whose entry t
            is the step into row t, or [B, T - 1, L, L] whose entry t is the step from row t to row t + 1
==========  ==================================================================================================

and answer in these forms: values (log Z, losses, scores) [B] float64; gradients shaped and typed as what they
are gradients of, 0 at rows that are in no chain; labels int64 [B, T] or packed [P], -1 at such rows and where
nothing is allowed. An empty sequence has one labeling, of score 0. Where nothing is allowed log Z is -inf,
the loss +inf, and all gradients of that sequence are 0. NaN or +inf among the scores of a sequence makes its
own values NaN; on the CPU all gradients of that sequence are 0, on CUDA devices they may be NaN. Every
implementation is deterministic: sums over sequences are made in their order. Labels of gold that are negative
are not known; of chains on the CPU others than -1 and -100 are errors, as labels of L and more are.

`order`, chains of order k, take a list ``edges`` in the place of `edge`: table h has h + 1 axes,
``[L, ..., L]``, over the last h + 1 labels, and at place t the tables 1 to min(t, k) add up. Gradients are
lists. On CUDA devices chains over histories answer (`crfkit.torch.cuda.orders`), or the reference where their
table would be too large.

`segment`, semi-Markov chains, cut a sequence into labeled segments of at most D places:

score = start[y_1] + sum_j (node of its places + duration[d_j - 1, y_j] + segment[b_j, d_j - 1, y_j])
        + sum_{j>1} edge[y_{j-1}, y_j] + stop[y_J]

for segments j that begin at b_j and have d_j places. They take ``node, segment, length, first, index, start,
edge, stop, duration``:

==========  ==================================================================================================
node        as above, or None
segment     [B, T, D, L] or packed [P, D, L], or None: scores of segments, at the row where they begin;
            those that would run past the end of their sequence are not read. One of the two is given
edge        [L, L]; duration [D, L]: float32 or float64
==========  ==================================================================================================

Gold is ``labels`` int64 and ``begins`` bool, at rows as those of `node`. A place with a label begins a
segment or goes on with one, as `begins` says; a label < 0 is not known, nor, unless `begins` says so, whether
a segment begins there. The first place always begins one. Gold that cannot be, such as a segment of more than
D places, has the loss +inf and no gradient. Gradients of scores that are not given are empty; segmentations
are labels int64 (-1 outside) and begins bool (False outside).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from crfkit.torch import cpu, reference, segment_cpu
from crfkit.torch.batches import Batch, Chain, Segments
from crfkit.torch.cuda import run
from crfkit.torch.registry import register

__all__ = ["Operators", "chain", "order", "segment"]


class Operators(NamedTuple):
    """The operators of one structure."""

    #: log Z, and 1 where it was summed in log space
    log_partition: Callable[..., Any]
    #: sum_b scale * weight[b] * loss[b] as one number; losses; the number's gradient (empty without `grad`)
    loss: Callable[..., Any]
    #: the gradient of sum_b weight[b] * log Z[b], and log Z
    marginals: Callable[..., Any]
    #: the Hessian of that times a direction; <marginals, direction> and log Z of each sequence
    hvp: Callable[..., Any]
    #: the best labeling; ties go to the lowest label, then to the shorter segment, from the end on
    best: Callable[..., Any]
    #: [B, k, T] or packed [k, P], and scores [B, k], -inf beyond those that exist
    kbest: Callable[..., Any]
    #: [B, n, T] or packed [n, P]; seed [1] int64 on the device of node
    sample: Callable[..., Any]


def _arguments(batch: str, gold: str, along: str, gradient: str, path: str, drawn: str) -> dict[str, str]:
    """Return the schemas of one structure."""
    return {
        "log_partition": f"({batch}) -> (Tensor logz, Tensor in_logs)",
        "loss": f"({batch}, {gold}, Tensor? weight, float scale, bool grad)"
        f" -> (Tensor total, Tensor loss, {gradient}, Tensor in_logs)",
        "marginals": f"({batch}, Tensor weight) -> ({gradient}, Tensor logz, Tensor in_logs)",
        "hvp": f"({batch}, Tensor weight, {along}) -> ({gradient}, Tensor dot, Tensor logz)",
        "best": f"({batch}) -> ({path}, Tensor score)",
        "kbest": f"({batch}, int k) -> ({path}, Tensor score)",
        "sample": f"({batch}, int n, Tensor seed) -> {drawn}",
    }


_PLACES = "Tensor length, Tensor? first, Tensor? index"
_CHAIN = _arguments(
    f"Tensor node, {_PLACES}, Tensor start, Tensor edge, Tensor stop",
    "Tensor labels",
    "Tensor along_node, Tensor along_start, Tensor along_edge, Tensor along_stop",
    "Tensor node, Tensor start, Tensor edge, Tensor stop",
    "Tensor labels",
    "Tensor labels",
)
_ORDER = _arguments(
    f"Tensor node, {_PLACES}, Tensor start, Tensor[] edges, Tensor stop",
    "Tensor labels",
    "Tensor[] along",
    "Tensor[] gradient",
    "Tensor labels",
    "Tensor labels",
)
_SEGMENT = _arguments(
    f"Tensor? node, Tensor? segment, {_PLACES}, Tensor start, Tensor edge, Tensor stop, Tensor duration",
    "Tensor labels, Tensor begins",
    "Tensor? along_node, Tensor? along_segment, Tensor along_start, Tensor along_edge, Tensor along_stop, "
    "Tensor along_duration",
    "Tensor node, Tensor segment, Tensor start, Tensor edge, Tensor stop, Tensor duration",
    "Tensor labels, Tensor begins",
    "(Tensor labels, Tensor begins)",
)


# What each operator returns, without values: for torch.compile and torch.export.
def _values(batch: Batch, *more: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return batch.start.new_empty((*batch.length.shape, *more), dtype=dtype)


def _gradients(batch: Batch, grad: bool = True) -> list[Tensor]:
    if not grad:
        return batch.nothing()
    return [batch.start.new_empty(0) if x is None else x.new_empty(x.shape) for x in batch.scores]


def _rows(batch: Batch, count: int | None = None) -> tuple[Tensor, ...]:
    packed = batch.first is not None
    shape = list(batch.like.shape[: 1 if packed else 2])
    if count is not None:
        shape.insert(0 if packed else 1, count)
    kinds = (torch.int64, torch.bool) if isinstance(batch, Segments) else (torch.int64,)
    return tuple(batch.like.new_empty(shape, dtype=kind) for kind in kinds)


def _flags(batch: Batch) -> Tensor:
    return _values(batch, dtype=torch.uint8)


def _fake_loss(batch: Batch, *more: Any) -> tuple[Tensor, ...]:
    total = batch.start.new_empty((), dtype=batch.total_dtype)
    return (total, _values(batch), *_gradients(batch, more[-1]), _flags(batch))


def _fake_sample(batch: Batch, n: int, seed: Tensor) -> Any:
    found = _rows(batch, n)
    return found if isinstance(batch, Segments) else found[0]


_FAKES: dict[str, Callable[..., Any]] = {
    "log_partition": lambda batch: (_values(batch), _flags(batch)),
    "loss": _fake_loss,
    "marginals": lambda batch, weight: (*_gradients(batch), _values(batch), _flags(batch)),
    "hvp": lambda batch, *more: (*_gradients(batch), _values(batch), _values(batch)),
    "best": lambda batch: (*_rows(batch), _values(batch)),
    "kbest": lambda batch, k: (*_rows(batch, k), _values(batch, k)),
    "sample": _fake_sample,
}


def _order_hvp(batch: Chain, weight: Tensor, along: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """By the reference; a sequence with NaN or +inf among its scores has no part in the products."""
    return reference.sound(cpu.log_partition(batch)[0].isnan(), batch, weight, along)


def _hvp_on_cuda(batch: Chain, weight: Tensor, along: Sequence[Tensor]) -> Any:
    return run("hvp", batch, weight, *along)


def _listed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of chains of order k whose gradients, in the midst of its answers, are a list."""
    before = {"loss": 2, "marginals": 0, "hvp": 0}.get(name)
    after = 1 if name == "loss" else 2
    if before is None:
        return function

    def listed(*args: Any) -> tuple[Any, ...]:
        found = function(*args)
        return (*found[:before], list(found[before:-after]), *found[-after:])

    return listed


def _order(name: str) -> Callable[..., Any]:
    by_cpu: Callable[..., Any] = _order_hvp if name == "hvp" else getattr(cpu, name)
    by_cuda = _hvp_on_cuda if name == "hvp" else partial(run, name)
    forms = (_listed(name, function) for function in (by_cpu, by_cuda, _FAKES[name]))
    return register(f"order_{name}", _ORDER[name], Chain, *forms)


def _registered(prefix: str, schemas: dict[str, str], batch: type[Any], by_cpu: Any) -> Operators:
    return Operators(
        *(
            register(
                f"{prefix}_{name}",
                schemas[name],
                batch,
                getattr(by_cpu, name),
                partial(run, name),
                _FAKES[name],
            )
            for name in Operators._fields
        )
    )


chain = _registered("chain", _CHAIN, Chain, cpu)
segment = _registered("segment", _SEGMENT, Segments, segment_cpu)
order = Operators(*(_order(name) for name in Operators._fields))
