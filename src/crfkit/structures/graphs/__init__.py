"""Graphs: kinds and cliques, batches of data, potentials, evidence."""
