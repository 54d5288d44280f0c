"""A trainer that prints one line for each iteration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crfkit.compat.pycrfsuite import Trainer

__all__ = ["LinePerIterationTrainer"]


class LinePerIterationTrainer(Trainer):
    """Prints an iteration on a line, and in the end how well each label of the holdout group is found."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print an iteration."""
        parts = [f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={info['loss']:<8.2f}"]
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5}")
        if "avg_precision" in info:
            parts.append(f"precision={info['avg_precision']:0.3f} ")
            parts.append(f"recall={info['avg_recall']:0.3f} ")
            parts.append(f"F1={info['avg_f1']:0.3f} ")
            item, whole = info["item_accuracy_float"], info["instance_accuracy_float"]
            parts.append(f"Acc(item/seq)={item:0.3f} {whole:0.3f} ")
        if "feature_norm" in info:
            parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print(" ".join(parts).strip())

    def on_optimization_end(self, log: str) -> None:
        """Print the labels of the last iteration."""
        last = None if self.logparser is None else self.logparser.last_iteration
        if last and last["scores"]:
            rows = [
                (label, _rate(score.precision), _rate(score.recall), _rate(score.f1 or 0.0), str(score.ref))
                for label, score in sorted(last["scores"].items())
            ]
            print(_table(("Label", "Precision", "Recall", "F1", "Support"), rows))
        super().on_optimization_end(log)


def _rate(x: float | None) -> str:
    return "" if x is None else f"{x:0.3f}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Lay out columns: the first to the left, numbers to the right."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])

    size = sum(widths) + 2 * (len(widths) - 1)
    ruled = [line(head), "  ".join("-" * width for width in widths), *map(line, lines[1:])]
    return "\n".join(["=" * size, *ruled, "-" * size])
