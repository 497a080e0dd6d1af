"""Readers of text files: lines, fields and tables, with every fault reported at once."""
