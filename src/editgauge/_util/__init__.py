"""Shared helpers: images, masks, files, text, fetching, batching. Imports only the top-level types and errors."""
