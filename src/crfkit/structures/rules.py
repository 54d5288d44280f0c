"""Constraints as plain data, as model files keep them.

Patterns are kept as they are when they have at most one repetition or choice. All others are kept as the
labels that they match. Limits bound what resolving the constraints of a file may cost, with the steps of its
patterns on the names of all labels (`crfkit._safe.expressions`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from crfkit._safe.expressions import compiled, expression_of
from crfkit._safe.printable import cut, quoted
from crfkit.structures.constraints import (
    START,
    STOP,
    Boundary,
    Constraint,
    Forbid,
    Matcher,
    Require,
    Scheme,
    SegmentLength,
)
from crfkit.structures.matching import fitting, fitting_pairs

_MOST_WORK = 1 << 22  # names matched against labels, over all constraints: a second
_PAIR_WORK = 1 << 9  # of a pattern of pairs, whatever the labels
MOST_STEPS = 1 << 32  #: of all patterns on the names of all labels: some seconds at worst
_MOST_STATES = 1 << 11  # of the automaton that limits the length of segments, before they are merged
_LONGEST_PATTERN = 500


def plain_constraints(constraints: Iterable[Constraint], labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return constraints as dicts, lists and strings.

    Examples
    --------
    >>> plain_constraints([Scheme("BIO"), Forbid("a", STOP)], ["a"])[1]
    {'kind': 'forbid', 'before': 'a', 'after': {'end': 'STOP'}}
    """
    constraints = list(constraints)
    schemes = [c for c in constraints if isinstance(c, Scheme)]
    made: list[dict[str, Any]] = []
    for rule in constraints:
        if isinstance(rule, Scheme):
            made.append(
                {"kind": "scheme", "name": rule.name, "outside": rule.outside, "separator": rule.separator}
            )
        elif isinstance(rule, SegmentLength):
            kinds = _types(labels, schemes)
            what = None if rule.label_type is None else plain_matcher(rule.label_type, kinds)
            made.append(
                {"kind": "length", "type": what, "minimum": int(rule.minimum), "maximum": rule.maximum}
            )
        elif isinstance(rule, Forbid) and rule.pair is not None:
            made.extend(_plain_pairs(rule.pair, labels))
        else:
            kind = "forbid" if isinstance(rule, Forbid) else "require"
            made.append(
                {
                    "kind": kind,
                    "before": plain_matcher(rule.before, labels),
                    "after": plain_matcher(rule.after, labels),
                }
            )
    constraints_of(made, labels)  # what cannot be read back is not written
    return made


def _types(labels: Sequence[str], schemes: Sequence[Scheme]) -> list[str]:
    """Types of segments that a `SegmentLength` can name."""
    kinds = [schemes[0].parse(label)[1] for label in labels] if schemes else list(labels)
    return list(dict.fromkeys(kind for kind in kinds if kind is not None))


def _harmless(pattern: re.Pattern[str]) -> bool:
    text = pattern.pattern
    return len(text) <= _LONGEST_PATTERN and sum(text.count(sign) for sign in "*+?{|") <= 1


def plain_matcher(matcher: Matcher | Boundary | None, names: Sequence[str]) -> Any:
    """Return a label, pattern or end as plain data."""
    if isinstance(matcher, Boundary):
        return {"end": matcher.name}
    if matcher is None or isinstance(matcher, str):
        return matcher
    if _harmless(matcher):
        return {"pattern": matcher.pattern, "flags": matcher.flags}
    return {"names": [name for name, fits in zip(names, fitting(matcher, names), strict=True) if fits]}


def _plain_pairs(pattern: re.Pattern[str], labels: Sequence[str]) -> list[dict[str, Any]]:
    if _harmless(pattern):
        return [{"kind": "pair", "pattern": pattern.pattern, "flags": pattern.flags}]
    rows: dict[tuple[str, ...], list[str]] = {}  # labels after: labels before
    for before in labels:
        fits = fitting(pattern, [f"{before},{label}" for label in labels])
        after = tuple(label for label, yes in zip(labels, fits, strict=True) if yes)
        rows.setdefault(after, []).append(before)
    return [
        {"kind": "forbid", "before": {"names": before}, "after": {"names": list(after)}}
        for after, before in rows.items()
        if after
    ]


def constraints_of(plain: object, labels: Sequence[str]) -> list[Constraint]:
    """Return the constraints that `plain_constraints` described; raise a ValueError on anything else.

    Examples
    --------
    >>> constraints_of([{"kind": "require", "before": "a", "after": "b"}], ["a", "b"])
    [Require(before='a', after='b')]
    """
    if not isinstance(plain, list) or not all(isinstance(entry, dict) for entry in plain):
        raise ValueError("the constraints are not a list")
    made, work = [], 0
    for entry in plain:
        rule = _constraint(entry)
        pair = entry.get("kind") == "pair"
        work += _PAIR_WORK + len(labels) ** 2 if pair else len(labels) * (2 + _listed(entry))
        if work > _MOST_WORK:
            raise ValueError(f"the constraints are too many or too large for {len(labels)} labels")
        made.append(rule)
    _check_steps(made, labels)
    _check_matches(made, labels)
    _check_states(made, labels)
    return made


def _listed(entry: dict[str, Any]) -> int:
    places = (entry.get("before"), entry.get("after"), entry.get("type"))
    return sum(len(m["names"]) for m in places if isinstance(m, dict) and isinstance(m.get("names"), list))


