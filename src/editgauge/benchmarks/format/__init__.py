"""The project's own benchmark file format."""
