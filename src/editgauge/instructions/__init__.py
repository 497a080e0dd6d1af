"""What an instruction asks for: from plain words to the steps of an edit."""

from editgauge.instructions._parse import parse_instruction

understand = parse_instruction

__all__ = ["parse_instruction", "understand"]
