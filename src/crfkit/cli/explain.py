"""``crfkit explain``: which features decided for a label."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit._safe.printable import counted, shown
from crfkit.cli.groups.compose import composed
from crfkit.cli.groups.data import Data
from crfkit.cli.groups.judging import OneSequence, Top
from crfkit.cli.groups.output import Running

if TYPE_CHECKING:
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.models.explanation import Decision
    from crfkit.models.graph_model import GraphModel


@composed
def explain(
    model: Annotated[str, typer.Argument(help="A model of any kind.")],
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data; - for standard input.")] = "-",
    top: Top = 5,
    sequence: OneSequence = None,
    *,
    reading: Data,
    running: Running,
) -> None:
    r"""Print which features decided for each label.

    Each token comes with its label, the runner-up, and the features that decided between them.
    The best labeling is compared with the best one that has the runner-up at the token. Contributions add up
    to the difference of the two scores: above 0 they speak for the label that won, below 0 against it. A
    feature of another token has its distance in brackets. A model of segments has one entry for each segment,
    which is compared with the best segmentation that does not have it; one of graphs an entry for each kind,
    with the clique of each weight.

    For example:

      crfkit explain chunks.crf test.txt --sequence 3
      echo "The dog barked" | tr ' ' '\n' | crfkit explain words.crf --top 3
    """
    from crfkit.cli.tagging import Tagger
    from crfkit.inference.results import counted_from
    from crfkit.models.files import GraphFileError

    threads, as_json = running.jobs, running.as_json
    try:
        tagger = Tagger(model, threads=threads)
        tagger.check_sums("no sum of weights explains them")
    except GraphFileError as error:
        seen = _explain_graphs(model, error.model, data, reading, top, sequence, threads, as_json)
        _check_seen(data, seen, sequence)
        return
    seen = 0
    for block in reading.blocks(data, attributes=tagger.attributes):
        batch = tagger.batch(block)
        for n in range(batch.sequences):
            seen += 1
            if sequence is not None and seen != sequence:
                continue
            with counted_from(seen - 1):
                made = list(tagger.model.explain(batch.select([n]), threads=threads))
            tokens = _spans(_tokens(block, n, int(batch.seq_ptr[n + 1] - batch.seq_ptr[n])), made)
            if as_json:
                plain = [_plain(*one) for one in zip(tokens, made, strict=True)]
                print(json.dumps(plain, ensure_ascii=False))
            else:
                _show(tokens, made, top)
            if seen == sequence:
                return
    _check_seen(data, seen, sequence)


def _check_seen(data: str, seen: int, sequence: int | None) -> None:
    """Refuse the number of a sequence that is not there, and data that have none."""
    name = "standard input" if data == "-" else data
    if not seen:
        raise ValueError(f"{name} holds no sequence; give data, as the model was trained on")
    if sequence is not None and seen < sequence:
        raise ValueError(f"{name} has {counted(seen, 'sequence')}; there is no sequence {sequence}")


def _explain_graphs(
    model: str,
    found: GraphModel,
    data: str,
    reading: Data,
    top: int,
    sequence: int | None,
    threads: int | None,
    as_json: bool,
) -> int:
    """Explain the labels of a model of graphs, kind by kind; return how many sequences were read."""
    from crfkit.cli.graph_answers import GraphTagger, plain_decision, print_decision

    tagger, seen = GraphTagger(model, found, threads), 0
    for block in tagger.blocks(reading, data):
        for n in range(len(block)):
            seen += 1
            if sequence is not None and seen != sequence:
                continue
            made = tagger.decisions(block, n)
            if as_json:
                plain = [
                    {"token": token, **plain_decision(one)} for token, several in made for one in several
                ]
                print(json.dumps(plain, ensure_ascii=False))
            else:
                for token, several in made:
                    for one in several:
                        print_decision(token, one, top)
                print()
            if seen == sequence:
                return seen
    return seen


def _tokens(block: Columns | Dataset, n: int, positions: int) -> list[str]:
    """Return what to call the positions of a sequence."""
    from crfkit.data.formats.columns import Columns

    if isinstance(block, Columns):
        return [" ".join(row) for row in block.sequence(n)]
    return [f"item {t + 1}" for t in range(positions)]


def _spans(tokens: list[str], decisions: list[Decision]) -> list[str]:
    """Return what to call the positions of each decision, of which a segment may have several."""
    ends = list(accumulate(made.positions for made in decisions))
    return [" | ".join(tokens[end - made.positions : end]) for made, end in zip(decisions, ends, strict=True)]


def _plain(token: str, decision: Decision) -> dict[str, Any]:
    return {
        "token": token,
        "positions": decision.positions,
        "label": decision.label,
        "probability": decision.probability,
        "runner_up": decision.runner_up,
        "runner_up_probability": decision.runner_up_probability,
        "alternative": list(decision.alternative),
        "difference": decision.difference,
        "contributions": [
            {"name": c.name, "kind": c.kind, "position": c.at, "amount": c.amount}
            for c in decision.contributions
        ],
    }


def _show(tokens: list[str], decisions: list[Decision], top: int) -> None:
    for token, made in zip(tokens, decisions, strict=True):
        print(f"{shown(token)}\t{shown(made.label)} {100 * made.probability:.1f} %")
        if made.runner_up is None:
            print("    no other label is possible here")
            continue
        print(
            f"    over {shown(made.runner_up)} {100 * made.runner_up_probability:.1f} %, "
            f"by {made.difference:+.4f} in all"
        )
        told = made.contributions[:top] if top else made.contributions
        for one in told:
            far = made.distance(one)
            away = f"  [{far:+d}]" if far else ""
            print(f"  {one.amount:+10.4f}  {shown(one.name)}{away}")
        rest = made.contributions[len(told) :]
        if rest:
            print(f"  {made.difference - sum(c.amount for c in told):+10.4f}  {counted(len(rest), 'other')}")
    print()
