"""Optimizers that go from sequence to sequence."""
