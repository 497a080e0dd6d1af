"""Quality of difference captions (EditInspector)."""
