"""What users give, checked, in the form that operators take: rows of scores, and which of them are chains.

===================================  =======================  ==========================================
node                                 beside it                answers by position
===================================  =======================  ==========================================
[B, T, L], with any strides          mask [B, T] or lengths   [B, T, ...]
[P, L], one sequence after another   offsets or lengths       [P, ...]
`PackedSequence`                     nothing                  [B, T, ...]
nested tensor, jagged, [B, *, L]     nothing                  nested
===================================  =======================  ==========================================

Shapes, types and devices are always checked. Values are looked at only on the CPU: on other devices that
would wait for all work in flight. There, lengths and offsets are held within the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypedDict, cast

import numpy as np
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from crfkit.torch.batches import Edges
from crfkit.torch.rows import in_chain, kept, traced

__all__ = [
    "Conditions",
    "Edges",
    "Lengths",
    "Rows",
    "Scores",
    "SegmentScores",
    "Sequences",
    "Where",
    "Within",
    "check_labels",
    "check_scores",
    "sequences",
    "tables",
    "widened",
]

Lengths: TypeAlias = "Tensor | Sequence[int]"
Rows: TypeAlias = "Tensor | PackedSequence"  # padded, packed, nested


class Where(TypedDict, total=False):
    """What the chains are, where no mask says so."""

    lengths: Lengths | None
    offsets: Lengths | None


class Within(Where, total=False):
    """And the sets of labels, shaped as `node`, that answers keep to."""

    allowed: Rows | None


class Scores(Where, total=False):
    """What queries take by name beside ``node, edge``: `crfkit.torch.functional`."""

    start: Tensor | None
    stop: Tensor | None
    mask: Tensor | None


class Conditions(Scores, Within, total=False):
    """And those that keep to sets of labels."""


class SegmentScores(Scores, total=False):
    """Those of segments: `crfkit.torch.segment_functional`."""

    segment: Rows | None
    length: Tensor | None


_SCORES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _shape(x: Tensor) -> str:
    return str(tuple(x.shape))


def has_shape(x: Tensor, expected: Sequence[int]) -> bool:
    """Compare sizes, if need be one by one: torch.compile does not see that tuples of symbols are equal."""
    if x.shape == expected:
        return True
    return x.ndim == len(expected) and all(a == b for a, b in zip(x.shape, expected, strict=True))


def visible(x: Tensor) -> bool:
    """Tell whether values may be looked at: on the CPU, where there are some, not while a graph is traced."""
    return x.device.type == "cpu" and not traced() and not isinstance(x, FakeTensor)


def check_device_type(device: torch.device) -> None:
    """Raise where the layer has no operators; CUDA devices include those of ROCm."""
    if device.type not in ("cpu", "cuda", "meta"):
        raise ValueError(f"node is on {device}: crfkit.torch computes on the CPU and on CUDA devices")


def _check_dense(x: Tensor, name: str) -> None:
    if x.layout != torch.strided:
        raise ValueError(f"{name} has layout {x.layout}, expected a dense tensor")


def check_labels(scores: Any, count: int, name: str = "node") -> None:
    """Raise where scores are for another number of labels than the layer that takes them."""
    rows = scores.data if isinstance(scores, PackedSequence) else scores
    if isinstance(rows, Tensor) and rows.ndim > 1 and rows.shape[-1] != count:
        found = f"{name} has shape {_shape(rows)}, scores of {rows.shape[-1]} labels"
        raise ValueError(f"{found}, but the layer has {count} labels")


def _is_jagged(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_nested


class Sequences(NamedTuple):
    """Rows of scores, and where the chains lie in them (`crfkit.torch.rows`)."""

    node: Tensor  # [B, T, L] or [P, L]
    length: Tensor  # [B] int32
    first: Tensor | None
    kept: Tensor | None  # [B, T] int32: the rows of a mask, in order
    offsets: Tensor | None = None  # [B + 1] of packed sequences
    nested: bool = False

    def like_node(self, x: Rows, name: str, trailing: tuple[int, ...] = ()) -> Tensor:
        """Return something given for every row of `node`, in its form, checked: labels, sets, tables."""
        if isinstance(x, PackedSequence):
            if self.first is not None:
                raise ValueError(f"{name} is a PackedSequence, but node is not")
            x, lengths = pad_packed_sequence(x, batch_first=True)
            if visible(self.length) and not torch.equal(lengths, self.length.long()):
                raise ValueError(f"{name} and node have sequences of different lengths")
        if _is_jagged(x):
            if not self.nested:
                raise ValueError(f"{name} is a nested tensor, but node is not")
            ends = x.offsets()
            if ends is not self.offsets and visible(ends) and not torch.equal(ends, self.offsets):
                raise ValueError(f"{name} and node have sequences of different lengths")
            x = x.values()
        if not isinstance(x, Tensor):
            raise ValueError(f"{name} is {type(x).__name__}, expected a tensor")
        expected = (*self.node.shape[:-1], *trailing)
        if not has_shape(x, expected):
            raise ValueError(f"{name} has shape {_shape(x)}, expected {expected}")
        self.check_device(x, name)
        return x

    def check_device(self, x: Tensor, name: str) -> None:
        """Raise unless a tensor is dense and on the device of `node`."""
        _check_dense(x, name)
        if x.device != self.node.device:
            raise ValueError(f"{name} is on {x.device}, but node is on {self.node.device}")

    def inside(self) -> Tensor:
        """Return which rows are in chains, shaped as `node` without labels."""
        if self.first is not None:
            rows = torch.arange(self.node.shape[0], device=self.node.device)
            assert self.offsets is not None
            return (rows >= self.offsets[0]) & (rows < self.offsets[-1])
        ordered = in_chain(self.length, self.node.shape[1])
        if self.kept is None:
            return ordered
        return torch.zeros_like(ordered).scatter(1, self.kept.long(), ordered)

    def place(self, row: int) -> str:
        """Return how a message names a row of ``node.flatten(0, -2)``."""
        if self.offsets is None:
            b, t = divmod(row, self.node.shape[1])
        else:
            b = int(torch.searchsorted(self.offsets, row, right=True)) - 1
            t = row - int(self.offsets[b])
        return f"sequence {b}, position {t}"

    def marked(self, x: Tensor, scores: Sequence[Any], log_partition: Callable[[], Tensor]) -> Tensor:
        """Return an answer by position, NaN for sequences whose log Z is, where the CPU's operators say 0."""
        if not visible(x) or all(s is None or s.detach().sum() < torch.inf for s in scores):
            return x
        bad = log_partition().isnan()  # [B]
        if not bad.any():
            return x
        if self.first is not None:
            wrong = bad.repeat_interleave(self.length, output_size=x.shape[0])
        else:
            wrong = (bad[:, None] & self.inside())[:, self.node.shape[1] - x.shape[1] :]
        return x.masked_fill(wrong.view(*wrong.shape, *(1,) * (x.ndim - wrong.ndim)), torch.nan)

    def given_back(self, x: Tensor, leading: int = 0) -> Tensor:
        """Return an answer by position, nested where `node` was; `leading` axes come before positions."""
        if not self.nested:
            return x
        if leading:  # [n, P] -> [B, *, n]: the ragged axis must follow that of sequences
            x = x.movedim(0, 1)
        return torch.nested.nested_tensor_from_jagged(x, self.offsets)


