"""crfkit's own model file: everything that tagging needs, in one file.

Arrays (see `crfkit.models.store` for the container): the alphabets (``labels``, ``attributes``, ...) as three
arrays each (``.bytes``, ``.begin``, ``.slots``), ``NAME_ptr`` and ``NAME_cell`` of every block of the layout,
the weights ``w`` in the order of the blocks, their ``curvature`` where the model has it, what the recipe
names, ``conjunctions`` of attributes as pairs, the history of training, ``map.NAME`` and ``rule.NAME`` of a
feature map and a decision rule (`crfkit.models.parts`), and ``room`` where tables are large (`bounds`). The
description holds the rest: the structure by its kind, the blocks by slot and occurrences, the class and the
parameters of the estimator. No pickle, no code.

Opening a file looks at every array once and checks all that something is indexed by. Arrays are views of the
bytes, which are read into memory or mapped (`crfkit.models.store`).
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crfkit import _native
from crfkit._safe.printable import quoted
from crfkit.arrays import Floats
from crfkit.checks import check_choice
from crfkit.data.alphabet import Alphabet
from crfkit.data.dataset import ExtractorSpec
from crfkit.data.formats.columns import MOST_COLUMNS
from crfkit.errors import ModelFileError
from crfkit.linear.layout import check_fits
from crfkit.models.base import FittedBy
from crfkit.models.encoding import ENCODINGS
from crfkit.models.files.bounds import room_for
from crfkit.models.files.compact import compacted, without_idle
from crfkit.models.files.inspect import check_labels, checked_alphabet, checked_layout, plain_blocks
from crfkit.models.files.recipes import (
    check_vectors,
    conjunctions_of,
    plain_conjunctions,
    plain_recipe,
    recipe_of,
)
from crfkit.models.files.summary import plain_history, plain_summary, summary_of
from crfkit.models.isotonic import Isotonic
from crfkit.models.model import Names, SequenceModel, checked_curvature
from crfkit.models.parts import FeatureMap, inside, map_of, part_of, plain_parts
from crfkit.models.scores import DECISIONS
from crfkit.models.states import HIDDEN, States
from crfkit.models.store import Array, file_bytes, pack, unpack, unzipped
from crfkit.structures.kinds import structure_from
from crfkit.tags.schemes import canonical
from crfkit.text.spec import TextSpec

if TYPE_CHECKING:
    from crfkit.inference.constrained.kinds import GlobalConstraint
    from crfkit.models.graph_model import GraphModel
    from crfkit.structures.structure import Structure

#: Of sequences and of graphs. Files of formats 1 to 5 have sums that are no longer read; 6 had no estimators.
FORMAT = 7
_ALPHABETS = ("labels", "attributes", "edge_attributes", "segment_attributes")  #: the last may be left out


@dataclasses.dataclass(frozen=True)
class About:
    """What a model file says of itself."""

    format: int  #: version of the file format
    crfkit: str  #: version that wrote it
    license: str
    notes: str
    labels: int
    attributes: int
    weights: int


def pieces(
    model: SequenceModel,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    compact: bool = False,
    notes: str | None = None,
    license: str | None = None,
) -> Iterator[bytes]:
    """Return the pieces of the file of a model; `Model.save` explains the options."""
    model.check_alone()
    model = compacted(model) if compact else without_idle(model)
    arrays: dict[str, Array] = {}
    for name in _ALPHABETS if len(model.names.segment_attributes) else _ALPHABETS[:-1]:
        parts = getattr(model.names, name).arrays()
        arrays.update(zip((f"{name}.bytes", f"{name}.begin", f"{name}.slots"), parts, strict=True))
    blocks, of_blocks = plain_blocks(model.layout)
    arrays.update(of_blocks)
    arrays["w"] = weights_in_files(model.w, dtype)
    if model.curvature is not None:
        arrays["curvature"] = model.curvature
    if model.calibration is not None:
        arrays.update(model.calibration.arrays())
    training = model.training
    recipe = None
    if model.recipe is not None:
        recipe, tables = plain_recipe(model.recipe)
        arrays.update(tables)
    if model.conjunctions is not None:
        arrays["conjunctions"] = plain_conjunctions(model.conjunctions, model.attributes)
    if training is not None:
        arrays.update({f"history.{name}": column for name, column in plain_history(training).items()})
    described_parts, of_parts = plain_parts(model)
    arrays.update(of_parts)
    arrays.update(room_for(max(slot.cells for slot in model.structure.slots().values()), arrays))
    described = {
        "format": FORMAT,
        "crfkit": _native.__version__,
        "license": str(model.license if license is None else license),
        "notes": str(model.notes if notes is None else notes),
        "structure": model.structure.to_dict(),
        "blocks": blocks,
        "table_bytes": model.layout.table_bytes,
        "recipe": recipe,
        "label_column": model.label_column,
        "hashed": model.hashed,
        "scheme": model.scheme,
        "encoding": model.encoding,
        "training": None if training is None else plain_summary(training),
        "constraints": _plain_constraints(model),
        "decision": model.decision,
        **described_parts,
    }
    if model.selected:
        described["selected"] = True
    if model.extractor is not None and model.extractor.width is not None:
        described["width"] = model.extractor.width
    if model.numbers:
        described["numbers"] = True
    if model.text is not None:
        described["text"] = model.text.to_dict()
    return pack(arrays, described)


def weights_in_files(w: Floats, dtype: str) -> Array:
    """Return weights as a file has them; refuse those that it cannot keep."""
    check_choice("dtype", dtype, ("float64", "float32"))
    with np.errstate(over="ignore"):
        made = w.astype(dtype, copy=False)
    if not np.isfinite(made).all():
        i = int(np.argmin(np.isfinite(made)))
        raise ValueError(f"w[{i}] is {w[i]}, which a file of {dtype} cannot keep")
    return made


def open_model(path: str | os.PathLike[str], *, mapped: bool = False) -> SequenceModel:
    """Open a model file; `SequenceModel.load` says what `mapped` is."""
    source = os.fsdecode(path)
    return model_of(unzipped(file_bytes(path, mapped=mapped), source), source)


class GraphFileError(ModelFileError):
    """A file holds a model of graphs where one of sequences is asked for."""

    model: GraphModel  #: what it holds: a pipe can be read only once


def model_of(data: bytes | memoryview, source: str) -> SequenceModel:
    """Return the model in the bytes of a file, all of it checked; one of graphs is refused."""
    found = any_model_of(data, source)
    if not isinstance(found, SequenceModel):
        error = GraphFileError(
            source, "holds a model of graphs, not of sequences", "open it with crfkit.load in Python"
        )
        error.model = found
        raise error
    return found


def any_model_of(data: bytes | memoryview, source: str) -> SequenceModel | GraphModel:
    """Return the model in the bytes of a file, of sequences or of graphs, all of it checked."""
    arrays, described = unpack(data, source)
    try:
        with np.errstate(all="ignore"):
            _check_format(described)
            return _graph_model(arrays, described) if _is_graph(described) else _model(arrays, described)
    except ModelFileError:
        raise
    except (AttributeError, LookupError, ArithmeticError, TypeError, ValueError, RecursionError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(source, f"does not hold a valid model: {what}") from None


def about(path: str | os.PathLike[str]) -> About:
    """Return what a model file says of itself: license, notes, sizes."""
    source = os.fsdecode(path)
    arrays, described = unpack(unzipped(file_bytes(path), source), source)
    try:
        _check_format(described)
        labels, attributes = _sizes(arrays, described)
        return About(
            format=described["format"],
            crfkit=str(described["crfkit"]),
            license=str(described["license"]),
            notes=str(described["notes"]),
            labels=labels,
            attributes=attributes,
            weights=len(arrays["w"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(source, f"does not hold a valid model: {error}") from None


def _sizes(arrays: Mapping[str, Array], described: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of labels and attributes, of all kinds and cliques of a graph."""
    if not _is_graph(described):
        return len(arrays["labels.begin"]) - 1, len(arrays["attributes.begin"]) - 1
    layout, graph = (model := _graph_model(arrays, described)).layout, model.graph
    rows = sum(layout.rows_of(block.name) for block in layout.blocks if block.by is not None)
    return sum(graph.width(kind) for kind in graph.kinds), rows


