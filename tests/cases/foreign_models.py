"""Small model files of foreign programs, made here: what tests and the fuzzer read."""

from __future__ import annotations

import numpy as np

from crfkit.models.files.crfpp import UNIT

TEMPLATES = ["U00:%x[0,0]", "U01:%x[-1,0]/%x[0,0]", "B", "B01:%x[0,1]"]
LABELS = ["A", "B", "C"]
STRINGS = ["U00:x", "U00:y", "U01:_B-1/x", "U01:x/y", "B", "B01:P", "B01:Q"]

WAPITI_PATTERNS = ["*", "u:%x[ 0,0]", "*:p=%X[-1,1]", 'b:%t[ 0,0,"^\\u"]']
WAPITI_NAMES = ["*", "u:x", "u:y", "*:p=p", "*:p=_x-1", "b:true", "b:false"]

MALLET = """*** CRF STATES ***
STATE NAME="O" (2 outgoing transitions)
  initialWeight = 0.0
  finalWeight = 0.0
  transitions:
    O -> O
        WEIGHTS = "O,O"
    O -> B
        WEIGHTS = "O,B"

STATE NAME="B" (1 outgoing transitions)
  initialWeight = -Infinity
  finalWeight = 0.25
  transitions:
    B -> O
        WEIGHTS = "B,O"
        WEIGHTS = "shared"



*** CRF WEIGHTS ***
WEIGHTS NAME = O,O
: <DEFAULT_FEATURE> = 0.5
: W=a = 1.5
: x = y = -0.25
WEIGHTS NAME = O,B
: <DEFAULT_FEATURE> = -0.5
: W=a = 0.75
: W=b = 2.0E-1
WEIGHTS NAME = B,O
: <DEFAULT_FEATURE> = 0.125
: W=b = -1.0
WEIGHTS NAME = shared
: <DEFAULT_FEATURE> = 0.0625
: W=a = 0.03125
"""


def crfpp_weights(seed: int = 0) -> tuple[dict[str, int], np.ndarray]:
    """Return where the weights of each string begin, and all weights, exact in single precision."""
    ids, at = {}, 0
    for name in STRINGS:
        ids[name] = at
        at += len(LABELS) ** (1 if name[0] == "U" else 2)
    weights = np.random.default_rng(seed).normal(size=at).astype(np.float32)
    return ids, weights.astype(np.float64)


def crfpp_text(cost: str = "1", seed: int = 0) -> bytes:
    ids, weights = crfpp_weights(seed)
    parts = [f"version: 100\ncost-factor: {cost}\nmaxid: {len(weights)}\nxsize: 2"]
    parts += ["\n".join(LABELS), "\n".join(TEMPLATES)]
    parts.append("\n".join(f"{ids[name]} {name}" for name in sorted(ids)))
    parts.append("".join(f"{w:.30f}\n" for w in weights))
    return "\n\n".join(parts).encode()


def crfpp_binary(cost: float = 1.0, seed: int = 0) -> bytes:
    ids, weights = crfpp_weights(seed)
    units = double_array({name.encode(): number for name, number in ids.items()})
    labels = "".join(f"{label}\0" for label in LABELS).encode()
    templates = "".join(f"{template}\0" for template in TEMPLATES).encode()
    templates += bytes(-(len(labels) + len(templates)) % 4)
    return b"".join(
        [
            np.array([100, 0], dtype="<i4").tobytes(),
            np.array([cost], dtype="<f8").tobytes(),
            np.array([len(weights), 2, units.nbytes, len(labels)], dtype="<u4").tobytes(),
            labels,
            np.array([len(templates)], dtype="<u4").tobytes(),
            templates,
            units.tobytes(),
            weights.astype("<f4").tobytes(),
        ]
    )


def double_array(strings: dict[bytes, int]) -> np.ndarray:
    """Build a double array by trying bases from below, the plain way."""
    trie: dict[int, object] = {}
    for string, number in strings.items():
        node = trie
        for byte in string:
            node = node.setdefault(byte + 1, {})  # type: ignore[assignment]
        node[0] = number
    units = np.zeros(4000, dtype=UNIT)
    taken, bases = {0}, set()
    todo: list[tuple[int, dict[int, object]]] = [(0, trie)]
    while todo:
        at, node = todo.pop(0)
        base = next(b for b in range(1, 3000) if b not in bases and not any(b + c in taken for c in node))
        bases.add(base)
        units[at]["base"] = base
        for c, child in node.items():
            taken.add(base + c)
            units[base + c]["check"] = base
            if isinstance(child, dict):
                todo.append((base + c, child))
            else:
                units[base + c]["base"] = -int(str(child)) - 1
    return units[: max(taken) + 1]


def wapiti_weights(seed: int = 1) -> np.ndarray:
    L = len(LABELS)
    sizes = [{"u": L, "b": L * L, "*": L + L * L}[name[0]] for name in WAPITI_NAMES]
    weights = np.random.default_rng(seed).normal(size=sum(sizes))
    weights[::3] = 0.0
    return weights


def wapiti_text(kind: int = 2, patterns: list[str] | None = None) -> bytes:
    weights = wapiti_weights()
    patterns = WAPITI_PATTERNS if patterns is None else patterns
    used = np.flatnonzero(weights).tolist()
    lines = [f"#mdl#{kind}#{len(used)}", f"#rdr#{len(patterns)}/1/0"]
    lines += [f"{len(p)}:{p}," for p in patterns]
    lines += [f"#qrk#{len(LABELS)}", *(f"{len(p)}:{p}," for p in LABELS)]
    lines += [f"#qrk#{len(WAPITI_NAMES)}", *(f"{len(p)}:{p}," for p in WAPITI_NAMES)]
    lines += [f"{i}={float(weights[i]).hex()}" for i in used]
    return ("\n".join(lines) + "\n").encode()
