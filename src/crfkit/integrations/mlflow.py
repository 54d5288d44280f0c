"""Models as MLflow keeps and serves them (flavor ``python_function``), written without MLflow.

`save` makes a folder with ``MLmodel`` and the model file, which holds no pickle; MLflow's
``pyfunc.load_model``, ``pyfunc.spark_udf`` and ``mlflow models serve`` open it by this module. Its input is a
data frame with a column ``text``, or ``tokens`` with a list of words in each row; its output a list with an
entry for each row: spans as dicts, or labels.
"""

from __future__ import annotations

import json
import os
import platform
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from crfkit import __version__
from crfkit.models import SequenceModel
from crfkit.models.files import load

__all__ = ["Served", "save"]

_FILE = "model.crf"


def save(model: SequenceModel, folder: str | os.PathLike[str]) -> None:
    """Write a model as MLflow has it, into a folder that is made.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from crfkit import ChainCRF
    >>> crf = ChainCRF().fit([["in", "New", "York"]] * 9, [["O", "B-LOC", "I-LOC"]] * 9)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     save(crf.model_.with_text("words"), f"{name}/names")
    ...     found = _load_pyfunc(f"{name}/names/model.crf").predict(pd.DataFrame({"text": ["in New York"]}))
    >>> [[span["text"] for span in row] for row in found]
    [['New York']]
    """
    path = Path(folder)
    os.makedirs(path)  # never into what is there
    model.save(path / _FILE)
    about = {
        "flavors": {
            "python_function": {
                "loader_module": __name__,
                "data": _FILE,
                "env": {"virtualenv": "python_env.yaml"},
                "python_version": platform.python_version(),
            }
        },
        "mlflow_version": "2.0.0",  # whose form this is
        "model_uuid": uuid.uuid4().hex,
        "utc_time_created": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f"),
    }
    environment = {"python": platform.python_version(), "dependencies": ["-r requirements.txt"]}
    for name, plain in (("MLmodel", about), ("python_env.yaml", environment)):
        (path / name).write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")  # JSON is YAML
    public = __version__.partition("+")[0]
    (path / "requirements.txt").write_text(f"crfkit=={public}\n", encoding="utf-8")


class Served:
    """What MLflow calls.

    Parameters
    ----------
    model : SequenceModel
    """

    def __init__(self, model: SequenceModel) -> None:
        self.model = model

    def predict(self, frame: Any, params: dict[str, Any] | None = None) -> list[Any]:
        """Return spans of the column text, or labels of the column tokens."""
        columns = [*getattr(frame, "columns", frame)]
        if "text" in columns:
            docs = self.model.pipe([str(one) for one in frame["text"]])
            return [[_plain(span) for span in doc.spans] for doc in docs]
        if "tokens" in columns:
            return [*self.model.predict([[str(word) for word in one] for one in frame["tokens"]])]
        raise ValueError(f"the columns are {', '.join(map(str, columns))}, expected text or tokens")


def _plain(span: Any) -> dict[str, Any]:
    return {
        "start": span.start,
        "end": span.end,
        "label": span.label,
        "probability": span.probability,
        "text": span.text,
    }


def _load_pyfunc(path: str) -> Served:
    """Return what MLflow calls, from the model file; the name is MLflow's."""
    return Served(load(path))
