"""What the layer refuses, before any work is done, and how it says so."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from crfkit.torch import CRF, Paths, functional
from crfkit.torch.inputs import check_device_type

NODE, EDGE = torch.zeros(2, 3, 4), torch.zeros(4, 4)
LABELS = torch.zeros(2, 3, dtype=torch.int64)
JAGGED = torch.nested.nested_tensor([torch.zeros(2, 4), torch.zeros(1, 4)], layout=torch.jagged)
OTHER = torch.nested.nested_tensor([LABELS[0, :1], LABELS[0, :2]], layout=torch.jagged)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"node": [[1.0]]}, "node is list, expected a tensor"),
        ({"node": NODE.long()}, "node has type torch.int64, expected float16"),
        ({"node": NODE[0, 0]}, r"node has shape \(4,\), expected \(B, T, L\)"),
        ({"node": NODE[..., :0]}, r"node has shape \(2, 3, 0\), expected"),
        ({"node": NODE[0]}, "give offsets or lengths"),
        ({"node": JAGGED, "lengths": [2, 1]}, "which has its own lengths: omit lengths"),
        ({"node": pack_sequence([NODE[0]]), "mask": LABELS}, "which has its own lengths: omit mask"),
        ({"node": pack_sequence([NODE])}, r"node holds rows of shape"),
        ({"offsets": [0, 6]}, "offsets is given, but node is padded"),
        ({"mask": LABELS, "lengths": [1, 1]}, "mask and lengths are both given"),
        ({"mask": LABELS[:, :2]}, r"mask has shape \(2, 2\), expected \(2, 3\)"),
        ({"mask": LABELS.double()}, "mask has type torch.float64, expected torch.bool"),
        ({"mask": [[1, 1, 1]]}, "mask is list, expected a tensor"),
        ({"mask": LABELS.to("meta")}, "mask is on meta, but node is on cpu"),
        ({"lengths": [4, 1]}, r"lengths\[0\] is 4, expected 0 to 3"),
        ({"lengths": [1, -1]}, r"lengths\[1\] is -1, expected 0 to 3"),
        ({"lengths": [1]}, r"lengths has shape \(1,\) and type torch.int64, expected shape \(2,\)"),
        ({"lengths": ["a", "b"]}, r"lengths is \['a', 'b'\], expected whole numbers"),
        ({"lengths": [1.5, 1.0]}, "expected shape"),
        ({"node": NODE[0], "offsets": [0, 2]}, "offsets does not fit node, which has 3 rows"),
        ({"node": NODE[0], "offsets": [0, 3, 1, 3]}, "offsets does not fit node"),
        ({"node": NODE[0], "offsets": []}, "offsets is empty"),
        ({"node": NODE[0], "lengths": [1, 1]}, "expected a sum of 3"),
        ({"edge": EDGE[:3]}, r"edge has shape \(3, 4\), expected \(4, 4\) or \(2, 3, 4, 4\) or"),
        ({"edge": None}, "edge is NoneType, expected a tensor"),
        ({"edge": EDGE.long()}, "edge has type torch.int64"),
        ({"edge": EDGE.to("meta")}, "edge is on meta, but node is on cpu"),
        ({"edge": []}, "edge lists no tables"),
        ({"edge": [EDGE, EDGE]}, r"edge\[1\] has shape \(4, 4\), expected \(4, 4, 4\)"),
        ({"start": EDGE}, r"start has shape \(4, 4\), expected \(4,\)"),
        ({"stop": [0.0]}, "stop is list, expected a tensor"),
        ({"labels": LABELS[:1]}, r"labels has shape \(1, 3\), expected \(2, 3\)"),
        ({"labels": LABELS.float()}, "labels has type torch.float32, expected whole numbers"),
        ({"labels": [[0]]}, "labels is list, expected a tensor"),
        ({"labels": JAGGED}, "labels is a nested tensor, but node is not"),
        ({"node": NODE[0], "offsets": [0, 3], "labels": pack_sequence([LABELS[0]])}, "labels is a PackedSeq"),
        ({"labels": LABELS + 4}, "sequence 0, position 0: the label is 4, expected 0 to 3, or -1 or -100"),
        ({"labels": LABELS - 2}, "sequence 0, position 0: the label is -2"),
        (
            {"node": NODE[0], "offsets": [0, 2, 3], "labels": torch.tensor([0, 1, 9])},
            "sequence 1, position 0",
        ),
        ({"labels": None}, "labels and allowed are both omitted"),
        ({"allowed": LABELS}, r"allowed has shape \(2, 3\), expected \(2, 3, 4\)"),
        ({"allowed": NODE.long()}, "allowed has type torch.int64, expected torch.bool or a floating type"),
        ({"allowed": NODE}, "labels and distributions are both given"),
        ({"allowed": NODE, "labels": None}, "sequence 0, position 0: allowed is not a distribution"),
        ({"weight": torch.ones(3)}, r"weight has shape \(3,\), expected \(2,\)"),
        ({"weight": torch.ones(2, dtype=torch.int64)}, "weight has type torch.int64"),
        ({"weight": 2.0}, "weight has shape float"),
        ({"reduction": "avg"}, "reduction is 'avg', expected"),
        ({"node": NODE.to_sparse()}, "node has layout torch.sparse_coo, expected a dense tensor"),
        ({"edge": EDGE.to_sparse()}, "edge has layout torch.sparse_coo"),
        ({"labels": LABELS.to_sparse()}, "labels has layout torch.sparse_coo"),
        ({"mask": LABELS.to_sparse()}, "mask has layout torch.sparse_coo"),
        ({"lengths": LABELS[:, 0].to_sparse()}, "lengths has layout torch.sparse_coo"),
        ({"node": JAGGED, "labels": OTHER}, "labels and node have sequences of different lengths"),
        (
            {"node": pack_sequence([NODE[0], NODE[0, :2]]), "labels": pack_sequence([LABELS[0], LABELS[0]])},
            "labels and node have sequences of different lengths",
        ),
    ],
)
def test_refused(given: dict[str, Any], message: str) -> None:
    arguments = {"node": NODE, "edge": EDGE, "labels": LABELS, **given}
    with pytest.raises(ValueError, match=message):
        functional.chain_loss(**arguments)


def test_other_queries_refuse_too() -> None:
    with pytest.raises(ValueError, match="k is 0, expected 1 or more"):
        functional.chain_kbest(NODE, EDGE, 0)
    with pytest.raises(TypeError, match="n is 'a'"):
        functional.chain_sample(NODE, EDGE, "a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="edges=True needs a chain of order 1"):
        functional.chain_marginals(NODE, [EDGE, torch.zeros(4, 4, 4)], edges=True)
    with pytest.raises(ValueError, match="other_edge must have as many tables as edge"):
        functional.chain_kl(NODE, [EDGE, torch.zeros(4, 4, 4)], NODE, EDGE)
    with pytest.raises(ValueError, match="other_node has shape"):
        functional.chain_kl(NODE, EDGE, NODE[:1], EDGE)
    with pytest.raises(ValueError, match="these labels have no names"):
        functional.chain_best(NODE, EDGE).names()
    with pytest.raises(
        ValueError, match=r"node has shape \(2, 3, 4\), scores of 4 labels, but the layer has 3"
    ):
        CRF(3).decode(NODE)
    with pytest.raises(ValueError, match="labels is None, expected"):
        CRF(None)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="prototype"):
        nested = torch.nested.nested_tensor([torch.zeros(2, 4), torch.zeros(1, 4)])
    with pytest.raises(ValueError, match=r"expected layout torch\.jagged"):
        functional.chain_best(nested, EDGE)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_small_types_of_lengths(dtype: torch.dtype) -> None:
    node = torch.zeros(2, 300, 2)
    found = functional.chain_log_partition(node, EDGE[:2, :2], lengths=torch.tensor([100, 3], dtype=dtype))
    torch.testing.assert_close(found / found[1], torch.tensor([100.0, 3.0]).double() / 3)


def test_devices_without_operators_are_refused() -> None:
    with pytest.raises(ValueError, match=r"on mps: crfkit\.torch computes on the CPU and on CUDA devices"):
        check_device_type(torch.device("mps"))
    node = NODE.to("meta")
    assert functional.chain_loss(node, EDGE.to("meta"), LABELS.to("meta")).shape == ()


def test_what_is_masked_is_not_looked_at() -> None:
    mask = torch.tensor([[1, 0, 1], [0, 0, 0]])
    labels = torch.tensor([[0, 77, -100], [-7, 99, 4]])
    assert functional.chain_loss(NODE, EDGE, labels, mask=mask).isfinite()
    with pytest.raises(ValueError, match="sequence 0, position 1: the label is 77"):
        functional.chain_loss(NODE, EDGE, labels, lengths=[2, 0])


def test_lists_of_packed_and_nested_answers() -> None:
    labels = torch.tensor([[1, 0, 2], [2, 2, -1]])
    found = Paths(labels, torch.zeros(2, 2), torch.tensor([0, 1, 1, 3]))
    assert found.lists() == [[[1], [2]], [[], []], [[0, 2], [2]]]
    start = -torch.arange(4.0)
    assert functional.chain_kbest(JAGGED, EDGE, 2, start=start).lists()[1] == [[0], [1]]
    assert functional.chain_best(JAGGED, EDGE).lists() == [[0, 0], [0]]


def test_crfkit_does_not_import_torch_and_says_what_is_missing() -> None:
    script = "import sys, crfkit; crfkit.Chain(2); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
    script = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'torch' else find(name, *a)\n"
        "import crfkit.torch"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ImportError: crfkit.torch needs PyTorch: pip install 'crfkit[torch]'" in ran.stderr
