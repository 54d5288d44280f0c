"""What models of sequences and of graphs share: the verbs, and what is known of their training."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numpy.typing import ArrayLike, NDArray

from crfkit._safe.fields import Fields
from crfkit._safe.printable import shown
from crfkit.arrays import Floats
from crfkit.errors import SaveError
from crfkit.linear.layout import Layout

if TYPE_CHECKING:
    from typing_extensions import Self

    from crfkit.metrics.comparison import Compared
    from crfkit.metrics.report import Report
    from crfkit.models.explanation import Explanation
    from crfkit.models.parts import Map, Plain
    from crfkit.training.record import TrainingRecord


@dataclass(frozen=True, eq=False)
class FittedBy:
    """The estimator that learned a model: its class, and as plain data its parameters and what it learned.

    `crfkit.estimators.saving` makes it of an estimator, and an estimator of it.

    Examples
    --------
    >>> FittedBy.of(FittedBy("ChainCRF", {"l2": 0.1}).plain()[0], {}).params
    {'l2': 0.1}
    """

    name: str
    params: Mapping[str, Any]  #: what JSON can hold
    left_out: tuple[str, ...] = ()  #: parameters that no file can hold, which only training needs
    learned: Mapping[str, Any] = field(default_factory=dict)  #: beside the model: what JSON can hold
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)  #: beside the model, too

    def plain(self) -> Plain:
        """Return what a file has of it: a description and arrays."""
        about = {"class": self.name, "params": dict(self.params), "left_out": list(self.left_out)}
        return {**about, "learned": dict(self.learned)}, dict(self.arrays)

    @classmethod
    def of(cls, plain: object, arrays: Mapping[str, NDArray[Any]]) -> FittedBy | None:
        """Return what `plain` described; raise a ValueError on anything else."""
        if plain is None:
            return None
        fields = Fields(plain if isinstance(plain, dict) else {}, "its estimator", remedy="")
        left, name = fields["left_out"], fields.text("class")
        if not isinstance(left, list) or not all(isinstance(one, str) for one in left):
            fields.wrong("left_out", "a list of names")
        if not name.isidentifier():
            fields.wrong("class", "the name of one")
        return cls(name, dict(fields.part("params")), tuple(left), dict(fields.part("learned")), dict(arrays))


class Model(ABC):
    """A trained model: what `train` and `load` give, a `SequenceModel` or a `GraphModel`.

    X is what the model was trained on: sequences, or a GraphBatch.

    Examples
    --------
    >>> from crfkit import Graph, train
    >>> from crfkit.features import ItemExtractor
    >>> graph = Graph({"token": ["D", "N"]}, step=["token", "token"])
    >>> graphs = graph.batch(labels={"token": ["D", "N", "N"]}, scopes={"step": [[0, 1], [1, 2]]})
    >>> for data in (ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]), graphs):
    ...     model = train(data)
    ...     print(isinstance(model, Model), model.score(data))
    True 1.0
    True 1.0
    """

    layout: Layout
    w: Floats  #: [F]
    training: TrainingRecord | None  #: how it was trained
    notes: str  #: free text that goes with the model
    license: str  #: under which terms others may use it
    lacks: str  #: why it cannot be written to a file, and what to do instead; "" where it can
    estimator: FittedBy | None  #: what learned it, where an estimator did
    feature_map: Map | None  #: what makes of X what it has weights of, where no recipe does

    #: Its decision rule by name, where it has one of its own (`crfkit.models.parts`).
    rule: ClassVar[str] = ""

    def rule_parts(self) -> Plain:
        """Return what a file keeps of the decision rule: a description and arrays."""
        return {}, {}

    @classmethod
    def of_rule(cls, given: Mapping[str, Any], fields: Fields) -> Self:
        """Return the model with these fields, and with the rule that a file describes."""
        raise NotImplementedError

    @property
    @abstractmethod
    def labels(self) -> Any:
        """The labels by id; of graphs, by kind."""

    @abstractmethod
    def predict(self, X: Any, *, threads: int | None = None) -> Any:
        """Return the best labels."""

    @abstractmethod
    def _compared(
        self, X: Any, y: Any = None, metric: Any = "auto", *, threads: int | None = None
    ) -> Compared:
        """Return gold labels and predicted ones, and the metric that judges them."""

    def score(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, threads: int | None = None
    ) -> float:
        """Return how good the predictions on labeled data are: the score of `evaluate`."""
        return self._compared(X, y, threads=threads).score(sample_weight)

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        metric: Any = None,
        groups: Sequence[Hashable] | None = None,
        threads: int | None = None,
    ) -> Report:
        """Return how good the predictions on labeled data are: a report to print, with one score.

        Parameters
        ----------
        X, y
            Labeled data: gold labels in X, or in y.
        metric : str or function, optional
            A name of `crfkit.metrics.METRICS`, "log_prob", or a function of gold and predicted labels, more
            is better. Default: by the labels of the model, the F1 of spans where they spell spans, else the
            accuracy of labels.
        groups : sequence [N], optional
            The group of each sequence or graph, such as its document: the report has a row for each.
        threads : int, optional
            Default: all cores.
        """
        return self._compared(X, y, "auto" if metric is None else metric, threads=threads).report(groups)

    @abstractmethod
    def explain(self, x: Any, at: Any = None, *, threads: int | None = None) -> Explanation:
        """Explain why labels of one sequence or graph won, at one place or everywhere; prints as a table."""

    @abstractmethod
    def potentials(self, batch: Any, *, threads: int | None = None) -> Any:
        """Return the scores of a batch, for all queries of `crfkit.inference`."""

    @abstractmethod
    def _pieces(self, **options: Any) -> Iterable[bytes]:
        """Return the bytes of the file, piece by piece; the options are those of `save`."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Literal["float64", "float32"] = "float64",
        compact: bool = False,
        notes: str | None = None,
        license: str | None = None,
    ) -> None:
        """Write the model to a file, as a whole or not at all; `crfkit.load` opens it.

        Attributes whose weights are all zero are left out, which changes no bit of an answer. A model that
        predicts by Python functions is refused.

        Parameters
        ----------
        path : path
        dtype : {"float64", "float32"}
            Type of the weights in the file; float32 halves them and rounds.
        compact : bool
            Leave out every weight of zero, and edge attributes without others; scores stay the same but
            for their last digits.
        notes, license : str, optional
            Texts that go with the file in place of those of the model; ``crfkit show`` prints them.

        Examples
        --------
        >>> import os, tempfile
        >>> from crfkit import load, train
        >>> from crfkit.features import ItemExtractor
        >>> model = train(ItemExtractor()([[["the"], ["dog"]]], [["D", "N"]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "m.crf"), notes="an example")
        ...     again = load(os.path.join(folder, "m.crf"))
        >>> again.predict(ItemExtractor()([[["dog"]]])), again.notes
        ([['N']], 'an example')
        """
        from crfkit.data.sink import write_bytes

        write_bytes(path, self._pieces(dtype=dtype, compact=compact, notes=notes, license=license))

    def __str__(self) -> str:
        """Return what it is: its labels, sizes, training, notes and license."""
        from crfkit.models.pictures import lines_of

        rows = lines_of(self)
        wide = max(map(len, rows))
        return "\n".join(f"{name:<{wide}}  {shown(text)}" for name, text in rows.items())

    def _repr_html_(self) -> str:
        from crfkit.models.pictures import model_pictures
        from crfkit.view import cell

        return cell(*model_pictures(self), plain=str(self))

    def check_alone(self) -> None:
        """Refuse to be written where prediction needs a function, which no file keeps."""
        if self.lacks:
            raise SaveError(self.lacks)
