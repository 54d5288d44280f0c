"""crfkit's own model file: everything that tagging needs, in one file that is mapped into memory.

Arrays (see `crfkit.models.store` for the container): ``labels``, ``attributes`` and ``edge_attributes``
as three arrays each (``.bytes``, ``.begin``, ``.slots``), those of the layout, the weights ``w``, what the
recipe names, and the history of training. The description holds the rest. No pickle, no code.

Opening a file copies nothing but weights of single precision and looks at every array once.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from crfkit import _native
from crfkit.models.files.compact import compacted, without_idle
from crfkit.models.files.inspect import checked_alphabet, checked_layout
from crfkit.models.files.recipes import plain_recipe, recipe_of
from crfkit.models.model import Model, check_local
from crfkit.models.store import Array, ModelFileError, map_file, pack, unpack, unzipped
from crfkit.structures import Chain
from crfkit.structures.rules import constraints_of, plain_constraints
from crfkit.training.events import Summary

__all__ = ["FORMAT", "About", "about", "model_of", "open_model", "pieces"]

FORMAT = 2  #: 1: chains; 2: with models that are normalised locally, which readers of 1 would misread
_ALPHABETS = ("labels", "attributes", "edge_attributes")
_LAYOUT = ("node_ptr", "node_label", "edge_ptr", "edge_cell", "transition_cell")


@dataclasses.dataclass(frozen=True)
class About:
    """What a model file says of itself."""

    format: int  #: version of the file format
    crfkit: str  #: version that wrote it
    licence: str
    notes: str
    labels: int
    attributes: int
    weights: int


def pieces(
    model: Model,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    compact: bool = False,
    notes: str | None = None,
    licence: str | None = None,
) -> Iterator[bytes]:
    """Return the pieces of the file of a model; `Model.save` explains the options."""
    if dtype not in ("float64", "float32"):
        raise ValueError(f'dtype is {dtype!r}, expected "float64" or "float32"')
    model = compacted(model) if compact else without_idle(model)
    arrays: dict[str, Array] = {}
    for name in _ALPHABETS:
        parts = getattr(model, name).arrays()
        arrays.update(zip((f"{name}.bytes", f"{name}.begin", f"{name}.slots"), parts, strict=True))
    arrays.update({name: getattr(model.layout, name) for name in _LAYOUT})
    with np.errstate(over="ignore"):
        arrays["w"] = model.w.astype(dtype, copy=False)
    if not np.isfinite(arrays["w"]).all():
        i = int(np.argmin(np.isfinite(arrays["w"])))
        raise ValueError(f"w[{i}] is {model.w[i]}, which a file of {dtype} cannot keep")
    layout, training = model.layout, model.training
    recipe = None
    if model.recipe is not None:
        recipe, tables = plain_recipe(model.recipe)
        arrays.update(tables)
    if training is not None:
        arrays.update({f"history.{k}": np.asarray(v, dtype=np.float64) for k, v in training.history.items()})
    described = {
        "format": FORMAT if model.local else 1,
        "crfkit": _native.__version__,
        "licence": str(model.licence if licence is None else licence),
        "notes": str(model.notes if notes is None else notes),
        "order": model.chain.order,
        "constraints": plain_constraints(model.chain.constraints, model.chain.labels),
        "layout": {
            "start": layout.start,
            "stop": layout.stop,
            "dense": layout.dense,
            "table_bytes": layout.table_bytes,
        },
        "recipe": recipe,
        "label_column": model.label_column,
        "hashed": model.hashed,
        "local": model.local,
        "training": None if training is None else _plain_summary(training),
    }
    return pack(arrays, described)


def open_model(path: str | os.PathLike[str]) -> Model:
    """Open a model file; its arrays stay in the file and come into memory as they are used."""
    source = os.fspath(path)
    return model_of(unzipped(map_file(path), source), source)


def model_of(data: bytes | memoryview, source: str) -> Model:
    """Return the model in the bytes of a file, all of it checked."""
    arrays, described = unpack(data, source)
    try:
        with np.errstate(all="ignore"):
            return _model(arrays, described)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(source, f"holds no sound model: {what}") from None


def about(path: str | os.PathLike[str]) -> About:
    """Return what a model file says of itself: licence, notes, sizes."""
    source = os.fspath(path)
    arrays, described = unpack(unzipped(map_file(path), source), source)
    try:
        _check_format(described)
        return About(
            format=described["format"],
            crfkit=str(described["crfkit"]),
            licence=str(described["licence"]),
            notes=str(described["notes"]),
            labels=len(arrays["labels.begin"]) - 1,
            attributes=len(arrays["attributes.begin"]) - 1,
            weights=len(arrays["w"]),
        )
    except (KeyError, ValueError) as error:
        raise ModelFileError(source, f"holds no sound model: {error}") from None


def _check_format(described: Mapping[str, Any]) -> None:
    version = described.get("format")
    if type(version) is not int or version < 1:
        raise ValueError("the version of the format is missing")
    if version > FORMAT:
        raise ValueError(
            f"it has format {version} (written by crfkit {described.get('crfkit')}), this version knows "
            f"up to {FORMAT}: use a newer crfkit"
        )


def _model(arrays: Mapping[str, Array], described: Mapping[str, Any]) -> Model:
    _check_format(described)
    names = {name: checked_alphabet(arrays, name) for name in _ALPHABETS}
    labels = names["labels"].strings()
    if len(set(labels)) != len(labels) or names["labels"].ids(labels).tolist() != list(range(len(labels))):
        raise ValueError("its labels do not find themselves")
    order, options = described["order"], described["layout"]
    layout = checked_layout(arrays, len(labels), order, options)
    w = arrays["w"]
    if w.dtype not in (np.float64, np.float32) or w.shape != (layout.weights,):
        raise ValueError(f"w has shape {w.shape}, the layout needs ({layout.weights},)")
    w = w.astype(np.float64, copy=False)
    if not math.isfinite(float(np.add.reduce(w))) and not np.isfinite(w).all():
        raise ValueError(f"w[{int(np.argmin(np.isfinite(w)))}] is not finite")
    hashed, column = described["hashed"], described["label_column"]
    if hashed is not None and (type(hashed) is not int or not 1 <= hashed < 1 << 31):
        raise ValueError(f"hashed is {hashed!r}, expected a number of ids")
    if column is not None and type(column) not in (int, str):
        raise ValueError(f"the label column is {column!r}, expected a name or a number")
    texts = {name: described[name] for name in ("notes", "licence")}
    for name, text in texts.items():
        if type(text) is not str:
            raise ValueError(f"the {name} are {str(text)[:80]!r}, expected a text")
    chain = Chain(labels, order, constraints_of(described["constraints"], labels))
    local = described.get("local", False) if described["format"] > 1 else False
    if type(local) is not bool:
        raise ValueError(f"local is {str(local)[:80]!r}, expected true or false")
    check_local(local, chain, layout)
    model = Model.__new__(Model)  # its constructor would copy the weights
    model.__setstate__(
        {
            **names,
            "chain": chain,
            "layout": layout,
            "w": w,
            "recipe": recipe_of(described["recipe"], arrays),
            "label_column": column,
            "hashed": hashed,
            "local": local,
            "training": _summary(described["training"], arrays),
            **texts,
        }
    )
    return model


# ---- how training went

_NUMBERS = ("loss", "gap", "seconds", "evaluations", "score")
_COUNTS = ("iterations", "kept", "seed")
_TEXTS = ("objective", "certificate", "reason", "optimiser", "why", "metric")


def _plain_summary(training: Summary) -> dict[str, Any]:
    plain: dict[str, Any] = {name: getattr(training, name) for name in (*_COUNTS, *_TEXTS)}
    for name in _NUMBERS:
        value = float(getattr(training, name))
        plain[name] = value if math.isfinite(value) else str(value)  # JSON has no nan
    return {
        **plain,
        "end": training.end,
        "converged": training.converged,
        "notes": list(training.notes),
        "versions": dict(training.versions),
        "history": list(training.history),
    }


def _summary(plain: object, arrays: Mapping[str, Array]) -> Summary | None:
    if plain is None:
        return None
    if not isinstance(plain, dict):
        raise ValueError("the summary of training is damaged")
    found: dict[str, Any] = {}
    for name in _NUMBERS:
        value = plain[name]
        if value not in ("nan", "inf", "-inf") and type(value) not in (int, float):
            raise ValueError(f"the summary of training is damaged: {name} is {str(value)[:80]!r}")
        found[name] = float(value)
    for names, kind in ((_COUNTS, int), (_TEXTS, str)):
        for name in names:
            if type(plain[name]) is not kind:
                raise ValueError(f"the summary of training is damaged: {name} is {str(plain[name])[:80]!r}")
            found[name] = plain[name]
    notes, versions, columns = plain["notes"], plain["versions"], plain["history"]
    if not (isinstance(notes, list) and isinstance(versions, dict) and isinstance(columns, list)):
        raise ValueError("the summary of training is damaged")
    if not all(isinstance(text, str) for text in [*notes, *versions.values(), *columns]):
        raise ValueError("the summary of training is damaged: notes, versions and columns are texts")
    history = {name: arrays[f"history.{name}"] for name in columns}
    if any(array.dtype != np.float64 or array.ndim != 1 for array in history.values()):
        raise ValueError("the summary of training is damaged: the history is not a list of numbers")
    found["end"], found["converged"] = plain.get("end", ""), plain.get("converged")
    if type(found["end"]) is not str or found["converged"] not in (None, True, False):
        raise ValueError("the summary of training is damaged: end or converged")
    return Summary(notes=tuple(notes), versions=versions, history=history, **found)
