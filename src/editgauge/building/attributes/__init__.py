"""`build attributes`: attributes of edits for AugCLIP."""
