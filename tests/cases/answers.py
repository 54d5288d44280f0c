"""What the answers should be, and how they are compared.

`expected` answers every query for each sequence of a problem, by enumeration or by the textbook
recursions; `check` maps each query to a comparison of `crfkit.inference` with such answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import pytest

from crfkit import inference
from crfkit.inference import Labeling, Marginals
from crfkit.inference.reference.enumeration import Enumeration, labeling_score
from crfkit.inference.reference.textbook import Textbook
from crfkit.structures.chains.potentials import ChainPotentials
from crfkit.structures.segments.potentials import SemiMarkovPotentials
from crfkit.structures.tree import TreePotentials
from tests.cases.potentials import Potentials

Space: TypeAlias = Literal["auto", "log"]
PARTS = ("node", "edge", "start", "stop", "segment")


class Answers:
    """The answers of one sequence, by enumeration or (too many labelings) by the textbook."""

    def __init__(self, potentials: Potentials, by: Literal["enumeration", "textbook"]) -> None:
        self.potentials = potentials
        self.every = Enumeration(potentials) if by == "enumeration" else None
        self.found = self.every or Textbook(potentials)
        self.log_partition = self.found.log_partition
        self.count = self.found.count
        self._parts: dict[tuple[str, bool], Marginals] = {}

    @property
    def entropy(self) -> float:
        return self.found.entropy

    @property
    def best_score(self) -> float:
        return self.kbest_scores(1)[0] if self.every else self.found.best_score  # type: ignore[union-attr]

    def kbest_scores(self, k: int) -> list[float]:
        if isinstance(self.found, Textbook):
            return self.found.kbest_scores(k)
        return [y.score for y in self.found.kbest(k)]

    def parts(self, query: Literal["marginals", "reachable"], by_position: bool) -> Marginals:
        if (query, by_position) not in self._parts:
            found = getattr(self.found, query)(edges_by_position=by_position)
            self._parts[query, by_position] = found
        return self._parts[query, by_position]

    @cached_property
    def magnitude(self) -> float:
        """How large the sums of scores can be that cancel in an entropy."""
        p = self.potentials
        names = ("node", "segment", "edge", "start", "stop")
        given = [part for name in names if (part := getattr(p, name, None)) is not None]
        arrays = [a for part in given for a in (part if isinstance(part, tuple) else (part,))]
        finite = [np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in arrays]
        return float(p.seq_ptr[-1] * max(finite, default=0.0))


def expected(potentials: Potentials, by: Literal["enumeration", "textbook"] = "enumeration") -> list[Answers]:
    if potentials.single:
        return [Answers(potentials, by)]
    return [Answers(potentials.sequence(n), by) for n in range(len(potentials.seq_ptr) - 1)]


def assert_close(
    actual: Any, wanted: Any, *, rtol: float = 1e-9, atol: float = 1e-12, what: str = ""
) -> None:
    """Compare numbers, arrays, or lists of arrays of the same shapes; None only equals None."""
    if isinstance(wanted, list | tuple) or isinstance(actual, list | tuple):
        assert len(actual) == len(wanted), what
        for i, (a, w) in enumerate(zip(actual, wanted, strict=True)):
            assert_close(a, w, rtol=rtol, atol=atol, what=f"{what}[{i}]")
    elif wanted is None or actual is None:
        assert actual is wanted, what
    else:
        assert np.shape(actual) == np.shape(wanted), what
        assert np.asarray(actual).dtype == np.asarray(wanted).dtype, what
        with np.errstate(invalid="ignore"):  # -inf - -inf, which only equals itself
            near = np.abs(np.subtract(actual, wanted, dtype=float)) <= atol + rtol * np.abs(wanted)
        if not np.all((near & np.isfinite(wanted)) | np.equal(actual, wanted)):
            np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=atol, err_msg=what)
            raise AssertionError(what)  # both must agree that something is wrong


def assert_parts(actual: Any, wanted: Any, *, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    for part in PARTS:
        assert_close(getattr(actual, part), getattr(wanted, part), rtol=rtol, atol=atol, what=part)


def together(potentials: Potentials, parts: Sequence[Marginals], by_position: bool) -> Marginals:
    """Join the parts of sequences as a batch does: end to end, or added up where shared."""
    if potentials.single:
        return parts[0]
    if isinstance(potentials, TreePotentials):
        node = [row for part in parts for row in part.node]
        return Marginals(0.0, node, [table for part in parts for table in part.edge])

    def laid(arrays: list[Any], shape: tuple[int, ...]) -> Any:
        return np.concatenate(arrays) if arrays else np.zeros(shape)

    def added(arrays: list[Any], shape: tuple[int, ...]) -> Any:
        if not arrays:
            return np.zeros(shape)
        return np.any(arrays, axis=0) if arrays[0].dtype == np.bool_ else np.sum(arrays, axis=0)

    L = len(potentials.structure.labels)
    chain = isinstance(potentials, ChainPotentials)
    tables: Any = potentials.edge if chain else (potentials.edge,)
    edge: Any
    if by_position or (len(tables) == 1 and tables[0].ndim == 3):
        edge = laid([part.edge for part in parts], (0, L, L))
    elif len(tables) == 1:
        edge = added([part.edge for part in parts], (L, L))
    else:
        edge = tuple(added([part.edge[h] for part in parts], table.shape) for h, table in enumerate(tables))
    segment = None
    if isinstance(potentials, SemiMarkovPotentials):
        segment = laid([part.segment for part in parts], (0, *potentials.segment.shape[1:]))
    return Marginals(
        0.0,
        laid([part.node for part in parts], (0, L)),
        edge,
        None if potentials.start is None else added([part.start for part in parts], (L,)),
        None if potentials.stop is None else added([part.stop for part in parts], (L,)),
        segment,
    )


def per_sequence(potentials: Potentials, result: Any) -> list[Any]:
    if potentials.single:
        return [result]
    assert len(result) == len(potentials.seq_ptr) - 1
    return list(result)


def own_score(answers: Answers, y: Labeling) -> float:
    begin = None if y.begin is None else y.begin.tolist()
    assert (begin is None) != isinstance(answers.potentials, SemiMarkovPotentials)
    return labeling_score(answers.potentials, y.labels.tolist(), begin)


def key(y: Labeling) -> tuple[Any, ...]:
    return (*y.labels.tolist(), None, *(() if y.begin is None else y.begin.tolist()))


# ---- one comparison for each query -----------------------------------------------------------


def check_log_partition(p: Potentials, answers: list[Answers], space: Space) -> None:
    actual = per_sequence(p, inference.log_partition(p, space=space))
    assert_close(actual, [a.log_partition for a in answers])
    if p.single:
        assert isinstance(inference.log_partition(p), float)


def check_entropy(p: Potentials, answers: list[Answers], space: Space) -> None:
    actual = per_sequence(p, inference.entropy(p, space=space))
    for value, a in zip(actual, answers, strict=True):
        assert_close(value, a.entropy, atol=1e-12 * (1.0 + a.magnitude))


def _check_parts(p: Potentials, answers: list[Answers], by_position: bool, **space: Space) -> None:
    query: Literal["marginals", "reachable"] = "marginals" if space else "reachable"
    if by_position and isinstance(p, ChainPotentials) and len(p.edge) > 1:
        with pytest.raises(ValueError, match="order 1"):
            getattr(inference, query)(p, edges_by_position=True, **space)
        return
    actual = getattr(inference, query)(p, edges_by_position=by_position, **space)
    assert_parts(actual, together(p, [a.parts(query, by_position) for a in answers], by_position))
    log_partition = per_sequence(p, actual.log_partition)
    if space:
        assert_close(log_partition, [a.log_partition for a in answers])
    else:
        assert log_partition == [0.0] * len(answers)


def check_marginals(p: Potentials, answers: list[Answers], space: Space) -> None:
    _check_parts(p, answers, False, space=space)


def check_marginals_by_position(p: Potentials, answers: list[Answers], space: Space) -> None:
    _check_parts(p, answers, True, space=space)


def check_reachable(p: Potentials, answers: list[Answers], _: Space) -> None:
    _check_parts(p, answers, False)


def check_reachable_by_position(p: Potentials, answers: list[Answers], _: Space) -> None:
    _check_parts(p, answers, True)


def check_decode(p: Potentials, answers: list[Answers], _: Space) -> None:
    for y, a in zip(per_sequence(p, inference.decode(p)), answers, strict=True):
        assert_close(y.score, a.best_score)
        assert_close(own_score(a, y), a.best_score)
        if a.every:
            best = {(*b.labels, None, *(b.begin or ())) for b in a.every.decode()}
            assert key(y) in best


def check_decode_posterior(p: Potentials, answers: list[Answers], _: Space) -> None:
    for y, a in zip(per_sequence(p, inference.decode(p, "posterior")), answers, strict=True):
        rows = a.parts("marginals", False).node
        assert len(y.labels) == len(rows)
        for label, row in zip(y.labels, rows, strict=True):
            assert row[label] >= row.max() - 1e-9
        assert_close(y.score, own_score(a, y))


def check_best(p: Potentials, answers: list[Answers], _: Space) -> None:
    values, path = inference.best(p)
    assert_close(values.tolist(), [a.best_score for a in answers])
    assert path.seq_ptr.tolist() == p.seq_ptr.tolist()
    assert (path.begin is None) != isinstance(p, SemiMarkovPotentials)
    for a, (first, end) in zip(answers, pairwise(p.seq_ptr.tolist()), strict=True):
        begin = None if path.begin is None else path.begin[first:end].tolist()
        assert_close(labeling_score(a.potentials, path.label[first:end].tolist(), begin), a.best_score)


def _in_slots(p: Potentials, parts: Marginals) -> dict[str, Any]:
    """Lay parts out by slot."""
    if isinstance(p, TreePotentials):
        none = [np.zeros(0)]
        both = {"node": parts.node, "edge": parts.edge}
        return {slot: np.concatenate(none + [a.ravel() for a in arrays]) for slot, arrays in both.items()}
    slots = {slot: a for slot in ("node", "start", "stop") if (a := getattr(parts, slot)) is not None}
    if isinstance(parts.edge, tuple):
        slots["transition"] = np.concatenate([table.ravel() for table in parts.edge])
    elif parts.edge.ndim == 3:
        slots["edge"] = parts.edge.reshape(len(parts.edge), parts.edge.shape[1] ** 2)
    elif not isinstance(p, ChainPotentials) or p.structure.order > 0:
        slots["transition"] = parts.edge.ravel()
    if parts.segment is not None:
        slots["segment"] = parts.segment.reshape(-1, parts.segment.shape[2])
        slots["length"] = parts.segment.sum(axis=0).ravel()
        slots["begin"], slots["end"] = parts.segment.sum(axis=1), np.zeros_like(parts.node)
        for first, length in np.ndindex(parts.segment.shape[:2]):
            if first + length < len(parts.node):
                slots["end"][first + length] += parts.segment[first, length]
    return slots


def _times(parts: Marginals, weight: float) -> Marginals:
    def scaled(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return type(part)(scaled(array) for array in part)
        return None if part is None else weight * part

    return Marginals(parts.log_partition, *(scaled(getattr(parts, name)) for name in PARTS))


def check_expected(p: Potentials, answers: list[Answers], _: Space) -> None:
    each = [a.parts("marginals", False) for a in answers]
    for pattern in ([1.0], [2.0], [0.0], [0.5, 0.0, -1.5, 3.0]):
        weight = np.resize(pattern, len(answers))
        log_partition, slots = inference.expected(p, weight)
        assert_close(log_partition.tolist(), [a.log_partition for a in answers])
        parts = [_times(part, w) for part, w in zip(each, weight.tolist(), strict=True)]
        wanted = _in_slots(p, together(p, parts, False))
        assert slots.keys() == wanted.keys()
        assert {slot: a.shape for slot, a in p.scores().items()}.items() <= {
            slot: a.shape for slot, a in slots.items()
        }.items()
        for slot, array in wanted.items():
            assert_close(slots[slot], array, what=slot)


def check_kbest(p: Potentials, answers: list[Answers], _: Space) -> None:
    for k in (1, 5, 40) if answers and answers[0].every else (1, 5):
        for found, a in zip(per_sequence(p, inference.kbest(p, k)), answers, strict=True):
            assert_close([y.score for y in found], a.kbest_scores(k))
            assert_close([own_score(a, y) for y in found], [y.score for y in found])
            assert len({key(y) for y in found}) == len(found) == min(k, a.count)


def check_sample(p: Potentials, answers: list[Answers], space: Space) -> None:
    draws = per_sequence(p, inference.sample(p, n=3, seed=5, space=space))
    for found, a in zip(draws, answers, strict=True):
        assert len(found) == 3
        for y in found:
            assert own_score(a, y) > -np.inf
            assert_close(y.score, own_score(a, y))


def check_count(p: Potentials, answers: list[Answers], _: Space) -> None:
    assert per_sequence(p, inference.count(p)) == [a.count for a in answers]


def _random_labelings(p: Potentials, answers: list[Answers]) -> Any:
    """Yield labelings of whole batches, and the labels and begins of each sequence."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        whole: list[Any] = []
        each = []
        at = 0
        for a in answers:
            T = int(a.potentials.seq_ptr[-1])
            if isinstance(a.potentials, TreePotentials):
                labels = [int(rng.integers(n)) for n in a.potentials.structure.width]
            else:
                labels = rng.integers(len(a.potentials.structure.labels), size=T).tolist()
            begin = None
            if isinstance(a.potentials, SemiMarkovPotentials):
                begin = [bool(t == 0 or rng.random() < 0.6) for t in range(T)]
                firsts = [t for t in range(T) if begin[t]]
                for first, end in zip(firsts, [*firsts[1:], T][: len(firsts)], strict=True):
                    labels[first:end] = [labels[first]] * (end - first)
                    whole.append((at + first, at + end, labels[first]))
            else:
                whole.extend(labels)
            each.append((labels, begin))
            at += T
        yield whole, each


