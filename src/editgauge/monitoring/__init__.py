"""How good is an editor while it is being trained? A small fixed set of edits, scored every few steps."""
