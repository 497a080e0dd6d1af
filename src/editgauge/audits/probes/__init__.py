"""Probes: edits with an outcome whose truth is known."""
