"""Values that are made once, by one thread of many, behind no lock that a class shares or a fork breaks."""

from __future__ import annotations

import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import crfkit
from crfkit._safe.cached import Memo, once
from tests.cases.forks import answer_of_child


class Slow:
    """A value that one thread begins to make, and ends when it is told to."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.made = 0

    def make(self) -> int:
        self.begun.set()
        assert self.go.wait(30.0)
        self.made += 1
        return 7

    @once
    def value(self) -> int:
        """A number."""
        return self.make()


def ask_memo(slow: Slow, memo: Memo) -> int:
    return memo("value", slow.make)


@pytest.mark.parametrize("by", ["once", "memo"])
def test_one_thread_makes_it_and_others_wait(by: str) -> None:
    slow, memo = Slow(), Memo()
    with ThreadPoolExecutor(4) as threads:
        asked = [
            threads.submit(lambda: slow.value if by == "once" else ask_memo(slow, memo)) for _ in range(4)
        ]
        assert slow.begun.wait(30.0)
        slow.go.set()
        assert [one.result(30.0) for one in asked] == [7] * 4
    assert slow.made == 1


def test_objects_do_not_wait_for_each_other() -> None:
    slow, other = Slow(), Slow()
    other.go.set()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: slow.value)
        try:
            assert slow.begun.wait(30.0)
            assert threads.submit(lambda: other.value).result(5.0) == 7
        finally:
            slow.go.set()
        assert first.result(30.0) == 7


@pytest.mark.parametrize("by", ["once", "memo"])
def test_a_child_makes_what_a_thread_of_its_parent_is_at(by: str) -> None:
    slow, memo = Slow(), Memo()
    here = os.getpid()

    def ask() -> int:
        if os.getpid() != here:
            slow.go = threading.Event()  # that of the parent may be locked
            slow.go.set()
        return slow.value if by == "once" else ask_memo(slow, memo)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert slow.begun.wait(30.0)
        assert answer_of_child(ask, 10.0) == "7"
    finally:
        slow.go.set()
        asking.join()


def test_what_fails_is_tried_again() -> None:
    class Once:
        tries = 0

        @once
        def value(self) -> int:
            self.tries += 1
            if self.tries == 1:
                raise ValueError("not yet")
            return self.tries

    one = Once()
    with pytest.raises(ValueError, match="not yet"):
        _ = one.value
    assert one.value == 2
    assert one.value == 2


class Kept:
    @once
    def value(self) -> list[int]:
        """Some numbers."""
        return [1, 2]


def test_values_are_kept_where_copies_and_pickles_find_them() -> None:
    one = Kept()
    assert vars(one) == {}
    assert one.value is one.value
    assert vars(one) == {"value": [1, 2]}
    assert vars(pickle.loads(pickle.dumps(one))) == {"value": [1, 2]}
    assert isinstance(Kept.value, once)
    assert Kept.value.__doc__ == "Some numbers."


def test_nothing_is_behind_the_lock_of_a_class() -> None:
    """`functools.cached_property` has one for each attribute of a class before Python 3.12."""
    package = os.path.dirname(crfkit.__file__)
    for folder, _, files in os.walk(package):
        for name in files:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    assert "import cached_property" not in file.read(), name
