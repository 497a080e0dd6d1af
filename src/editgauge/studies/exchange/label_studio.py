"""Exchange of studies with Label Studio: write a labeling configuration and tasks, and read exported annotations.

The format follows the documentation (tags View, Image, Header, Choices, TextArea; "Label Studio task format") and the
source code of the tags: a Choice displays its `html` and exports its `value`, a nested View is visible only if all
Views around it are, and `whenChoiceValue` is split at commas. Every choice is a `Choices` tag, because it displays a
label for each option, can be required, and supports ties. Answers of `Rating` and `Pairwise` tags, which the owner of
a project may use instead, are read too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from editgauge._util.datasets import read_text
from editgauge._util.fields import format_value
from editgauge._util.files import write_text
from editgauge.errors import BadAnswersError, BadInputError
from editgauge.studies.design import Answers, Design, DesignQuestion, parse_form_value
from editgauge.studies.exchange import ExchangeFormat
from editgauge.studies.exchange._tasks import (
    ExportedTask,
    image_base_url,
    is_flipped,
    item_texts,
    items_by_name,
    new_folder,
    open_tasks,
    pseudonym,
    validate_task_answers,
)
from editgauge.studies.raters import flags_of
from editgauge.studies.records import AnswerRecord
from editgauge.studies.store import StudyItem
from editgauge.studies.study import Study

IMAGE_ROLES = {"outcome": ("source", "edited"), "pair": ("source", "left", "right"), "attributes": ("source",)}
TITLES = {"source": "Original", "edited": "Result", "left": "Left", "right": "Right"}
RESULT_KEYS = {"choices": "choices", "textarea": "text", "rating": "rating", "pairwise": "selected"}
"""Key of the answer in the value of a result, by type of the result."""
TEXT_ROWS = "3"


def write_tasks(study: Study, out: Path, url: str | None) -> int:
    """Write `config.xml`, and `tasks.json` with one task for each open item; return the number of tasks."""
    base_url = image_base_url(url, "Label Studio")
    if study.design.attention:
        raise BadInputError(
            "Label Studio cannot show an attention check on some tasks only. "
            "Make a study whose design has none; gold items work there."
        )
    tasks = [{"data": _task_data(study.design, task, base_url)} for task in open_tasks(study)]
    labeling_config = config(study.design)
    folder = new_folder(out)
    write_text(folder / "config.xml", labeling_config)
    write_text(folder / "tasks.json", json.dumps(tasks, indent=1, ensure_ascii=False) + "\n")
    return len(tasks)


def config(design: Design) -> str:
    """Return the labeling configuration of a design as XML."""
    root = Xml.Element("View")
    Xml.SubElement(root, "Header", value=design.title, size="3")
    for paragraph in design.instructions.split("\n\n"):
        Xml.SubElement(root, "Header", value=" ".join(paragraph.split()), size="5")
    Xml.SubElement(root, "Header", value="$text", size="4")
    images = Xml.SubElement(root, "View", style="display: flex; flex-wrap: wrap; gap: 1em")
    for role in IMAGE_ROLES[design.unit]:
        frame = Xml.SubElement(images, "View", style="flex: 1 1 18em")
        Xml.SubElement(frame, "Header", value=TITLES[role], size="5")
        Xml.SubElement(frame, "Image", name=role, value=f"${role}", zoom="true")
    if design.unit == "attributes":
        for side in ("left", "right"):
            Xml.SubElement(root, "Header", value=f"{TITLES[side]}: ${side}", size="5")
    for question in design.questions:
        _add_question(root, question)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode") + "\n"


def _add_question(root: Xml.Element, question: DesignQuestion) -> None:
    """Add a question below `root`, in a View for each condition under which it is asked."""
    parent = root
    for name, values in question.when.items():
        texts = [str(value) for value in values]
        if any("," in value for value in texts):
            raise BadInputError(
                f"'{question.id}' is asked when '{name}' is {texts}: Label Studio knows no commas there."
            )
        parent = Xml.SubElement(
            parent, "View", visibleWhen="choice-selected", whenTagName=name, whenChoiceValue=",".join(texts)
        )
    Xml.SubElement(parent, "Header", value=question.label, size="4")
    if question.help:
        Xml.SubElement(parent, "Header", value=question.help, size="6")
    if question.quote:
        Xml.SubElement(parent, "Header", value=f"$quote_{question.id}", size="5")
    _add_control(parent, question)


def _add_control(parent: Xml.Element, question: DesignQuestion) -> None:
    """Add the input element of a question."""
    is_required = question.required and question.needs is None
    attributes = {"name": question.id, "toName": "source", "required": "true" if is_required else "false"}
    if question.kind == "text":
        prefill = {"value": f"$prefill_{question.id}"} if question.prefill else {}
        Xml.SubElement(parent, "TextArea", attributes | prefill, rows=TEXT_ROWS, maxSubmissions="1", editable="true")
        return
    mode = "multiple" if question.kind == "multi_choice" else "single-radio"
    choices = Xml.SubElement(parent, "Choices", attributes, choice=mode)
    for option in question.choices:
        hint = {"hint": option.help} if option.help else {}
        # The attribute contains HTML, so the label is escaped here in addition to the XML writer's escaping.
        html = option.label.replace("&", "&amp;").replace("<", "&lt;")
        Xml.SubElement(choices, "Choice", {"value": str(option.value), "html": html} | hint)


def _task_data(design: Design, task: ExportedTask, base_url: str) -> dict[str, str]:
    """Return the fields of a task, all of which annotators can read."""
    page = task.page
    fields = {"item": task.name, "text": page.text}
    fields |= {image.role: base_url + image.name for image in page.pictures}
    if page.left is not None and page.right is not None:
        fields |= {"left": page.left, "right": page.right}
    return fields | item_texts(design, page)


def read_export(study: Study, file: Path) -> list[AnswerRecord]:
    """Read the annotations of a project's JSON export; skipped annotations are left out."""
    items = items_by_name(study)
    records: list[AnswerRecord] = []
    problems: list[str] = []
    for task in _read_tasks(file):
        data = task.get("data") if isinstance(task, dict) else None
        name = data.get("item") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(name, str) or name not in items:
            problems.append(f"a task with the item {format_value(name)} is not of this study")
            continue
        for annotation in task.get("annotations", ()):
            try:
                if not annotation.get("was_cancelled"):
                    flipped = _is_flipped(study, items[name], data)
                    records.append(_answer_record(study, items[name], annotation, flipped=flipped))
            except BadAnswersError as error:
                problems.append(f"annotation {annotation.get('id')}: {error}")
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                problems.append(f"an annotation of the item {name} cannot be read: {type(error).__name__} {error}")
    if problems:
        raise BadInputError(f"The annotations in '{file}' have problems.", problems)
    if not records:
        raise BadInputError(f"'{file}' holds no annotations. Export the project in the format JSON (not JSON-MIN).")
    return records


