"""One picture or one pair: `see`, `changes`, `score`, and `list`."""
