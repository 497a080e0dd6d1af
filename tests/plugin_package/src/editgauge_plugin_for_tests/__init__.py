"""A plug-in for tests: one of each kind, and faulty ones."""
