"""Training: what is minimized, by whom, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from crfkit.cli.groups.compose import option
from crfkit.cli.groups.settings import settings_of, with_settings

if TYPE_CHECKING:
    from crfkit.linear.objective import Objective
    from crfkit.training import Checkpoints

_option = partial(option, "Training")

Seed = Annotated[int, _option("--seed", help="Seed for random numbers.", min=0)]
Set = Annotated[
    list[str] | None,
    _option(
        "--set",
        metavar="PART.FIELD=VALUE",
        help="Set an option by its name in Python, such as optimizer.memory=20; repeatable.",
    ),
]


@dataclass(frozen=True)
class Training:
    """What is minimized, and by whom.

    Examples
    --------
    >>> Training(l2=0.5).goal().l2
    0.5
    """

    l1: Annotated[
        float | None, _option("--l1", help="Strength of the L1 penalty, l1 * |w|: 0 by default.", min=0.0)
    ] = None
    l2: Annotated[
        float | None, _option("--l2", help="Strength of the L2 penalty, l2/2 * |w|^2: 1 by default.", min=0.0)
    ] = None
    objective: Annotated[
        str | None,
        _option(
            "--objective",
            help="{objectives}, ... Default: the one that the optimizer is for, usually likelihood.",
        ),
    ] = None
    optimizer: Annotated[str, _option("--optimizer", "-a", help="auto, {optimizers}, ...")] = "auto"
    seed: Seed = 0
    set: Set = None

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What --set says, by part."""
        return settings_of(self.set, ("objective", "optimizer", *_NEEDS))

    def check_settings(self, **given: bool) -> None:
        """Refuse settings of parts that are not in use; `given` says of each part whether it is."""
        for part, asked in self.settings.items():
            if asked and part in _NEEDS and not given.get(part):
                raise ValueError(
                    f"--set {part}.{next(iter(asked))} is for {_NEEDS[part]}; give it, or leave this out"
                )

    def goal(self, default: str = "likelihood") -> Objective:
        """Return the objective with its penalties and settings."""
        more = self.settings["objective"]
        return objective_of(self.objective, self.optimizer, self.l1, self.l2, default, more=more)

    def solver(self, jobs: int | None, tolerance: float | None) -> Any:
        """Return the optimizer: its name, or an object where --set says more of it."""
        from crfkit.training.choose import by_name

        given = self.settings["optimizer"]
        if not given:
            return self.optimizer
        if self.optimizer == "auto":
            raise ValueError(f"--set optimizer.{next(iter(given))} needs the name of one: --optimizer lbfgs")
        made = by_name(self.optimizer, self.seed, jobs, tolerance)
        return with_settings(made, "optimizer", given, f"the optimizer {self.optimizer}")


#: The parts of --set that are not in every training, and what they are for.
_NEEDS = {"checkpoint": "--checkpoint FOLDER", "method": "--structure graph", "induction": "--induce"}


@dataclass(frozen=True)
class ModelTraining(Training):
    """What is minimized, by whom, from where, and what is kept on the way.

    Examples
    --------
    >>> ModelTraining(checkpoint="run", set=["checkpoint.seconds=5"]).checkpoints.seconds
    5
    """

    unlabeled: Annotated[
        str | None,
        _option("--unlabeled", help="Further data, whose labels are not read, for the objectives {open}."),
    ] = None
    init: Annotated[
        str | None,
        _option(
            "--init", help="Start from the weights of this model, or from a quickly trained MEMM (memm)."
        ),
    ] = None
    checkpoint: Annotated[
        str | None,
        _option("--checkpoint", help="Folder for checkpoints; training resumes from the last one."),
    ] = None
    dask: Annotated[
        str | None,
        _option(
            "--dask",
            metavar="ADDRESS",
            help="Train on a Dask cluster: tcp://HOST:PORT of its scheduler, or local. Workers read the "
            "files and hold them in memory as blocks. The folder of the model must be one that all "
            "machines mount. The model is the same, bit by bit, as with --block-positions on one machine.",
        ),
    ] = None
    block_positions: Annotated[
        int | None,
        _option(
            "--block-positions",
            metavar="N",
            help="For data larger than memory: keep them on disk in blocks of N positions (such as "
            "100000), in a temporary folder beside the model; for {blockwise}.",
            min=1,
        ),
    ] = None

    induce: Annotated[
        bool,
        _option(
            "--induce",
            help="Add features and conjunctions that correct errors, round by round; --json lists them; "
            "--set induction.FIELD=VALUE sets rounds, per_round, max_length, ...",
        ),
    ] = False

    @property
    def blocks(self) -> int | None:
        """The positions of a block, where data are kept in blocks."""
        return 100_000 if self.block_positions is None and self.dask is not None else self.block_positions

    @property
    def checkpoints(self) -> Checkpoints | None:
        """Where and how often checkpoints are written."""
        from crfkit.training import Checkpoints

        if self.checkpoint is None:
            return None
        return with_settings(Checkpoints(self.checkpoint), "checkpoint", self.settings["checkpoint"])

    @property
    def start(self) -> Any:
        """Where training begins: a model that is read, the name of a way, or None."""
        if self.init is None or self.init == "memm":
            return self.init
        from crfkit.models.files import read_model

        return read_model(self.init)


def objective_of(
    name: str | None,
    optimizer: str,
    l1: float | None,
    l2: float | None,
    default: str = "likelihood",
    *,
    more: Mapping[str, Any] | None = None,
) -> Objective:
    """Return the objective, by default what the optimizer learns from, with its penalties where it has them.

    Examples
    --------
    >>> objective_of(None, "pa", None, None), objective_of(None, "auto", None, 0.5).l2
    (Perceptron(), 0.5)
    """
    from crfkit.training import choose

    if optimizer != "auto":
        choose.by_name(optimizer)  # wrong names come before files
    made: Any = choose.objective_of(name, optimizer, default)
    given = {name: value for name, value in (("l1", l1), ("l2", l2)) if value is not None}
    lacking = given.keys() - {f.name for f in fields(made)}
    if lacking:
        option = min(lacking)
        raise ValueError(
            f"--{option} is for objectives with an {option.upper()} penalty; {made!r} has none: "
            f"leave --{option} out"
        )
    who = f"the objective {getattr(made, 'name', type(made).__name__)}"
    return with_settings(replace(made, **given), "objective", more or {}, who)  # type: ignore[no-any-return]
