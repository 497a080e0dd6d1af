"""Options of every verb that asks a judge, with one wording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

JUDGES: Any = {"rich_help_panel": "Judges"}

Judges = Annotated[
    list[str],
    typer.Option(help="Who answers questions: openai:MODEL@URL, transformers:FOLDER, or NAME=ADDRESS.", **JUDGES),
]
Price = Annotated[str | None, typer.Option(help="Of a million tokens, as PROMPT,COMPLETION such as 2.5,10.", **JUDGES)]
Budget = Annotated[float | None, typer.Option(help="The most that all calls may cost together.", min=0, **JUDGES)]
MaxTokens = Annotated[
    int | None, typer.Option(help="How long an answer may become; 512 when not given.", min=1, **JUDGES)
]
Prompts = Annotated[
    Path | None, typer.Option(help="A folder of prompts, or one YAML file, in place of the built-in ones.", **JUDGES)
]
Panel = Annotated[
    str | None, typer.Option(help="Let all judges also answer together: median, mean or majority.", **JUDGES)
]
Quorum = Annotated[
    int | None, typer.Option(help="How many of a panel must answer; usually more than half.", min=1, **JUDGES)
]
Temperature = Annotated[
    float | None, typer.Option(help="How freely judges choose their words; usually 0.", min=0, max=2, **JUDGES)
]
TopP = Annotated[float | None, typer.Option(help="From how much of the likely words they choose.", max=1, **JUDGES)]
JudgeSeed = Annotated[int | None, typer.Option(help="For endpoints that take a seed.", **JUDGES)]
Replay = Annotated[bool, typer.Option("--replay", help="Ask nobody; answer from the transcripts.", **JUDGES)]
