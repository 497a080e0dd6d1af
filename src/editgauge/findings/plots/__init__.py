"""Plots of findings as SVG."""
