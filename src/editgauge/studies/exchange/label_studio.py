"""Label Studio: a labeling configuration, tasks to import there, and annotations exported from there.

Checked against its documentation (tags View, Image, Header, Choices, TextArea; "Label Studio task format") and the
source of its tags: `html` of a Choice is shown and its `value` exported, nested Views are all to be visible, and
`whenChoiceValue` takes values apart at commas. Every choice is a `Choices` tag, for it shows the words of each option,
can be required, and knows a tie; answers of `Rating` and `Pairwise`, to which an owner may change it, are read too.
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

PICTURES = {"outcome": ("source", "edited"), "pair": ("source", "left", "right"), "attributes": ("source",)}
TITLES = {"source": "Original", "edited": "Result", "left": "Left", "right": "Right"}
RESULTS = {"choices": "choices", "textarea": "text", "rating": "rating", "pairwise": "selected"}
"""Kind of a result to the key of what was answered."""
LINES_OF_TEXT = "3"


def write_tasks(study: Study, out: Path, url: str | None) -> int:
    """Write the open items as `config.xml` and `tasks.json`, one task each; return the number of tasks."""
    address = image_base_url(url, "Label Studio")
    if study.design.attention:
        raise BadInputError(
            "Label Studio cannot show an attention check on some tasks only. "
            "Make a study whose design has none; gold items work there."
        )
    tasks, interface = open_tasks(study), config(study.design)
    folder = new_folder(out)
    write_text(folder / "config.xml", interface)
    entries = [{"data": _data(study.design, task, address)} for task in tasks]
    write_text(folder / "tasks.json", json.dumps(entries, indent=1, ensure_ascii=False) + "\n")
    return len(tasks)


def config(design: Design) -> str:
    """Build the labeling configuration."""
    top = Xml.Element("View")
    Xml.SubElement(top, "Header", value=design.title, size="3")
    for paragraph in design.instructions.split("\n\n"):
        Xml.SubElement(top, "Header", value=" ".join(paragraph.split()), size="5")
    Xml.SubElement(top, "Header", value="$text", size="4")
    pictures = Xml.SubElement(top, "View", style="display: flex; flex-wrap: wrap; gap: 1em")
    for role in PICTURES[design.unit]:
        frame = Xml.SubElement(pictures, "View", style="flex: 1 1 18em")
        Xml.SubElement(frame, "Header", value=TITLES[role], size="5")
        Xml.SubElement(frame, "Image", name=role, value=f"${role}", zoom="true")
    if design.unit == "attributes":
        for side in ("left", "right"):
            Xml.SubElement(top, "Header", value=f"{TITLES[side]}: ${side}", size="5")
    for question in design.questions:
        _add_question(top, question)
    Xml.indent(top)
    return Xml.tostring(top, encoding="unicode") + "\n"


def _add_question(top: Xml.Element, question: DesignQuestion) -> None:
    parent = top
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
    needed = "true" if question.required and question.needs is None else "false"
    control = {"name": question.id, "toName": "source", "required": needed}
    if question.kind == "text":
        begins = {"value": f"$prefill_{question.id}"} if question.prefill else {}
        Xml.SubElement(parent, "TextArea", control | begins, rows=LINES_OF_TEXT, maxSubmissions="1", editable="true")
        return
    several = "multiple" if question.kind == "multi_choice" else "single-radio"
    choices = Xml.SubElement(parent, "Choices", control, choice=several)
    for option in question.choices:
        hint = {"hint": option.help} if option.help else {}
        # The attribute is HTML inside XML: words are escaped once more than the writer does.
        words = option.label.replace("&", "&amp;").replace("<", "&lt;")
        Xml.SubElement(choices, "Choice", {"value": str(option.value), "html": words} | hint)


def _data(design: Design, task: ExportedTask, address: str) -> dict[str, str]:
    page = task.page
    fields = {"item": task.name, "text": page.text}  # annotators can read these
    fields |= {picture.role: address + picture.name for picture in page.pictures}
    if page.left is not None and page.right is not None:
        fields |= {"left": page.left, "right": page.right}
    return fields | item_texts(design, page)


def read_export(study: Study, file: Path) -> list[AnswerRecord]:
    """Read the annotations of a project's JSON export as pages; skipped ones are left out."""
    items, pages, problems = items_by_name(study), list[AnswerRecord](), list[str]()
    for task in _tasks(file):
        data = task.get("data") if isinstance(task, dict) else None
        name = data.get("item") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(name, str) or name not in items:
            problems.append(f"a task with the item {format_value(name)} is not of this study")
            continue
        for annotation in task.get("annotations", ()):
            try:
                if not annotation.get("was_cancelled"):
                    pages.append(_page(study, items[name], annotation, flipped=_is_flipped(study, items[name], data)))
            except BadAnswersError as error:
                problems.append(f"annotation {annotation.get('id')}: {error}")
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                problems.append(f"an annotation of the item {name} cannot be read: {type(error).__name__} {error}")
    if problems:
        raise BadInputError(f"The annotations in '{file}' have problems.", problems)
    if not pages:
        raise BadInputError(f"'{file}' holds no annotations. Export the project in the format JSON (not JSON-MIN).")
    return pages


def _tasks(file: Path) -> list[Any]:
    try:
        document = json.loads(read_text(file))
    except ValueError as error:
        raise BadInputError(f"'{file}' is not valid JSON: {error}. Export the project in the format JSON.") from error
    if not isinstance(document, list):
        raise BadInputError(f"'{file}' must hold a list of tasks. Export the project in the format JSON.")
    return document


def _is_flipped(study: Study, item: StudyItem, data: Mapping[str, Any]) -> bool:
    """Return whether the second of a pair was on the left; tasks of older versions say so themselves."""
    return data["flipped"] == "yes" if "flipped" in data else is_flipped(study, item)


def _page(study: Study, item: StudyItem, annotation: Mapping[str, Any], *, flipped: bool) -> AnswerRecord:
    answers = validate_task_answers(
        study.design, item, answers_of(study.design, annotation["result"]), flipped=flipped, check=None
    )
    by = annotation["completed_by"]
    who = by["id"] if isinstance(by, dict) else by
    seconds = annotation.get("lead_time")
    made = annotation.get("created_at")
    done = None if made is None else datetime.fromisoformat(made).timestamp()
    return AnswerRecord(
        rater=f"label-studio-{pseudonym(study, str(who))}",
        item=item.key,
        answers=answers,
        flipped=flipped,
        done=done,
        claimed=None if done is None or seconds is None else done - float(seconds),
        flags=flags_of(study.design, answers, None, seconds),
    )


def answers_of(design: Design, results: list[dict[str, Any]]) -> Answers:
    """Collect the answers by question; results of additional tags are ignored."""
    questions = design.all_questions
    answers: Answers = {}
    for result in results:
        question = questions.get(result.get("from_name", ""))
        if question is None or result["type"] not in RESULTS:
            continue
        value = result["value"][RESULTS[result["type"]]]
        words = [str(word) for word in (value if isinstance(value, list) else [value])]
        answer = "\n".join(words) if question.kind == "text" else parse_form_value(question, words)
        if answer not in (None, ""):
            answers[question.id] = answer
    return answers


label_studio = ExchangeFormat(write_tasks, read_export)
