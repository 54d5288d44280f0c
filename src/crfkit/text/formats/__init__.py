"""Formats in which tools keep texts with spans, one file for each; `crfkit.text.read` is the way in."""
