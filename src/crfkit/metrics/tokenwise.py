"""Scores of single labels, and which sequences are right as a whole."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfkit._safe.frames import frame_of
from crfkit._safe.printable import shown
from crfkit.metrics.counts import Average, Score, averages, table
from crfkit.metrics.encoding import Encoded, Ints, LabelSequences, encode, group

_PAGE = 80  #: columns up to which a matrix is printed
_MOST = 30  #: errors that are printed instead


@dataclass(frozen=True, eq=False)
class TokenScores:
    """What `token_scores` returns; ``str()`` gives a table."""

    accuracy: float  #: over all tokens, ``ignore`` notwithstanding
    tokens: int
    micro: Score  #: all labels together
    macro: Average  #: mean over labels
    weighted: Average  #: mean over labels, weighted by support
    by_label: Mapping[str, Score]  #: labels that occur, by name
    groups: Mapping[Hashable, TokenScores] = field(default_factory=dict)  #: empty without ``by``

    def report(self) -> str:
        """Return a table with a line for each label and for the averages."""
        averages: dict[str, Any] = {"micro": self.micro, "macro": self.macro, "weighted": self.weighted}
        lines = table({**self.by_label, **averages})
        return "\n".join([*lines, f"accuracy {self.accuracy:.4f} of {self.tokens} tokens"])

    def __str__(self) -> str:
        return self.report()


def token_scores(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    *,
    ignore: Collection[str] = (),
    by: Sequence[Hashable] | None = None,
    labels: Sequence[str] | None = None,
    seq_ptr: NDArray[Any] | None = None,
) -> TokenScores:
    """Score predicted labels position by position.

    Parameters
    ----------
    y_true, y_pred, by, labels, seq_ptr
        As in `span_scores`.
    ignore
        Labels left out of the table and the averages, often ``["O"]``. A token of another label that is
        predicted as one of them still counts as not found; accuracy is over all tokens.

    Examples
    --------
    >>> print(token_scores([["N", "V", "N"], ["N"]], [["N", "N", "N"], ["V"]]))
           precision  recall      f1  support
    N         0.6667  0.6667  0.6667        3
    V         0.0000  0.0000  0.0000        1
    micro     0.5000  0.5000  0.5000        4
    macro     0.3333  0.3333  0.3333
    weighted  0.5000  0.5000  0.5000
    accuracy 0.5000 of 4 tokens
    """
    if isinstance(ignore, str):
        raise TypeError(f"ignore is the string {ignore!r}; give a list of labels")
    encoded = encode({"y_true": y_true, "y_pred": y_pred}, labels, seq_ptr)
    names, groups = group(by, encoded.N)
    counts = token_counts(encoded, groups, max(len(names), 1))  # [G, 3, L]
    kept = sorted((name, id) for id, name in enumerate(encoded.names) if name not in ignore)
    parts = {name: _scores(kept, counts[g], {}) for g, name in enumerate(names)}
    return _scores(kept, counts.sum(0), parts)


def _scores(
    kept: Sequence[tuple[str, int]], counts: Ints, groups: Mapping[Hashable, TokenScores]
) -> TokenScores:
    tokens = int(counts[2].sum())
    accuracy = float(counts[0].sum() / tokens) if tokens else 0.0
    by_label = {name: Score(*counts[:, id].tolist()) for name, id in kept if counts[:, id].any()}
    counts = counts[:, [id for _, id in kept]]
    macro, weighted = (averages(counts, weighted=heavy).tolist() for heavy in (False, True))
    micro = Score(*counts.sum(1).tolist())
    return TokenScores(accuracy, tokens, micro, Average(*macro), Average(*weighted), by_label, groups)


def token_counts(encoded: Encoded, groups: Ints, G: int) -> Ints:
    """Return how many tokens of each label are correct, found and true: [G, 3, L], without what is absent."""
    true, pred = encoded.columns
    L = len(encoded.names)
    row = groups[encoded.sequence] * L  # [P]
    three = (row[true == pred] + true[true == pred], row + pred, row + true)
    counts = [np.bincount(place, minlength=G * L).reshape(G, L) for place in three]
    return np.stack(counts, 1)[..., : L - encoded.absent]


def whole_sequences(encoded: Encoded) -> NDArray[np.bool_]:
    """Return which sequences have every label right, [N]."""
    wrong = encoded.columns[0] != encoded.columns[1]  # [P]
    right: NDArray[np.bool_] = np.bincount(encoded.sequence[wrong], minlength=encoded.N) == 0
    return right


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each true label was predicted as each label."""

    labels: tuple[str, ...]  #: [L]
    matrix: Ints  #: [L, L] true label in the row, predicted one in the column

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"labels": list(self.labels), "matrix": self.matrix.tolist()}

    def to_frame(self) -> Any:
        """Return the matrix as a pandas DataFrame: true labels in rows, predicted ones in columns."""
        return frame_of(dict(zip(self.labels, self.matrix.tolist(), strict=True)), self.labels, "true")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None) -> Confusion:
        """Return what an estimator or a model takes for what in labeled data."""
        found: Confusion = estimator.evaluate(X, y).confusion
        return found

    def _repr_html_(self) -> str:
        from crfkit.metrics.pictures import confusion_picture
        from crfkit.view import cell

        return cell(confusion_picture(self), plain=str(self))

    def __str__(self) -> str:
        """Return the matrix; where it is wider than a page, the most frequent errors."""
        names = [shown(name) for name in self.labels]
        widths = [
            max(len(name), len(str(max(column))))
            for name, column in zip(names, self.matrix.T.tolist(), strict=True)
        ]
        first = max(map(len, ["true", *names]))
        if first + sum(2 + width for width in widths) > _PAGE:
            most = self.most(_MOST)
            digits = max((len(f"{times:,}") for *_, times in most), default=0)
            lines = [f"{times:{digits},}  {shown(y)}, predicted {shown(z)}" for y, z, times in most]
            if not lines:
                return f"no label of {len(names)} is predicted for another"
            return "\n".join(["the most frequent errors", *lines])
        lines = [f"{'':{first}}  predicted"]
        for name, row in [("true", names), *zip(names, self.matrix.tolist(), strict=True)]:
            cells = "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True))
            lines.append(f"{name:{first}}  {cells}")
        return "\n".join(lines)

    def most(self, count: int = 10) -> list[tuple[str, str, int]]:
        """Return the most frequent errors: true label, predicted label, times."""
        off = self.matrix - np.diag(np.diag(self.matrix))
        order = np.argsort(-off, axis=None, kind="stable")[:count]
        rows, columns = np.unravel_index(order, off.shape)
        errors = zip(rows.tolist(), columns.tolist(), strict=True)
        return [(self.labels[i], self.labels[j], int(off[i, j])) for i, j in errors if off[i, j]]


def confusion_matrix(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    *,
    labels: Sequence[str] | None = None,
    seq_ptr: NDArray[Any] | None = None,
) -> Confusion:
    """Count how often each true label was predicted as each label.

    Examples
    --------
    >>> table = confusion_matrix([["N", "V", "N"]], [["N", "N", "V"]])
    >>> table.labels, table.matrix.tolist(), table.most(1)
    (('N', 'V'), [[1, 1], [1, 0]], [('N', 'V', 1)])
    """
    return confusion_of(encode({"y_true": y_true, "y_pred": y_pred}, labels, seq_ptr))


def confusion_of(encoded: Encoded) -> Confusion:
    """Return how often each true label was predicted as each label, in the order of their names."""
    L = len(encoded.names)
    true, pred = encoded.columns
    return Confusion(encoded.names, np.bincount(true * L + pred, minlength=L * L).reshape(L, L))