def _int_vector(x: Lengths, name: str, size: int | None, device: torch.device) -> Tensor:
    if not isinstance(x, Tensor):
        try:
            x = torch.as_tensor(x)
        except (TypeError, ValueError, RuntimeError):
            raise ValueError(f"{name} is {str(x)[:80]}, expected whole numbers") from None
        if not x.numel():
            x = x.to(torch.int64)
    _check_dense(x, name)
    if x.dtype not in _WHOLE or x.ndim != 1 or (size is not None and x.shape[0] != size):
        wanted = "one axis" if size is None else f"shape ({size},)"
        raise ValueError(f"{name} has shape {_shape(x)} and type {x.dtype}, expected {wanted}, whole numbers")
    return x.to(torch.int64)  # int8 cannot be compared with 200


def _padded(node: Tensor, mask: Tensor | None, lengths: Lengths | None) -> Sequences:
    (B, T, _), device = node.shape, node.device
    if mask is not None:
        if not isinstance(mask, Tensor):
            raise ValueError(f"mask is {type(mask).__name__}, expected a tensor")
        _check_dense(mask, "mask")
        if not has_shape(mask, (B, T)):
            raise ValueError(f"mask has shape {_shape(mask)}, expected ({B}, {T})")
        if mask.dtype != torch.bool and mask.dtype not in _WHOLE:
            raise ValueError(f"mask has type {mask.dtype}, expected torch.bool or whole numbers")
        if mask.device != device:
            raise ValueError(f"mask is on {mask.device}, but node is on {device}")
        return _masked(node, mask if mask.dtype == torch.bool else mask != 0)
    if lengths is None:
        return Sequences(node, torch.full((B,), T, dtype=torch.int32, device=device), None, None)
    length = _int_vector(lengths, "lengths", B, device)
    if not visible(length):
        length = length.clamp(0, T)
    elif B and not (length.min() >= 0 and length.max() <= T):
        b = int(((length < 0) | (length > T)).nonzero()[0])
        raise ValueError(f"lengths[{b}] is {int(length[b])}, expected 0 to {T}")
    return Sequences(node, length.to(device, torch.int32), None, None)


