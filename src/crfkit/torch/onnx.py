"""ONNX files that decode batches: Viterbi as two `Scan` operators, for any number and length of sequences.

A graph that holds ``crfkit::chain_best`` is exported by a translation of that operator::

    forward   alpha_t[j] = max_i (alpha_{t-1}[i] + edge[i, j]) + node_t[j], and which i it was; a place behind
              the end of its sequence leaves alpha as it is
    backward  y_{t-1} = the i of y_t

and one that holds ``crfkit::segment_best`` likewise, with the scores of the D segments that may end at t
beside alpha. All is in float64, as in the operators themselves, so that labels are the same. A file needs
opset 18 and nothing of crfkit; it takes sequences of one position or more in a batch.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable
from typing import Any

import torch
from onnxscript import DOUBLE, INT64, graph, ir, script
from onnxscript import opset18 as op
from torch import Tensor, nn

from crfkit.torch import ops
from crfkit.torch.chain import CRF
from crfkit.torch.segment_module import SegmentCRF
from crfkit.torch.serving import Decoder

__all__ = ["export", "translations"]

_DOUBLE, _INT64, _BOOL = 11, 7, 9  # onnx.TensorProto


@script(default_opset=op)
def viterbi(node: DOUBLE, length: INT64, start: DOUBLE, edge: DOUBLE, stop: DOUBLE) -> tuple[INT64, DOUBLE]:
    """Return labels [B, T] of rows [B, T, L], and scores [B]; behind the end labels repeat the last one."""
    zero = op.Constant(value_ints=[0])
    begin = op.Constant(value_int=0)
    by = op.Constant(value_int=1)
    axis = op.Constant(value_ints=[1])
    places = op.Range(begin, op.Squeeze(op.Shape(node, start=1, end=2), zero), by)  # [T]
    numbers = op.Range(begin, op.Squeeze(op.Shape(node, start=2, end=3), zero), by)
    itself = op.Unsqueeze(numbers, zero)  # [1, L]; no name of an output may occur here
    rows = op.Transpose(node, perm=[1, 0, 2])  # [T, B, L]
    size = op.Concat(op.Shape(node, start=0, end=1), op.Shape(node, start=2, end=3), axis=0)
    nothing = op.Expand(op.Cast(op.Constant(value_float=0.0), to=11), size)  # [B, L]

    @graph()
    def step(alpha, row, t):
        longer = op.Unsqueeze(alpha, op.Constant(value_ints=[2])) + edge  # [B, from, to]
        inside = op.Unsqueeze(op.Less(t, length), op.Constant(value_ints=[1]))
        further = op.ReduceMax(longer, op.Constant(value_ints=[1]), keepdims=0)
        first = op.Equal(t, op.Constant(value_int=0))
        after = op.Where(inside, op.Where(first, start, further) + row, alpha)
        pointer = op.Where(inside, op.ArgMax(longer, axis=1, keepdims=0), itself)
        return after, pointer

    alpha, pointers = op.Scan(nothing, rows, places, body=step, num_scan_inputs=2)
    ended = alpha + stop
    top = op.ReduceMax(ended, axis, keepdims=0)
    last = op.ArgMax(ended, axis=1, keepdims=1)  # [B, 1]; the lowest of equals

    @graph()
    def back(now, pointer):
        before = op.GatherElements(pointer, now, axis=1)
        label = op.Identity(now)
        return before, label

    _, path = op.Scan(
        last, pointers, body=back, num_scan_inputs=1, scan_input_directions=[1], scan_output_directions=[1]
    )
    return op.Transpose(op.Squeeze(path, op.Constant(value_ints=[2])), perm=[1, 0]), top


@script(default_opset=op)
def segments(
    node: DOUBLE, length: INT64, start: DOUBLE, edge: DOUBLE, stop: DOUBLE, duration: DOUBLE
) -> tuple[INT64, INT64, DOUBLE]:
    """Return labels and begins [B, T] of rows [B, T, L], and scores [B]; -1 and 0 behind the end."""
    zero = op.Constant(value_ints=[0])
    begin = op.Constant(value_int=0)
    by = op.Constant(value_int=1)
    axis = op.Constant(value_ints=[1])
    places = op.Range(begin, op.Squeeze(op.Shape(node, start=1, end=2), zero), by)  # [T]
    rows = op.Transpose(node, perm=[1, 0, 2])  # [T, B, L]
    batch = op.Shape(node, start=0, end=1)
    null = op.Cast(op.Constant(value_float=0.0), to=11)
    nothing = op.Expand(null, op.Concat(batch, op.Shape(node, start=2, end=3), axis=0))  # [B, L]
    never = op.Expand(op.Log(null), op.Concat(batch, op.Shape(duration), axis=0))  # [B, D, L]

    @graph()
    def step(alpha, lasting, row, t):
        longer = op.Unsqueeze(alpha, op.Constant(value_ints=[2])) + edge  # [B, from, to]
        further = op.ReduceMax(longer, op.Constant(value_ints=[1]), keepdims=0)
        enter = op.Where(op.Equal(t, op.Constant(value_int=0)), start + nothing, further)
        older = op.Slice(
            lasting, op.Constant(value_ints=[0]), op.Constant(value_ints=[-1]), op.Constant(value_ints=[1])
        )
        entered = op.Unsqueeze(enter, op.Constant(value_ints=[1]))
        now = op.Concat(entered, older, axis=1) + op.Unsqueeze(row, op.Constant(value_ints=[1]))
        scored = now + duration  # [B, D, L]: segments that end here
        inside = op.Unsqueeze(op.Less(t, length), op.Constant(value_ints=[1]))
        after = op.Where(inside, op.ReduceMax(scored, op.Constant(value_ints=[1]), keepdims=0), alpha)
        before = op.ArgMax(longer, axis=1, keepdims=0)
        took = op.ArgMax(scored, axis=1, keepdims=0)
        return after, now, before, took

    alpha, _, pointers, sizes = op.Scan(nothing, never, rows, places, body=step, num_scan_inputs=2)
    ended = alpha + stop
    top = op.ReduceMax(ended, axis, keepdims=0)
    last = op.ArgMax(ended, axis=1, keepdims=1)  # [B, 1]; the lowest of equals
    none = last - last

    @graph()
    def back(label, left, before, took, t):
        inside = op.Unsqueeze(op.Less(t, length), op.Constant(value_ints=[1]))
        ends = op.Equal(left, op.Constant(value_int=0))  # a segment ends here
        size = op.Where(ends, op.GatherElements(took, label, axis=1) + op.Constant(value_int=1), left)
        begins = op.And(inside, op.Equal(size, op.Constant(value_int=1)))
        other = op.Where(begins, op.GatherElements(before, label, axis=1), label)
        rest = op.Where(inside, size - op.Constant(value_int=1), left)
        here = op.Where(inside, label, op.Constant(value_int=-1))
        flag = op.Cast(begins, to=7)
        return other, rest, here, flag

    _, _, path, starts = op.Scan(
        last,
        none,
        pointers,
        sizes,
        places,
        body=back,
        num_scan_inputs=3,
        scan_input_directions=[1, 1, 1],
        scan_output_directions=[1, 1],
    )
    labels = op.Transpose(op.Squeeze(path, op.Constant(value_ints=[2])), perm=[1, 0])
    flags = op.Transpose(op.Squeeze(starts, op.Constant(value_ints=[2])), perm=[1, 0])
    return labels, flags, top


def _best(node, length, first, index, start, edge, stop):
    if first is not None or len(edge.shape) != 2:
        raise ValueError("ONNX files decode padded batches with one table of edges")
    rows, n = _ordered(node, index), op.Cast(length, to=_INT64)
    path, score = viterbi(rows, n, *(op.Cast(x, to=_DOUBLE) for x in (start, edge, stop)))
    (path,), score = _judged([(path, -1)], score, rows, n, index)
    return path, score


def _best_segments(node, segment, length, first, index, start, edge, stop, duration):
    if first is not None or segment is not None or node is None:
        raise ValueError("ONNX files decode padded batches of scores by position")
    rows, n = _ordered(node, index), op.Cast(length, to=_INT64)
    tables = (op.Cast(x, to=_DOUBLE) for x in (start, edge, stop, duration))
    path, begins, score = segments(rows, n, *tables)
    (path, begins), score = _judged([(path, -1), (begins, 0)], score, rows, n, index)
    return path, op.Cast(begins, to=_BOOL), score


def _ordered(node, index):
    """Return rows in the order of chains, in float64."""
    rows = op.Cast(node, to=_DOUBLE)
    if index is None:
        return rows
    wide = op.Expand(op.Unsqueeze(op.Cast(index, to=_INT64), op.Constant(value_ints=[2])), op.Shape(rows))
    return op.GatherElements(rows, wide, axis=1)


def _judged(paths, score, rows, n, index):
    """Return answers by row, what stands for none behind ends and where nothing is possible, and scores."""
    axis, one = op.Constant(value_ints=[1]), op.Constant(value_int=1)
    place = op.CumSum(op.Expand(one, op.Shape(paths[0][0])), one, exclusive=1)  # [B, T] 0, 1, ...
    inside = op.Less(place, op.Unsqueeze(n, axis))
    wrong = op.Or(op.IsNaN(rows), op.IsInf(rows, detect_negative=0))  # [B, T, L]
    wrong = op.ReduceMax(op.Cast(wrong, to=_INT64), op.Constant(value_ints=[2]), keepdims=0)
    wrong = op.ReduceMax(op.Where(inside, wrong, op.Constant(value_int=0)), axis, keepdims=0)  # [B]
    sound = op.Equal(wrong, op.Constant(value_int=0))
    possible = op.Unsqueeze(op.And(sound, op.Not(op.IsInf(score, detect_positive=0))), axis)
    found = []
    for path, none in paths:
        kept = op.Where(op.And(inside, possible), path, op.Constant(value_int=none))
        if index is not None:
            kept = op.ScatterElements(kept, op.Cast(index, to=_INT64), kept, axis=1)
        found.append(kept)
    score = op.Where(sound, score, op.Cast(op.Constant(value_float=math.nan), to=_DOUBLE))
    zero = op.Cast(op.Constant(value_float=0.0), to=_DOUBLE)
    return found, op.Where(op.Equal(n, op.Constant(value_int=0)), zero, score)


def translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the table for ``torch.onnx.export(..., dynamo=True, custom_translation_table=...)``.

    Examples
    --------
    >>> [operator.name() for operator in translations()]
    ['crfkit::chain_best', 'crfkit::segment_best']
    """
    return {ops.chain.best: _best, ops.segment.best: _best_segments}


