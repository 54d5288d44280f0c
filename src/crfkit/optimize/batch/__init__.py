"""Optimizers that look at all data before each step."""
