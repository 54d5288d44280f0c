"""Chains: structure, gold and potentials."""
