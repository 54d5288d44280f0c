"""How sure a model is of the segments that it predicts: the probability of exactly these ends and label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crfkit import inference
from crfkit.arrays import Bools, Floats, Pointers
from crfkit.inference.results import counted_from
from crfkit.inference.spans import Steps, segment_probability
from crfkit.models.encoding import Recoding
from crfkit.models.scores import flat_path
from crfkit.structures.gold import Path, Sets
from crfkit.tags.reading import CUT, END, START, Rules, find, rules
from crfkit.tags.schemes import OUTSIDE

if TYPE_CHECKING:
    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.models.model import SequenceModel

#: (start, end, label, probability) of the segments of one sequence, in order.
SureSegments: TypeAlias = list[tuple[int, int, str, float]]
#: Starts, ends and labels of segments: [K] each.
Found: TypeAlias = tuple[Pointers, Pointers, list[str]]


def check_sure(model: SequenceModel) -> None:
    """Refuse models whose segments have no probability here."""
    if not model.segmental and model.tags is not None and model.layout.order > 1:
        raise ValueError(
            f"the probability of tagged segments is for chains of order 1 and for segments, not for "
            f"{model.structure.describe()}; crfkit.tags.spans(labels) has segments without it, "
            "inference.span_probability takes one span at a time"
        )


def segment_confidence(
    model: SequenceModel,
    X: Any,
    *,
    allowed: Bools | Sets | None = None,
    constraints: Iterable[GlobalConstraint] | None = None,
    threads: int | None = None,
) -> list[SureSegments]:
    """Return predicted segments with their probabilities; see `SequenceModel.predict_spans`.

    The segments keep the constraints, by default those of the model.
    """
    check_sure(model)
    batch = model.batch_of(X, threads=threads)
    kept = None
    if constraints is not None or model.constraints:
        kept = model._path(batch, allowed=allowed, constraints=constraints, threads=threads)
    found: list[SureSegments] = []
    for _, potentials in model.parts(batch, allowed=allowed, threads=threads, cells=segment_cells(model)):
        with counted_from(len(found)):
            if kept is None:
                path = flat_path(potentials, model.decision, threads, model.states)
            else:  # labels that keep the constraints on whole labelings, which probabilities do not know
                first = int(kept.seq_ptr[len(found)])
                rows = slice(first, first + int(potentials.seq_ptr[-1]))
                begin = None if kept.begin is None else kept.begin[rows]
                path = Path(potentials.seq_ptr, kept.label[rows], begin)
            found += sure_of(model, potentials, path, threads)
    return found


def sure_of(model: SequenceModel, potentials: Any, path: Path, threads: int | None) -> list[SureSegments]:
    """Return the segments of labels [P], with their probabilities under these scores."""
    if model.segmental:
        return _of_segments(model, potentials, path, threads)
    states = model.states
    label = path.label if states is None else states.ids(path)
    if model.tags is None:
        found, p = _of_runs(model, potentials, label.astype(np.int64), path.seq_ptr, threads)
    else:
        found, p = _of_tags(model, potentials, label.astype(np.int64), path.seq_ptr, threads)
    p = p if model.calibration is None else model.calibration.segments(p)
    return _by_sequence(path.seq_ptr, *found, p)


def _tag_pairs(model: SequenceModel) -> tuple[NDArray[np.uint8], Rules]:
    """Return what two neighboring tags say of segments, [L + 1, L + 1], and how tags are read.

    The last is what lies before the first position and after the last.
    """
    assert model.tags is not None
    learned = isinstance(model.spelling, Recoding)  # the labels of the chain are tags of another encoding
    names = model.structure.labels if learned else model.tags.values()
    reading = rules("lenient", (*names, OUTSIDE))
    part, kind = reading.part, reading.kind
    parts = int(np.sqrt(len(reading.table) // 2))
    same = kind[:, None] == kind  # [L + 1, L + 1]
    return reading.table[(part[:, None] * parts + part) * 2 + same], reading


def pairs_of(model: SequenceModel) -> tuple[NDArray[np.uint8], NDArray[np.int64], tuple[str, ...]]:
    """Return how the labels of a chain are read as segments, for one labeling at a time.

    Returns
    -------
    flags : array [L + 1, L + 1]
        What two neighboring labels say (`crfkit.tags.reading`); the last is what lies around a sequence.
    kind : array [L]
        The number of the kind of segments of each label.
    kinds : tuple of str
        The names of these.
    """
    if model.tags is not None:
        flags, reading = _tag_pairs(model)
        return flags, reading.kind[:-1], reading.kinds
    L = len(model.answers)
    return np.where(np.eye(L + 1), np.uint8(0), START | CUT | END), np.arange(L), model.answers


def _of_tags(
    model: SequenceModel, potentials: Any, label: Pointers, seq_ptr: Pointers, threads: int | None
) -> tuple[Found, Floats]:
    """Return the segments that tags [P] spell, and their probabilities."""
    flags, reading = _tag_pairs(model)
    spans = find(label, seq_ptr, reading)
    kind = reading.kind
    begins, cuts = (flags & START) != 0, (flags & CUT) != 0
    steps = Steps(begins[:, :-1], ~cuts[:-1, :-1], cuts[:-1])
    among: Bools = spans.kind[:, None] == kind[:-1]  # [K, L]
    kinds = [reading.kinds[k] for k in spans.kind.tolist()]
    p = _walked(model, potentials, spans.start, spans.end, among, steps, threads)
    return (spans.start, spans.end, kinds), p


def _of_runs(
    model: SequenceModel, potentials: Any, label: Pointers, seq_ptr: Pointers, threads: int | None
) -> tuple[Found, Floats]:
    """Return the runs of equal labels [P], and the probabilities of exactly these runs.

    The labels beside a run are others. Chains of order 1 are walked; those of higher order are summed with
    these sets of labels allowed, one run of every sequence at a time.
    """
    starts = np.zeros(len(label) + 1, dtype=np.bool_)
    starts[1:-1] = label[1:] != label[:-1]
    starts[seq_ptr[:-1]] = True
    first = np.flatnonzero(starts[:-1])
    end = np.append(first[1:], len(label))[: len(first)]
    which = label[first]  # [K]
    L = len(model.answers)
    names = [model.answers[y] for y in which.tolist()]
    same, ends = np.eye(L, dtype=np.bool_), np.ones((1, L), dtype=np.bool_)
    if model.layout.order <= 1:
        steps = Steps(np.concatenate([~same, ends]), same, np.concatenate([~same, ends.T], axis=1))
        return (first, end, names), _walked(model, potentials, first, end, same[which], steps, threads)
    total = np.atleast_1d(inference.log_partition(potentials, threads=threads))  # [N]
    sequence = np.searchsorted(seq_ptr, first, side="right") - 1  # [K]
    rank = np.arange(len(first)) - np.searchsorted(sequence, sequence)  # [K] which run of its sequence
    p = np.zeros(len(first))
    for turn in range(int(rank.max(initial=-1)) + 1):
        mask = np.ones((len(label), L), dtype=np.bool_)  # [P, L]
        now = np.flatnonzero(rank == turn)
        for k in now.tolist():
            a, b, y = int(first[k]), int(end[k]), int(which[k])
            mask[a:b] = same[y]
            if a > seq_ptr[sequence[k]]:
                mask[a - 1, y] = False
            if b < seq_ptr[sequence[k] + 1]:
                mask[b, y] = False
        states = model.states
        within = potentials.clamped(mask if states is None else mask[:, states.group])
        mass = np.atleast_1d(inference.log_partition(within, threads=threads))  # [N]
        p[now] = np.exp(mass[sequence[now]] - total[sequence[now]])
    return (first, end, names), p


def _walked(
    model: SequenceModel,
    potentials: Any,
    first: Pointers,
    end: Pointers,
    among: Bools,
    steps: Steps,
    threads: int | None,
) -> Floats:
    states = model.states
    if states is not None:
        steps, among = steps.of_states(states.group.astype(np.int64)), among[:, states.group]
    return segment_probability(potentials, first, end, among, steps, threads=threads)


def _of_segments(
    model: SequenceModel, potentials: Any, path: Path, threads: int | None
) -> list[SureSegments]:
    segment = inference.marginals(potentials, threads=threads).segment  # [P, D, L]
    assert segment is not None
    assert path.begin is not None
    first = np.flatnonzero(path.begin)
    end = np.append(first[1:], len(path.label))[: len(first)]
    label = path.label[first]
    names = np.array(model.structure.labels, dtype=object)[label]
    inside = names != "O"
    p = segment[first, end - first - 1, label]
    p = p if model.calibration is None else model.calibration.segments(p)
    return _by_sequence(path.seq_ptr, first[inside], end[inside], names[inside].tolist(), p[inside])


def _by_sequence(
    seq_ptr: Pointers, first: Pointers, end: Pointers, names: list[str], p: Floats
) -> list[SureSegments]:
    sequence = np.searchsorted(seq_ptr, first, side="right") - 1
    begin = seq_ptr[sequence]
    found: list[SureSegments] = [[] for _ in range(len(seq_ptr) - 1)]
    each = zip(
        sequence.tolist(),
        (first - begin).tolist(),
        (end - begin).tolist(),
        names,
        np.minimum(p, 1.0).tolist(),
        strict=True,
    )
    for n, a, b, name, share in each:
        found[n].append((a, b, name, share))
    return found


def segment_cells(model: SequenceModel) -> int:
    """Return the numbers that probabilities of segments need for each position."""
    return model.structure.states() ** 2
