"""ONNX files that decode batches: Viterbi as two `Scan` operators, for any number and length of sequences.

A graph that holds ``crfkit::chain_best`` is exported by a translation of that operator::

    forward   alpha_t[j] = max_i (alpha_{t-1}[i] + edge[i, j]) + node_t[j], and which i it was; a place behind
              the end of its sequence leaves alpha as it is
    backward  y_{t-1} = the i of y_t

in float64, as the operator itself computes, so that labels are the same. A file needs opset 18 and nothing of
crfkit; it takes sequences of one position or more in a batch.
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
from crfkit.torch.chain import ChainCRF
from crfkit.torch.serving import Decoder

__all__ = ["export", "translations"]

_DOUBLE, _INT64 = 11, 7  # onnx.TensorProto


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


def _best(node, length, first, index, start, edge, stop):
    if first is not None or len(edge.shape) != 2:
        raise ValueError("ONNX files decode padded batches with one table of edges")
    n = op.Cast(length, to=_INT64)
    rows, start, edge, stop = (op.Cast(x, to=_DOUBLE) for x in (node, start, edge, stop))
    axis, none = op.Constant(value_ints=[1]), op.Constant(value_int=-1)
    if index is not None:  # rows in the order of chains
        index = op.Cast(index, to=_INT64)
        wide = op.Expand(op.Unsqueeze(index, op.Constant(value_ints=[2])), op.Shape(rows))
        rows = op.GatherElements(rows, wide, axis=1)
    path, score = viterbi(rows, n, start, edge, stop)
    one = op.Constant(value_int=1)
    place = op.CumSum(op.Expand(one, op.Shape(path)), one, exclusive=1)  # [B, T] 0, 1, ...
    inside = op.Less(place, op.Unsqueeze(n, axis))
    wrong = op.Or(op.IsNaN(rows), op.IsInf(rows, detect_negative=0))  # [B, T, L]
    wrong = op.ReduceMax(op.Cast(wrong, to=_INT64), op.Constant(value_ints=[2]), keepdims=0)
    wrong = op.ReduceMax(op.Where(inside, wrong, op.Constant(value_int=0)), axis, keepdims=0)  # [B]
    sound = op.Equal(wrong, op.Constant(value_int=0))
    possible = op.Unsqueeze(op.And(sound, op.Not(op.IsInf(score, detect_positive=0))), axis)
    path = op.Where(op.And(inside, possible), path, none)
    score = op.Where(sound, score, op.Cast(op.Constant(value_float=math.nan), to=_DOUBLE))
    zero = op.Cast(op.Constant(value_float=0.0), to=_DOUBLE)
    score = op.Where(op.Equal(n, op.Constant(value_int=0)), zero, score)
    return path if index is None else op.ScatterElements(path, index, path, axis=1), score


def translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return the table for ``torch.onnx.export(..., dynamo=True, custom_translation_table=...)``.

    Examples
    --------
    >>> list(translations())
    [<OpOverload(op='crfkit.chain_best', overload='default')>]
    """
    return {ops.chain.best: _best}


def export(
    module: ChainCRF | Decoder,
    file: str | os.PathLike[str],
    example: tuple[Tensor, Tensor] | None = None,
) -> None:
    """Write an ONNX file that decodes; inputs ``inputs`` and ``mask``, outputs ``labels`` and ``score``.

    Parameters
    ----------
    module : ChainCRF, or Decoder with the network below it
        ChainCRF: ``inputs`` are scores [B, T, L]. The first two axes of inputs and mask are free.
    file : path
    example : (inputs, mask), optional
        What the network of a `Decoder` takes.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(ChainCRF(["A", "B"]), os.path.join(folder, "crf.onnx"))
    """
    if not isinstance(module, ChainCRF | Decoder):
        raise ValueError(f"module is {type(module).__name__}, expected a ChainCRF or a Decoder")
    decoder = module if isinstance(module, Decoder) else Decoder(module)
    if any((x.isnan() | (x == torch.inf)).any() for x in decoder.crf.parameters()):
        raise ValueError("the scores of the layer hold NaN or +inf")
    if decoder.crf.chain.order > 1:
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
        output_names=["labels", "score"],
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
    labels, score = graph.outputs
    labels.shape, score.shape = ir.Shape(["batch", "length"]), ir.Shape(["batch"])


def _evaluated(module: nn.Module) -> nn.Module:
    """Return a module without dropout and the like: a copy where the original is in training."""
    return copy.deepcopy(module).eval() if module.training else module
