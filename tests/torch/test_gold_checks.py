"""Gold that cannot be: an error that says where, by default wherever values may be looked at."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from crfkit.constraints import Forbid, Scheme
from crfkit.torch import CRF, SegmentCRF, functional
from tests.cases.torch.devices import DEVICE

ON_CPU = pytest.mark.skipif(DEVICE != "cpu", reason="values of other devices are not looked at")
NODE = torch.zeros(2, 4, 3, device=DEVICE)
GOLD = torch.tensor([[0, 1, 2, 2], [0, 0, 2, 0]], device=DEVICE)  # I after O: the second is wrong at 2


@ON_CPU
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "token", "none"])
def test_forbidden_labels_are_an_error_that_names_the_position(order: int, reduction: Any) -> None:
    crf = CRF(["O", "B", "I"], order, constraints=[Scheme("BIO")])
    with pytest.raises(
        ValueError,
        match="sequence 1, position 2: label 2 is forbidden there, after the gold labels before it: "
        "correct it or the constraints; check=False lets the other sequences train on",
    ):
        crf.loss(NODE, GOLD, reduction=reduction)
    weight = torch.tensor([1.0, 0.0])
    assert crf.loss(NODE, GOLD, weight=weight, reduction=reduction).isfinite().all()
    assert crf.loss(NODE, GOLD, weight=weight, reduction=reduction, check=True).isfinite().all()
    assert crf.loss(NODE, GOLD, reduction=reduction, check=False).isinf().any()
    assert crf.log_prob(NODE, GOLD).isinf().tolist() == [False, True]


@ON_CPU
@pytest.mark.parametrize("form", ["holes", "packed", "sequence"])
def test_the_position_is_that_of_what_was_given(form: str) -> None:
    crf = CRF(["O", "B", "I"], constraints=[Scheme("BIO")])
    node: Any = NODE
    gold: Any = GOLD
    where: dict[str, Any] = {}
    place = 2
    if form == "holes":
        where = {"mask": torch.tensor([[1, 1, 1, 1], [1, 0, 0, 1]])}
        gold, place = torch.tensor([[0, 1, 2, 2], [0, 1, 1, 2]]), 3
    elif form == "packed":
        node, gold, where = node.flatten(0, 1), gold.flatten(), {"offsets": [0, 4, 8]}
    else:
        node, gold = (nn.utils.rnn.pack_sequence(list(x)) for x in (node, gold))
    with pytest.raises(ValueError, match=f"sequence 1, position {place}: label 2 is forbidden there"):
        crf.loss(node, gold, **where)


@ON_CPU
def test_a_last_label_that_may_not_be_the_last_is_named() -> None:
    node, stop = torch.zeros(1, 3, 2), torch.tensor([0.0, -torch.inf])
    with pytest.raises(ValueError, match="sequence 0, position 2: label 1 is forbidden there"):
        functional.chain_loss(node, torch.zeros(2, 2), torch.tensor([[1, 1, 1]]), stop=stop)


@ON_CPU
def test_an_empty_set_of_labels_is_an_error_in_a_chain_only() -> None:
    sets = torch.ones(2, 4, 3, dtype=torch.bool)
    sets[1, 2] = False
    crf = CRF(3)
    with pytest.raises(ValueError, match="sequence 1, position 2: allowed is an empty set"):
        crf.loss(NODE, allowed=sets)
    assert crf.loss(NODE, allowed=sets, lengths=[4, 2]) == 0


@pytest.mark.parametrize("reduction", ["mean", "sum", "token", "none"])
def test_a_sequence_without_positions_has_one_labeling(reduction: Any) -> None:
    crf = CRF(3, device=DEVICE)
    node = torch.randn(2, 4, 3, device=DEVICE, requires_grad=True)
    mask = torch.zeros(2, 4, dtype=torch.bool, device=DEVICE)
    loss = crf.loss(node, torch.zeros(2, 4, dtype=torch.int64, device=DEVICE), mask, reduction=reduction)
    assert not loss.any()
    loss.sum().backward()
    assert node.grad is not None
    assert not node.grad.any()
    assert crf.decode(node, mask).lists() == [[], []]
    assert crf.entropy(node, mask).tolist() == crf.log_partition(node, mask).tolist() == [0.0, 0.0]


@ON_CPU
def test_not_a_number_goes_through_unless_it_is_asked_for() -> None:
    """A GradScaler must see it."""
    crf, node = CRF(3), NODE.clone()
    node[0, 0, 0] = torch.nan
    assert crf.loss(node, GOLD).isnan()
    with pytest.raises(ValueError, match="sequence 0: the scores hold NaN"):
        crf.loss(node, GOLD, check=True)


@ON_CPU
def test_forbidden_segments_are_an_error() -> None:
    crf = SegmentCRF(["O", "A"], 2, [Forbid("A", "A")])
    node, labels = torch.zeros(2, 3, 2), torch.tensor([[0, 1, 1], [0, 1, 1]])
    begins = torch.tensor([[1, 1, 0], [1, 1, 1]])
    with pytest.raises(
        ValueError, match="sequence 1: the gold segments are forbidden, longer than 2 positions"
    ):
        crf.loss(node, labels, begins)
    assert crf.loss(node, labels, begins, weight=torch.tensor([1.0, 0.0])).isfinite()
    assert crf.loss(node, labels, begins, check=False) == torch.inf
    with pytest.raises(ValueError, match="begins is omitted: give a tensor shaped as labels"):
        crf.loss(node, labels)
    with pytest.raises(ValueError, match="begins is omitted"):
        crf.log_prob(node, labels)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_scores_for_other_labels_than_the_layers_are_named(order: int) -> None:
    crf = CRF(3, order, device=DEVICE)
    node = torch.zeros(2, 4, 5, device=DEVICE)
    said = r"node has shape \(2, 4, 5\), scores of 5 labels, but the layer has 3 labels"
    for ask in (
        lambda: crf.loss(node, GOLD),
        lambda: crf.log_prob(node, GOLD),
        lambda: crf.decode(node),
        lambda: crf.marginals(node),
        lambda: crf.entropy(node),
        lambda: crf.sample(node),
    ):
        with pytest.raises(ValueError, match=said):
            ask()


@pytest.mark.parametrize("given", ["node", "segment"])
def test_scores_for_other_labels_than_those_of_segments_are_named(given: str) -> None:
    crf = SegmentCRF(3, 2, device=DEVICE)
    node = torch.zeros(2, 4, 5, device=DEVICE) if given == "node" else None
    where = {"segment": torch.zeros(2, 4, 2, 5, device=DEVICE)} if given == "segment" else {}
    with pytest.raises(
        ValueError, match=rf"{given} has shape .*, scores of 5 labels, but the layer has 3 labels"
    ):
        crf.decode(node, **where)
