"""Instructions: from plain words, or captions, to the steps of an edit."""

from editgauge.instructions._parse import parse_instruction
from editgauge.instructions._parser import explain_dependencies

__all__ = ["explain_dependencies", "parse_instruction"]
