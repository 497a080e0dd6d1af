"""Reads answers as real models give them: what is not clearly an answer is unreadable, never guessed.

Endpoints that follow a JSON schema answer with one object. The others were asked for the same object in words, and
wrap it in prose, fences and thoughts, or answer with a bare word. All of that is read. Where an answer says two things,
or nothing of what was asked, there is none.

Every reader takes time linear in the length of the text, and none looks at more than `LONGEST` characters.
"""

from __future__ import annotations

from editgauge.judges.reading.objects import LONGEST, fitted, read_object
from editgauge.judges.reading.spoken import Unreadable, is_nothing, is_refusal, spoken
from editgauge.judges.reading.values import read_number, read_ratings, read_whole_number, read_word

__all__ = [
    "LONGEST",
    "Unreadable",
    "fitted",
    "is_nothing",
    "is_refusal",
    "read_number",
    "read_object",
    "read_ratings",
    "read_whole_number",
    "read_word",
    "spoken",
]
