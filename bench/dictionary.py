"""Dictionary features of a text: similarities of all its phrases to the closest of 100,000 entries.

    python -m bench.dictionary [--quick]

Phrases are all segments of up to 5 of the first 10,000 words of CoNLL-2000; entries are family names of the
United States, cities and first names, all in the folder CRFKIT_DATA. Without it, both are generated. One
thread; seconds of the processor, so that other programs count less.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.table import Table

import crfkit
from bench.measure import interleaved, plain, write
from crfkit.data.formats.columns import Columns
from crfkit.features import Dictionary
from crfkit.features.dictionary import SIMILARITIES

ENTRIES, WORDS, LONGEST = 100_000, 10_000, 5
LISTS = ("us_census_last_names.txt.gz", "names_male.txt", "names_female.txt", "world_cities.txt.gz")


def real(folder: Path) -> tuple[list[str], list[list[str]]]:
    """Entries and sentences of the data folder."""
    lists = [Dictionary.read(folder / "gazetteers" / name).entries for name in LISTS]
    names = dict.fromkeys(" ".join(entry).lower() for entries in lists for entry in entries)
    every = list(names)
    chosen = every[:: max(1, len(every) // ENTRIES)]
    columns = crfkit.read(folder / "conll2000" / "train.txt.gz", format="columns")
    assert isinstance(columns, Columns)
    return (chosen + every)[:ENTRIES], [[row[0] for row in rows] for rows in columns]


def generated() -> tuple[list[str], list[list[str]]]:
    """Names and sentences of syllables, some words much more often than others."""
    random = Random(0)
    syllables = [a + b + c for a in "bdfglmnrst" for b in "aeiou" for c in ("", "n", "r", "s")]
    words = ["".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(60_000)]
    common = words[:200]

    def phrase(most: int) -> list[str]:
        return [
            random.choice(common if random.random() < 0.2 else words) for _ in range(random.randint(1, most))
        ]

    return [" ".join(phrase(3)) for _ in range(ENTRIES)], [phrase(40) for _ in range(1000)]


def phrases_of(sentences: list[list[str]]) -> list[tuple[str, ...]]:
    """All segments of the first words."""
    made: list[tuple[str, ...]] = []
    left = WORDS
    for sentence in sentences:
        words = sentence[:left]
        left -= len(words)
        ends = range(1, LONGEST + 1)
        made += [tuple(words[i : i + d]) for i in range(len(words)) for d in ends if i + d <= len(words)]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the phrases")
    options = parser.parse_args()
    folder = os.environ.get("CRFKIT_DATA")
    entries, sentences = real(Path(folder)) if folder else generated()
    phrases = phrases_of(sentences)[:: 10 if options.quick else 1]
    begin = time.process_time()
    dictionary = Dictionary(entries)
    made = time.process_time() - begin
    calls: dict[str, Callable[[], object]] = {
        name: partial(dictionary.best, phrases, name, threads=1) for name in SIMILARITIES
    }
    timings = interleaved(calls, repetitions=3, clock=time.process_time)
    rows: list[dict[str, Any]] = [
        {"similarity": name, "seconds": timing.median, "timing": plain(timing)}
        for name, timing in timings.items()
    ]
    total = sum(row["seconds"] for row in rows)
    rows.append({"similarity": "all", "seconds": total, "entries": len(dictionary), "phrases": len(phrases)})
    table = Table(
        title=f"{len(phrases):,} phrases, {len(dictionary):,} entries made in {made:.1f} s, one thread"
    )
    for column in ("similarity", "s", "phrases a second"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(row["similarity"], f"{row['seconds']:.2f}", f"{len(phrases) / row['seconds']:,.0f}")
    console = Console()
    console.print(table)
    console.print(f"written to {write('dictionary', rows)}")


if __name__ == "__main__":
    main()
