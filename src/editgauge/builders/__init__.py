"""Making benchmarks and what they need: edits, attributes, training data."""
