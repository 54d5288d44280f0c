"""What the pages of one inspector share: models, data, the pool, and what was computed of them once."""

from __future__ import annotations

from typing import Any

from crfkit._safe.cached import Memo, once
from crfkit.view.style import color_classes
from crfkit.web.inspector.judging import Judged, judged
from crfkit.web.inspector.material import Material
from crfkit.web.inspector.opened import Opened
from crfkit.web.inspector.reading import Typing

__all__ = ["Inspector"]


class Inspector:
    """One or two models, labeled data, and a pool of sentences to label.

    Parameters
    ----------
    models : list of Opened
    data : Material, optional
        With gold labels.
    labeling : Labeling, optional
        The pool and the labels given so far.
    edit : bool
        Whether labels may be given.
    tokenizer : Tokenizer or its name, optional
        For models of words that have none.
    """

    def __init__(
        self,
        models: list[Opened],
        data: Material | None = None,
        labeling: Any = None,
        *,
        edit: bool = False,
        tokenizer: Any = None,
    ) -> None:
        self.models, self.data, self.labeling, self.edit = models, data, labeling, edit
        self.typing = [Typing(one.model, tokenizer) for one in models]
        self._once = Memo()

    @once
    def labels(self) -> list[str]:
        """All labels of the models and the data, so that each has one color on all pages."""
        gold = [] if self.data is None or self.data.gold is None else self.data.gold
        found = [*(y for one in self.models for y in one.labels), *(y for labels in gold for y in labels)]
        return [*dict.fromkeys(found)]

    @property
    def colors(self) -> dict[str, str]:
        """The class of each label and of its type."""
        return color_classes(self.labels)

    @property
    def notes(self) -> list[str]:
        """What has become of the model files meanwhile."""
        return [one.note for one in self.models if one.note]

    def judged(self, which: int) -> Judged:
        """Return how good a model is on the data, computed once."""
        data = self.data
        assert data is not None
        found: Judged = self._once(f"judged {which}", lambda: judged(self.models[which].model, data))
        return found

    def once(self, name: str, make: Any) -> Any:
        """Return what was made by the first who asked for it."""
        return self._once(name, make)

    def close(self) -> None:
        """End what runs behind."""
        if self.labeling is not None:
            self.labeling.close()
