"""Weights of graphs: which there are, how they become tables of scores, and losses as functions of them."""
