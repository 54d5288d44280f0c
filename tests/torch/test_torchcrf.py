"""crfkit.compat.torchcrf beside pytorch-crf itself: numbers, gradients, labels, errors."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
import torch

from crfkit.compat.torchcrf import CRF

torchcrf = pytest.importorskip("torchcrf")
K = 4


def pair(batch_first: bool) -> tuple[Any, CRF]:
    torch.manual_seed(0)
    theirs = torchcrf.CRF(K, batch_first=batch_first)
    torch.manual_seed(0)
    ours = CRF(K, batch_first=batch_first)
    for a, b in zip(theirs.state_dict().items(), ours.state_dict().items(), strict=True):
        assert a[0] == b[0]
        assert torch.equal(a[1], b[1])  # the same draws in the same order
    return theirs, ours


def batch(batch_first: bool, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    emissions = torch.randn(3, 5, K, generator=random)
    tags = torch.randint(K, (3, 5), generator=random)
    mask = torch.arange(5) < torch.tensor([5, 1, 3])[:, None]
    if batch_first:
        return emissions, tags, mask
    return emissions.transpose(0, 1), tags.T, mask.T


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "token_mean"])
def test_likelihoods_and_gradients_are_those_of_the_original(batch_first: bool, reduction: str) -> None:
    theirs, ours = pair(batch_first)
    emissions, tags, mask = batch(batch_first)
    for more in ({"mask": mask}, {}):
        grads = []
        for crf in (theirs, ours):
            x = emissions.clone().requires_grad_()
            crf.zero_grad()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the original's masks of uint8
                llh = crf(x, tags, reduction=reduction, **more)
            llh.sum().backward()
            grads.append([llh.detach(), x.grad, *(p.grad.clone() for p in crf.parameters())])
        for a, b in zip(*grads, strict=True):
            torch.testing.assert_close(b, a)


@pytest.mark.parametrize("batch_first", [False, True])
def test_labels_are_those_of_the_original(batch_first: bool) -> None:
    theirs, ours = pair(batch_first)
    emissions, _, mask = batch(batch_first)
    assert ours.decode(emissions, mask) == theirs.decode(emissions, mask)
    zeros = torch.zeros_like(emissions)  # ties
    with torch.no_grad():
        for crf in (theirs, ours):
            for p in crf.parameters():
                p.zero_()
    assert ours.decode(zeros, mask) == theirs.decode(zeros, mask)


def test_private_methods_that_programs_call() -> None:
    theirs, ours = pair(False)
    emissions, tags, mask = batch(False)
    score, logz = ours._compute_score(emissions, tags, mask), ours._compute_normalizer(emissions, mask)
    torch.testing.assert_close(score, theirs._compute_score(emissions, tags, mask))
    torch.testing.assert_close(logz, theirs._compute_normalizer(emissions, mask))
    assert ours._viterbi_decode(emissions, mask) == theirs._viterbi_decode(emissions, mask)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.CRF(0),
        lambda m: m.CRF(3)(torch.zeros(1, 2), torch.zeros(2, 2).long()),
        lambda m: m.CRF(3)(torch.zeros(1, 2, 5), torch.zeros(1, 2).long()),
        lambda m: m.CRF(3)(torch.zeros(4, 2, 3), torch.zeros(3, 2).long()),
        lambda m: m.CRF(3)(torch.zeros(1, 2, 3), torch.zeros(1, 2).long(), torch.ones(2, 2).bool()),
        lambda m: m.CRF(3)(torch.zeros(1, 2, 3), torch.zeros(1, 2).long(), torch.tensor([[False, True]])),
        lambda m: m.CRF(3)(torch.zeros(1, 2, 3), torch.zeros(1, 2).long(), reduction="foo"),
        lambda m: m.CRF(3).decode(torch.zeros(1, 2)),
    ],
)
def test_errors_are_those_of_the_original(call: Any) -> None:
    import crfkit.compat.torchcrf as ours

    with pytest.raises(ValueError, match=r".+") as theirs:
        call(torchcrf)
    with pytest.raises(ValueError, match=r".+") as mine:
        call(ours)
    assert str(mine.value) == str(theirs.value)


def test_types_sizes_and_what_lies_under_the_mask() -> None:
    _, crf = pair(True)
    emissions, tags, mask = batch(True)
    whole = crf(emissions, tags, mask)
    for good in (mask.byte(), mask):
        assert crf(emissions, tags.int(), good) == whole
    dirty = emissions.masked_fill(~mask[..., None], torch.nan)
    assert crf(dirty, tags.masked_fill(~mask, -100), mask) == whole
    assert crf(emissions.half(), tags, mask).dtype == torch.float32
    assert crf.double()(emissions, tags, mask).dtype == torch.float64
    with pytest.raises(RuntimeError, match=r"torch.uint8 or torch.bool, got torch.int64"):
        crf(emissions, tags, mask.long())
    with pytest.raises(IndexError, match="tag 4 of sequence 0, position 2 is out of range for 4 tags"):
        crf(emissions, tags.index_put((torch.tensor(0), torch.tensor(2)), torch.tensor(4)), mask)
    with pytest.raises(IndexError, match=r"tags must be whole numbers, got torch.float32"):
        crf(emissions, tags.float(), mask)
    with pytest.raises(RuntimeError, match="tags is on meta, but emissions are on cpu"):
        crf(emissions, tags.to("meta"), mask)
    with pytest.raises(IndexError, match="no time steps"):
        crf(emissions[:, :0], tags[:, :0])
    assert crf(emissions[:0], tags[:0], reduction="none").shape == (0,)
    assert crf.decode(emissions[:0]) == []


def test_a_hole_in_the_mask_leaves_its_position_out() -> None:
    _, crf = pair(True)
    emissions, tags, _ = batch(True)
    mask = torch.tensor([[True, False, True, True, False]] * 3)
    places = [0, 2, 3]
    torch.testing.assert_close(crf(emissions, tags, mask), crf(emissions[:, places], tags[:, places]))
    assert crf.decode(emissions, mask) == crf.decode(emissions[:, places])
    assert (crf(emissions, tags, mask, reduction="none") <= 0).all()


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("batch_first", [False, True])
def test_scripts_answer_as_the_module_does(batch_first: bool) -> None:
    _, crf = pair(batch_first)
    emissions, tags, mask = batch(batch_first)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(crf), buffer)
    buffer.seek(0)
    for script in (torch.jit.script(crf), torch.jit.load(buffer)):
        for more in ({}, {"mask": mask}, {"mask": mask.byte()}):
            for reduction in ("none", "sum", "mean", "token_mean"):
                grads = []
                for one in (crf, script):
                    x = emissions.clone().requires_grad_()
                    one.zero_grad()
                    value = one(x, tags, reduction=reduction, **more)
                    value.sum().backward()
                    grads.append([value.detach(), x.grad, *(p.grad.clone() for p in one.parameters())])
                assert all(torch.equal(a, b) for a, b in zip(*grads, strict=True))
            assert script.decode(emissions, **more) == crf.decode(emissions, **more)
        with pytest.raises(Exception, match="invalid reduction: foo"):
            script(emissions, tags, reduction="foo")


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_network_with_the_layer_is_scripted() -> None:
    class Tagger(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores, self.crf = torch.nn.Linear(2, K), CRF(K, batch_first=True)

        def forward(self, x: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
            value: torch.Tensor = self.crf(self.scores(x), tags)
            return value

    tagger = Tagger()
    x, tags = torch.randn(2, 3, 2), torch.zeros(2, 3, dtype=torch.long)
    assert torch.equal(torch.jit.script(tagger)(x, tags), tagger(x, tags))
