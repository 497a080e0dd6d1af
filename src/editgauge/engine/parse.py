"""Parse what an instruction asks for, by rules or by a judge: the verb `parse`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from editgauge._util.batching import Ask, run_async
from editgauge._util.datasets import read_text
from editgauge._util.images import read_image
from editgauge.edit_types import EDIT_TYPES
from editgauge.engine._judges import JudgeConfig, read_judge_config
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.instructions import parse_instruction
from editgauge.instructions.parsed import parsed_from_json
from editgauge.judges import LabeledImage, NoAnswerError, Question, open_prompt
from editgauge.judges._questions import Structured
from editgauge.options import JudgeOptions, Pairs, document_options
from editgauge.results.edits import parsed_to_json
from editgauge.types import ParsedInstruction

LINE_KEYS = ("text", "source_caption", "target_caption", "form", "source")
"""Keys of a JSON line that are passed to the parser."""
OUTPUT_KEYS = ("id", "text", "source_caption", "target_caption")
"""Keys of a JSON line that are copied to the output."""
FILE_HINT = """--file takes a text file with one JSON object per line, such as {"text": "remove the dog"}."""


class JudgedPosition(BaseModel):
    """A position as a judge states it."""

    model_config = ConfigDict(extra="forbid")
    relation: str
    anchor: str | None = None


class JudgedStep(BaseModel):
    """A step as a judge states it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    edit_type: str
    subject: str | None = None
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    position: JudgedPosition | None = None
    count: int | None = None
    attributes: list[str] = Field(default_factory=list)
    sure: bool = True


class JudgedInstruction(BaseModel):
    """An instruction as a judge parses it."""

    model_config = ConfigDict(extra="forbid")
    steps: list[JudgedStep] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class InstructionText:
    """An instruction with the captions and the image that help to parse it."""

    text: str
    source_caption: str | None = None
    target_caption: str | None = None
    form: str | None = None
    source: str | Path | None = None
    """Source image to show to the judge."""


@document_options
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
    """Parse what an instruction, or a target caption, asks for: the edit type, what changes, and into what.

    If a judge gives no answer, the result of the rules is returned, and it says why.

    Example:
        $ editgauge parse "replace the tent with a bonfire and make the sky red"
        >>> editgauge.parse("replace the tent with a bonfire").steps

    Args:
        text: the instruction, or a caption of the edited image.
        source_caption: what the source image shows; pronouns are resolved from it.
        target_caption: what the edited image should show.
        form: `caption` if the text is a target caption; detected by default.
        source: source image, which a judge is shown.
    """
    instruction = InstructionText(text, source_caption, target_caption, form, source)
    return parse_with_judge(instruction, read_judge_config(JudgeOptions(judge=judge, prompts=prompts)))


def parse_lines(
    file: str | Path, judge: str | Pairs = (), prompts: str | Path | None = None
) -> Iterator[dict[str, Any]]:
    """Yield one object for each line of a file of JSON lines: the parsed instruction, or the error of that line."""
    judge_config = read_judge_config(JudgeOptions(judge=judge, prompts=prompts))
    try:
        lines = read_text(Path(file)).splitlines()
    except BadInputError as error:
        raise BadInputError(f"{error} {FILE_HINT}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _parse_line(number, line, judge_config)


def _parse_line(number: int, line: str, judge_config: JudgeConfig) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        return {"line": number, "error": f"is not JSON: {error}"}
    if isinstance(entry, str):
        entry = {"text": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        return {"line": number, "error": "must be an object with 'text'"}
    output = {key: entry[key] for key in OUTPUT_KEYS if entry.get(key)}
    fields = {key: entry[key] for key in LINE_KEYS if isinstance(entry.get(key), str)}
    try:
        parsed = parse_with_judge(InstructionText(**fields), judge_config)
    except EditGaugeError as error:
        return {**output, "line": number, "error": str(error)}
    return {**output, **parsed_to_json(parsed)}


def parse_with_judge(instruction: InstructionText, judge_config: JudgeConfig) -> ParsedInstruction:
    """Parse with the judge, or with the rules if there is none or it gives no answer."""
    rules_result = parse_instruction(
        instruction.text, instruction.source_caption, instruction.target_caption, instruction.form
    )
    if not judge_config.addresses:
        return rules_result
    try:
        return run_async(_ask_judge(_make_question(instruction, judge_config), judge_config))
    except EditGaugeError as error:
        note = f"the judge gave no reading ({error}); this is the rules'"
        return replace(rules_result, left=f"{rules_result.left}; {note}" if rules_result.left else note)


def _make_question(instruction: InstructionText, judge_config: JudgeConfig) -> Question[JudgedInstruction]:
    types = "\n".join(
        f'- "{edit_type.name}": {edit_type.meaning}. Example: {edit_type.example}' for edit_type in EDIT_TYPES.values()
    )
    prompt = open_prompt("read_instruction", folder=judge_config.prompts).render(
        text=instruction.text,
        source_caption=instruction.source_caption or "not known",
        target_caption=instruction.target_caption or "not known",
        types=types,
    )
    source = instruction.source
    images = (LabeledImage("The picture before the edit:", read_image(Path(source))),) if source else ()
    return Question(words=prompt, form=Structured(JudgedInstruction), images=images)


async def _ask_judge(question: Question[JudgedInstruction], judge_config: JudgeConfig) -> ParsedInstruction:
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
