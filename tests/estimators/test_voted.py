"""The voted perceptron against a loop that keeps every vector; files, options, refusals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crfkit
from crfkit import Chain, ChainCRF
from crfkit.constraints import Forbid
from crfkit.data.batch import Batch
from crfkit.estimators.classic import VotedPerceptron
from crfkit.linear.score import score
from crfkit.objectives import Perceptron
from crfkit.optimize import AveragedPerceptron
from crfkit.optimize.classic.voted import Ballot, VotedTraining
from crfkit.optimize.problem import Penalty
from tests.cases.estimators import X_TEST, X, Y
from tests.cases.stochastic import L, batch, layout_of


def all_vectors(loss: Any, passes: int, seed: int = 0) -> tuple[list[Any], list[int], int]:
    """Every vector of the perceptron with its votes, by one visit at a time; and the visits."""
    plain = AveragedPerceptron(averaging=False, seed=seed)
    run = plain.start(loss, Penalty(), np.zeros(loss.size))
    w, vectors, votes, seen = np.zeros(loss.size), [np.zeros(loss.size)], [0], 0
    for number in range(1, passes + 1):
        for n in run.arrays.order(seed, number):
            part = loss.part(slice(int(n), int(n) + 1))
            gradient = np.empty(loss.size)
            part.value_and_grad(w, gradient)
            if gradient.any():
                w = w - gradient
                vectors.append(w)
                votes.append(1)
            else:
                votes[-1] += 1
            seen += 1
    return vectors, votes, seen


@pytest.mark.parametrize("most", [5, 1000])
def test_the_ballot_holds_the_vectors_that_lasted_longest(most: int) -> None:
    data = batch(values=True)
    loss = Perceptron().bind(layout_of(data), Chain(L), data)
    vectors, votes, seen = all_vectors(loss, 3)
    ballot = Ballot(most)
    run = VotedTraining(ballot=ballot, max_passes=3).start(loss, Penalty(), np.zeros(loss.size))
    average = AveragedPerceptron(max_passes=3).start(loss, Penalty(), np.zeros(loss.size))
    for _ in range(3):
        run.step()
        average.step()
    assert (run.w == average.w).all()  # voting changes nothing of the training
    assert sorted(ballot.votes)[::-1] == sorted((v for v in votes if v), reverse=True)[:most]
    for voter, count in zip(ballot.voters, ballot.votes, strict=True):
        same = [i for i, w in enumerate(vectors) if np.allclose(w, voter, atol=1e-9)]
        assert count in [votes[i] for i in same]
    if most == 1000:
        assert sum(ballot.votes) == seen


def test_goes_on_from_a_state() -> None:
    data = batch(values=True)
    loss, zero = Perceptron().bind(layout_of(data), Chain(L), data), np.zeros(layout_of(data).weights)
    whole, first, second = (Ballot(7) for _ in range(3))
    run = VotedTraining(ballot=whole).start(loss, Penalty(), zero)
    begun = VotedTraining(ballot=first).start(loss, Penalty(), zero)
    for _ in range(4):
        run.step()
    for _ in range(2):
        begun.step()
    later = VotedTraining(ballot=second).start(loss, Penalty(), zero, state=begun.state())
    begun.step()  # a state is a copy
    for _ in range(2):
        later.step()
    assert second.votes == whole.votes
    assert all((a == b).all() for a, b in zip(second.voters, whole.voters, strict=True))


def test_passes_without_a_mistake_vote_as_if_they_were_made() -> None:
    voted = VotedPerceptron(max_passes=50).fit(X, Y)
    made = voted.model_.training
    assert made is not None
    assert made.iterations < 50
    assert voted.votes_.sum() == 50 * len(X)


@pytest.mark.parametrize("voting", ["positions", "sequences"])
def test_predictions_are_votes(voting: Any) -> None:
    data = batch(values=True)
    sequences = [Batch.select(data, slice(n, n + 1)) for n in range(data.sequences)]
    voted = VotedPerceptron(votes=9, voting=voting, max_passes=2).fit(data)
    assert voted.voters_.shape == (9, len(voted.model_.w))
    found = voted.predict(data)
    for n, one in enumerate(sequences):
        each = []
        for w in voted.voters_:
            potentials = voted.model_.structure.potentials_of(score(voted.model_.layout, w, one), one)
            best = crfkit.inference.decode(potentials)
            each.append(tuple((best[0] if isinstance(best, list) else best).labels.tolist()))
        if voting == "sequences":
            tally = Counter[Any]()
            for path, votes in zip(each, voted.votes_.tolist(), strict=True):
                tally[path] += votes
            assert tally[tuple(map(int, found[n]))] == max(tally.values())
            continue
        for t, label in enumerate(found[n]):
            at = Counter[int]()
            for path, votes in zip(each, voted.votes_.tolist(), strict=True):
                at[path[t]] += votes
            assert at[int(label)] == max(at.values())


def test_scores_are_those_of_the_votes() -> None:
    data = batch(values=True)
    voted = VotedPerceptron(votes=3, max_passes=1).fit(data)
    assert data.label is not None
    found = np.array([int(y) for labels in voted.predict(data) for y in labels])
    assert voted.score(data) == pytest.approx(float(np.mean(found == data.label)))
    assert voted.score(data) != ChainCRF(objective="perceptron").fit(data).score(data)


def test_the_model_has_no_verbs_of_probabilities(tmp_path: Path) -> None:
    voted = VotedPerceptron(votes=4, voting="sequences", structure=Chain(constraints=(Forbid("D", "D"),)))
    voted.fit(X, Y).save(tmp_path / "v.crf")
    model = crfkit.load(tmp_path / "v.crf")
    assert model.predict(X_TEST) == voted.predict(X_TEST)
    for verb in ("predict_proba", "kbest", "entropy", "explain"):
        assert not hasattr(model, verb)
    with pytest.raises(AttributeError, match="VotedModel has no kbest: labels are decided by votes"):
        model.kbest(X_TEST, 2)
    with pytest.raises(ValueError, match="chosen by votes; leave given, method and constraints out"):
        model.predict(X_TEST, method="posterior")


def test_conventions_and_refusals() -> None:
    made = VotedPerceptron(votes=3, selection="all")
    changed = made.set_params(structure__order=2).structure
    assert isinstance(changed, Chain)
    assert changed.order == 2
    for bad, message in (
        (VotedPerceptron(votes=0), "votes is 0"),
        (VotedPerceptron(voting="loud"), "voting is 'loud'"),  # type: ignore[arg-type]
        (VotedPerceptron(max_passes=0), "max_passes is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            bad.fit(X, Y)
    with pytest.raises(ValueError, match="perceptron takes one gold label"):
        VotedPerceptron().fit(X, [[None] * len(Y[0]), *Y[1:]])
    with pytest.raises(TypeError, match="l2"):
        VotedPerceptron(l2=1.0)
