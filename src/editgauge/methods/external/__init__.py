"""Editors from elsewhere: a command, an HTTP endpoint, a Python function."""
