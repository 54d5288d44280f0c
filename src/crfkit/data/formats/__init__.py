"""Readers and writers of foreign formats, one file for each; `crfkit.data` is the way in."""
