"""What to write instead of a command or an option that does not exist: by meaning first, then by spelling.

People come from CRFsuite, CRF++, Wapiti, MALLET and scikit-learn, and type what these have. Penalties are
translated with their factor, by the table that Python's options have (`crfkit.training.foreign`).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Final

from crfkit._safe.printable import shown

#: Commands of other tools, and words that mean the same.
_COMMANDS: Final = {
    "train": ("learn", "fit", "crf_learn", "crf-learn", "estimate"),
    "train --induce": ("induce",),
    "tag": ("predict", "label", "decode", "test", "apply", "annotate", "classify", "crf_test", "crf-test"),
    "evaluate": ("eval", "score", "conlleval", "judge"),
    "show": ("info", "dump", "inspect", "print", "weights", "describe", "view", "summary"),
    "cv": ("cross-validate", "cross-validation", "crossval", "cross_validate", "validate"),
    "features": ("extract", "template", "templates", "attributes"),
    "convert": ("export", "import", "save"),
    "explain": ("why", "interpret"),
    "rank": ("uncertainty", "active", "select"),
    "infer": ("map", "marginals", "solve"),
    "forecast": ("time", "estimate-time", "plan"),
}
#: Options of other tools by the name that `crfkit.training.foreign` knows; lists: by the option here.
_NAMES: Final = {
    "-c": "C",
    "--cost": "C",
    "--freq": "min_freq",
    "--feature.minfreq": "min_freq",
    "--feature-minfreq": "min_freq",
    "--algo": "algorithm",
    "-1": "rho1",
    "-2": "rho2",
}
_SAME: Final = {
    "--max-iterations": ("--iterations", "--max-iter", "--epochs", "--max-epochs", "-i", "--passes"),
    "--jobs": ("--thread", "--threads", "-p", "--num-threads", "--nthread", "--n-jobs"),
    "--features": ("--template", "--templates", "--pattern", "--recipe", "-r"),
    "--order": ("--orders",),
    "--structure": ("--type", "--model-type"),
    "--dev": ("--devel", "--valid", "--validation", "--test-file", "-e"),
    "--tolerance": ("--eta", "--stopeps", "--eps", "--tol"),
    "--patience": ("--stopwin", "--early-stopping"),
    "--output": ("--model-file", "--model", "-m"),
    "--kbest": ("--nbest", "-n", "--n-best"),
    "--print proba": (
        "--score",
        "--probability",
        "--probabilities",
        "--marginal",
        "--marginals",
        "--proba",
        "-i",
    ),
    "--print labels": ("--labels-only",),
    "--print spans": ("--spans", "--segments", "--entities"),
    "--seed": ("--random-seed", "--random-state"),
    "--label-column": ("--label", "--target", "--tag-column"),
    "--format": ("--type", "--input-format"),
    "--separator": ("--sep", "--delimiter"),
    "--quiet": ("--silent", "--no-progress"),
    "--json": ("--as-json",),
    "--top": ("-n", "--max"),
}
_MODEL: Final = ("-m", "--model", "--model-file")
_FLAGS: Final = ("--print proba", "--print labels", "--print spans", "--quiet", "--json")


def command_hint(name: str, commands: Collection[str]) -> str:
    """Return what to write instead of a command that does not exist; empty where nothing is near.

    Examples
    --------
    >>> command_hint("info", ["show", "infer"]), command_hint("trian", ["train", "tag"])
    ('write crfkit show', 'did you mean crfkit train?')
    """
    word = name.lower()
    for meant, others in _COMMANDS.items():
        if word in others and meant.partition(" ")[0] in commands:
            return f"write crfkit {meant}"
    close = difflib.get_close_matches(word, list(commands), n=1, cutoff=0.7)
    return f"did you mean crfkit {close[0]}?" if close else ""


def option_hint(option: str, given: Sequence[str], options: Collection[str]) -> str:
    """Return what to write instead of an option that does not exist; empty where nothing is near.

    Parameters
    ----------
    option : str
        As it was typed: ``--c2``.
    given : words
        The words of the command line, to find its value.
    options : words
        That the command has.

    Examples
    --------
    >>> option_hint("--c2", ["--c2", "0.5"], ["--l1", "--l2"])
    "write --l2 1.0 (CRFsuite's penalty is c2 * |w|^2, without the half: l2 is twice c2)"
    >>> option_hint("--algorithm", ["--algorithm=l2sgd"], ["--optimizer", "--max-length"])
    'write --optimizer sgd'
    >>> option_hint("-m", ["tag", "-m", "names.crf"], ["--output"])
    'the model is the first argument: names.crf'
    """
    from crfkit.training.foreign import in_the_shell

    if option in ("-v", "--verbose") and "--quiet" in options:
        return "leave it out: progress is shown unless --quiet is given"
    value = _value(option, given)
    if option in _MODEL and "--objective" not in options:
        return f"the model is the first argument: {'MODEL' if value is None else shown(value)}"
    if option == "-p" and value is not None and not value.isdigit() and "--features" in options:
        return f"write --features {shown(value)}"  # a pattern of Wapiti, not a number of threads
    name = _NAMES.get(option, option.lstrip("-").replace("-", "_"))
    made, why = in_the_shell(name, value)
    if made and all(one in options for one in made):
        written = " ".join(f"{one} {shown(text)}".rstrip() for one, text in made.items())
        return f"write {written}" + (f" ({why})" if why else "")
    for here, others in _SAME.items():
        if option in others and here.partition(" ")[0] in options:
            text = "" if value is None or here in _FLAGS else f" {shown(value)}"
            return f"write {here}{text}"
    close = difflib.get_close_matches(option, [one for one in options if len(one) > 2], n=1, cutoff=0.75)
    return f"did you mean {close[0]}?" if close and option.startswith("--") else ""


def _value(option: str, given: Sequence[str]) -> str | None:
    """Return what stands behind an option; None where nothing does."""
    for i, word in enumerate(given):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option:
            following = given[i + 1 : i + 2]
            return following[0] if following and not following[0].startswith("--") else None
        if len(option) == 2 and word.startswith(option) and not word.startswith("--"):
            return word[2:]
    return None
