"""Models as text files of CRF++, which ``crf_learn -C`` makes a binary model of.

Strings are numbered in the order of their bytes, as ``crf_learn -f 2`` does. A weight has 16 digits behind
the point where these are all of it, and as many as it needs otherwise: what is read back is what was written.
"""

from __future__ import annotations

import re

import numpy as np

from crfkit._safe.printable import quoted
from crfkit.arrays import Floats, pointers
from crfkit.features.crfpp import parse_crfpp, template_lines
from crfkit.models.files.plain import with_steps
from crfkit.models.files.refusals import check_recipe, refuse_lost
from crfkit.models.model import SequenceModel

_LONGEST = 8191  # bytes of a line that CRF++ reads
_MOST = (1 << 31) - 1  # weights that it counts


def crfpp_text(model: SequenceModel) -> bytes:
    r"""Return the text of a CRF++ model; a ValueError says what CRF++ cannot hold.

    Examples
    --------
    >>> from crfkit import train
    >>> from crfkit.features import Extractor
    >>> from crfkit.features.crfpp import parse_crfpp
    >>> from crfkit.data.formats.columns import Columns
    >>> extract = Extractor(parse_crfpp("U00:%x[0,0]\nB"))
    >>> data = extract(Columns.from_rows([[("the", "D"), ("dog", "N")]]))
    >>> head, labels, templates, strings, weights = crfpp_text(train(data)).split(b"\n\n")
    >>> print(strings.decode())
    0 B
    4 U00:dog
    6 U00:the
    """
    recipe, layout, L = model.recipe, model.layout, len(model.names.labels)
    refuse_lost(model, "CRF++", {"edge attributes"})
    if recipe is None:
        raise ValueError(
            "the model has no template (its attributes were made in Python), and CRF++ needs one; train with "
            "a CRF++ template file (crfkit train -t), or write the model for CRFsuite"
        )
    check_recipe(recipe, "CRF++", parse_crfpp)
    tables = layout.transition_tables(model.w)
    templates, steps = with_steps(model, [line for _, line in template_lines(recipe.source)], ["B"])
    templates.sort(key=lambda line: line[0] != "U")

    owners = [*model.attributes.strings()[: layout.attributes]]
    owners += model.edge_attributes.strings()[: layout.edge_attributes]
    owners += [] if steps is None else [steps]
    names = [_line(name, "string") for name in owners]
    sizes = np.full(len(names), L * L, dtype=np.int64)
    sizes[: layout.attributes] = L
    order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    begin = pointers(sizes[order])  # where the weights of each name begin, and their number
    maxid = int(begin[-1])
    if not 0 < maxid <= _MOST:
        raise ValueError(f"the model would have {maxid:,} weights, and CRF++ takes 1 to {_MOST:,}")
    place = np.empty(len(names), dtype=np.int64)
    place[order] = begin[:-1]
    weights = np.zeros(maxid)
    node, edge = place[: layout.attributes], place[layout.attributes :][: layout.edge_attributes]
    at = np.repeat(node, np.diff(layout.node_ptr)) + layout.node_label
    weights[at] = model.w[layout.parts["node"]]
    at = np.repeat(edge, np.diff(layout.edge_ptr)) + layout.edge_cell
    weights[at] = model.w[layout.parts["edge"]]
    if steps is not None and tables:
        weights[place[-1] : place[-1] + L * L] = tables[0].ravel()

    xsize = 1 + max((int(column) for column in recipe.columns), default=0)
    head = f"version: 100\ncost-factor: 1\nmaxid: {maxid}\nxsize: {xsize}\n".encode()
    sections = [
        head,
        b"".join(_line(label, "label") + b"\n" for label in model.names.labels),
        b"".join(_line(line, "template", blanks=True) + b"\n" for line in templates),
        b"".join(b"%d %b\n" % (place[i], names[i]) for i in order.tolist()),
        _digits(weights),
    ]
    return b"\n".join(sections)


def _line(text: str, what: str, blanks: bool = False) -> bytes:
    wrong = re.search(r"[\0\n\r]" if blanks else r"[\0\n\r\t ]", text)
    line = text.encode()
    if wrong or not line or len(line) > _LONGEST - 12:
        holds = f"holds {wrong[0]!r}" if wrong else f"has {len(line):,} bytes"
        raise ValueError(
            f"the {what} {quoted(text)} {holds}, which a line of CRF++ cannot; train again without it, or "
            "save the model with Model.save"
        )
    return line


def _digits(weights: Floats) -> bytes:
    """Return a line for each weight, with digits that say all of it."""
    lines = [b"0.0000000000000000"] * len(weights)
    for i in np.flatnonzero(weights).tolist():
        weight = float(weights[i])
        text = f"{weight:.16f}"
        lines[i] = (text if float(text) == weight else repr(weight)).encode()
    return b"\n".join(lines) + b"\n"