def _is_graph(described: Mapping[str, Any]) -> bool:
    structure = described.get("structure")
    return isinstance(structure, dict) and structure.get("kind") == "graph"


def _graph_model(arrays: Mapping[str, Array], described: Mapping[str, Any]) -> GraphModel:
    from crfkit.models.files.graphs import graph_model_of  # chains need not load it

    return graph_model_of(arrays, described)


def _check_format(described: Mapping[str, Any]) -> None:
    version = described.get("format")
    if type(version) is not int or version < 1:
        raise ValueError("the version of the format is missing")
    if version != FORMAT:
        remedy = "use a newer crfkit" if version > FORMAT else "train the model again"
        raise ValueError(
            f"it has format {version} (written by crfkit {described.get('crfkit')}), this version knows "
            f"format {FORMAT}: {remedy}"
        )


def _model(arrays: Mapping[str, Array], described: Mapping[str, Any]) -> SequenceModel:
    written = _ALPHABETS if f"{_ALPHABETS[-1]}.begin" in arrays else _ALPHABETS[:-1]
    names = {name: checked_alphabet(arrays, name) for name in written}
    labels = names["labels"].strings()
    if len(set(labels)) != len(labels) or names["labels"].ids(labels).tolist() != list(range(len(labels))):
        raise ValueError("its labels are not found in their own table")
    check_labels(len(labels))
    structure = structure_from(described["structure"], labels)
    layout = checked_layout(arrays, structure, described["blocks"], described["table_bytes"])
    check_fits(layout, structure)
    named = Names(**names)
    named.check_fits(layout)
    extractor = _extractor(described, arrays, names["attributes"])
    if extractor is not None and extractor.recipe is not None:
        check_vectors(extractor.recipe, layout.dense)
    if extractor is not None and extractor.numbers:
        hidden = extractor.encoding == HIDDEN
        spelled = [name.rpartition("/")[0] if hidden else name for name in labels]
        wrong = next((name for name in spelled if not re.fullmatch(r"-?\d{1,19}", name, re.ASCII)), None)
        if wrong is not None:
            raise ValueError(f"its labels are numbers, and one is {quoted(wrong)}")
    if described.get("encoding") == HIDDEN:
        States(tuple(labels), None)  # refuses names that are not those of states
    decision = described.get("decision")
    if decision is not None:
        check_choice("the decision", decision, DECISIONS)
    curvature = arrays.get("curvature")
    texts = {name: described[name] for name in ("notes", "license")}
    for name, text in texts.items():
        if type(text) is not str:
            raise ValueError(f"the {name} are {quoted(str(text))}, expected a text")
    given = {
        "structure": structure,
        "layout": layout,
        "names": named,
        "w": checked_weights(arrays["w"], layout.weights),
        "extractor": extractor,
        "training": summary_of(described["training"], arrays),
        "constraints": _constraints_of(described["constraints"], structure),
        "calibration": Isotonic.of_arrays(arrays),
        "decision": decision,
        "curvature": None if curvature is None else checked_curvature(curvature, layout.weights),
        "selected": described.get("selected") is True,
        "estimator": FittedBy.of(described["estimator"], inside("estimator", arrays)),
        "feature_map": map_of(FeatureMap, described, arrays, named, layout),
        **texts,
    }
    rule = part_of("rule", described, arrays)
    if rule is None:
        return SequenceModel.unchecked(**given)
    model: SequenceModel = rule[0].of_rule(given, rule[1])
    return model


