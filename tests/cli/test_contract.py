"""Every command has exactly the options of this table: a new one is a decision, not an accident.

A short flag has one meaning, and an option that several commands have fills the same parameter in all.
"""

from __future__ import annotations

import pytest

from crfkit.cli.commands import COMMANDS
from crfkit.cli.groups.compose import PANELS
from tests.cases.cli import options_of

READING = """-f --format --columns --separator --comment --header --sequence-column --encoding
    --tokenizer --sentences --alignment"""
LABELED = f"{READING} --label-column"
FEATURES = "-t --features --dictionary"
INTERNAL = f"{FEATURES} --internal-dictionary"
MODEL = "--structure --order --max-length --outside --scheme --selection --transitions --min-count"
TRAINING = "--l1 --l2 --objective -a --optimizer --seed --set"
LIMITS = "--max-iterations --max-seconds"
STOPPING = f"{LIMITS} --tolerance"
KEEPING = "--constraint --infeasible"
SAVING = "--compact --float32 --notes --license"
RUNNING = "-j --jobs --json -q --quiet"

#: Command -> its options.
OPTIONS = {
    "train": f"""{LABELED} {INTERNAL} {MODEL} --train-scheme --graph --inference-method {TRAINING} --init
        --unlabeled --induce --checkpoint --block-positions --dask {STOPPING} -d --dev -m --metric --patience
        -o --output --report {SAVING} {RUNNING}""",
    "forecast": f"{LABELED} {INTERNAL} {MODEL} --train-scheme {TRAINING} --workers {LIMITS} {RUNNING}",
    "cv": f"{LABELED} {FEATURES} {MODEL} {TRAINING} {STOPPING} -m --metric --folds {RUNNING}",
    "tag": f"""{LABELED} --text --whole --offsets --print -k --kbest --given --force --dask {KEEPING}
        -o --output --html {RUNNING}""",
    "evaluate": f"""{LABELED} {KEEPING} --against --predicted -m --metric --scheme --confusion --errors
        --samples --seed --html {RUNNING}""",
    "show": "-n --top --label --html --json -q --quiet",
    "explain": f"{READING} -n --top --sequence --text --html {RUNNING}",
    "inspect": f"{LABELED} --data --pool --labels --edit --every --port",
    "rank": f"{READING} --by -n --top {RUNNING}",
    "infer": f"-f --format --evidence --query --inference-method --set --seed -o --output {RUNNING}",
    "calibrate": f"{LABELED} --calibration --test --plot -o --output {RUNNING}",
    "features": f"{LABELED} {FEATURES} --max-length --sequence --count {RUNNING}",
    "check": f"{LABELED} {RUNNING}",
    "convert": f"--from --to --encoding {SAVING} --json -q --quiet",
    "convert-data": f"{LABELED} --to --scheme {RUNNING}",
    "card": f"{LABELED} --language {RUNNING}",
    "serve": """--host --port --token-file --insecure --host-names --max-body --max-sequences --max-tokens
        --longest --max-kbest --in-flight --body-seconds --drain --grace --watch --access-log
        --label-studio --inception --doccano --train-folder --train-data -q --quiet""",
    "new": "-q --quiet",
    "demo": "--lines --label-bias --seed -o --output",
    "reproduce": f"--list --quick --data --runs --seed -o --output {RUNNING}",
}


def words_of(command: str) -> list[str]:
    """Return all spellings of the options of a command; --header stands for --no-header, too."""
    return [word.partition("/")[0] for word in options_of(command)]


def test_the_commands_are_those_of_the_table() -> None:
    assert [*COMMANDS] == sorted(OPTIONS, key=[*COMMANDS].index)


@pytest.mark.parametrize("command", OPTIONS)
def test_a_command_has_exactly_the_options_of_the_table(command: str) -> None:
    assert sorted(words_of(command)) == sorted(OPTIONS[command].split())


@pytest.mark.parametrize("command", OPTIONS)
def test_every_option_is_in_a_panel_and_says_what_it_is(command: str) -> None:
    for _, info in options_of(command).values():
        assert info.rich_help_panel in PANELS
        assert info.help
        assert info.help.endswith((".", "..."))


def test_a_spelling_means_the_same_in_every_command() -> None:
    places: dict[str, set[str]] = {}
    for command in COMMANDS:
        for word, (name, _) in options_of(command).items():
            places.setdefault(word, set()).add(name)
    assert {word: names for word, names in places.items() if len(names) > 1} == {}
    long = [word for word in places if word.startswith("--")]
    short = [word for word in places if not word.startswith("--")]
    assert len(long) <= 90 + len(words_of("serve"))  # settings of a service are its own
    assert len({name for name, _ in options_of("train").values()}) <= 53
    assert sorted(short) == ["-a", "-d", "-f", "-j", "-k", "-m", "-n", "-o", "-q", "-t"]
