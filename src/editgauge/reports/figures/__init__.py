"""Plots of the report as files."""
