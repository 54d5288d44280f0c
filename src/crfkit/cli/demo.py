"""``crfkit demo``: see crfkit at work on data that it makes itself."""

from __future__ import annotations

from typing import Annotated

from crfkit.cli.groups.compose import option
from crfkit.cli.messages import check_output

_LINES = 5000


def demo(
    lines: Annotated[
        int,
        option(
            "Data", "--lines", help="How many addresses to generate; a fifth of them is held out.", min=50
        ),
    ] = _LINES,
    seed: Annotated[int, option("Training", "--seed", help="Seed for generating addresses.", min=0)] = 0,
    output: Annotated[
        str | None,
        option("Output", "--output", "-o", help="The model file to write. Default: a temporary file."),
    ] = None,
    label_bias: Annotated[
        bool,
        option(
            "Data",
            "--label-bias",
            help="Show label bias instead, on the network of Lafferty et al. (2001), section 2.",
        ),
    ] = False,
) -> None:
    """Learn to read postal addresses in a few seconds.

    Train, score, tag, explain and save, on data that crfkit makes itself. The addresses are made up, in the
    styles of seven countries, with abbreviations, slips and missing parts. The same seed gives the same
    addresses. Tables go to standard output, progress to standard error.

    For example:

      crfkit demo --output addresses.crf
      crfkit demo --lines 20000 --seed 7
      crfkit demo --label-bias
    """
    if label_bias:
        if (lines, seed, output) != (_LINES, 0, None):
            raise ValueError("--label-bias does not train; leave --lines, --seed and --output out")
        from crfkit.demo import label_bias as network

        network.run()
        return
    if output == "-":
        raise ValueError("--output is -, but tables go to standard output; give the name of a file")
    if output is not None:
        check_output(output)
    from crfkit.demo.tour import run

    run(lines, seed, output)
