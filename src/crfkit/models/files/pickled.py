"""Pickles given for a model: recognized by their bytes, never opened, and what their owner can do."""

from __future__ import annotations

import zlib

from crfkit.errors import ModelFileError

_LOOK = 1 << 16  # bytes in which a pickle names its first classes


def refuse_pickle(data: bytes | memoryview, source: str) -> None:
    """Raise where these bytes are a Python pickle, plain or compressed by joblib.

    Examples
    --------
    >>> import pickle
    >>> refuse_pickle(pickle.dumps({"w": 1.0}), "m.pkl")
    Traceback (most recent call last):
    crfkit.errors.ModelFileError: m.pkl is a Python pickle, not a model file; if you trust where
    it comes from, open it with joblib.load or pickle.load and save its model: estimator.model_.save("m.crf")
    """
    beginning = _inflated(bytes(data[:_LOOK]))
    if not (beginning[:1] == b"\x80" and beginning[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")) and not (
        beginning.startswith((b"ccopy_reg\n", b"ccopyreg\n"))
    ):
        return
    remedy = (
        'open it with joblib.load or pickle.load and save its model: estimator.model_.save("m.crf")'
        if b"sklearn_crfsuite" not in beginning
        else "call crfkit.compat.install(), open it with crf = joblib.load(...) or pickle.load, and save its "
        'model: crfkit.load(crf.modelfile.name).save("m.crf")'
    )
    raise ModelFileError(
        source, "is a Python pickle, not a model file", f"if you trust where it comes from, {remedy}"
    )


def _inflated(beginning: bytes) -> bytes:
    """Return the beginning of a file, unpacked where joblib compressed it (zlib)."""
    if beginning[:1] != b"x":
        return beginning
    try:
        return zlib.decompressobj().decompress(beginning, _LOOK)
    except zlib.error:
        return beginning
