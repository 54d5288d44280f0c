"""Model files of formats 1 and 2, which hold chains with six fixed parts of weights, as format 3 has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit.models.store import Array
from crfkit.shown import quoted

__all__ = ["upgraded"]


def upgraded(
    arrays: Mapping[str, Array], described: Mapping[str, Any]
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return arrays and description of an old file as one of format 3; what is in them is checked later."""
    options = described["layout"]
    if not isinstance(options, dict):
        raise ValueError("the options of the layout are missing")
    start, stop, dense = (options.get(name) for name in ("start", "stop", "dense"))
    if type(start) is not bool or type(stop) is not bool:
        raise ValueError("start and stop of the layout are neither true nor false")
    L = len(arrays["labels.begin"]) - 1
    if type(dense) is not int or not 0 <= dense * L <= len(arrays["w"]):
        raise ValueError(f"the layout has {dense!r} dense columns")
    local = described.get("local", False) if described["format"] > 1 else False
    if type(local) is not bool:
        raise ValueError(f"local is {quoted(str(local))}, expected true or false")
    structure = {
        "kind": "local-chain" if local else "chain",
        "order": described["order"],
        "constraints": described["constraints"],
    }
    every = np.arange(L, dtype=np.int32)
    cells = {"transition": arrays["transition_cell"], "start": every[: L * start], "stop": every[: L * stop]}
    made = {**arrays, "node_cell": arrays["node_label"]}
    for name, cell in cells.items():
        made[f"{name}_ptr"], made[f"{name}_cell"] = np.array([0, len(cell)], dtype=np.int64), cell
    made["dense_ptr"] = np.arange(dense + 1, dtype=np.int64) * L
    made["dense_cell"] = np.tile(every, dense)
    blocks: list[list[str | None]]
    blocks = [["node", "node"], ["edge", "edge"], ["transition", None], ["start", None], ["stop", None]]
    if described["order"] != 1:
        if len(arrays["edge_ptr"]) > 1:
            raise ValueError(f"there are edge attributes, which need order 1, not {described['order']}")
        del blocks[1]
    blocks.append(["node", "dense"])
    new = {"structure": structure, "blocks": blocks, "table_bytes": options.get("table_bytes")}
    return made, {**described, **new}
