"""``crfkit convert``: a model of one program as a model of another."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Annotated

import typer

from crfkit.cli.groups.compose import composed, option
from crfkit.cli.groups.data import Encoding
from crfkit.cli.groups.output import Output, Saving
from crfkit.cli.messages import check_choice, check_output, say
from crfkit.models.files.kinds import FOREIGN, OWN, kinds, written


def _listed(names: tuple[str, ...]) -> str:
    """Return the names of kinds of files, each with its note."""
    notes = {kind: f" ({one.note})" for kind, one in FOREIGN.items() if one.note}
    return ", ".join(name + notes.get(name, "") for name in names)


@composed
def convert(
    source: Annotated[
        str, typer.Argument(help=f"A model of crfkit, {', '.join(one.program for one in FOREIGN.values())}.")
    ],
    target: Annotated[str, typer.Argument(help="The file to write; compressed if the name ends in .gz.")],
    to: Annotated[
        str | None,
        option(
            "Data",
            "--to",
            help=f"One of {_listed(written())}; default: by the ending of the name, else crfkit.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        option("Data", "--from", help=f"One of {_listed(kinds())}; default: by what is in the source."),
    ] = None,
    encoding: Encoding = None,
    *,
    saving: Saving,
    out: Output,
) -> None:
    """Write a model as a file of another kind.

    For example:

      crfkit convert usaddr.crfsuite usaddr.crf --compact
      crfkit convert chunks.crf chunks.crfsuite
      crfkit convert chunks.crf chunks.txt --to crfpp
      crfkit convert model.wapiti small.crf --float32 --notes "trained by hand"
    """
    from crfkit.models.files import guess_kind, read_model_bytes, write_model
    from crfkit.models.files.compact import compacted
    from crfkit.models.files.pickled import refuse_pickle
    from crfkit.models.store import file_bytes, unzipped

    wanted = (
        target.removesuffix(".gz").rpartition(".")[2] if to is None else check_choice("--to", to, written())
    )
    chosen = wanted if wanted in written() else OWN
    given = None if kind is None else check_choice("--from", kind, kinds())
    check_output(target, "TARGET")
    stored = file_bytes(source)  # once: it may be a pipe
    content = unzipped(stored, source)
    found = given or guess_kind(content)
    if found is None:
        refuse_pickle(content, source)
        raise ValueError(
            f"{source} is not a model that crfkit knows; if it is one, give its kind with --from"
        )
    model = read_model_bytes(content, found, encoding=encoding or "utf-8", source=source)
    if chosen != OWN:
        for name in ("float32", "notes", "license"):
            if getattr(saving, name):
                raise ValueError(f"--{name} is for models of crfkit; a file of {chosen} cannot hold it")
        write_model(compacted(model) if saving.compact else model, target, chosen)
    else:
        if saving.notes is None and found != OWN:
            saving = replace(saving, notes=f"from {os.path.basename(source)}")
        model.save(target, **saving.keywords)
    if target == "-":
        return
    before, after = len(stored), os.path.getsize(target)
    if out.as_json:
        made = {"source": source, "from": found, "target": target, "to": chosen, "bytes": after}
        print(json.dumps({**made, "weights": model.layout.weights}, ensure_ascii=False))
    say(f"{source} ({found}, {before:,} bytes) to {target} ({chosen}, {after:,} bytes)", out.quiet)
