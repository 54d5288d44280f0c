"""What Sarawagi & Cohen (2004), section 3.3, say of their results, decided by the numbers that came out here.

A learner is better than another where its mean is higher. Runs share their splits, so in how many cases that
is clear is said by the 95 % interval of the differences between runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from crfkit.papers.page import Claim
from crfkit.papers.results import Result, t_interval

#: Results by task, learner, dictionary, order and share.
Key = tuple[str, str, str, int, float]
Scores = Mapping[Key, Result]

CHAINS = ("CRF/1", "CRF/4")
SEMI = "semi-CRF"


def claims(
    found: Scores, tasks: Sequence[str], share: float, shares: Sequence[float], orders: Sequence[int]
) -> list[Claim]:
    """Return every claim with the answer of the numbers; those that lack numbers are not decided."""
    table = {key[:3]: one for key, one in found.items() if key[3:] == (1, share)}
    every = product(tasks, (*CHAINS, SEMI), ("none", "internal", "external", "both"))
    made: list[Claim] = []
    if not tasks or any(key not in table for key in every):
        return [Claim("the claims on Table 1", None, "numbers are missing")]
    made += [_best(table, tasks, ("none",), len(tasks), "without dictionaries semi-CRFs are the best")]
    made += _internal(table, tasks)
    made += [
        _best(
            table,
            tasks,
            ("internal", "both"),
            2 * len(tasks) - 1,
            "with internal dictionaries semi-CRFs are the best on nine of ten variants",
        )
    ]
    made += [_external(table, tasks)]
    made += [
        _best(
            table,
            tasks,
            ("external",),
            round(0.6 * len(tasks)),
            "with external dictionaries only, semi-CRFs are the best on three of five tasks",
        )
    ]
    made += [_conditions(table, tasks), _orders(found, tasks, share, orders), _curves(found, tasks, shares)]
    return made


def _clear(one: Result, other: Result) -> bool:
    """Whether the first is higher in the mean of the differences of runs, interval included."""
    seeds = [seed for seed in one.runs if seed in other.runs]
    low, _ = t_interval([one.runs[seed] - other.runs[seed] for seed in seeds])
    return low is not None and low > 0.0


def _best(
    table: Mapping[tuple[str, str, str], Result],
    tasks: Sequence[str],
    dictionaries: Sequence[str],
    enough: int,
    text: str,
) -> Claim:
    cases = list(product(tasks, dictionaries))
    won = clear = 0
    for task, dictionary in cases:
        mine = table[task, SEMI, dictionary]
        rivals = [table[task, chain, dictionary] for chain in CHAINS]
        won += all(mine.ours > rival.ours for rival in rivals)
        clear += all(_clear(mine, rival) for rival in rivals)
    return Claim(text, won >= enough, f"best in {won} of {len(cases)} cases here, clearly in {clear}")


def _internal(table: Mapping[tuple[str, str, str], Result], tasks: Sequence[str]) -> list[Claim]:
    made = []
    for learner, worst_allowed in ((SEMI, -2.5), *((chain, None) for chain in CHAINS)):
        changes = [
            100.0 * (table[task, learner, after].ours / max(table[task, learner, before].ours, 1e-9) - 1.0)
            for task in tasks
            for before, after in (("none", "internal"), ("external", "both"))
        ]
        fell = sum(change < 0.0 for change in changes)
        why = f"it fell in {fell} of {len(changes)} cases here, by {-min(changes):.1f} % at most"
        if min(changes) >= 0.0:
            why = f"it fell in none of {len(changes)} cases here"
        if worst_allowed is not None:
            text = "the internal dictionary never lowers the F1 of semi-CRFs by more than 2.5 %"
            made.append(Claim(text, min(changes) >= worst_allowed, why))
        else:
            text = f"the internal dictionary often lowers the F1 of {learner}"
            made.append(Claim(text, 2 * fell >= len(changes), why))
    return made


def _external(table: Mapping[tuple[str, str, str], Result], tasks: Sequence[str]) -> Claim:
    cases = list(product(tasks, (*CHAINS, SEMI)))
    rose = sum(table[t, learner, "external"].ours > table[t, learner, "none"].ours for t, learner in cases)
    clear = sum(_clear(table[t, learner, "external"], table[t, learner, "none"]) for t, learner in cases)
    return Claim(
        "external dictionaries help all learners",
        rose == len(cases),
        f"F1 rose in {rose} of {len(cases)} cases here, clearly in {clear}",
    )


def _conditions(table: Mapping[tuple[str, str, str], Result], tasks: Sequence[str]) -> Claim:
    """Semi-CRFs with the internal dictionary against the best of both chains, with and without external."""
    won = 0
    for task, (less, more) in product(tasks, (("none", "internal"), ("external", "both"))):
        rivals = [table[task, chain, kind].ours for chain in CHAINS for kind in (less, more)]
        won += table[task, SEMI, more].ours > max(rivals)
    cases = 2 * len(tasks)
    return Claim(
        "semi-CRFs with all information beat both chains in eight of ten conditions",
        won >= round(0.8 * cases),
        f"in {won} of {cases} conditions here",
    )


def _orders(found: Scores, tasks: Sequence[str], share: float, orders: Sequence[int]) -> Claim:
    text = f"a higher order does not improve chains much: semi-CRFs beat chains of orders 1 to {max(orders)}"
    kinds = list(product(CHAINS, (1, *orders)))
    score = {
        (task, chain, order): found[key].ours
        for task, (chain, order) in product(tasks, kinds)
        if (key := (task, chain, "none", order, share)) in found
    }
    known = [task for task in tasks if all((task, *kind) in score for kind in kinds)]
    if not known:
        return Claim.missing(text)
    gains = [score[t, c, k] - score[t, c, 1] for t, c, k in product(known, CHAINS, orders)]
    won = sum(
        found[t, SEMI, "none", 1, share].ours > max(score[t, chain, order] for chain, order in kinds)
        for t in known
    )
    return Claim(
        text,
        won == len(known),
        f"on {won} of {len(known)} tasks here; higher orders change F1 by {sum(gains) / len(gains):+.1f} in "
        f"the mean, by {max(gains):+.1f} at best",
    )


def _curves(found: Scores, tasks: Sequence[str], shares: Sequence[float]) -> Claim:
    text = "differences are smaller with more training data"
    few, many = min(shares), max(shares)
    ranges: dict[str, tuple[float, float]] = {}
    for task in tasks:
        curves = [
            key[:4] for key in found if key[0] == task and {(*key[:4], few), (*key[:4], many)} <= {*found}
        ]
        if curves and few < many:
            ends = ([found[(*curve, share)].ours for curve in curves] for share in (few, many))
            first, last = (max(scores) - min(scores) for scores in ends)
            ranges[task] = first, last
    if not ranges:
        return Claim.missing(text)
    told = ", ".join(f"{task} {first:.1f} to {last:.1f}" for task, (first, last) in ranges.items())
    return Claim(
        text,
        all(last < first for first, last in ranges.values()),
        f"best minus worst F1 from {few} to {many} of the data: {told}",
    )
