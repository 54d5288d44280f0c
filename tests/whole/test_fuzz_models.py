"""A few hundred damaged models of each kind; ``python -m tests.whole.fuzz_models`` for more."""

from tests.whole.fuzz_models import TARGETS, run


def test_damaged_models() -> None:
    counts = run(variants=250, seed=3)
    assert set(counts) == set(TARGETS)
    for name, (taken, refused, _) in counts.items():
        assert 0 < refused <= taken, name
        assert refused < taken or name in ("crfkit", "graph"), f"{name}: some variants should still be sound"
