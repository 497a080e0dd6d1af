"""What an instruction asks for: from plain words to the steps of an edit."""

from editgauge.instructions.understand import understand

__all__ = ["understand"]
