"""A CRF head on an encoder of tokens, with the face of Hugging Face's models: it works with their Trainer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from crfkit.checks import check_choice
from crfkit.structures.chains.chain import Chain
from crfkit.torch.chain import ChainCRF
from crfkit.torch.functional import Reduction

if TYPE_CHECKING:
    import os

    from crfkit.torch.results import Paths

__all__ = ["Output", "TokenClassifier", "token_labels", "word_mask"]

_ABOUT, _WEIGHTS, _ENCODER = "token_classifier.json", "model.safetensors", "encoder"


class Output(dict[str, Any]):
    """What a forward call returns: a dict whose entries are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the output has no {name!r}; it has {', '.join(self)}") from None


def word_mask(encoding: Any, length: int | None = None) -> Tensor:
    """Return which tokens of a batch begin a word, [B, T] bool, from what a fast tokenizer returned.

    Parameters
    ----------
    encoding : BatchEncoding, or for each sequence a list with the word of each token (None: no word)
    length : int, optional
        T; default: that of the longest sequence.

    Examples
    --------
    >>> word_mask([[None, 0, 0, 1, None], [None, 0, None]]).int()
    tensor([[0, 1, 0, 1, 0],
            [0, 1, 0, 0, 0]], dtype=torch.int32)
    """
    rows = _words_of(encoding)
    longest = max(map(len, rows), default=0)
    if length is not None and length < longest:
        raise ValueError(f"length is {length}, but a sequence has {longest} tokens")
    mask = torch.zeros(len(rows), longest if length is None else length, dtype=torch.bool)
    for b, words in enumerate(rows):
        mask[b, : len(words)] = torch.tensor(_begins(words), dtype=torch.bool)
    return mask


def token_labels(encoding: Any, labels: Sequence[Sequence[str]], alphabet: Iterable[str]) -> list[list[int]]:
    """Return numbers of labels by token for a Trainer: that of a word at its first token, -100 elsewhere.

    Parameters
    ----------
    encoding
        As `word_mask` takes it; not padded, if a collator pads later.
    labels : for each sequence a list with the label of each word
    alphabet : label names in the order of their numbers, ``crf.labels``

    Examples
    --------
    >>> token_labels([[None, 0, 0, 1, None], [None, 0, None]], [["B", "O"], ["B"]], ["O", "B"])
    [[-100, 1, -100, 0, -100], [-100, 1, -100]]
    """
    rows, number = _words_of(encoding), {name: i for i, name in enumerate(alphabet)}
    if len(rows) != len(labels):
        raise ValueError(f"labels are of {len(labels)} sequences, but the encoding has {len(rows)}")
    made = []
    for b, (words, names) in enumerate(zip(rows, labels, strict=True)):
        for name in names:
            if name not in number:
                raise ValueError(f"sequence {b}: the alphabet does not have the label {name!r}")
        if any(word is not None and word >= len(names) for word in words):
            raise ValueError(f"sequence {b} has more words than its {len(names)} labels")
        pairs = zip(words, _begins(words), strict=True)
        made.append([-100 if word is None or not begins else number[names[word]] for word, begins in pairs])
    return made


def _words_of(encoding: Any) -> list[Sequence[int | None]]:
    """Return the word of each token of each sequence."""
    if hasattr(encoding, "word_ids"):
        return [encoding.word_ids(b) for b in range(len(encoding["input_ids"]))]
    return list(encoding)


def _begins(words: Sequence[int | None]) -> list[bool]:
    return [word is not None and (t == 0 or words[t - 1] != word) for t, word in enumerate(words)]