def _constraint(entry: dict[str, Any]) -> Constraint:
    kind = entry.get("kind")
    if kind == "scheme":
        name, outside, separator = (entry.get(k) for k in ("name", "outside", "separator"))
        if isinstance(name, str) and isinstance(outside, str) and isinstance(separator, str):
            return Scheme(name, outside, separator)
    elif kind == "pair":
        return Forbid(pair=_pattern(entry))
    elif kind in ("forbid", "require"):
        before, after = matcher_of(entry.get("before")), matcher_of(entry.get("after"))
        if before is not None and after is not None:
            return Forbid(before, after) if kind == "forbid" else Require(before, after)
    elif kind == "length":
        what, least, most = matcher_of(entry.get("type")), entry.get("minimum"), entry.get("maximum")
        if not isinstance(what, Boundary) and type(least) is int and (most is None or type(most) is int):
            return SegmentLength(what, least, most)
    raise ValueError(f"a constraint is damaged: {cut(str(entry), 200)}")


def matcher_of(plain: object) -> Matcher | Boundary | None:
    """Return what `plain_matcher` described; raise a ValueError on anything else."""
    if plain is None or isinstance(plain, str):
        return plain
    if isinstance(plain, dict):
        if plain.get("end") in ("START", "STOP"):
            return START if plain["end"] == "START" else STOP
        names = plain.get("names")
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            return re.compile("|".join(re.escape(name) for name in names))
        if "pattern" in plain:
            return _pattern(plain)
    raise ValueError(f"a constraint is damaged: {cut(str(plain), 200)}")


def _pattern(plain: dict[str, Any]) -> re.Pattern[str]:
    text, flags = plain.get("pattern"), plain.get("flags")
    if not isinstance(text, str) or type(flags) is not int or not 0 <= flags < 512:
        raise ValueError(f"a pattern is damaged: {cut(str(plain), 200)}")
    if flags & ~int(re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.UNICODE):
        raise ValueError(f"a pattern has the flags {flags}, which no pattern of a model has")
    pattern = compiled(text, flags)
    if not _harmless(pattern):
        raise ValueError(f"the pattern {quoted(text, 100)} could take forever")
    return pattern


def _matchers(rule: Constraint) -> list[Matcher]:
    """Return the labels and patterns that a rule names; not a pattern of pairs."""
    given: list[Matcher | Boundary | None] = []
    if isinstance(rule, SegmentLength):
        given = [rule.label_type]
    elif isinstance(rule, Forbid | Require):
        given = [rule.before, rule.after]
    return [one for one in given if one is not None and not isinstance(one, Boundary)]


def matcher_steps(matcher: Matcher, lengths: Mapping[int, int]) -> float:
    """Return the most steps that a matcher takes on names, given how many there are of each length.

    Examples
    --------
    >>> matcher_steps("B-PER", {5: 1}), matcher_steps(re.compile("abc"), {5: 10})
    (0.0, 100)
    """
    if isinstance(matcher, str):
        return 0.0
    expression = expression_of(matcher)
    return sum(count * expression.steps(length) for length, count in lengths.items())


def _check_steps(constraints: Sequence[Constraint], labels: Sequence[str]) -> None:
    """Refuse patterns that could take too many steps on the names of labels, all together."""
    lengths = Counter(map(len, labels))
    pairs: Counter[int] = Counter()
    if len(lengths) > 100:
        pairs[2 * max(lengths) + 1] = len(labels) ** 2
    else:
        for (a, times), (b, others) in product(lengths.items(), repeat=2):
            pairs[a + b + 1] += times * others
    steps = 0.0
    for rule in constraints:
        steps += sum(matcher_steps(matcher, lengths) for matcher in _matchers(rule))
        if isinstance(rule, Forbid) and rule.pair is not None:
            steps += matcher_steps(rule.pair, pairs)
        if steps > MOST_STEPS:
            raise ValueError(f"a constraint takes too long on such labels: {cut(str(rule), 200)}")


def _check_matches(constraints: Sequence[Constraint], labels: Sequence[str]) -> None:
    """Refuse names that are not labels, before a search for close ones, slow on hostile labels."""
    schemes = [rule for rule in constraints if isinstance(rule, Scheme)]
    for rule in constraints:
        names = _types(labels, schemes) if isinstance(rule, SegmentLength) else labels
        known = all(any(fitting(matcher, names)) for matcher in _matchers(rule))
        if isinstance(rule, Forbid) and rule.pair is not None:
            known = bool(fitting_pairs(rule.pair, labels).any())
        if not known:
            raise ValueError(f"a constraint names labels that the model does not have: {cut(str(rule), 200)}")


def _check_states(constraints: Sequence[Constraint], labels: Sequence[str]) -> None:
    """Refuse limits on lengths that would need too many states."""
    limits = [rule for rule in constraints if isinstance(rule, SegmentLength)]
    schemes = [rule for rule in constraints if isinstance(rule, Scheme)]
    if not limits:
        return
    longest = [1] * len(labels)
    for i, label in enumerate(labels):
        kind = schemes[0].parse(label)[1] if schemes else label
        for rule in limits:
            matcher = rule.label_type
            same = matcher is None or (kind is not None and fitting(matcher, [kind])[0])
            if same:
                longest[i] = max(longest[i], rule.minimum, rule.maximum or 1)
    if sum(longest) > _MOST_STATES:
        raise ValueError(
            f"the limits on lengths need {sum(longest):,} states, more than a model file may have "
            f"({_MOST_STATES:,}); use smaller limits"
        )
