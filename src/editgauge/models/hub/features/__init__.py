"""Pictures as vectors, and the distances that follow from them."""
