"""A CRF in a model of transformers: files, batches, checkpoints, pipelines, Trainer; with a random BERT."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

from crfkit import Chain, tags
from crfkit.constraints import Scheme, SegmentLength
from crfkit.torch import CRF
from tests.cases.torch.devices import DEVICE

transformers = pytest.importorskip("transformers")
from crfkit.torch import CRFForTokenClassification  # noqa: E402
from crfkit.torch.entities import EntityPipeline  # noqa: E402
from crfkit.torch.pretrained import CRFConfig  # noqa: E402
from crfkit.torch.words import token_labels, word_mask  # noqa: E402

NAMES = ["O", "B-PER", "I-PER"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "ann", "lee", "read", "##s", "then", "met", ".", "##ing"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)


def bert(**how: Any) -> Any:
    return transformers.BertConfig(vocab_size=len(PIECES), **SMALL, **how)


def model_of(seed: int = 0, labels: Any = None, **how: Any) -> CRFForTokenClassification:
    torch.manual_seed(seed)
    chain = Chain(NAMES, constraints=[Scheme("BIO")]) if labels is None else labels
    model = CRFForTokenClassification.from_encoder(bert(), chain, **how)
    for scores in (*model.crf.parameters(), model.classifier.weight):
        torch.nn.init.normal_(scores)
    model.to(DEVICE)
    model.eval()
    return model


def batch_of(tokenizer: Any, texts: list[str]) -> Any:
    return tokenizer(texts, return_tensors="pt", padding=True).to(DEVICE)


def test_only_words_are_in_the_chain() -> None:
    model = model_of(reduction="sum")
    ids = torch.tensor([[2, 4, 6, 7, 3], [2, 5, 3, 0, 0]], device=DEVICE)
    labels = torch.tensor([[-100, 1, 0, -100, -100], [-100, 0, -100, -100, -100]], device=DEVICE)
    out = model(ids, labels=labels)
    crf, mask = model.crf, labels != -100
    words = crf.loss(out.logits[:1, [1, 2]], labels[:1, [1, 2]]) + crf.loss(
        out.logits[1:, [1]], labels[1:, [1]]
    )
    torch.testing.assert_close(out.loss, words)
    assert (out.paths[~mask] == -1).all()
    assert model.decode(ids, word_mask=mask).lists() == [row[row >= 0].tolist() for row in out.paths]
    more = mask.clone()  # -100 in a mask is a word whose label is unknown
    more[1, 3] = True
    unknown = model(ids, labels=labels, word_mask=more)
    torch.testing.assert_close(unknown.loss, crf.loss(out.logits, labels, more, reduction="sum"))
    assert unknown.paths[1, 3] >= 0
    labels[1, 3] = -1  # the same without a mask
    torch.testing.assert_close(model(ids, labels=labels).loss, unknown.loss)
    assert list(model(ids)) == ["logits"]
    assert "paths" not in model.train()(ids, labels=labels)


@pytest.mark.parametrize(
    ("order", "rules"),
    [
        (0, []),
        (1, []),
        (1, [Scheme("BIO")]),
        (1, [Scheme("BIO"), SegmentLength("PER", 1, 2)]),
        (2, [Scheme("BIO")]),
    ],
)
def test_files_hold_all_of_it(order: int, rules: Any, tokenizer: Any, tmp_path: Path) -> None:
    """What constraints forbid is in no file, and comes from the configuration."""
    model = model_of(labels=Chain(NAMES, order=order, constraints=rules), dropout=0.25, reduction="token")
    given = batch_of(tokenizer, ["ann lee reads .", "then met"])
    mask = word_mask(given).to(DEVICE)
    model.save_pretrained(tmp_path)
    made = [
        cls.from_pretrained(tmp_path)
        for cls in (CRFForTokenClassification, transformers.AutoModelForTokenClassification)
    ]
    for again in made:
        again.to(DEVICE)
        assert not again.training
        assert again.crf.chain == model.crf.chain
        assert (again.dropout.p, again.config.reduction) == (0.25, "token")
        mine, theirs = dict(model.crf.named_buffers()), dict(again.crf.named_buffers())
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(x, theirs[name]) for name, x in mine.items())
        found, expected = again(**given, word_mask=mask), model(**given, word_mask=mask)
        torch.testing.assert_close(found.logits, expected.logits)
        assert torch.equal(found.paths, expected.paths)


def test_a_new_encoder_keeps_its_weights_and_loses_its_pooler(tmp_path: Path) -> None:
    encoder = transformers.BertModel(bert())
    before = {name: x.clone() for name, x in encoder.state_dict().items() if "pooler" not in name}
    encoder.save_pretrained(tmp_path)
    for source in (tmp_path, encoder):
        made = CRFForTokenClassification.from_encoder(source, NAMES)
        after = made.encoder.state_dict()
        assert before.keys() == after.keys()
        assert all(torch.equal(x, after[name]) for name, x in before.items())
        assert made.crf.edge.eq(0).all()
        assert made.config.id2label == dict(enumerate(NAMES))


def test_a_larger_vocabulary_is_saved(tmp_path: Path) -> None:
    model = model_of()
    model.resize_token_embeddings(20, mean_resizing=False)
    model.save_pretrained(tmp_path)
    again = CRFForTokenClassification.from_pretrained(tmp_path)
    assert again.config.encoder.vocab_size == 20
    assert again.get_input_embeddings().weight.shape == (20, 16)


def test_inputs_go_to_the_encoder() -> None:
    config = transformers.LayoutLMConfig(vocab_size=12, max_2d_position_embeddings=32, **SMALL)
    torch.manual_seed(0)
    model = CRFForTokenClassification.from_encoder(config, NAMES).eval()
    ids = torch.tensor([[2, 4, 5, 3]])
    boxes = torch.randint(16, (1, 4, 2)).repeat(1, 1, 2)
    boxes[..., 2:] += 8
    here, there = model(ids, bbox=boxes).logits, model(ids, bbox=boxes + 1).logits
    assert not torch.allclose(here, there)
    torch.testing.assert_close(here, model.classifier(model.encoder(ids, bbox=boxes)[0]))
    out = model(ids, bbox=boxes, output_hidden_states=True)
    assert len(out.hidden_states) == 2
    plain = model(ids, bbox=boxes, labels=ids % 3, return_dict=False)
    assert [x.shape for x in plain] == [(), (1, 4, 3), (1, 4)]


def test_activation_checkpoints_change_no_gradient(tokenizer: Any) -> None:
    given = batch_of(tokenizer, ["ann lee reads ."])
    labels = torch.where(word_mask(given).to(DEVICE), 0, -100)
    grads = []
    for checkpoints in (False, True):
        model = model_of(dropout=0.0).train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        if checkpoints:
            model.gradient_checkpointing_enable()
            assert model.is_gradient_checkpointing
        model(**given, labels=labels).loss.backward()
        grads.append([p.grad for p in model.parameters()])
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)


def span_shares(crf: CRF, node: torch.Tensor) -> dict[tuple[int, int, str], float]:
    """The probability of each segment, by all labelings of [T, L]."""
    T = len(node)
    found: dict[tuple[int, int, str], float] = defaultdict(float)
    every = torch.tensor(list(itertools.product(range(len(crf.labels)), repeat=T)), device=node.device)
    chance = crf.log_prob(node.expand(len(every), -1, -1), every).exp()
    for labels, p in zip(every.tolist(), chance.tolist(), strict=True):
        for start, end, name in tags.spans([crf.labels[y] for y in labels]):
            found[start, end, name] += p
    return found


@pytest.mark.parametrize("strategy", ["none", "simple"])
def test_pipelines_take_texts_without_words(strategy: str, tokenizer: Any) -> None:
    model = model_of(3)
    ner = transformers.pipeline(
        "token-classification", model=model, tokenizer=tokenizer, aggregation_strategy=strategy
    )
    assert ner("") == []
    alone = ner("ann lee reads .")
    assert [len(found) for found in ner(["", "ann lee reads .", "  "])] == [0, len(alone), 0]


@pytest.mark.parametrize("strategy", ["simple", "first", "max"])
def test_pipelines_return_entities_with_their_probability(
    strategy: str, tokenizer: Any, tmp_path: Path
) -> None:
    model = model_of(3)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    ner = transformers.pipeline("token-classification", str(tmp_path), aggregation_strategy=strategy)
    assert isinstance(ner, EntityPipeline)
    text = "then  ann lee reads ."
    given = batch_of(tokenizer, [text])
    mask = word_mask(given).to(DEVICE)
    places = mask[0].nonzero()[:, 0]
    assert len(places) == 5
    shares = span_shares(model.crf, model(**given).logits[0, places].detach())
    words = ["then", "ann", "lee", "reads", "."]
    begin = [0, 6, 10, 14, 20]
    best = model.crf.decode(model(**given).logits, mask).names()[0]
    expected = [
        {
            "entity_group": name,
            "score": shares[a, b, name],
            "start": begin[a],
            "end": begin[b - 1] + len(words[b - 1]),
        }
        for a, b, name in tags.spans(best)
    ]
    assert expected
    found = ner(text)
    for one, other in zip(found, expected, strict=True):
        assert one.pop("word") == text[one["start"] : one["end"]]
        assert one == {**other, "score": pytest.approx(other["score"], rel=1e-5)}
    texts = [text, "ann .", "lee reads ann lee ."]
    assert [len(x) for x in ner(texts)] == [len(x) for x in ner(texts, batch_size=3)]
    assert [[x["start"] for x in one] for one in ner(texts)] == [
        [x["start"] for x in one] for one in ner(texts, batch_size=2)
    ]


def test_pipelines_of_words_and_of_long_texts(tokenizer: Any) -> None:
    model = model_of(3)
    ner = transformers.pipeline("ner", model=model, tokenizer=tokenizer)
    words = ["ann", "lee", "readings", "."]
    given = tokenizer([words], is_split_into_words=True, return_tensors="pt")
    mask = word_mask(given).to(DEVICE)
    out = model(**given.to(DEVICE), word_mask=mask)
    share = model.crf.marginals(out.logits, mask)[mask]
    found = ner(words, is_split_into_words=True, ignore_labels=[])
    found = found[0] if isinstance(found[0], list) else found
    assert [one["word"] for one in found] == words
    assert [one["entity"] for one in found] == [NAMES[y] for y in out.paths[mask]]
    scores = share.gather(1, out.paths[mask][:, None])[:, 0]
    torch.testing.assert_close(torch.tensor([one["score"] for one in found]), scores.detach().cpu())
    tokenizer.model_max_length = 6
    try:
        long = transformers.pipeline(
            "ner", model=model, tokenizer=tokenizer, aggregation_strategy="simple", stride=2
        )
        text = "ann lee reads . then ann met lee reads"
        entities = long(text)
        assert all(one["word"] == text[one["start"] : one["end"]] for one in entities)
        assert all(a["end"] <= b["start"] for a, b in itertools.pairwise(entities))
        assert entities[-1]["start"] > 20  # beyond what one call of the model reads
    finally:
        tokenizer.model_max_length = int(1e30)


def test_pipelines_of_other_models_are_as_before(tokenizer: Any) -> None:
    torch.manual_seed(0)
    model = transformers.BertForTokenClassification(bert(num_labels=3)).eval()
    found = transformers.pipeline("ner", model=model, tokenizer=tokenizer)("ann lee reads .")
    stock = transformers.TokenClassificationPipeline(model=model, tokenizer=tokenizer)("ann lee reads .")
    assert found == stock
    assert len(found) == 5


def test_models_with_heads_and_decoders_give_their_encoders(tmp_path: Path) -> None:
    whole = transformers.BertForTokenClassification(bert(num_labels=7))
    made = CRFForTokenClassification.from_encoder(whole, NAMES)
    assert made.encoder is whole.bert
    sizes = {"d_model": 16, "d_kv": 8, "num_layers": 1, "num_heads": 2, "d_ff": 16, "vocab_size": 12}
    both = transformers.T5Model(transformers.T5Config(**sizes))
    both.save_pretrained(tmp_path / "t5")
    with pytest.raises(ValueError, match="encoder is a T5Model, which has a decoder: give a T5EncoderModel"):
        CRFForTokenClassification.from_encoder(both, NAMES)
    ids = torch.tensor([[2, 4, 5, 3]])
    for source in (transformers.T5Config(**sizes), tmp_path / "t5", transformers.T5EncoderModel(both.config)):
        made = CRFForTokenClassification.from_encoder(source, NAMES).eval()
        made.save_pretrained(tmp_path / "crf")
        again = CRFForTokenClassification.from_pretrained(tmp_path / "crf")
        torch.testing.assert_close(again(ids, labels=ids % 3).loss, made(ids, labels=ids % 3).loss)
    read = CRFForTokenClassification.from_encoder(tmp_path / "t5", NAMES)
    torch.testing.assert_close(read.get_input_embeddings().weight, both.get_input_embeddings().weight)


def test_labels_are_asked_for_by_name() -> None:
    model, ids = model_of(), torch.tensor([[2, 4, 5, 3]], device=DEVICE)
    wrong: Any
    for wrong, message in [
        (ids[:, :2], r"labels has shape \(1, 2\), expected \(1, 4\): one for each token"),
        (ids.tolist(), "labels is list, expected a tensor"),
        (ids.float(), "labels has type torch.float32, expected whole numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(ids, labels=wrong)
    model.config.return_dict = False
    assert isinstance(model(ids, labels=ids % 2), tuple)
    assert "loss" in model(ids, labels=ids % 2, return_dict=True)


def test_labels_of_single_texts_and_of_parts_of_long_ones(tokenizer: Any) -> None:
    one = tokenizer(["ann", "reads"], is_split_into_words=True)
    assert word_mask(one).tolist() == [[False, True, True, False, False]]
    assert token_labels(one, [["B-PER", "O"]], NAMES) == [[-100, 1, 0, -100, -100]]
    words, names = ["ann", "lee", "reads", "then"], ["B-PER", "I-PER", "O", "O"]
    how: dict[str, Any] = {"max_length": 5, "return_overflowing_tokens": True, "truncation": True}
    coded = tokenizer([words, words[2:]], is_split_into_words=True, **how)
    found = token_labels(coded, [names, names[2:]], NAMES)
    assert found == [[-100, 1, 2, 0, -100], [-100, 0, 0, -100], [-100, 0, -100, 0, -100]]
    assert word_mask(coded).tolist() == [[y >= 0 for y in row] + [False] * (5 - len(row)) for row in found]
    with pytest.raises(ValueError, match="labels are of 1 sequences, but the encoding has 2"):
        token_labels(coded, [names], NAMES)
    wrong: Any = ["B-PER", "O"]
    with pytest.raises(ValueError, match=r"labels\[0\] is the string 'B-PER', expected a list"):
        token_labels(one, wrong[:1], NAMES)


def test_the_trainer(tokenizer: Any, tmp_path: Path) -> None:
    """Learns which word is which label from its first piece, saves checkpoints, and goes on from them."""
    torch.manual_seed(0)
    words = ["ann", "lee", "reads", "then", "met", "."]
    kind = dict(zip(words, ["B-PER", "I-PER", "O", "O", "O", "O"], strict=True))
    texts = [[words[i] for i in torch.randint(len(words), (5,))] for _ in range(32)]
    gold = [
        [
            "B-PER" if kind[w] == "I-PER" and (t == 0 or kind[row[t - 1]] == "O") else kind[w]
            for t, w in enumerate(row)
        ]
        for row in texts
    ]
    model = CRFForTokenClassification.from_encoder(bert(), NAMES, [Scheme("BIO")])
    coded = tokenizer(texts, is_split_into_words=True)
    labels = token_labels(coded, gold, model.crf.labels)
    data = [
        {"input_ids": x, "labels": y, "other": y} for x, y in zip(coded["input_ids"], labels, strict=True)
    ]
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=8,
        num_train_epochs=8,
        learning_rate=0.03,
        report_to=[],
        disable_tqdm=True,
        use_cpu=DEVICE == "cpu",
    )
    collator = transformers.DataCollatorForTokenClassification(tokenizer)
    trainer = transformers.Trainer(
        model, options, train_dataset=data, eval_dataset=data, data_collator=collator
    )
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < 0.2 * before
    logits, paths = trainer.predict(data).predictions
    expected = [[y for y in row if y != -100] for row in labels]
    right = [list(row[row >= 0]) == y for row, y in zip(paths, expected, strict=True)]
    assert sum(right) >= 30
    assert logits.shape[::2] == (32, 3)
    (folder,) = tmp_path.glob("checkpoint-*")
    again = CRFForTokenClassification.from_pretrained(folder)
    given = batch_of(tokenizer, ["ann lee reads ."])
    torch.testing.assert_close(again.to(DEVICE)(**given).logits, model.eval()(**given).logits)


def test_what_it_is_made_of_is_checked() -> None:
    wrong: Any = "all"
    none: Any = None
    with pytest.raises(ValueError, match="reduction is 'all', expected"):
        CRFForTokenClassification.from_encoder(bert(), NAMES, reduction=wrong)
    with pytest.raises(ValueError, match="the configuration names no encoder: use"):
        CRFForTokenClassification(CRFConfig())
    with pytest.raises(ValueError, match="a dict without model_type"):
        CRFConfig({"hidden_size": 4})
    with pytest.raises(ValueError, match="label_weight has 2 numbers, expected 3"):
        CRFForTokenClassification.from_encoder(bert(), NAMES, label_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="encoder is NoneType, expected a model of transformers"):
        CRFForTokenClassification.from_encoder(none, NAMES)
    with pytest.raises(ValueError, match="a Chain has its own order and constraints"):
        CRFForTokenClassification.from_encoder(bert(), Chain(NAMES), [Scheme("BIO")])