def export(
    module: CRF | SegmentCRF | Decoder,
    file: str | os.PathLike[str],
    example: tuple[Tensor, Tensor] | None = None,
) -> None:
    """Write an ONNX file that decodes; inputs ``inputs`` and ``mask``, outputs ``labels`` and ``score``.

    A SegmentCRF has an output ``begins`` between the two, True where a segment begins.

    Parameters
    ----------
    module : CRF, SegmentCRF, or Decoder with the network below it
        A layer: ``inputs`` are scores [B, T, L]. The first two axes of inputs and mask are free.
    file : path
    example : (inputs, mask), optional
        What the network of a `Decoder` takes.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(CRF(["A", "B"]), os.path.join(folder, "crf.onnx"))
    """
    if not isinstance(module, CRF | SegmentCRF | Decoder):
        raise ValueError(f"module is {type(module).__name__}, expected a CRF, a SegmentCRF or a Decoder")
    decoder = module if isinstance(module, Decoder) else Decoder(module)
    if any((x.isnan() | (x == torch.inf)).any() for x in decoder.crf.parameters()):
        raise ValueError("the scores of the layer hold NaN or +inf")
    if isinstance(decoder.crf, CRF) and decoder.crf.chain.order > 1:
        raise ValueError(f"ONNX files are for chains of order 0 or 1, not {decoder.crf.chain.order}")
    if example is None:
        if decoder.network is not None:
            raise ValueError("example is omitted: give (inputs, mask) that the network takes")
        where = decoder.crf.start.device
        scores = torch.zeros(2, 3, len(decoder.crf.labels), device=where)
        example = scores, torch.ones(2, 3, dtype=torch.bool, device=where)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = torch.onnx.export(
        _evaluated(decoder),
        example,
        dynamo=True,
        verbose=False,
        opset_version=18,
        input_names=["inputs", "mask"],
        output_names=["labels", "begins", "score"]
        if isinstance(decoder.crf, SegmentCRF)
        else ["labels", "score"],
        dynamic_shapes=(free, free),
        custom_translation_table=translations(),
    )
    _declare(program.model.graph)
    program.save(os.fspath(file))


def _declare(graph: Any) -> None:
    """Say that the first two axes of inputs and outputs are free, and nothing of shapes in between.

    Torch takes the length of the example for that of the output of a recurrent network, which is right in
    the graph and wrong in the shapes beside it.
    """
    for value in graph.inputs:
        value.shape = ir.Shape(["batch", "length", *value.shape[2:]])
    for node in graph:
        for value in node.outputs:
            value.shape = None
    *by_row, score = graph.outputs
    score.shape = ir.Shape(["batch"])
    for value in by_row:
        value.shape = ir.Shape(["batch", "length"])


def _evaluated(module: nn.Module) -> nn.Module:
    """Return a module without dropout and the like: a copy where the original is in training."""
    return copy.deepcopy(module).eval() if module.training else module
