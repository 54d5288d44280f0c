"""A layer that left torch, or the process: the same answers as a crfkit model and as an exported program."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import crfkit
from crfkit.constraints import Scheme
from crfkit.models import SequenceModel
from crfkit.torch import CRF, SegmentCRF
from crfkit.torch.serving import Decoder
from tests.cases.torch.devices import DEVICE

NAMES = ["O", "B-X", "I-X"]


def trained(**how: Any) -> CRF:
    torch.manual_seed(0)
    crf = CRF(NAMES, device=DEVICE, **how)
    for parameter in crf.parameters():
        nn.init.normal_(parameter)
    return crf


@pytest.mark.parametrize("order", [0, 1, 2])
def test_models_answer_the_same_without_torch(order: int, tmp_path: Path) -> None:
    crf = trained(order=order, constraints=[Scheme("BIO")] if order else [])
    node = torch.randn(5, 6, 3, device=DEVICE)
    lengths = torch.tensor([6, 1, 4, 2, 5], device=DEVICE)
    crf.to_model().save(tmp_path / "m.crf")
    model = crfkit.load(tmp_path / "m.crf")
    assert isinstance(model, SequenceModel)
    scores = [x[:n].cpu().numpy() for x, n in zip(node, lengths.tolist(), strict=True)]
    assert model.predict(scores) == crf.decode(node, lengths=lengths).names()
    probability = np.concatenate(model.predict_proba(scores))
    mask = torch.arange(6, device=DEVICE) < lengths[:, None]
    expected = crf.marginals(node, mask)[mask].detach().double().cpu().numpy()
    np.testing.assert_allclose(probability, expected, rtol=1e-5, atol=1e-6)


def test_a_model_of_scores_says_what_it_takes() -> None:
    with pytest.raises(ValueError, match=r"give arrays of floats \[T, 3\], which text files cannot hold"):
        trained().to_model().predict([[{"word": "a"}]])


def test_a_layer_with_infinite_scores_is_refused() -> None:
    crf = trained()
    crf.edge.data[0, 0] = -torch.inf
    with pytest.raises(ValueError, match="a model needs finite weights"):
        crf.to_model()


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_traced_programs_decode_masks_that_they_have_not_seen(order: int) -> None:
    decoder = Decoder(trained(order=order, constraints=[Scheme("BIO")] if order else []))
    full = torch.ones(2, 4, dtype=torch.bool, device=DEVICE)
    program = torch.jit.trace(decoder, (torch.zeros(2, 4, 3, device=DEVICE), full))
    node, mask = torch.randn(5, 7, 3, device=DEVICE), torch.rand(5, 7, device=DEVICE) < 0.5
    for found, expected in zip(program(node, mask), decoder(node, mask), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.filterwarnings("ignore:The given buffer is not writable:UserWarning")  # of torch 2.11
@pytest.mark.parametrize("order", [1, 2])
def test_exported_programs_decode_batches_of_any_size(order: int) -> None:
    crf = trained(order=order, constraints=[Scheme("BIO")])
    decoder = Decoder(crf, nn.Linear(4, 3).to(DEVICE))
    B, T = torch.export.Dim("B"), torch.export.Dim("T")
    mask = torch.ones(2, 3, dtype=torch.bool, device=DEVICE)
    example = torch.zeros(2, 3, 4, device=DEVICE), mask
    program = torch.export.export(decoder, example, dynamic_shapes=({0: B, 1: T}, {0: B, 1: T}))
    names = {str(node.target) for node in program.graph.nodes}
    assert f"crfkit.{'chain' if order == 1 else 'order'}_best.default" in names
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    loaded = torch.export.load(buffer).module()
    for shape in ((4, 7), (1, 1)):
        x, mask = torch.randn(*shape, 4, device=DEVICE), torch.rand(shape, device=DEVICE) < 0.6
        labels, score = loaded(x, mask)
        found, value = decoder(x, mask)
        assert torch.equal(labels, found)
        assert torch.equal(score, value)


@pytest.mark.parametrize("order", [1, 2])
def test_exported_programs_load_where_the_operators_are_imported(order: int, tmp_path: Path) -> None:
    example = torch.zeros(1, 2, 3), torch.ones(1, 2, dtype=torch.bool)
    torch.export.save(
        torch.export.export(Decoder(trained(order=order).cpu()), example), tmp_path / "decoder.pt2"
    )
    program = "import sys, torch, crfkit.torch.functional\nprint(torch.export.load(sys.argv[1]).graph)"
    command = [sys.executable, "-c", program, str(tmp_path / "decoder.pt2")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "_best" in printed


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_onnx_files_decode_batches_of_any_size(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from crfkit.torch import onnx

    crf = trained(constraints=[Scheme("BIO")]).cpu()
    decoder = Decoder(crf, nn.Linear(4, 3))
    example = torch.zeros(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)
    onnx.export(decoder, tmp_path / "net.onnx", example)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    torch.manual_seed(1)
    for shape in ((5, 7), (1, 1), (3, 2)):
        x, mask = torch.randn(*shape, 4) * 3, torch.rand(shape) < 0.6
        mask[-1] = shape == (1, 1)  # an empty sequence
        labels, score = session.run(None, {"inputs": x.numpy(), "mask": mask.numpy()})
        found = crf.decode(decoder.network(x), mask)  # type: ignore[misc]
        np.testing.assert_array_equal(labels, found.labels)
        np.testing.assert_allclose(score, found.score.detach(), rtol=1e-6)
    x, mask = torch.randn(3, 4, 4), torch.ones(3, 4, dtype=torch.bool)
    x[0, 2], x[1, 1] = torch.nan, torch.inf
    labels, score = session.run(None, {"inputs": x.numpy(), "mask": mask.numpy()})
    assert np.isnan(score).tolist() == [True, True, False]
    np.testing.assert_array_equal(labels, crf.decode(decoder.network(x), mask).labels)  # type: ignore[misc]
    other: Any = decoder.network
    with pytest.raises(ValueError, match="module is Linear, expected a CRF, a SegmentCRF or a Decoder"):
        onnx.export(other, tmp_path / "net.onnx")
    bad = trained()
    bad.edge.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match="the scores of the layer hold NaN"):
        onnx.export(bad, tmp_path / "net.onnx")
    with pytest.raises(ValueError, match=r"give \(inputs, mask\) that the network takes"):
        onnx.export(decoder, tmp_path / "net.onnx")
    with pytest.raises(ValueError, match="chains of order 0 or 1, not 2"):
        onnx.export(trained(order=2), tmp_path / "net.onnx")


class Recurrent(nn.Module):
    """Scores of labels from a recurrent network in both directions."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.words = kind(4, 5, bidirectional=True, batch_first=True)
        self.scores = nn.Linear(10, 3)

    def forward(self, x: Tensor) -> Any:
        return self.scores(self.words(x)[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.skipif(
    torch.torch_version.TorchVersion(torch.__version__) < (2, 13),
    reason="torch.export of older releases keeps the length of the example",
)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_onnx_files_of_recurrent_networks_declare_no_length(kind: Any, tmp_path: Path) -> None:
    """Torch takes the length of the example for that of their outputs."""
    onnxruntime = pytest.importorskip("onnxruntime")
    from crfkit.torch import onnx

    decoder = Decoder(trained(constraints=[Scheme("BIO")]).cpu(), Recurrent(kind))
    example = torch.zeros(2, 6, 4), torch.ones(2, 6, dtype=torch.bool)
    onnx.export(decoder, tmp_path / "net.onnx", example)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    assert [x.shape for x in session.get_inputs()] == [["batch", "length", 4], ["batch", "length"]]
    assert [x.shape for x in session.get_outputs()] == [["batch", "length"], ["batch"]]
    for shape in ((2, 6), (3, 9), (1, 1), (5, 2)):
        x, mask = torch.randn(*shape, 4), torch.rand(shape) < 0.7
        labels, score = session.run(None, {"inputs": x.numpy(), "mask": mask.numpy()})
        found, value = decoder(x, mask)
        np.testing.assert_array_equal(labels, found)
        np.testing.assert_allclose(score, value.detach(), rtol=1e-5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("D", [1, 3])
def test_onnx_files_of_segments(D: int, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from crfkit.torch import onnx

    torch.manual_seed(0)
    crf = SegmentCRF(["O", "X", "Y"], D)
    for scores in crf.parameters():
        nn.init.normal_(scores)
    with torch.no_grad():
        crf.edge[0, 1] = -torch.inf
        if D > 1:
            crf.length[0, 2] = -torch.inf  # then some lengths cannot be cut into segments of Y alone
    decoder = Decoder(crf, nn.Linear(4, 3))
    example = torch.zeros(2, 3, 4), torch.ones(2, 3, dtype=torch.bool)
    onnx.export(decoder, tmp_path / "net.onnx", example)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    assert [x.name for x in session.get_outputs()] == ["labels", "begins", "score"]
    assert [x.shape for x in session.get_outputs()] == [["batch", "length"]] * 2 + [["batch"]]
    for shape in ((5, 9), (1, 1), (3, 2), (4, 6)):
        x, mask = torch.randn(*shape, 4) * 2, torch.rand(shape) < 0.7
        mask[-1] = shape == (1, 1)  # an empty sequence
        labels, begins, score = session.run(None, {"inputs": x.numpy(), "mask": mask.numpy()})
        expected = decoder(x, mask)
        np.testing.assert_array_equal(labels, expected[0])
        np.testing.assert_array_equal(begins, expected[1])
        np.testing.assert_allclose(score, expected[2].detach(), rtol=1e-6)
    plain = SegmentCRF(2, D)
    onnx.export(plain, tmp_path / "crf.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "crf.onnx")
    node, mask = torch.zeros(2, 4, 2), torch.ones(2, 4, dtype=torch.bool)  # ties
    labels, begins, _ = session.run(None, {"inputs": node.numpy(), "mask": mask.numpy()})
    tied = plain.decode(node)
    np.testing.assert_array_equal(labels, tied.labels)
    np.testing.assert_array_equal(begins, tied.begins)
