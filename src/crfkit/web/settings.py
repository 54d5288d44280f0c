"""The settings of a service: addresses, tokens, limits, tools.

Each field is an option of ``crfkit serve`` and a row of the docs; its help says it once, for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

__all__ = ["LOCAL", "SETTINGS", "Setting", "Settings"]

#: Addresses that only this machine reaches.
LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def _setting(default: Any, help: str, least: float | None = None) -> Any:
    return field(default=default, metadata={"help": help, "least": least})


@dataclass(frozen=True)
class Settings:
    """Options of a service.

    Examples
    --------
    >>> Settings(port=9000).address
    '127.0.0.1:9000'
    >>> Settings(host="0.0.0.0")
    Traceback (most recent call last):
    ValueError: the address 0.0.0.0 is open to other machines: give --token-file or --insecure
    """

    host: str = _setting(
        "127.0.0.1", "Address to listen on. One that other machines can reach needs --token-file."
    )
    port: int = _setting(8080, "Port to listen on; 0 picks a free one.", 0)
    token_file: str | None = _setting(
        None,
        "File with one token per line, followed by its rights: tag, explain, admin. Default: all rights.",
    )
    insecure: bool = _setting(False, "Allow an open address without tokens.")
    host_names: str | None = _setting(
        None,
        "Accepted names in Host headers, separated by commas. Default: this machine; on an open address all.",
    )
    max_body: int = _setting(1 << 20, "Maximum size of a body, and of a line of a stream, in bytes.", 1)
    max_sequences: int = _setting(1000, "Maximum number of sequences or texts in a request.", 1)
    max_tokens: int = _setting(
        100_000, "Maximum number of tokens in a request; 4 letters of a text count as one.", 1
    )
    longest: int = _setting(
        10_000, "Maximum number of tokens in a sequence; 4 letters of a text count as one.", 1
    )
    max_kbest: int = _setting(100, "Maximum number of label sequences in an answer.", 1)
    in_flight: int = _setting(
        500_000, "Maximum number of tokens in progress; further requests get status 503.", 1
    )
    body_seconds: float = _setting(
        10.0, "Seconds that a body, or the next piece of a stream, may take.", 0.001
    )
    drain: float = _setting(
        5.0, "Seconds to keep serving after SIGTERM, while /health/ready reports that it is not ready.", 0
    )
    grace: float = _setting(30.0, "Seconds after that for requests in progress to end.", 0)
    watch: float = _setting(
        1.0, "Check model files for changes this often, in seconds, and reload them; 0: never.", 0
    )
    access_log: str = _setting(
        "-", "File that gets a line for each request; - is standard error, none writes nothing."
    )
    label_studio: bool = _setting(False, "Serve as a backend of Label Studio, at /label-studio.")
    inception: bool = _setting(False, "Serve as a recommender of INCEpTION, at /inception/MODEL.")
    doccano: bool = _setting(False, "Serve doccano's automatic labeling, at /doccano/MODEL.")
    train_folder: str | None = _setting(
        None, "Folder that keeps the annotations of tools. Models are trained from it and replaced."
    )

    train_data: str | None = _setting(
        None,
        "Labeled documents that the model was trained on. Later models learn from them and the annotations.",
    )

    def __post_init__(self) -> None:
        for one in SETTINGS:
            given = getattr(self, one.name)
            if one.least is not None and not given >= one.least:
                raise ValueError(f"{one.flag} is {given}, expected {one.least:g} or more")
        if self.train_data is not None and self.train_folder is None:
            raise ValueError("--train-data is for --train-folder; give both")
        if self.port > 65535:
            raise ValueError(f"--port is {self.port}, expected at most 65535")
        if self.host not in LOCAL and self.token_file is None and not self.insecure:
            raise ValueError(
                f"the address {self.host} is open to other machines: give --token-file or --insecure"
            )

    @property
    def address(self) -> str:
        """Host and port, as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The names that a Host header may have."""
        if self.host_names is not None:
            return tuple(name.strip() for name in self.host_names.split(",") if name.strip())
        return tuple(sorted(LOCAL)) if self.host in LOCAL else ("*",)  # there, tokens keep strangers out


class Setting(NamedTuple):
    """One field of `Settings`."""

    name: str
    type: str
    default: Any
    help: str
    least: float | None

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return "--" + self.name.replace("_", "-")


#: All settings, in their order.
SETTINGS: Final = tuple(
    Setting(f.name, str(f.type), f.default, f.metadata["help"], f.metadata["least"]) for f in fields(Settings)
)
