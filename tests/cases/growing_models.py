"""Model files of other programs of n, for each kind and each dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crfkit.models.files.cqdb import write_strings
from crfkit.models.files.crfpp import UNIT, read_crfpp
from crfkit.models.files.crfsuite import FEATURE, read_crfsuite
from crfkit.models.files.mallet import read_mallet
from crfkit.models.files.wapiti import read_wapiti
from tests.cases.growth import GrowthCase, refused


def model_cases() -> list[GrowthCase]:
    """Return the cases of all kinds."""
    return [
        GrowthCase("crfpp text: strings", crfpp_model, read_crfpp, 10_000),
        GrowthCase(
            "crfpp text: digits of weights",
            lambda n: crfpp_model(2000).replace(b"0.5", b"0." + b"5" * n, 1),
            read_crfpp,
            100_000,
        ),
        GrowthCase(
            "crfpp text: digits of maxid",
            lambda n: crfpp_model(2).replace(b"maxid: ", b"maxid: " + b"0" * n),
            refused(read_crfpp),
            500_000,
        ),
        GrowthCase("crfpp text: labels", _crfpp_labels, refused(read_crfpp), 4000),
        GrowthCase(
            "crfpp text: plain transitions",
            lambda n: crfpp_model(10, [f"B{i}" for i in range(n)]),
            read_crfpp,
            400,
        ),
        GrowthCase(
            "crfpp binary: strings",
            lambda n: _crfpp_binary([b"U00:%d" % i for i in range(n)]),
            read_crfpp,
            400,
        ),
        GrowthCase("crfpp binary: a string", crfpp_chain, read_crfpp, 1000),
        GrowthCase("crfpp binary: a string without end", crfpp_chain, refused(read_crfpp), 500_000),
        GrowthCase("wapiti: observations", _observations, read_wapiti, 10_000),
        GrowthCase("wapiti: plain transitions", _plain, read_wapiti, 400),
        GrowthCase(
            "wapiti: bytes of an observation", lambda n: wapiti_model(["u" * n]), read_wapiti, 500_000
        ),
        GrowthCase(
            "wapiti: digits",
            lambda n: _observations(10).replace(b"=0x1.0", b"=0x1." + b"1" * n),
            refused(read_wapiti),
            100_000,
        ),
        GrowthCase("mallet model: features", _mallet, read_mallet, 10_000),
        GrowthCase(
            "mallet model: blank lines and a long name",
            lambda n: _mallet(1, name="O" * n, blank=n),
            read_mallet,
            20_000,
        ),
        GrowthCase("mallet model: states", _mallet_states, refused(read_mallet), 500),
        GrowthCase("mallet model: sets of a step", _mallet_sets, read_mallet, 20_000),
        GrowthCase("mallet model: shared sets", _mallet_shared, refused(read_mallet), 120),
        GrowthCase("crfsuite model: attributes", crfsuite_model, read_crfsuite, 10_000),
        GrowthCase(
            "crfsuite model: bytes of a name", lambda n: crfsuite_model(1, b"x" * n), read_crfsuite, 20_000
        ),
        GrowthCase(
            "crfsuite model: strings that share bytes", _crfsuite_sharing, refused(read_crfsuite), 2000
        ),
    ]


def crfpp_model(n: int, more: list[str] | None = None, labels: int = 2) -> bytes:
    """Return a model as text, with n strings and `more`."""
    names = [f"U00:{i}" for i in range(n)] + (more or [])
    sizes = [labels if name[0] == "U" else labels * labels for name in names]
    begin: list[int] = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    head = f"version: 100\ncost-factor: 1\nmaxid: {begin[-1]}\nxsize: 1\n\n"
    head += "".join(f"L{i}\n" for i in range(labels)) + "\n"
    templates = "\n".join(["U00:%x[0,0]", *(more or [])])
    strings = "".join(f"{at} {name}\n" for at, name in zip(begin, names, strict=False))
    return f"{head}{templates}\n\n{strings}\n".encode() + b"0.5\n" * begin[-1]


def _crfpp_labels(n: int) -> bytes:
    return crfpp_model(1, labels=n)


def _crfpp_binary(strings: Sequence[bytes]) -> bytes:
    """Return a model with two weights for each string; in its double array no two units share bases."""
    nodes: dict[bytes, int] = {b"": 0}
    for string in strings:
        for end in range(1, len(string) + 1):
            nodes.setdefault(string[:end], len(nodes))
    units = np.zeros(258 * len(nodes) + 1, dtype=UNIT)
    at = {0: 0}  # units of nodes
    for name, node in nodes.items():
        base = 258 * node + 1
        if name:
            before = 258 * nodes[name[:-1]] + 1
            at[node] = before + name[-1] + 1
            units["check"][at[node]] = before
        units["base"][at[node]] = base
    for i, string in enumerate(strings):
        end = 258 * nodes[string] + 1
        units[end] = (-2 * i - 1, end)
    return _crfpp_around(units, len(strings))


def crfpp_chain(n: int) -> bytes:
    """Return a model with one string of n bytes."""
    units = np.zeros(n + 300, dtype=UNIT)
    units["base"][0] = 1
    chain = np.arange(n)
    units["check"][chain + 1 + ord("U") + 1], units["base"][chain + 1 + ord("U") + 1] = chain + 1, chain + 2
    units["base"][n + ord("U") + 1] = n + 200
    units[n + 200] = (-1, n + 200)
    return _crfpp_around(units, 1)


def _crfpp_around(units: NDArray[np.void], strings: int) -> bytes:
    blocks = [b"A\0B\0", b"U00:%x[0,0]\0"]
    sized = b"".join(len(block).to_bytes(4, "little") + block for block in blocks)
    head = np.array([100, 0], dtype="<i4").tobytes() + np.array([1.0]).tobytes()
    head += np.array([2 * strings, 1, units.nbytes], dtype="<u4").tobytes()
    return b"".join([head, sized, units.tobytes(), np.ones(2 * strings, dtype="<f4").tobytes()])


def wapiti_model(
    names: Sequence[str], patterns: Sequence[str] = ("u:%x[0,0]",), weights: Mapping[int, float] | None = None
) -> bytes:
    """Return a model with two labels; the first weight of each name is 1 where none are given."""

    def netstrings(strings: Sequence[str]) -> str:
        return "".join(f"{len(string)}:{string},\n" for string in strings)

    if weights is None:
        width = 2 if names[0][0] == "u" else 4
        weights = {width * i: 1.0 for i in range(len(names))}
    return (
        f"#mdl#2#{len(weights)}\n#rdr#{len(patterns)}/1/0\n{netstrings(patterns)}"
        f"#qrk#2\n{netstrings(['A', 'B'])}#qrk#{len(names)}\n{netstrings(names)}"
        + "".join(f"{place}={weight.hex()}\n" for place, weight in weights.items())
    ).encode()


def _observations(n: int) -> bytes:
    return wapiti_model([f"u:{i}" for i in range(n)])


def _plain(n: int) -> bytes:
    names = [f"b{i}" for i in range(n)]
    return wapiti_model(names, names)


def mallet_model(states: dict[str, dict[str, list[str]]], sets: dict[str, int], blank: int = 0) -> bytes:
    """Return a model with steps, each with its sets, and sets with so many features."""
    lines = ["*** CRF STATES ***"]
    for at, (name, steps) in enumerate(states.items()):
        lines += [f'STATE NAME="{name}" ({len(steps)} outgoing transitions)']
        initial = "-Infinity" if at else "0.0"
        lines += [f"  initialWeight = {initial}", "  finalWeight = 0.0", "  transitions:"]
        for to, wanted in steps.items():
            lines += [f"    {name} -> {to}", *(f'        WEIGHTS = "{one}"' for one in wanted)]
        lines += [""] * (blank + 1)
    lines += ["*** CRF WEIGHTS ***"]
    for name, features in sets.items():
        lines += [f"WEIGHTS NAME = {name}", ": <DEFAULT_FEATURE> = 0.5"]
        lines += [f": f{i} = 1.0" for i in range(features)]
    return "\n".join([*lines, ""]).encode()


def _mallet(n: int, name: str = "O", blank: int = 0) -> bytes:
    return mallet_model({name: {name: ["s"]}}, {"s": n}, blank)


def _mallet_states(n: int) -> bytes:
    """Return n states, each with one step: n * n that are forbidden."""
    names = [f"S{i}" for i in range(n)]
    return mallet_model({name: {"S0": ["s"]} for name in names}, {"s": 1})


def _mallet_sets(n: int) -> bytes:
    """Return states with a step to the first, which has n sets of weights in one of them."""
    states = {f"S{i}": {"S0": ["s"] * n if i == 0 else ["s"]} for i in range(50)}
    return mallet_model(states, {"s": 0})


def _mallet_shared(n: int) -> bytes:
    """Return n states whose steps share a set of n features."""
    names = [f"S{i}" for i in range(n)]
    states = {name: {"S0": ["s", "t"] if i else ["t"]} for i, name in enumerate(names)}
    return mallet_model(states, {"s": 100 * n, "t": 100 * n})


def crfsuite_model(n: int, name: bytes = b"x", spans: bytes | None = None) -> bytes:
    """Return a model with two labels, and one weight for each of n attributes."""
    names = [name + b"%d" % i for i in range(n)]
    features = np.zeros(n, dtype=FEATURE)
    features["source"], features["weight"] = np.arange(n), 1.0
    attributes = write_strings(names) if spans is None else spans
    labels = write_strings([b"A", b"B"])
    head = 48
    at_labels = head + 12 + features.nbytes
    at_attributes = at_labels + len(labels)
    at_label_refs = at_attributes + len(attributes)
    empty = np.array([0, 0, 0, 0], dtype="<u4").tobytes()
    label_refs = _chunk(b"LFRF", 4, empty)
    at_refs = at_label_refs + len(label_refs)
    places = at_refs + 12 + 4 * n + 8 * np.arange(n)
    lists = np.stack([np.ones(n), np.arange(n)], axis=1).astype("<u4")
    refs = _chunk(b"AFRF", n, places.astype("<u4").tobytes() + lists.tobytes())
    counts = np.array([at_refs + len(refs)], dtype="<u4").tobytes()
    rest = np.array([100, 0, 2, n, head, at_labels, at_attributes, at_label_refs, at_refs], dtype="<u4")
    body = _chunk(b"FEAT", n, features.tobytes()) + labels + attributes + label_refs + refs
    return b"lCRF" + counts + b"FOMC" + rest.tobytes() + body


def _chunk(name: bytes, count: int, body: bytes) -> bytes:
    return name + np.array([12 + len(body), count], dtype="<u4").tobytes() + body


def _crfsuite_sharing(n: int) -> bytes:
    """Return a model whose n attributes are one string each, of nearly all bytes of their database."""
    database = bytearray(write_strings([b"%d" % i for i in range(n)]))
    size, back = (int.from_bytes(database[at : at + 4], "little") for at in (4, 20))
    record = np.frombuffer(bytes(database[back : back + 4 * n]), dtype="<u4")
    for place in record.tolist():
        database[place + 4 : place + 8] = (back - place - 8).to_bytes(4, "little")
    database[back - 1] = 0
    assert size == len(database)
    return crfsuite_model(n, spans=bytes(database))
