"""The kernels for the best labeling and for draws against the reference and all labelings."""

from __future__ import annotations

import pytest
import torch

from crfkit.torch import reference
from crfkit.torch.cuda import paths
from tests.cases.torch.chains import Chains, labelings, random_chains, rows_of
from tests.cases.torch.devices import DEVICE

FORMS = [("padded", "shared"), ("time-first", "each"), ("holes", "between"), ("packed", "each")]


def agrees(chains: Chains) -> None:
    """Compare `best` with the reference in float64."""
    labels, score = paths.best(chains.args)
    right, value = reference.best(chains.double().args)
    torch.testing.assert_close(score, value, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(labels, right, rtol=0, atol=0)


@pytest.fixture(params=["pointers", "rows", "chunks", "streamed", "stepped"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way in which `best` may be answered."""
    if request.param == "chunks":
        monkeypatch.setattr(paths, "_chunks", lambda *sizes: 3)
    if request.param == "rows":
        monkeypatch.setattr(paths, "POINTERS", 0)
        monkeypatch.setattr(paths, "_registers", paths._registers.__wrapped__)
    if request.param in ("streamed", "stepped"):
        monkeypatch.setattr(paths, "REGISTERS", 0)
    if request.param == "stepped":
        monkeypatch.setattr(paths, "ALONE", 0)
    return str(request.param)


@pytest.mark.parametrize(("form", "edges"), FORMS)
def test_best_in_every_form(form: str, edges: str, kernel: str) -> None:
    agrees(random_chains(3, 8, 3, form=form, edges=edges, forbidden=0.15, device=DEVICE))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_best_of_other_types(dtype: torch.dtype, kernel: str) -> None:
    agrees(random_chains(2, 4, 3, dtype=dtype, device=DEVICE))


def test_ties_go_to_the_lowest_label_from_the_end(kernel: str) -> None:
    chains = random_chains(2, 8, 3, scale=0.7, device=DEVICE)
    for scores in chains.scores:
        scores.round_()
    agrees(chains)


def test_best_of_large_scores(kernel: str) -> None:
    agrees(random_chains(1, 9, 3, scale=1e4, dtype=torch.float64, device=DEVICE))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter, for NaN
def test_a_chain_that_is_not_a_number_or_has_no_labeling_leaves_others_alone(kernel: str) -> None:
    chains = random_chains(4, 3, 2, device=DEVICE)
    chains.length[:] = 3
    right, value = reference.best(chains.double().args)
    chains.node[0, 2, 0] = torch.nan
    chains.node[1, 0, 1] = torch.inf
    chains.node[2, 1] = -torch.inf
    labels, score = paths.best(chains.args)
    assert score[:2].isnan().all()
    assert score[2] == -torch.inf
    assert (labels[:3] == -1).all()
    torch.testing.assert_close(score[3], value[3])
    assert labels[3].equal(right[3])


@pytest.mark.parametrize("L", [70, 130, 260])
def test_many_labels(L: int) -> None:
    agrees(random_chains(2, 3, L, device=DEVICE))


@pytest.mark.parametrize(("form", "edges"), FORMS)
def test_draws_follow_the_distribution(form: str, edges: str) -> None:
    chains = random_chains(3, 3, 2, form=form, edges=edges, forbidden=0.1, seed=3, device=DEVICE)
    n = 300
    draws = paths.sample(chains.args, n, torch.tensor([5], device=DEVICE)).cpu()
    for b in range(2):  # the third is empty
        rows, every = rows_of(chains, b), labelings(chains, b)
        drawn = torch.stack([draws[:, r[0]] if form == "packed" else draws[b, :, r[1]] for r in rows], 1)
        if every[0][0] == -torch.inf:
            assert (drawn == -1).all()
            continue
        chance = torch.tensor([score for score, _ in every]).softmax(0)
        count = torch.tensor([(drawn == torch.tensor(labels)).all(1).sum() for _, labels in every])
        possible = chance > 0
        assert count[possible].sum() == n
        square = ((count - n * chance)[possible] ** 2 / (n * chance)[possible]).sum()
        freedom = int(possible.sum()) - 1
        assert square <= freedom + 4 * (2 * freedom) ** 0.5  # about one in 10,000 would be above


def test_draws_repeat_and_do_not_depend_on_their_number() -> None:
    chains = random_chains(2, 3, 2, device=DEVICE)
    seed = torch.tensor([7], device=DEVICE)
    draws = paths.sample(chains.args, 5, seed)
    assert paths.sample(chains.args, 5, seed).equal(draws)
    assert paths.sample(chains.args, 1, seed).equal(draws[:, :1])
    assert not paths.sample(chains.args, 5, seed + 1).equal(draws)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter, for NaN
def test_draws_of_large_scores_and_of_chains_without_labelings() -> None:
    chains = random_chains(3, 3, 2, scale=1e4, device=DEVICE)
    chains.length[:] = 3
    chains.node[1, 1] = -torch.inf
    chains.node[2, 0, 0] = torch.nan
    draws = paths.sample(chains.args, 2, torch.tensor([0], device=DEVICE))
    best, _ = reference.best(chains.args)
    assert (draws[0] == best[0]).all()  # the others are less likely by far
    assert (draws[1:] == -1).all()


def test_empty_batches() -> None:
    chains = random_chains(1, 3, 2, device=DEVICE)
    none = chains.args._replace(node=chains.node[:0], length=chains.length[:0])
    labels, score = paths.best(none)
    assert labels.shape == (0, 3)
    assert score.shape == (0,)
    assert paths.sample(none, 2, torch.tensor([0], device=DEVICE)).shape == (0, 2, 3)
    empty = chains.args._replace(node=chains.node[:, :0], length=chains.length * 0)
    assert paths.best(empty)[1].tolist() == [0.0]
    assert paths.sample(empty, 2, torch.tensor([0], device=DEVICE)).shape == (1, 2, 0)
