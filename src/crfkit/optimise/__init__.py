"""Optimisers: they see a vector of weights, a loss with its gradient and a penalty, and nothing of CRFs."""