def _plain_constraints(model: SequenceModel) -> list[dict[str, Any]]:
    if not model.constraints:
        return []
    from crfkit.inference.constrained.plain import plain_globals

    return plain_globals(model.constraints, model.structure)


def _constraints_of(plain: object, structure: Structure) -> tuple[GlobalConstraint, ...]:
    if plain == []:  # most models have none, and need not load what finds labelings that keep them
        return ()
    from crfkit.inference.constrained.plain import globals_of

    return globals_of(plain, structure)


def checked_weights(w: Array, F: int) -> Floats:
    """Return the weights of a file, [F], or refuse others."""
    if w.dtype not in (np.float64, np.float32) or w.shape != (F,):
        raise ValueError(f"w is {w.dtype} with shape {w.shape}, the layout needs ({F},)")
    w = w.astype(np.float64, copy=False)
    if not math.isfinite(float(np.add.reduce(w))) and not np.isfinite(w).all():
        raise ValueError(f"w[{int(np.argmin(np.isfinite(w)))}] is not finite")
    return w


def _extractor(
    described: Mapping[str, Any], arrays: Mapping[str, Array], attributes: Alphabet
) -> ExtractorSpec | None:
    hashed, column = described["hashed"], described["label_column"]
    if hashed is not None and (type(hashed) is not int or not 1 <= hashed < 1 << 31):
        raise ValueError(f"hashed is {hashed!r}, expected a number of ids")
    if column is not None and type(column) not in (int, str):
        raise ValueError(f"the label column is {column!r}, expected a name or a number")
    recipe, scheme = recipe_of(described["recipe"], arrays), described.get("scheme")
    if scheme is not None and scheme != canonical(str(scheme)):
        raise ValueError(f"the scheme is {scheme!r}, expected the name of one")
    encoding = described.get("encoding")
    if encoding not in (None, HIDDEN) and (encoding not in ENCODINGS or scheme is None):
        raise ValueError(
            f"the encoding is {encoding!r}, expected one of {', '.join(ENCODINGS)}, with a scheme"
        )
    width = described.get("width")  # older files do not have it
    if width is not None and (type(width) is not int or not 1 <= width <= MOST_COLUMNS):
        raise ValueError(f"the number of columns is {width!r}, expected 1 to {MOST_COLUMNS}")
    made = ExtractorSpec(
        recipe,
        column,
        hashed,
        scheme=scheme,
        encoding=encoding,
        conjunctions=conjunctions_of(arrays.get("conjunctions"), attributes),
        width=width,
        numbers=described.get("numbers") is True,
        text=TextSpec.of_dict(described.get("text")),
    )
    if made.text is not None and recipe is not None and len(recipe.columns) > 1:
        raise ValueError("it has a tokenizer, and its recipe reads more than words")
    return None if made == ExtractorSpec() else made
