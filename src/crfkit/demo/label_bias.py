"""The noisy rib/rob network of Lafferty, McCallum & Pereira (2001) section 2, and what inference says of it.

Two words share their first and last letter. Each state emits its own letter with probability 29/32 and any
other with 1/32 (section 5.1); here a path may also slip from one word to the other with probability 1/32.
At the end the strict network of Figure 1, without slips: a CRF weighs whole paths, so the middle letter
decides; a model that is normalized at each state must pass all its mass to the only successor and cannot
listen to the letter, which is the label bias problem.

    python -m crfkit.demo.label_bias [WORD ...]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crfkit import Chain, inference
from crfkit.arrays import Floats
from crfkit.structures.chains.local import normalized_by_step
from crfkit.structures.chains.potentials import ChainPotentials

WORDS = {"rib": 0.55, "rob": 0.45}  # one is slightly more common
STATES = tuple((word, place) for word in WORDS for place in range(3))  # (word, letter) pairs
NAMES = tuple(f"{word}: {word[place]}" for word, place in STATES)
RIGHT, WRONG = math.log(29 / 32), math.log(1 / 32)


def letter_scores(observed: str) -> Floats:
    """Log probability of each observed letter in each state, [T, L]."""
    return np.array([[RIGHT if word[place] == x else WRONG for word, place in STATES] for x in observed])


def step_scores(slip: float) -> Floats:
    """Log probability of each step, [L, L]: on to the next letter, of the same word unless it slips."""
    stay = math.log1p(-math.exp(slip))
    edge = np.full((len(STATES), len(STATES)), -np.inf)
    for i, (word, place) in enumerate(STATES):
        for j, (next_word, next_place) in enumerate(STATES):
            if next_place == place + 1:
                edge[i, j] = stay if next_word == word else slip
    return edge


def network(observed: str, slip: float = WRONG) -> ChainPotentials:
    """Score paths through the network as a CRF does, over whole sequences."""
    start = [math.log(WORDS[word]) if place == 0 else -math.inf for word, place in STATES]
    stop = [0.0 if place == 2 else -math.inf for _, place in STATES]
    return Chain(NAMES).potentials(letter_scores(observed), step_scores(slip), start=start, stop=stop)


def normalized_by_state(observed: str, slip: float) -> ChainPotentials:
    """Score the same paths with the successors of each state normalized, as a MEMM does."""
    return normalized_by_step(network(observed, slip))


def trellis(observed: str, scores: ChainPotentials) -> Table:
    """Draw states against positions with their marginals; the best path is green."""
    probability = inference.marginals(scores).node  # [T, L]
    best = inference.decode(scores).labels
    table = Table(title=f"observed: {' '.join(observed)}", title_justify="left")
    table.add_column("state")
    for letter in observed:
        table.add_column(letter, min_width=14)
    for y, name in enumerate(NAMES):
        cells = []
        for t in range(len(observed)):
            p = float(probability[t, y])
            style = "bold green" if best[t] == y else ""
            cells.append(Text(f"{p:5.3f} {'█' * round(8 * p)}" if p > 0 else "", style=style))
        table.add_row(name, *cells)
    return table


def show(observed: str, console: Console) -> None:
    """Print the trellis of one observed word and the answers to every question about it."""
    scores = network(observed)
    console.print(trellis(observed, scores))
    for rank, labeling in enumerate(inference.kbest(scores, 3), start=1):
        path = " → ".join(NAMES[y] for y in labeling.labels)
        p = math.exp(inference.log_prob(scores, labeling))
        console.print(f"  {rank}. {path}   p = {p:.4f}, score {labeling.score:.3f}", highlight=False)
    console.print(
        f"  {inference.count(scores)} paths, log Z = {inference.log_partition(scores):.4f}, "
        f"entropy = {inference.entropy(scores):.4f} nats\n",
        highlight=False,
    )


def label_bias(words: Sequence[str]) -> Table:
    """Probability of "rib" in the strict network of Figure 1: CRF beside MEMM."""
    table = Table(title="p(rib), no slips", title_justify="left")
    for column in ("observed", "CRF: whole paths", "MEMM: state by state"):
        table.add_column(column)
    for word in words:
        answers = [
            inference.span_probability(build(word, -math.inf), 0, 3, [0, 1, 2])
            for build in (network, normalized_by_state)
        ]
        table.add_row(word, *(f"{p:.4f}" for p in answers))
    return table


def run(words: Sequence[str] = ("rib", "rob", "rxb")) -> None:
    """Show some observed words of three letters, and what label bias makes of them."""
    console = Console()
    for word in words:
        show(word, console)
    console.print(label_bias(words))
    console.print("The middle letter decides for the CRF; the MEMM cannot act on it: label bias.")


def main() -> None:
    """Run the demonstration for the words on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m crfkit.demo.label_bias", description="The rib/rob network of Lafferty et al. (2001)."
    )
    parser.add_argument("words", nargs="*", default=["rib", "rob", "rxb"], help="three letters each")
    words = parser.parse_args().words
    for word in words:
        if len(word) != 3:
            parser.error(f"{word!r} has {len(word)} letters, expected three")
    run(words)


if __name__ == "__main__":
    main()
