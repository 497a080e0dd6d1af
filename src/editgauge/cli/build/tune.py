"""`editgauge build tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tune(
    data: Annotated[Path, typer.Option(help="A folder that `editgauge build training` wrote.")],
    model: Annotated[str, typer.Option(help="A folder with an image-text-to-text model, or its id on the hub.")],
    out: Annotated[Path, typer.Option(help="The folder for the tuned model; new or empty.")],
    epochs: Annotated[float, typer.Option(help="How often every lesson is seen.")] = 1.0,
    learning_rate: Annotated[float, typer.Option(help="Of AdamW, at the beginning.")] = 2e-4,
    lora: Annotated[int, typer.Option(help="The rank of the adapters.", min=1)] = 16,
    batch: Annotated[int, typer.Option(help="Lessons per step.", min=1)] = 8,
    seed: Annotated[int, typer.Option(help="Of the adapters' first weights and of the order of lessons.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")] = False,
) -> None:
    """Fine-tune a vision-language model on training data; the result is a judge.

    `editgauge build tune --data lessons --model llava-hf/llava-1.5-7b-hf --out inspector`
    """
    from editgauge.building.training.tuning import tune as fine_tune

    fine_tune(data, model, out, epochs, learning_rate, lora, batch, seed, quiet)


def add_to(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(tune)
