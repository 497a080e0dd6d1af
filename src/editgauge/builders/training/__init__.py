"""Training data for judges of edits, and what is trained on it (EditInspector, section 5)."""
