"""A CRF head on an encoder: words and pieces, files, and Hugging Face's Trainer with a random small BERT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from crfkit.constraints import Scheme
from crfkit.torch import ChainCRF, TokenClassifier
from crfkit.torch.token_classifier import token_labels, word_mask
from tests.cases.torch.devices import DEVICE

NAMES = ["O", "B-X", "I-X"]


class Encoder(nn.Embedding):
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor]:
        return (super().forward(input_ids),)


def classifier() -> TokenClassifier:
    torch.manual_seed(0)
    crf = ChainCRF(NAMES, constraints=[Scheme("BIO")])
    model = TokenClassifier(Encoder(9, 4), crf, hidden=4, reduction="sum")
    model.to(DEVICE)
    return model


def test_only_words_are_in_the_chain() -> None:
    model = classifier().eval()
    ids = torch.tensor([[0, 3, 4, 5, 0], [0, 6, 0, 8, 8]], device=DEVICE)
    labels = torch.tensor([[-100, 1, -100, 2, -100], [-100, 0, -100, -100, -100]], device=DEVICE)
    out = model(ids, labels=labels)
    crf, mask = model.crf, labels != -100
    torch.testing.assert_close(out.loss, crf.loss(out.logits, labels, mask, reduction="sum"))
    words = crf.loss(out.logits[:1, [1, 3]], labels[:1, [1, 3]]) + crf.loss(
        out.logits[1:, [1]], labels[1:, [1]]
    )
    torch.testing.assert_close(out.loss, words)
    assert (out.paths[~mask] == -1).all()
    assert model.decode(ids, word_mask=mask).lists() == [row[row >= 0].tolist() for row in out.paths]
    # With a mask of its own, -100 in it is a word whose label is unknown.
    more = mask.clone()
    more[1, 3] = True
    unknown = model(ids, labels=labels, word_mask=more)
    torch.testing.assert_close(unknown.loss, crf.loss(out.logits, labels, more, reduction="sum"))
    assert unknown.paths[1, 3] >= 0
    assert "loss" not in model(ids)
    assert "paths" not in model.train()(ids, labels=labels)
    with pytest.raises(AttributeError, match="the output has no 'hidden'; it has logits"):
        _ = model(ids).hidden


def test_files(tmp_path: Path) -> None:
    model = classifier().eval()
    ids, mask = torch.tensor([[1, 2, 3]], device=DEVICE), torch.ones(1, 3, dtype=torch.bool, device=DEVICE)
    model.save_pretrained(tmp_path)
    again = TokenClassifier.from_pretrained(tmp_path, Encoder(9, 4)).to(DEVICE)
    assert again.crf.chain == model.crf.chain
    assert again.reduction == "sum"
    torch.testing.assert_close(again(ids).logits, model(ids).logits)
    assert again.decode(ids, word_mask=mask).names() == model.decode(ids, word_mask=mask).names()
    with pytest.raises(ValueError, match="does not say what the encoder is: give encoder"):
        TokenClassifier.from_pretrained(tmp_path)
    with pytest.raises(ValueError, match="does not hold a TokenClassifier"):
        TokenClassifier.from_pretrained(tmp_path / "none")
    with pytest.raises(ValueError, match=r"no config\.hidden_size: give hidden"):
        TokenClassifier(Encoder(9, 4), ChainCRF(2))


def test_masks_of_words() -> None:
    class Encoding(dict[str, Any]):
        def word_ids(self, b: int) -> list[int | None]:
            return [[None, 0, 1, 1], [0, None]][b]

    assert word_mask(Encoding(input_ids=[0, 0])).tolist() == [
        [False, True, True, False],
        [True] + [False] * 3,
    ]
    assert word_mask([[0, 1]], 3).tolist() == [[True, True, False]]
    with pytest.raises(ValueError, match="length is 1, but a sequence has 2 tokens"):
        word_mask([[0, 1]], 1)


def test_labels_of_words_at_their_tokens() -> None:
    words = [[None, 0, 1, 1], [0, None]]
    assert token_labels(words, [["B", "O"], ["B", "O"]], ["O", "B"]) == [[-100, 1, 0, -100], [1, -100]]
    for labels, message in [
        ([["B"]], "labels are of 1 sequences, but the encoding has 2"),
        ([["B"], ["B"]], "sequence 0 has more words than its 1 labels"),
        ([["B", "O"], ["I"]], "sequence 1: the alphabet does not have the label 'I'"),
    ]:
        with pytest.raises(ValueError, match=message):
            token_labels(words, labels, ["O", "B"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_the_trainer_of_transformers(tmp_path: Path) -> None:
    """Learns which token is which label, and saves what loads again."""
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    torch.manual_seed(0)
    model = TokenClassifier(
        transformers.BertModel(config, add_pooling_layer=False), ChainCRF(NAMES), dropout=0
    )
    tokens = torch.randint(3, 12, (16, 6))
    labels = tokens % 3
    labels[:, 0] = -100
    data = [
        {"input_ids": x, "attention_mask": torch.ones_like(x), "labels": y, "other": x}
        for x, y in zip(tokens, labels, strict=True)
    ]
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=8,
        num_train_epochs=15,
        learning_rate=0.02,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=DEVICE == "cpu",
    )
    trainer = transformers.Trainer(model=model, args=options, train_dataset=data, eval_dataset=data)
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < 0.3 * before
    logits, paths = trainer.predict(data).predictions
    assert logits.shape == (16, 6, 3)
    assert (paths == labels.masked_fill(labels == -100, -1).numpy()).mean() > 0.9
    model.save_pretrained(tmp_path / "saved")
    again = TokenClassifier.from_pretrained(tmp_path / "saved").to(DEVICE)
    model.eval()
    given = tokens.to(DEVICE)
    torch.testing.assert_close(again(given).logits, model(given).logits)


def test_what_it_is_made_of_is_checked() -> None:
    wrong: Any = "all"
    with pytest.raises(ValueError, match="reduction is 'all', expected"):
        TokenClassifier(nn.Identity(), ChainCRF(2), hidden=4, reduction=wrong)
    other: Any = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="crf is Linear, expected a ChainCRF"):
        TokenClassifier(nn.Identity(), other, hidden=4)