def _read_tasks(file: Path) -> list[Any]:
    try:
        document = json.loads(read_text(file))
    except ValueError as error:
        raise BadInputError(f"'{file}' is not valid JSON: {error}. Export the project in the format JSON.") from error
    if not isinstance(document, list):
        raise BadInputError(f"'{file}' must hold a list of tasks. Export the project in the format JSON.")
    return document


def _is_flipped(study: Study, item: StudyItem, data: Mapping[str, Any]) -> bool:
    """Return whether the second of a pair was on the left; tasks of older versions have a field for it."""
    return data["flipped"] == "yes" if "flipped" in data else is_flipped(study, item)


def _answer_record(study: Study, item: StudyItem, annotation: Mapping[str, Any], *, flipped: bool) -> AnswerRecord:
    answers = validate_task_answers(
        study.design, item, answers_of(study.design, annotation["result"]), flipped=flipped, check=None
    )
    annotator = annotation["completed_by"]
    annotator_id = annotator["id"] if isinstance(annotator, dict) else annotator
    seconds = annotation.get("lead_time")
    created_at = annotation.get("created_at")
    done = None if created_at is None else datetime.fromisoformat(created_at).timestamp()
    return AnswerRecord(
        rater=f"label-studio-{pseudonym(study, str(annotator_id))}",
        item=item.key,
        answers=answers,
        flipped=flipped,
        done=done,
        claimed=None if done is None or seconds is None else done - float(seconds),
        flags=flags_of(study.design, answers, None, seconds),
    )


def answers_of(design: Design, results: list[dict[str, Any]]) -> Answers:
    """Return the answers by question; results of other tags are ignored."""
    questions = design.all_questions
    answers: Answers = {}
    for result in results:
        question = questions.get(result.get("from_name", ""))
        if question is None or result["type"] not in RESULT_KEYS:
            continue
        value = result["value"][RESULT_KEYS[result["type"]]]
        texts = [str(text) for text in (value if isinstance(value, list) else [value])]
        answer = "\n".join(texts) if question.kind == "text" else parse_form_value(question, texts)
        if answer not in (None, ""):
            answers[question.id] = answer
    return answers


label_studio = ExchangeFormat(write_tasks, read_export)
