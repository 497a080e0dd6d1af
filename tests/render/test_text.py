"""Phrases of the report."""

from __future__ import annotations

import pytest

from editgauge._render.text import without_folders


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("There is no image at '/data/me/set/images/bad.png'.", "There is no image at '…/images/bad.png'."),
        ("'/home/me/bad.png' is not an image.", "'…/bad.png' is not an image."),
        ("'/srv/o'neil/my images/a b.png' went", "'…/my images/a b.png' went"),
        ("OSError: /home/me/x/y/z.png: truncated", "OSError: …/y/z.png: truncated"),
        ("from file:///home/me/x/y/z.png", "from …/y/z.png"),
        (r"'C:\Users\me\images\bad.png' is gone", "'…/images/bad.png' is gone"),
        ("see https://example.org/a/b/c and/or images/bad.png", "see https://example.org/a/b/c and/or images/bad.png"),
        ("<i>oh</i> at 3 /s", "<i>oh</i> at 3 /s"),
    ],
)
def test_only_the_file_and_its_folder_are_told_of_a_path(text: str, output: str) -> None:
    assert without_folders(text) == output
