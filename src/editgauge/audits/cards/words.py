"""What kinds and families of probes are called where people read."""

from __future__ import annotations

import re

KINDS = {
    "right": "the right outcome",
    "nothing": "nothing done",
    "wrong_value": "another value or side",
    "wrong_object": "another object",
    "another_photograph": "another photograph",
    "black": "a black picture",
    "swapped": "pictures swapped",
    "another_instruction": "another instruction",
    "resized": "at three quarters of its size",
    "mirrored": "both pictures mirrored",
}
GROUPS = {"rest": "rest disturbed", "artifact": "artifacts", "sent": "JPEG, shift"}
"""The groups of graded families; others keep their names."""
_MEASURED = {"jpeg": "JPEG quality {}", "shift": "shifted by {} px"}
_DEGREE = re.compile(r"(.+)-(\d+)")


def in_words(name: str) -> str:
    """A kind, a group or a family in words.

    >>> in_words("wrong_value"), in_words("jpeg-90"), in_words("colour_cast-50"), in_words("artifact/halo")
    ('another value or side', 'JPEG quality 90', 'colour cast, 50 %', 'artifact: halo')
    """
    if name in KINDS or name in GROUPS:
        return KINDS.get(name) or GROUPS[name]
    found = _DEGREE.fullmatch(name)
    if found:
        return _MEASURED.get(found[1], f"{found[1].replace('_', ' ')}, {{}} %").format(found[2])
    return name.replace("_", " ").replace("/", ": ")
