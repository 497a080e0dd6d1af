"""Where time goes: spans of work and their summary."""
