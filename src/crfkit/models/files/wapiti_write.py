"""Models as files of Wapiti, of all its types: maxent, memm and crf.

Observations are written in the order of the model, those of transitions only after the others; weights
that are not 0 follow, as hexadecimal numbers: what is read back is what was written.
"""

from __future__ import annotations

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import pointers
from crfkit.features.wapiti import parse_wapiti, pattern_lines
from crfkit.models.files.assembly import check_steps
from crfkit.models.files.plain import with_steps
from crfkit.models.files.refusals import check_recipe, refuse_lost
from crfkit.models.files.wapiti import CRF, MAXENT, MEMM
from crfkit.models.model import SequenceModel

_LOCAL = "steps that are normalized by themselves"
_STEPS = ("b", "b:steps", "*:steps")  # strings for plain transitions that no pattern makes


def wapiti_text(model: SequenceModel) -> bytes:
    r"""Return the text of a Wapiti model; a ValueError says what Wapiti cannot hold.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import Extractor
    >>> from crfkit.features.wapiti import parse_wapiti
    >>> from crfkit.data.formats.columns import Columns
    >>> extract = Extractor(parse_wapiti("U:%x[ 0,0]\n*"))
    >>> data = extract(Columns.from_rows([[("the", "D"), ("dog", "N")]]))
    >>> lines = wapiti_text(train(data)).split(b"\n")
    >>> print(b"\n".join(lines[1:10]).decode())
    #rdr#2/0/0
    10:u:%x[ 0,0],
    1:*,
    #qrk#2
    1:D,
    1:N,
    #qrk#3
    5:u:the,
    1:*,
    """
    refuse_lost(model, "Wapiti", {"edge attributes", _LOCAL})
    layout, L = model.layout, len(model.names.labels)
    kind = MAXENT if not model.layout.order else MEMM if model.structure.local else CRF
    patterns, steps = _patterns(model)
    table = model.w[layout.parts["transition"]]
    node = model.attributes.strings()[: layout.attributes]
    edge = model.edge_attributes.strings()[: layout.edge_attributes]
    _check(node, "u*", "attribute")
    _check(edge, "b*", "edge attribute")
    used = dict.fromkeys([*node, *edge, *([] if steps is None else [steps])])
    names = sorted(used, key=lambda name: name[0] == "b")
    first = np.array([ord(name[0]) for name in names], dtype=np.int64)
    unary, binary = first != ord("b"), first != ord("u")
    begin = pointers(L * unary + L * L * binary)  # [names + 1]
    number = {name: i for i, name in enumerate(names)}
    node_id = np.array([number[name] for name in node], dtype=np.int64)
    edge_id = np.array([number[name] for name in edge], dtype=np.int64)
    cells = begin[:-1] + L * unary  # where the weights of steps begin
    places = [
        np.repeat(begin[node_id], np.diff(layout.node_ptr)) + layout.node_label,
        np.repeat(cells[edge_id], np.diff(layout.edge_ptr)) + layout.edge_cell,
    ]
    if steps is not None:
        places.append(cells[number[steps]] + layout.transition_cell)
    w = np.concatenate([model.w[layout.parts["node"]], model.w[layout.parts["edge"]], table])
    at = np.concatenate(places)
    w = w[: len(at)]
    order = np.argsort(at, kind="stable")
    order = order[w[order] != 0.0]
    columns = [] if model.recipe is None else [int(column) for column in model.recipe.columns]
    lines = [
        b"#mdl#%d#%d\n" % (kind, len(order)),
        b"#rdr#%d/%d/0\n" % (len(patterns), max(columns, default=0)),
    ]
    lines += [_netstring(pattern, "pattern") for pattern in patterns]
    lines += [b"#qrk#%d\n" % L, *(_netstring(label, "label") for label in model.names.labels)]
    lines += [b"#qrk#%d\n" % len(names), *(_netstring(name, "observation") for name in names)]
    weights = zip(at[order].tolist(), w[order].tolist(), strict=True)
    lines += [b"%d=%b\n" % (i, _hexadecimal(weight)) for i, weight in weights]
    text = b"".join(lines)
    if kind != MAXENT:
        check_steps(L, len(text))  # what cannot be read back is not written
    return text


def _patterns(model: SequenceModel) -> tuple[list[str], str | None]:
    """Return the patterns, and the string of plain transitions where there are such."""
    recipe, table = model.recipe, model.w[model.layout.parts["transition"]]
    if recipe is None:  # tokens are observations themselves, each with its letter
        if table.any():
            raise ValueError(
                "the model has transitions and no template (its attributes were made in Python), and Wapiti "
                "needs one; train with a Wapiti pattern file (crfkit train -t), or write it for CRFsuite"
            )
        return [], None
    check_recipe(recipe, "Wapiti", parse_wapiti)
    return with_steps(model, [line for _, line in pattern_lines(recipe.source)], _STEPS)


def _check(names: list[str], letters: str, what: str) -> None:
    wrong = next((name for name in names if name[:1] not in tuple(letters)), None)
    if wrong is not None:
        raise ValueError(
            f"the {what} {quoted(wrong)} was not made by a Wapiti pattern: it does not begin with "
            f"{' or '.join(letters)}; train with a Wapiti pattern file (crfkit train -t), or save the model "
            "with Model.save"
        )


def _netstring(text: str, what: str) -> bytes:
    if "\0" in text:
        raise ValueError(f"the {what} {quoted(text)} holds a NUL, which Wapiti's format cannot hold")
    data = text.encode()
    return b"%d:%b,\n" % (len(data), data)


def _hexadecimal(weight: float) -> bytes:
    """Return a number as C's %a prints it: without zeros at the end."""
    digits, sign, exponent = weight.hex().partition("p")
    return f"{digits.rstrip('0').rstrip('.')}{sign}{exponent}".encode()