def _masked(node: Tensor, mask: Tensor) -> Sequences:
    if visible(mask):
        seen = mask.numpy()  # the same memory; NumPy's calls are short, and small batches need that
        if not (seen[:, 1:] > seen[:, :-1]).any():  # padding at the end alone
            return Sequences(node, torch.from_numpy(seen.sum(1, dtype=np.int32)), None, None)
    length, index = kept(mask)
    return Sequences(node, length, None, index)


def _packed(node: Tensor, lengths: Lengths | None, offsets: Lengths | None, nested: bool) -> Sequences:
    P = node.shape[0]
    if offsets is None:
        assert lengths is not None
        length = _int_vector(lengths, "lengths", None, node.device)
        ends = torch.cat([length.new_zeros(1), length.cumsum(0)])
    else:
        ends = _int_vector(offsets, "offsets", None, node.device)
        if ends.shape[0] < 1:
            raise ValueError("offsets is empty, expected 0 and the end of each sequence")
    if visible(ends):
        steps = ends[1:] - ends[:-1]
        if int(ends[0]) != 0 or int(ends[-1]) != P or (steps < 0).any():
            name = "lengths" if offsets is None else "offsets"
            wanted = f"a sum of {P}" if offsets is None else f"rising from 0 to {P}"
            raise ValueError(f"{name} does not fit node, which has {P} rows: expected {wanted}")
    else:
        ends = ends.clamp(0, P)
    ends = ends.to(node.device)
    length = (ends[1:] - ends[:-1]).clamp(min=0).to(torch.int32)
    return Sequences(node, length, ends[:-1], None, ends, nested)


