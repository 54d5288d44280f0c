"""Learners that are more than an optimizer: boosting, hidden Markov models, feature induction."""
