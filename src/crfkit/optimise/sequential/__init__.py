"""Optimisers that go from sequence to sequence."""
