"""The layer for PyTorch is tested where torch is installed: `make test-torch`."""

import signal
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
NEEDS_TORCH = [
    "src/crfkit/papers/neural.py",
    "src/crfkit/papers/neural_models.py",
    "src/crfkit/torch",
    "src/crfkit/compat/torchcrf",
    "src/crfkit/compat/torch_struct",
    "tests/torch",
    "tests/cases/torch",
]
WITHOUT_TORCH = find_spec("torch") is None

collect_ignore = [str(ROOT / path) for path in NEEDS_TORCH] if WITHOUT_TORCH else []
if find_spec("spacy") is None:
    collect_ignore += [str(ROOT / "src/crfkit/integrations/spacy.py")]


def pytest_configure() -> None:
    """Hear Ctrl-C, which a shell lets its processes in the background ignore: tests send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Say what is not tested here."""
    return "torch is not installed: crfkit.torch is left out (make test-torch)" if WITHOUT_TORCH else ""
