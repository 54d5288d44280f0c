"""The command line: one file per command, each calls public functions and prints."""

TYPE_CHECKING = False  # importing typing takes longer than all else here
if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; Ctrl-C is heard while its modules are loaded, too."""
    try:
        from crfkit.cli.commands import run

        run()
    except KeyboardInterrupt:
        import sys

        print("crfkit: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        # Python ends by SIGINT, not with our status, where KeyboardInterrupt has come out of an `exec` (those
        # of dataclasses), unless there is another one after it.
        exec("")


def __getattr__(name: str) -> object:
    if name == "app":  # loads all commands; running one command does not wait for the others
        from crfkit.cli.commands import typer_app

        return typer_app()
    raise AttributeError(f"module 'crfkit.cli' has no attribute {name!r}")
