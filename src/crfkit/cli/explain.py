"""``crfkit explain``: which features decided for a label."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfkit._safe.printable import counted, shown
from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import Data
from crfkit.cli.groups.judging import OneSequence, Reasons
from crfkit.cli.groups.output import Showing
from crfkit.cli.tag_texts import check_columns_of_graphs, hinting

if TYPE_CHECKING:
    from crfkit.cli.tagging import Tagger
    from crfkit.data.dataset import Dataset
    from crfkit.data.formats.columns import Columns
    from crfkit.models.explanation import Contribution, Decision
    from crfkit.models.graph_model import GraphModel


@composed
def explain(
    model: Annotated[str, typer.Argument(help="A model of any kind.")],
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data; - for standard input.")] = "-",
    top: Reasons = None,
    sequence: OneSequence = None,
    text: Annotated[bool, option("Data", "--text", help="INPUT is raw text, one text per line.")] = False,
    *,
    reading: Data,
    running: Showing,
) -> None:
    r"""Print which features decided for each label.

    For each token you see its label, the runner-up, and the features that decided between them. The best
    label sequence is compared with the best one that has the runner-up at the token. Contributions add up
    to the difference of the two scores: positive ones speak for the label that won, negative ones against
    it. A feature of another token has its distance in brackets. A model of segments has one entry for
    each segment, compared with the best segmentation without it; a model of graphs has one for each kind,
    with the clique of each weight.

    For example:

      crfkit explain chunks.crf test.txt --sequence 3
      crfkit explain chunks.crf test.txt --sequence 3 --html > why.html
      echo "221B Baker St" | crfkit explain addresses.crf --text
      echo '{"text": "The dog barked"}' | crfkit explain words.crf --top 3
    """
    from crfkit.cli.tagging import Tagger
    from crfkit.models.files import GraphFileError

    running.check()
    top = (14 if running.as_html else 5) if top is None else top
    threads, as_json = running.jobs, running.as_json
    try:
        tagger = Tagger(model, threads=threads)
        tagger.check_sums("no sum of weights explains them")
    except GraphFileError as error:
        if running.as_html:
            raise ValueError(f"--html is for chains and segments, and {model} is of graphs") from None
        check_columns_of_graphs(model, text)
        seen = _explain_graphs(model, error.model, data, reading, top, sequence, threads, as_json)
        _check_seen(data, seen, sequence)
        return
    with hinting(tagger.model):
        blocks = reading.blocks(data, lines=text, **tagger.reads(reading))
        if running.as_html:
            _explain_page(tagger, blocks, data, top, sequence)
        else:
            _explain_lines(tagger, blocks, data, top, sequence, as_json)


def _explain_lines(
    tagger: Tagger,
    blocks: Iterator[Columns | Dataset],
    data: str,
    top: int,
    sequence: int | None,
    as_json: bool,
) -> None:
    """Print why each token has its label."""
    from crfkit.inference.results import counted_from

    seen = 0
    for block in blocks:
        batch = tagger.batch(block)
        for n in range(batch.sequences):
            seen += 1
            if sequence is not None and seen != sequence:
                continue
            with counted_from(seen - 1):
                made = list(tagger.model.explain(batch.select([n]), threads=tagger.threads))
            tokens = _spans(_tokens(block, n, int(batch.seq_ptr[n + 1] - batch.seq_ptr[n])), made)
            if as_json:
                plain = [_plain(*one) for one in zip(tokens, made, strict=True)]
                print(json.dumps(plain, ensure_ascii=False))
            else:
                for token, one in zip(tokens, made, strict=True):
                    _show(token, one, top)
                print()
            if seen == sequence:
                return
    _check_seen(data, seen, sequence)


def _explain_page(
    tagger: Tagger, blocks: Iterator[Columns | Dataset], data: str, top: int, sequence: int | None
) -> None:
    """Print a page of sequences: in color, their lattices, and why each token has its label."""
    from crfkit.cli.pictures import explained, print_page, words_of

    made: list[str] = []
    seen = 0
    for block in blocks:
        batch = tagger.batch(block)
        for n, words in enumerate(words_of(block)):
            seen += 1
            if sequence in (None, seen):
                made += explained(tagger, batch.select([n]), words, f"sequence {seen}", top)
    _check_seen(data, seen, sequence)
    print_page(tagger.source, made)


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
    from crfkit.cli.graph_commands import GraphTagger

    tagger, seen = GraphTagger(model, found, threads), 0
    for block in tagger.blocks(reading, data):
        for n in range(len(block)):
            seen += 1
            if sequence is not None and seen != sequence:
                continue
            made = tagger.decisions(block, n)
            if as_json:
                plain = [_plain(token, one) for token, several in made for one in several]
                print(json.dumps(plain, ensure_ascii=False))
            else:
                for token, several in made:
                    for one in several:
                        _show(token, one, top)
                print()
            if seen == sequence:
                return seen
    return seen


def _tokens(block: Columns | Dataset, n: int, positions: int) -> list[str]:
    """Return what to call the positions of a sequence."""
    from crfkit.data.formats.columns import Columns

    if isinstance(block, Columns):
        return [" ".join(filter(None, row)) for row in block.sequence(n)]
    return [f"item {t + 1}" for t in range(positions)]


def _spans(tokens: list[str], decisions: list[Decision]) -> list[str]:
    """Return what to call the positions of each decision, of which a segment may have several."""
    ends = list(accumulate(made.positions for made in decisions))
    return [" | ".join(tokens[end - made.positions : end]) for made, end in zip(decisions, ends, strict=True)]


def _plain(token: str, decision: Decision) -> dict[str, Any]:
    """Return a decision about a token or segment, or about a variable of a graph, as plain data."""
    own = ("label", "probability", "runner_up", "runner_up_probability", "difference")
    made: dict[str, Any] = {"token": token, **{name: getattr(decision, name) for name in own}}
    each: list[dict[str, Any]]
    if isinstance(decision.at, int):
        more: dict[str, Any] = {"positions": decision.positions, "alternative": list(decision.alternative)}
        each = [{"kind": c.kind, "name": c.name, "position": c.at} for c in decision.contributions]
    else:
        more = {"kind": decision.at[0]}
        each = [{"clique": c.kind, "name": c.name, "variables": c.factor} for c in decision.contributions]
    amounts = [{**one, "amount": c.amount} for one, c in zip(each, decision.contributions, strict=True)]
    return {**made, **more, "contributions": amounts}


def _show(token: str, decision: Decision, top: int) -> None:
    """Print why a token, a segment or a variable of a graph has its label."""
    kind = "" if isinstance(decision.at, int) else f"{decision.at[0]} "
    print(f"{shown(token)}\t{kind}{shown(decision.label)} {100 * decision.probability:.1f} %")
    if decision.runner_up is None:
        print("    no other label is possible here")
        return
    print(
        f"    over {shown(decision.runner_up)} {100 * decision.runner_up_probability:.1f} %, "
        f"by {decision.difference:+.4f} in all"
    )
    told = decision.contributions[:top] if top else decision.contributions
    for one in told:
        print(f"  {one.amount:+10.4f}  {_named(decision, one)}")
    left = len(decision.contributions) - len(told)
    if left:
        print(f"  {decision.difference - sum(c.amount for c in told):+10.4f}  {counted(left, 'other')}")


def _named(decision: Decision, one: Contribution) -> str:
    """Return what a weight is of, and how far from the position, or between which variables."""
    if not isinstance(decision.at, int):
        return f"{one.kind}: {shown(one.name)}  ({'; '.join(map(shown, one.factor))})"
    far = decision.distance(one)
    return shown(one.name) + (f"  [{far:+d}]" if far else "")
