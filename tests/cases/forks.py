"""Children of a fork that must answer in time."""

from __future__ import annotations

import os
import select
import signal
import traceback
import warnings
from collections.abc import Callable


def answer_of_child(call: Callable[[], object], seconds: float) -> str:
    """Return what a call returns, as text, in a child of a fork; "no answer" where it hangs."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: there are other threads
        child = os.fork()
    if child == 0:
        try:
            answer = str(call())
        except BaseException:
            answer = traceback.format_exc()
        os.write(writing, answer.encode()[-60000:])
        os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], seconds)
        return os.read(reading, 65536).decode() if ready else "no answer"
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
