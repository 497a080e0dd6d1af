"""Answers of raters: stored, exported, imported."""
