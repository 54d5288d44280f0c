"""What Lafferty, McCallum & Pereira (2001), section 5.2, say of Figure 3, decided source by source."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean, median

from crfkit.papers.page import Claim
from crfkit.papers.results import Result

__all__ = ["MODELS", "Key", "claims", "pairs_of"]

MODELS = ("HMM", "MEMM", "CRF")
Key = tuple[float, str]  # alpha and model
_TYPICAL = 2 / 3  # of the sources in which "typically" must be true


def claims(errors: Mapping[Key, Result], curves: Mapping[str, Result]) -> list[Claim]:
    """Return every claim with the answer of the numbers; those that lack numbers are not decided."""
    second = {key: one for key, one in errors.items() if key[0] >= 0.5}
    first = {key: one for key, one in errors.items() if key[0] < 0.5}
    return [
        _better(errors, "CRF", "MEMM", "the CRF typically beats the MEMM"),
        _better(errors, "HMM", "MEMM", "the HMM beats the MEMM"),
        _better(second, "CRF", "HMM", "where alpha ≥ 1/2, the CRF typically beats the HMM"),
        _rise(first, second),
        _slow(curves),
    ]


def pairs_of(errors: Mapping[Key, Result], one: str, other: str) -> list[tuple[float, float]]:
    """Return the errors of two models on the same sources."""
    return [
        (result.runs[seed], errors[alpha, other].runs[seed])
        for (alpha, name), result in errors.items()
        if name == one and (alpha, other) in errors
        for seed in result.runs
        if seed in errors[alpha, other].runs
    ]


def _better(errors: Mapping[Key, Result], one: str, other: str, text: str) -> Claim:
    pairs = pairs_of(errors, one, other)
    if not pairs:
        return Claim(text, None, "numbers are missing")
    won = sum(a < b for a, b in pairs)
    less = median(100.0 * (1.0 - a / b) for a, b in pairs if b > 0.0) if any(b for _, b in pairs) else 0.0
    return Claim(
        text,
        won >= _TYPICAL * len(pairs),
        f"on {won} of {len(pairs)} sources, with {less:.0f} % fewer errors in the median",
    )


def _rise(first: Mapping[Key, Result], second: Mapping[Key, Result]) -> Claim:
    text = "errors rise with alpha"
    if not first or not second:
        return Claim(text, None, "numbers are missing")
    low, high = (mean(one.ours for one in errors.values()) for errors in (first, second))
    return Claim(text, high > low, f"{low:.1f} % in the mean below 1/2, {high:.1f} % from there on")


def _slow(curves: Mapping[str, Result]) -> Claim:
    text = "Algorithm S is slow: about 500 iterations"
    if len(curves) < 2:
        return Claim(text, None, "numbers are missing")
    fast, slow = (curves[name] for name in ("L-BFGS", "Algorithm S"))
    passed = [
        next(
            passes
            for passes, excess in zip(fast.series[seed]["passes"], fast.series[seed]["excess"], strict=True)
            if excess <= value
        )
        for seed, value in slow.runs.items()
        if seed in fast.series and fast.runs[seed] <= value
    ]
    needed = max(one["passes"][-1] for one in slow.series.values())
    return Claim(
        text,
        len(passed) == len(slow.runs) and max(passed) < needed / 2,
        f"after {needed:.0f} passes it is {slow.ours:.2g} % above the optimum; L-BFGS is as close after "
        f"{max(passed, default=0):.0f}",
    )