def check_score(p: Potentials, answers: list[Answers], _: Space) -> None:
    for whole, each in _random_labelings(p, answers):
        wanted = [labeling_score(a.potentials, *y) for a, y in zip(answers, each, strict=True)]
        assert_close(per_sequence(p, inference.score(p, whole)), wanted)


def check_log_prob(p: Potentials, answers: list[Answers], space: Space) -> None:
    for whole, each in _random_labelings(p, answers):
        actual = per_sequence(p, inference.log_prob(p, whole, space=space))
        for value, y, a in zip(actual, each, answers, strict=True):
            wanted = labeling_score(a.potentials, *y) - a.log_partition
            assert_close(value, wanted, atol=1e-12 + 1e-14 * a.magnitude)
    if p.single:
        best = inference.decode(p)
        actual = inference.log_prob(p, best, space=space)
        wanted = answers[0].best_score - answers[0].log_partition
        assert_close(actual, wanted, atol=1e-12 + 1e-14 * answers[0].magnitude)


def check_span_probability(p: Potentials, answers: list[Answers], _: Space) -> None:
    rng = np.random.default_rng(4)
    for n, a in enumerate(answers):
        T = int(a.potentials.seq_ptr[-1])
        which = {} if p.single else {"sequence": n}
        assert_close(inference.span_probability(p, T, T, [], **which), 1.0)
        for t in range(min(T, 3)):
            end = t + 1 if a.every is None else int(rng.integers(t, T)) + 1
            if isinstance(a.potentials, TreePotentials):
                widths = a.potentials.structure.width[t:end]
                labels = [int(rng.integers(width)) for width in widths]
            else:
                labels = rng.integers(len(a.potentials.structure.labels), size=end - t).tolist()
            actual = inference.span_probability(p, t, end, labels, **which)
            wanted = (
                a.every.span_probability(t, end, labels)
                if a.every
                else float(a.parts("marginals", False).node[t][labels[0]])
            )
            assert_close(actual, wanted)


CHECKS: dict[str, Callable[[Potentials, list[Answers], Space], None]] = {
    name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")
}
