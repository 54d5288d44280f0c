"""Hypothesis draws the same examples in every run, and no example has to be quick."""

from hypothesis import settings

settings.register_profile("crfkit", derandomize=True, deadline=None, max_examples=150)
settings.load_profile("crfkit")
