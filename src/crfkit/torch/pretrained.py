"""A model of Hugging Face's kind with a CRF: an encoder of transformers, a linear layer, a chain over words.

Importing this module tells transformers of the model type ``crfkit``: `AutoConfig`,
`AutoModelForTokenClassification` and ``pipeline("token-classification")`` know it from then on
(`crfkit.torch.entities`). Models of other types are answered for as before.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from crfkit.checks import check_choice
from crfkit.structures.chains.chain import Chain
from crfkit.structures.constraints import Constraint
from crfkit.torch.chain import CRF
from crfkit.torch.functional import Reduction
from crfkit.torch.inputs import has_shape
from crfkit.torch.states import States
from crfkit.torch.weighting import check_smoothing

try:
    from transformers import (
        MODEL_FOR_TEXT_ENCODING_MAPPING,
        MODEL_MAPPING,
        AutoConfig,
        AutoModel,
        AutoModelForTextEncoding,
        AutoModelForTokenClassification,
        PretrainedConfig,
        PreTrainedModel,
    )
    from transformers.utils import ModelOutput

    from crfkit.torch import entities
except ImportError as error:
    raise ImportError("CRFForTokenClassification needs transformers: pip install transformers") from error

if TYPE_CHECKING:
    from crfkit.torch.results import Paths

__all__ = ["CRFConfig", "CRFForTokenClassification", "Output"]


class CRFConfig(PretrainedConfig):
    """What `CRFForTokenClassification` is made of.

    Parameters
    ----------
    encoder : PretrainedConfig or dict
        The configuration of the encoder, of any model that `AutoModel` makes.
    structure : dict
        Order and constraints of the chain, as `Chain.to_dict` returns them; default: order 1.
    dropout : float
        Between encoder and linear layer.
    reduction : {"mean", "sum", "token"}
        The reduction of the loss; see `functional.chain_loss`.
    label_smoothing : float
    label_weight : list of float, optional
        A weight for each label, in the order of their numbers.
    **more
        What every configuration takes: ``id2label`` and ``label2id`` hold the labels.
    """

    model_type = "crfkit"
    sub_configs = {"encoder": AutoConfig}  # noqa: RUF012

    def __init__(
        self,
        encoder: Any = None,
        structure: dict[str, Any] | None = None,
        dropout: float = 0.1,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
        label_weight: Sequence[float] | None = None,
        **more: Any,
    ) -> None:
        check_choice("reduction", reduction, ("mean", "sum", "token"))
        if isinstance(encoder, dict):
            kind = encoder.get("model_type")
            if kind is None:
                raise ValueError("encoder is a dict without model_type: give the configuration of a model")
            encoder = AutoConfig.for_model(**encoder)
        self.encoder = encoder
        self.structure = structure or {"kind": "chain", "order": 1, "constraints": []}
        self.dropout, self.reduction = dropout, reduction
        check_smoothing(label_smoothing)
        self.label_smoothing = label_smoothing
        self.label_weight = None if label_weight is None else [float(x) for x in label_weight]
        super().__init__(**more)

    @property
    def labels(self) -> list[str]:
        """Label names in the order of their numbers."""
        names: dict[int, str] = self.id2label
        return [names[i] for i in range(len(names))]

    def get_text_config(self, *args: Any, **how: Any) -> PretrainedConfig:
        """Return the configuration of what reads text, which knows the size of its vocabulary."""
        outer = self.encoder is None
        return super().get_text_config(*args, **how) if outer else self.encoder.get_text_config(*args, **how)

    def chain(self) -> Chain:
        """Return the structure of the CRF."""
        return Chain.of_dict(self.structure, self.labels)


@dataclass
class Output(ModelOutput):
    """What a forward call returns; entries are absent where they are None."""

    loss: Tensor | None = None
    logits: Tensor | None = None  #: scores of labels [B, T, L] of the network, without those of steps
    paths: Tensor | None = None  #: the best labels [B, T], -1 where a token is not in the chain
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class CRFForTokenClassification(PreTrainedModel):
    """An encoder of transformers, a linear layer, and a `CRF` over the words.

    It is saved, loaded, trained and asked as other models of transformers are; `from_encoder` makes one.

    Which tokens are in the chain: those of `word_mask`; without it, those whose label is not -100. The others
    ([CLS], [SEP], padding, further pieces of words) take no part. With `word_mask`, a label of -100 in it is
    unknown and summed over; without it, one of -1 is.

    Examples
    --------
    >>> from transformers import BertConfig
    >>> config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    >>> model = CRFForTokenClassification.from_encoder(config, ["O", "B", "I"])
    >>> ids, labels = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[-100, 1, -100, 2]])
    >>> out = model(ids, labels=labels)
    >>> out.logits.shape, out.loss.shape
    (torch.Size([1, 4, 3]), torch.Size([]))
    >>> [len(words) for words in model.decode(ids, word_mask=labels != -100).names()]
    [2]
    """

    config_class = CRFConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = False  # a Trainer divides the loss over steps of accumulation itself
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = True  # as the encoder does

    def __init__(self, config: CRFConfig, encoder: nn.Module | None = None) -> None:
        super().__init__(config)
        if config.encoder is None:
            raise ValueError("the configuration names no encoder: use CRFForTokenClassification.from_encoder")
        self.encoder = _without_pooler(_made(config.encoder) if encoder is None else encoder)
        self.dropout = nn.Dropout(config.dropout)
        L, weight = len(config.labels), config.label_weight
        if weight is not None and len(weight) != L:
            raise ValueError(f"label_weight has {len(weight)} numbers, expected {L}: one for each label")
        self.classifier = nn.Linear(_hidden_size(config.encoder), L)
        self.crf = CRF(config.chain())
        self.post_init()

    @classmethod
    def from_encoder(
        cls,
        encoder: str | os.PathLike[str] | PretrainedConfig | PreTrainedModel,
        labels: Iterable[str] | Chain,
        constraints: Sequence[Constraint] | None = None,
        *,
        dropout: float = 0.1,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
        label_weight: Sequence[float] | None = None,
        **how: Any,
    ) -> CRFForTokenClassification:
        """Return a model with a new linear layer and CRF on an encoder.

        Parameters
        ----------
        encoder : model, configuration, or the name or folder of a saved model
            A configuration makes one with random weights.
        labels : list of str, or Chain
            Labels of tokens; a Chain says order and constraints too.
        constraints : sequence of constraints
            See `crfkit.constraints`.
        dropout, reduction, label_smoothing, label_weight
            See `CRFConfig`.
        **how
            What `AutoModel.from_pretrained` takes, where `encoder` is a name.
        """
        chain = CRF(labels, constraints=constraints).chain
        if isinstance(encoder, PretrainedConfig):
            encoder = _made(encoder)
        elif isinstance(encoder, str | os.PathLike):
            name, encoder = encoder, AutoModel.from_pretrained(encoder, **how)
            if _has_decoder(encoder):
                encoder = AutoModelForTextEncoding.from_pretrained(name, **how)
        elif isinstance(encoder, PreTrainedModel):
            encoder = encoder.base_model  # without the head of a model for some task
            if _has_decoder(encoder):
                wanted = MODEL_FOR_TEXT_ENCODING_MAPPING[type(encoder.config)].__name__
                raise ValueError(
                    f"encoder is a {type(encoder).__name__}, which has a decoder: give a {wanted}"
                )
        else:
            raise ValueError(
                f"encoder is {type(encoder).__name__}, expected a model of transformers, its configuration, "
                "or the name or folder of a saved one"
            )
        config = CRFConfig(
            copy.deepcopy(encoder.config),  # a model writes to its configuration: how attention is computed
            chain.to_dict(),
            dropout,
            reduction,
            label_smoothing,
            label_weight,
            id2label=dict(enumerate(chain.labels)),
            label2id={name: i for i, name in enumerate(chain.labels)},
        )
        return cls(config, encoder)

    def _init_weights(self, module: nn.Module) -> None:
        """Set what no file brings; buffers of constraints are never in files."""
        if isinstance(module, CRF | States):
            module.forbid()
            for scores in module.parameters():
                if not getattr(scores, "_is_hf_initialized", False):
                    nn.init.zeros_(scores)
        else:
            super()._init_weights(module)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        bbox: Tensor | None = None,
        pixel_values: Tensor | None = None,
        labels: Tensor | None = None,
        word_mask: Tensor | None = None,
        return_dict: bool | None = None,
        **more: Any,
    ) -> Output | tuple[Any, ...]:
        """Return ``logits``; with labels ``loss``; and ``paths``, the best labels, in evaluation.

        `paths` [B, T] is there if `labels` or `word_mask` say which tokens are in the chain, and the module
        is not in training. What is named here, and `more`, goes to the encoder where it is given: a Trainer
        drops columns of data that are not named. ``return_dict=False`` returns a tuple.
        """
        given = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "token_type_ids": token_type_ids,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
            "bbox": bbox,
            "pixel_values": pixel_values,
            **more,
        }
        found = self.encoder(**{name: x for name, x in given.items() if x is not None}, return_dict=True)
        states = found.last_hidden_state
        tokens = input_ids if inputs_embeds is None else inputs_embeds
        if tokens is not None:
            states = states[:, : tokens.shape[1]]  # LayoutLM's go on with those of parts of the picture
        out = Output(logits=self.classifier(self.dropout(states)))
        if labels is not None:
            _check_labels(labels, out.logits)
            word_mask = labels != -100 if word_mask is None else word_mask
        if labels is not None:
            out.loss = self._loss(out.logits, labels, word_mask)
        if word_mask is not None and not self.training:
            out.paths = self.crf.decode(out.logits, word_mask).labels
        out.hidden_states, out.attentions = found.get("hidden_states"), found.get("attentions")
        made = Output(**{name: x for name, x in vars(out).items() if x is not None})
        whole = self.config.return_dict if return_dict is None else return_dict
        return made if whole else made.to_tuple()

    def _loss(self, logits: Tensor, labels: Tensor, mask: Tensor | None) -> Tensor:
        how, weight = self.config, self.config.label_weight
        return self.crf.loss(
            logits,
            labels,
            mask,
            reduction=how.reduction,
            label_smoothing=how.label_smoothing,
            label_weight=None if weight is None else torch.tensor(weight, device=logits.device),
        )

    def decode(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        *,
        word_mask: Tensor,
        **inputs: Any,
    ) -> Paths:
        """Return the best labels of the words; `word_mask` [B, T] says which tokens are in the chain."""
        found = self(input_ids, attention_mask, **inputs)
        return self.crf.decode(found.logits, word_mask)


def _check_labels(labels: Any, logits: Tensor) -> None:
    """Raise where labels are not those of tokens; their values are looked at by the loss."""
    if not isinstance(labels, Tensor):
        raise ValueError(f"labels is {type(labels).__name__}, expected a tensor")
    B, T = logits.shape[:2]
    if not has_shape(labels, (B, T)):
        raise ValueError(f"labels has shape {tuple(labels.shape)}, expected ({B}, {T}): one for each token")


def _made(config: PretrainedConfig) -> PreTrainedModel:
    """Return an encoder with random weights, without a pooling layer where it may be omitted."""
    text = type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING  # of T5, without the decoder
    kind = (MODEL_FOR_TEXT_ENCODING_MAPPING if text else MODEL_MAPPING)[type(config)]
    kind = kind[0] if isinstance(kind, tuple) else kind
    how = {"add_pooling_layer": False} if "add_pooling_layer" in signature(kind.__init__).parameters else {}
    return (AutoModelForTextEncoding if text else AutoModel).from_config(config, **how)


def _has_decoder(model: PreTrainedModel) -> bool:
    """Tell whether a model has a decoder that its kind can do without."""
    return model.config.is_encoder_decoder and type(model.config) in MODEL_FOR_TEXT_ENCODING_MAPPING


def _without_pooler(encoder: nn.Module) -> nn.Module:
    """Drop the pooling layer, whose answer nobody reads, where the encoder can do without."""
    optional = "add_pooling_layer" in signature(type(encoder).__init__).parameters
    if optional and getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


def _hidden_size(config: PretrainedConfig) -> int:
    size = getattr(config, "hidden_size", None)
    if size is None:
        raise ValueError(f"the configuration of {config.model_type} has no hidden_size")
    return int(size)


AutoConfig.register(CRFConfig.model_type, CRFConfig, exist_ok=True)
AutoModelForTokenClassification.register(CRFConfig, CRFForTokenClassification, exist_ok=True)
entities.register(CRFForTokenClassification)
