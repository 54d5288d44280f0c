"""The arrays that online optimisers take, from a layout, a chain and a batch; or what stands against it."""

from __future__ import annotations

import numpy as np

from crfkit.arrays import Floats
from crfkit.data.batch import Batch
from crfkit.linear.layout import Layout
from crfkit.objectives.gold import GoldKind
from crfkit.optimise.sequential.online import OnlineArrays
from crfkit.structures import Chain

__all__ = ["online_arrays"]


def online_arrays(layout: Layout, chain: Chain, batch: Batch, weight: Floats, kind: GoldKind) -> OnlineArrays:
    """Return flat arrays; raise a ValueError that names what online training does not cover.

    Examples
    --------
    >>> batch = Batch(seq_ptr=[0, 2], attr_ptr=[0, 1, 2], attr=[0, 1], label=[0, 1])
    >>> layout = Layout.observed(batch, labels=2)
    >>> online_arrays(layout, Chain(2), batch, np.ones(1), "path").transition_cell.tolist()
    [0, 1, 2, 3]
    """
    limits = chain.resolved is not None and chain.resolved.expansion is not None
    reasons = {
        "partial labels": kind == "set",
        "soft labels": kind == "soft",
        f"chains of order {chain.order}, only those of order 1": chain.order != 1,
        "edge attributes": layout.edge_attributes > 0,
        "real-valued columns": layout.dense > 0,
        "limits on segment lengths": limits,
        "negative weights of sequences": bool((weight < 0.0).any()),
    }
    against = next((what for what, holds in reasons.items() if holds), "")
    if against or batch.label is None:
        raise ValueError(against or "unlabelled sequences")
    return OnlineArrays(
        seq_ptr=batch.seq_ptr,
        attr_ptr=batch.attr_ptr,
        attr=batch.attr,
        value=batch.value,
        label=batch.label,
        labels=layout.labels,
        row_ptr=layout.node_ptr,
        column=layout.node_label,
        transition_cell=layout.transition_cell,
        start=layout.start,
        stop=layout.stop,
        weight=None if (weight == 1.0).all() else np.ascontiguousarray(weight, dtype=np.float64),
        forbidden=_forbidden(chain),
    )


def _forbidden(chain: Chain) -> Floats | None:
    """Return 0 where a transition, a first or a last label is allowed, else -inf: [(L + 2) * L]."""
    rules = chain.resolved
    if rules is None:
        return None
    allowed = np.concatenate([rules.transition.ravel(), rules.start, rules.stop])
    return np.where(allowed, 0.0, -np.inf)