class TokenClassifier(nn.Module):
    """An encoder, a linear layer, and a `ChainCRF` over the words.

    Which tokens are in the chain: those of `word_mask`; without it, those whose label is not -100. The others
    ([CLS], [SEP], padding, further pieces of words) take no part. With `word_mask`, a label of -100 in it is
    unknown and summed over.

    Parameters
    ----------
    encoder : Module
        Called with ``input_ids``, ``attention_mask`` and the like; returns hidden states [B, T, H], alone,
        first in a tuple, or as ``last_hidden_state``. Models of transformers do.
    crf : ChainCRF
    hidden : int, optional
        H; default: ``encoder.config.hidden_size``.
    dropout : float
        Between encoder and linear layer.
    reduction : {"mean", "sum", "token"}
        The reduction of the loss; see `functional.chain_loss`.

    Examples
    --------
    >>> class Encoder(nn.Embedding):
    ...     def forward(self, input_ids, attention_mask=None):
    ...         return super().forward(input_ids)
    >>> model = TokenClassifier(Encoder(5, 4), ChainCRF(["O", "B", "I"]), hidden=4)
    >>> ids, labels = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[-100, 1, -100, 2]])
    >>> out = model(ids, labels=labels)
    >>> out.logits.shape, out.loss.shape
    (torch.Size([1, 4, 3]), torch.Size([]))
    >>> [len(words) for words in model.decode(ids, word_mask=labels != -100).names()]
    [2]
    """

    def __init__(
        self,
        encoder: nn.Module,
        crf: ChainCRF,
        *,
        hidden: int | None = None,
        dropout: float = 0.1,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        check_choice("reduction", reduction, ("mean", "sum", "token"))
        if not isinstance(crf, ChainCRF):
            raise ValueError(f"crf is {type(crf).__name__}, expected a ChainCRF")
        if hidden is None:
            hidden = getattr(getattr(encoder, "config", None), "hidden_size", None)
            if hidden is None:
                raise ValueError("the encoder has no config.hidden_size: give hidden, the size of its states")
        self.encoder, self.crf, self.reduction = encoder, crf, reduction
        self.dropout, self.classifier = nn.Dropout(dropout), nn.Linear(hidden, len(crf.labels))

    def logits(self, **inputs: Tensor | None) -> Tensor:
        """Return scores of labels [B, T, L] for what the encoder takes."""
        found = self.encoder(**{name: x for name, x in inputs.items() if x is not None})
        if not isinstance(found, Tensor):
            found = found.last_hidden_state if hasattr(found, "last_hidden_state") else found[0]
        scores: Tensor = self.classifier(self.dropout(found))
        return scores

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        word_mask: Tensor | None = None,
    ) -> Output:
        """Return ``logits``; with labels ``loss``; and ``paths``, the best labels, in evaluation.

        `paths` [B, T] is -1 where a token is not in the chain; it is there if `labels` or `word_mask` say
        which tokens are, and the module is not in training.
        """
        scores = self.logits(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
        )
        out = Output(logits=scores)
        if word_mask is None and labels is not None:
            word_mask = labels != -100
        if labels is not None:
            loss = self.crf.loss(scores, labels, word_mask, reduction=self.reduction)
            out = Output(loss=loss, logits=scores)
        if word_mask is not None and not self.training:
            out["paths"] = self.crf.decode(scores, word_mask).labels
        return out

    def decode(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        *,
        word_mask: Tensor,
        **inputs: Tensor | None,
    ) -> Paths:
        """Return the best labels of the words; `word_mask` [B, T] says which tokens are in the chain."""
        scores = self.logits(input_ids=input_ids, attention_mask=attention_mask, **inputs)
        return self.crf.decode(scores, word_mask)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write weights, labels and constraints, and the configuration of an encoder of transformers."""
        from safetensors.torch import save_file

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        about = {
            "labels": list(self.crf.labels),
            "structure": self.crf.chain.to_dict(),
            "hidden": self.classifier.in_features,
            "dropout": self.dropout.p,
            "reduction": self.reduction,
        }
        (place / _ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        config: Any = getattr(self.encoder, "config", None)
        if hasattr(config, "save_pretrained"):
            config.save_pretrained(place / _ENCODER)
        weights = {name: x.detach().contiguous() for name, x in self.state_dict().items()}
        save_file(weights, place / _WEIGHTS, metadata={"format": "pt"})

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], encoder: nn.Module | None = None
    ) -> TokenClassifier:
        """Return what `save_pretrained` wrote, in evaluation mode.

        `encoder` is a module like the one that was saved; one of transformers is made by its configuration.
        """
        from safetensors.torch import load_file

        place = Path(folder)
        if not (place / _ABOUT).is_file():
            raise ValueError(f"{place} does not hold a TokenClassifier: it has no file {_ABOUT}")
        weights = load_file(place / _WEIGHTS)
        about = json.loads((place / _ABOUT).read_text(encoding="utf-8"))
        if encoder is None:
            if not (place / _ENCODER).is_dir():
                raise ValueError(f"{place} does not say what the encoder is: give encoder")
            from transformers import AutoConfig, AutoModel

            encoder = AutoModel.from_config(AutoConfig.from_pretrained(place / _ENCODER))
            if not any(name.startswith("encoder.pooler.") for name in weights):
                encoder.pooler = None  # as in the encoder that was saved
        crf = ChainCRF(Chain.of_dict(about["structure"], about["labels"]))
        options = {name: about[name] for name in ("hidden", "dropout", "reduction")}
        made = cls(encoder, crf, **options)
        made.load_state_dict(weights)
        made.eval()
        return made
