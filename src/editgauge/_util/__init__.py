"""Core: the types, errors, registry, images, masks and the run folder. Imports no other room."""
