"""Counts and times for Prometheus. They are plain numbers until somebody asks: requests pay no locks."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from crfkit._safe.cached import once

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from crfkit.web.state import State

__all__ = ["Metrics"]

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """What a service has done; `text` is what ``/metrics`` answers.

    ==================================  ==================================================
    ``crfkit_requests_total``           by route, model and code
    ``crfkit_request_seconds``          histogram, by route
    ``crfkit_tokens_total``             that were labeled, by model
    ``crfkit_tokens_in_flight``         at work now
    ``crfkit_rejected_total``           by reason
    ``crfkit_model_info``               name and version of each model
    ``crfkit_reloads_total``            by result: new, same, failed
    ==================================  ==================================================
    """

    def __init__(self, state: State) -> None:
        self._state = state
        #: By route, model and code: requests of each bucket of seconds, all seconds, all tokens.
        self.rows: dict[tuple[str, str, int], list[float]] = {}
        self.rejected: Counter[str] = Counter()  #: by reason
        self.reloads: Counter[str] = Counter()  #: by result

    def add(self, route: str, model: str, code: int, seconds: float, tokens: int) -> None:
        """Count a request."""
        row = self.rows.get((route, model, code))
        if row is None:
            row = self.rows[route, model, code] = [0.0] * (len(_SECONDS) + 3)
        row[bisect_left(_SECONDS, seconds)] += 1
        row[-2] += seconds
        row[-1] += tokens

    def collect(self) -> Iterator[Any]:
        """Yield everything, as Prometheus wants it."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        state = self._state
        requests = CounterMetricFamily("crfkit_requests", "Requests.", labels=["route", "model", "code"])
        routes: dict[str, list[float]] = {}
        tokens: Counter[str] = Counter()
        for (route, model, code), row in [*self.rows.items()]:
            requests.add_metric([route, model, str(code)], sum(row[:-2]))
            routes[route] = [sum(both) for both in zip(row, routes.get(route, [0.0] * len(row)), strict=True)]
            if row[-1]:
                tokens[model] += int(row[-1])
        yield requests
        seconds = HistogramMetricFamily("crfkit_request_seconds", "Seconds of requests.", labels=["route"])
        for route, row in routes.items():
            seconds.add_metric([route], _buckets(row[:-2]), row[-2])
        yield seconds
        for name, told, label, counts in (
            ("tokens", "Tokens that were labeled.", "model", tokens),
            ("rejected", "Requests that were refused.", "reason", self.rejected),
            ("reloads", "Model files that were loaded again.", "result", self.reloads),
        ):
            family = CounterMetricFamily(f"crfkit_{name}", told, labels=[label])
            for key, count in counts.items():
                family.add_metric([key], count)
            yield family
        now = GaugeMetricFamily("crfkit_tokens_in_flight", "Tokens at work.", value=state.in_flight)
        yield now
        info = GaugeMetricFamily("crfkit_model_info", "Models.", labels=["name", "version"])
        for one in state.models:
            info.add_metric([one.name, one.version], 1.0)
        yield info

    @once
    def _registry(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, ProcessCollector

        made = CollectorRegistry(auto_describe=False)
        made.register(self)
        ProcessCollector(registry=made)
        return made

    def text(self) -> bytes:
        """Return all in the text format of Prometheus, which is loaded by the first who asks."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry)


def _buckets(counts: list[float]) -> list[tuple[str, float]]:
    made, total = [], 0.0
    for bound, count in zip([*map(str, _SECONDS), "+Inf"], counts, strict=True):
        total += count
        made.append((bound, total))
    return made
