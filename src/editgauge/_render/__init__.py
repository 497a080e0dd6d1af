"""Text and SVG for tables and plots."""
