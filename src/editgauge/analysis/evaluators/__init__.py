"""Evaluators compared with people."""
