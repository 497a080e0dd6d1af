"""Models of the `transformers` library, one file per family. Importing them is cheap: torch comes with a question."""