def sequences(
    node: Rows,
    mask: Tensor | None = None,
    lengths: Lengths | None = None,
    offsets: Lengths | None = None,
) -> Sequences:
    """Return the rows of scores of a batch, and where its chains lie.

    Examples
    --------
    >>> sequences(torch.zeros(2, 3, 5), lengths=[3, 1]).length
    tensor([3, 1], dtype=torch.int32)
    """
    if not traced() and torch._C._are_functorch_transforms_active():
        raise RuntimeError(
            "crfkit.torch does not take the transforms of torch.func, such as vmap and grad: use "
            "torch.autograd.grad, and a batch in the place of vmap (reduction='none' returns each loss)"
        )
    given: list[str] = []
    if not (mask is None and lengths is None and offsets is None):
        ways = {"mask": mask, "lengths": lengths, "offsets": offsets}
        given = [name for name, x in ways.items() if x is not None]
    if len(given) > 1:
        raise ValueError(f"{given[0]} and {given[1]} are both given; give one of them")
    nested = _is_jagged(node)
    if given and (isinstance(node, PackedSequence) or nested):
        raise ValueError(f"node is a {type(node).__name__}, which has its own lengths: omit {given[0]}")
    if isinstance(node, PackedSequence):
        if node.data.ndim != 2:
            raise ValueError(f"node holds rows of shape {_shape(node.data)}, expected (positions, labels)")
        node, lengths = pad_packed_sequence(node, batch_first=True)
    elif nested:
        if node.layout != torch.jagged or node.lengths() is not None:
            raise ValueError("node is a nested tensor, expected layout torch.jagged without holes")
        offsets, node = node.offsets(), node.values()
    if not isinstance(node, Tensor):
        raise ValueError(f"node is {type(node).__name__}, expected a tensor")
    if node.dtype not in _SCORES:
        raise ValueError(f"node has type {node.dtype}, expected float16, bfloat16, float32 or float64")
    _check_dense(node, "node")
    check_device_type(node.device)
    if node.ndim not in (2, 3) or node.shape[-1] == 0:
        raise ValueError(f"node has shape {_shape(node)}, expected (B, T, L), or packed (P, L)")
    if node.stride(-1) != 1:
        node = node.contiguous()
    if node.ndim == 3:
        if offsets is not None:
            raise ValueError("offsets is given, but node is padded: give lengths or mask")
        return _padded(node, mask, lengths)
    if mask is not None or (lengths is None and offsets is None):
        raise ValueError("node has rows of packed sequences (P, L): give offsets or lengths with them")
    return _packed(node, lengths, offsets, nested)


def _vector(x: Tensor | None, name: str, found: Sequences) -> Tensor:
    L = found.node.shape[-1]
    if x is None:
        wide = found.node.dtype == torch.float64
        return found.node.new_zeros(L, dtype=torch.float64 if wide else torch.float32)
    check_scores(x, name, found)
    if not has_shape(x, (L,)):
        raise ValueError(f"{name} has shape {_shape(x)}, expected ({L},): node has {L} labels")
    return widened(x)


def check_scores(x: Any, name: str, found: Sequences) -> None:
    """Raise unless something is a tensor of a floating type on the device of `node`."""
    if not isinstance(x, Tensor):
        raise ValueError(f"{name} is {type(x).__name__}, expected a tensor")
    if x.dtype not in _SCORES:
        raise ValueError(f"{name} has type {x.dtype}, expected float16, bfloat16, float32 or float64")
    found.check_device(x, name)


def widened(x: Tensor) -> Tensor:
    """Return scores of half precision in float32, others as they are."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def tables(
    found: Sequences, start: Tensor | None, edge: Edges | PackedSequence, stop: Tensor | None
) -> tuple[Tensor, Edges, Tensor]:
    """Return scores of ends and steps, checked; those of half precision widened."""
    node, L = found.node, found.node.shape[-1]
    first, last = _vector(start, "start", found), _vector(stop, "stop", found)
    if isinstance(edge, list | tuple) and not isinstance(edge, PackedSequence):
        for h, table in enumerate(edge):
            check_scores(table, f"edge[{h}]", found)
            if not has_shape(table, (L,) * (h + 2)):
                raise ValueError(f"edge[{h}] has shape {_shape(table)}, expected {(L,) * (h + 2)}")
        if not edge:
            raise ValueError("edge lists no tables, expected one for each order")
        return first, widened(edge[0]) if len(edge) == 1 else [widened(table) for table in edge], last
    if isinstance(edge, PackedSequence) or _is_jagged(edge):
        edge = found.like_node(edge, "edge", (L, L))
    check_scores(edge, "edge", found)
    table = cast(Tensor, edge)
    if has_shape(table, (L, L)):
        return first, widened(table), last
    allowed = [(L, L), (*node.shape[:-1], L, L)]
    if node.ndim == 3:
        allowed.append((node.shape[0], node.shape[1] - 1, L, L))
    if not any(has_shape(table, shape) for shape in allowed):
        raise ValueError(f"edge has shape {_shape(table)}, expected {' or '.join(map(str, allowed))}")
    return first, widened(table), last
