"""`--detector NAME`, `--segmenter NAME`, …: short for `--model detector=NAME`, on every verb that asks models."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

Profile = Annotated[str | None, typer.Option(help="A profile whose models add scores: lite, paper or best.")]
Models = Annotated[
    list[str],
    typer.Option(help="Another model for a role, as ROLE=NAME or ROLE=none; --detector NAME and so on are short."),
]

ROLES = (
    "detector",
    "segmenter",
    "semantic_segmenter",
    "joint_embedder",
    "image_embedder",
    "fid_features",
    "classifier",
    "text_reader",
    "face_reader",
    "perceptual_distance",
    "captioner",
    "text_similarity",
    "inpainter",
)
"""The keys of `perception.interfaces.ROLES`, which would bring numpy with it; a test holds the two together."""


class WithRoles(TyperCommand):
    """A command with an option per role; each is one more `--model ROLE=NAME`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrites the short form, then parses as ever."""
        return super().parse_args(ctx, _spelled_out(args))


def _spelled_out(words: list[str]) -> list[str]:
    """The same words with every role option written as `--model`.

    >>> _spelled_out(["cat.png", "--detector", "owlv2-base", "--image-embedder=augnet"])
    ['cat.png', '--model', 'detector=owlv2-base', '--model', 'image_embedder=augnet']
    """
    flags = {f"--{role.replace('_', '-')}": role for role in ROLES}
    said: list[str] = []
    following: Any = iter(words)
    for word in following:
        flag, equals, value = word.partition("=")
        if word == "--":
            return [*said, word, *following]
        if flag in flags:
            said += ["--model", f"{flags[flag]}={value if equals else next(following, '')}"]
        else:
            said.append(word)
    return said
