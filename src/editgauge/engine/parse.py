"""The verb `understand`: what an instruction asks for, by rules or by a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from editgauge._util.batching import Ask
from editgauge._util.concurrency import run_async
from editgauge._util.datasets import read_text
from editgauge._util.images import read_image
from editgauge.edit_types import EDIT_TYPES
from editgauge.engine._judges import JudgeConfig, read_judge_config
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.instructions import parse as by_rules
from editgauge.instructions.parsed import parsed_from_json
from editgauge.judges import LabeledImage, NoAnswerError, Question, open_prompt
from editgauge.judges._questions import Structured
from editgauge.options import JudgeOptions, Pairs
from editgauge.results.edits import parsed_to_json
from editgauge.types import ParsedInstruction

KEYS = ("id", "text", "source_caption", "target_caption", "form", "source")
"""What a line of a file may say."""
LINES = """--file takes a text file with one JSON object a line, such as {"text": "remove the dog"}."""


class JudgedPlace(BaseModel):
    """Where something should be, as a judge says it."""

    model_config = ConfigDict(extra="forbid")
    relation: str
    anchor: str | None = None


class JudgedStep(BaseModel):
    """One step, as a judge says it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    edit_type: str
    subject: str | None = None
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    position: JudgedPlace | None = None
    count: int | None = None
    attributes: list[str] = Field(default_factory=list)
    sure: bool = True


class JudgedReading(BaseModel):
    """A judge's whole answer."""

    model_config = ConfigDict(extra="forbid")
    steps: list[JudgedStep] = Field(min_length=1)


def parse(
    text: str = "",
    *,
    source_caption: str | None = None,
    target_caption: str | None = None,
    form: str | None = None,
    source: str | Path | None = None,
    judge: str | Pairs = (),
    prompts: str | Path | None = None,
) -> ParsedInstruction:
    """Read what an instruction, or a target caption, asks for: the edit type, what changes, and into what.

    If a judge gives no answer, the rules' reading is returned, and it says why.

    Example:
        $ editgauge understand "replace the tent with a bonfire and make the sky red"
        >>> editgauge.understand("replace the tent with a bonfire").steps

    Args:
        text: the instruction, or a caption of the edited image.
        source_caption: what the source image shows; pronouns are resolved from it.
        target_caption: what the edited image should show.
        form: `caption` if the text is a target caption; detected by default.
        source: source image, which a judge is shown.

    """
    judge_config = read_judge_config(JudgeOptions(judge=judge, prompts=prompts))
    return read_instruction(text, source_caption, target_caption, form, source, judge_config)


def parse_lines(
    file: str | Path, judge: str | Pairs = (), prompts: str | Path | None = None
) -> Iterator[dict[str, Any]]:
    """One object for each line of a file of JSON lines: the reading, or the error of that line."""
    judge_config = read_judge_config(JudgeOptions(judge=judge, prompts=prompts))
    try:
        lines = read_text(Path(file)).splitlines()
    except BadInputError as error:
        raise BadInputError(f"{error} {LINES}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _line(number, line, judge_config)


def _line(number: int, line: str, judge_config: JudgeConfig) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        return {"line": number, "error": f"is not JSON: {error}"}
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        return {"line": number, "error": "must be an object with 'text'"}
    fields = {key: entry[key] for key in ("id", "text", "source_caption", "target_caption") if entry.get(key)}
    texts = {key: entry.get(key) if isinstance(entry.get(key), str) else None for key in KEYS}
    try:
        reading = read_instruction(
            entry["text"],
            texts["source_caption"],
            texts["target_caption"],
            texts["form"],
            texts["source"],
            judge_config,
        )
    except EditGaugeError as error:
        return {**fields, "line": number, "error": str(error)}
    return {**fields, **parsed_to_json(reading)}


def read_instruction(
    text: str,
    source_caption: str | None,
    target_caption: str | None,
    form: str | None,
    source: str | Path | None,
    judge_config: JudgeConfig,
) -> ParsedInstruction:
    """Parse an instruction with the judge if there is one that answers, otherwise with the rules."""
    rules = by_rules(text, source_caption, target_caption, form)
    if not judge_config.addresses:
        return rules
    question = _question(text, source_caption, target_caption, source, judge_config)
    try:
        return run_async(_judge_reading(question, judge_config))
    except EditGaugeError as error:
        why = f"the judge gave no reading ({error}); this is the rules'"
        return replace(rules, left="; ".join(filter(None, [rules.left, why])))


def _question(
    text: str,
    source_caption: str | None,
    target_caption: str | None,
    source: str | Path | None,
    judge_config: JudgeConfig,
) -> Question[JudgedReading]:
    types = "\n".join(
        f'- "{edit_type.name}": {edit_type.meaning}. Example: {edit_type.example}' for edit_type in EDIT_TYPES.values()
    )
    words = open_prompt("read_instruction", folder=judge_config.prompts).render(
        text=text,
        source_caption=source_caption or "not known",
        target_caption=target_caption or "not known",
        types=types,
    )
    images = (LabeledImage("The picture before the edit:", read_image(Path(source))),) if source else ()
    return Question(words=words, form=Structured(JudgedReading), images=images)


async def _judge_reading(question: Question[JudgedReading], judge_config: JudgeConfig) -> ParsedInstruction:
    ask = Ask()
    name, judge = next(iter(judge_config.open(None, ask).items()))
    try:
        async with judge:
            answer = await judge.ask(question)
    finally:
        ask.close()
    if isinstance(answer.value, NoAnswerError):
        raise BadInputError(f"{name}: {answer.value.fault}: {answer.value.detail}")
    return parsed_from_json(answer.value.model_dump(by_alias=True), how="judge")
