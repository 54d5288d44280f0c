"""``pipeline("token-classification")`` for models with a CRF: entities by the best labels of the words.

The stock pipeline reads the scores of each token by a softmax, which knows nothing of steps and constraints.
Here words are in the chain as they were in training, and an entity comes with the probability of exactly
this entity, with both ends and the label. Models of other types are answered for as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transformers import TokenClassificationPipeline
from transformers.pipelines import PIPELINE_REGISTRY

from crfkit.torch.words import word_mask

__all__ = ["EntityPipeline", "register"]

_TASK = "token-classification"
_models: list[type] = []


def register(model: type) -> None:
    """Let ``pipeline("token-classification")`` take models of a type here."""
    _models.append(model)
    PIPELINE_REGISTRY.supported_tasks[_TASK]["impl"] = EntityPipeline


class EntityPipeline(TokenClassificationPipeline):
    """Texts to entities; what `pipeline` makes of a model with a CRF.

    ``aggregation_strategy="none"`` returns the best label of each word with the probability of this label;
    all others return entities, since a word has one label here: runs of words that labels such as B-X and I-X
    spell, or of the same label. Other options are those of the stock pipeline.
    """

    @property
    def _ours(self) -> bool:
        return isinstance(self.model, tuple(_models))

    def check_model_type(self, supported_models: Any) -> None:
        """Take models with a CRF beside those of transformers."""
        if not self._ours:
            super().check_model_type(supported_models)

    def preprocess(self, sentence: Any, offset_mapping: Any = None, **how: Any) -> Iterator[dict[str, Any]]:
        """Return what the tokenizer makes of a text, with a mask of the first tokens of its words."""
        chunks = super().preprocess(sentence, offset_mapping, **how)
        if not self._ours:
            yield from chunks
            return
        if not self.tokenizer.is_fast:
            raise ValueError("the tokenizer does not say which words tokens are of: load a fast one")
        whole = {"truncation": bool(self.tokenizer.model_max_length), **how.get("tokenizer_params", {})}
        if not how.get("is_split_into_words"):
            coded = self.tokenizer(sentence, **whole)
            parts = coded["input_ids"] if "overflow_to_sample_mapping" in coded else [coded["input_ids"]]
            words = [coded.word_ids(i) for i in range(len(parts))]
        for i, inputs in enumerate(chunks):
            of_tokens = inputs["word_ids"] if how.get("is_split_into_words") else words[i]
            inputs["word_mask"] = word_mask([of_tokens]).long()
            yield inputs

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        if not self._ours:
            found: dict[str, Any] = super()._forward(model_inputs)
            return found
        made: dict[str, Any] = super()._forward(model_inputs)
        inside = made["word_mask"].bool()
        made["paths"] = self.model.crf.decode(made["logits"], inside).labels
        made["shares"] = self.model.crf.marginals(made["logits"], inside)
        return made

    def postprocess(
        self, all_outputs: list[dict[str, Any]], aggregation_strategy: Any = None, ignore_labels: Any = None
    ) -> list[dict[str, Any]]:
        """Return what was found in one text: words, or entities."""
        if not self._ours:
            given = {"aggregation_strategy": aggregation_strategy, "ignore_labels": ignore_labels}
            how = {name: x for name, x in given.items() if x is not None}
            stock: list[dict[str, Any]] = super().postprocess(all_outputs, **how)
            return stock
        ignored = ["O"] if ignore_labels is None else ignore_labels
        plain = aggregation_strategy is None or aggregation_strategy.value == "none"
        found = []
        for outputs in all_outputs:
            given = {**outputs, "sentence": all_outputs[0]["sentence"]}
            each = self._words(given) if plain else self._entities(given)
            found += [one for one in each if one.get("entity", one.get("entity_group")) not in ignored]
        if len(all_outputs) > 1:
            found = self.aggregate_overlapping_entities(found)
        return found

    def _words(self, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Return each word with its best label."""
        path, share = given["paths"][0], given["shares"][0]
        for first, last in self._places(given):
            label = int(path[first])
            name = self.model.config.id2label[label]
            score = float(share[first, label])
            yield {"entity": name, "score": score, "index": first, **_text(given, first, last)}

    def _entities(self, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Return the segments that the best labels spell."""
        last_of = dict(self._places(given))
        begins = sorted(last_of)
        crf = self.model.crf
        logits, inside = given["logits"].to(crf.start.device), given["word_mask"].bool().to(crf.start.device)
        for start, end, name, share in crf.spans(logits, inside)[0]:
            last = last_of[max(t for t in begins if t < end)]
            yield {"entity_group": name, "score": share, **_text(given, start, last)}

    @staticmethod
    def _places(given: dict[str, Any]) -> list[tuple[int, int]]:
        """Return the first and last token of each word."""
        begins = given["word_mask"][0].nonzero()[:, 0].tolist()
        outside = given["special_tokens_mask"][0].bool()
        inside = (~outside).nonzero()[:, 0].tolist()
        ends = [*begins, len(outside)][1:]
        return [(a, max(t for t in inside if a <= t < b)) for a, b in zip(begins, ends, strict=True)]


def _text(given: dict[str, Any], first: int, last: int) -> dict[str, Any]:
    """Return the piece of the text that tokens `first` to `last` are, and where it is."""

    def at(token: int, side: int) -> int:
        place = int(given["offset_mapping"][0][token][side])
        if given.get("word_to_chars_map") is not None:  # offsets count within a word then
            place += given["word_to_chars_map"][given["word_ids"][token]][0]
        return place

    start, end = at(first, 0), at(last, 1)
    return {"word": given["sentence"][start:end], "start": start, "end": end}
