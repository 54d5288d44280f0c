"""Trainings that papers compare with: pools of experts, codes."""
