"""A second of the fuzzer in every run of the suite; `make fuzz` gives it a minute."""

from tests.whole.fuzz import TARGETS, run


def test_a_second_of_fuzzing() -> None:
    counts = run(seconds=1.0, seed=7)
    assert set(counts) == {name for name, _, _ in TARGETS}
    for name, (taken, refused) in counts.items():
        assert taken > 10, name
        assert 0 < refused < taken, (
            f"{name}: {refused} of {taken} refused; the seeds should sometimes be valid"
        )
