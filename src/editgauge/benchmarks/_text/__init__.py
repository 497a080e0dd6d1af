"""English shared by benchmark loaders."""
