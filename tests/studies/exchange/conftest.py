"""Mechanical Turk and Label Studio as far as a form is filled in there: by what the exported files themselves show."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

Form = Mapping[str, Any]
COLUMNS = (
    *("HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments"),
    *("RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration"),
    *("NumberOfSimilarHITs", "LifetimeInSeconds", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime"),
    *("SubmitTime", "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds"),
    *("LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate"),
)
"""As published batch results have them, before Input.*, Answer.*, Approve and Reject."""


class Controls(HTMLParser):
    """The fields of a form: name to the values that can be chosen; None where words are written."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.choices: dict[str, list[str]] = {}
        self.ticks: dict[str, str] = {}
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "textarea":
            self.texts.append(told["name"])
        elif tag == "input" and told["type"] == "radio":
            self.choices.setdefault(told["name"], []).append(told["value"])
        elif tag == "input":
            self.ticks[told["name"]] = told["value"]

    def fill(self, answers: Form) -> dict[str, str | dict[str, bool]]:
        """What a crowd-form sends; raises when the form has no place for an answer."""
        sent: dict[str, str | dict[str, bool]] = dict.fromkeys(self.texts, "")
        sent |= {name: dict.fromkeys(values, False) for name, values in self.choices.items()}
        sent |= {name: {value: False} for name, value in self.ticks.items()}
        for question, answer in answers.items():
            if isinstance(answer, list):
                for word in answer:
                    sent[_only(n for n, v in self.ticks.items() if n.startswith(f"{question}--") and v == word)] = {
                        word: True
                    }
            elif question in self.texts:
                sent[question] = answer
            else:
                selected = sent[question]
                assert isinstance(selected, dict)
                assert str(answer) in selected
                selected[str(answer)] = True
        return sent


def _only(found: Any) -> str:
    (item,) = found
    return str(item)


class Turk:
    """A batch, and what workers hand in."""

    def __init__(self, folder: Path) -> None:
        self.layout = (folder / "layout.html").read_text("utf-8")
        with (folder / "input.csv").open(encoding="utf-8", newline="") as file:
            self.hits = list(csv.DictReader(file))
        self.hit = json.loads((folder / "hit.json").read_text("utf-8"))
        self.rows: list[dict[str, str]] = []

    def page(self, hit: Mapping[str, str]) -> str:
        """The layout with the row's values in it; a variable without a column would be refused there."""
        return re.sub(r"\$\{(.*?)\}", lambda found: hit[found[1]], self.layout)

    def hand_in(
        self, place: int, worker: str, answers: Form, *, seconds: int = 60, flat: bool = True, status: str = "Submitted"
    ) -> None:
        hit = self.hits[place]
        sent = Controls(self.page(hit)).fill(answers)
        number = str(len(self.rows))
        row = {"HITId": f"H{place}", "AssignmentId": f"A{number}", "WorkerId": worker, "AssignmentStatus": status}
        row |= {"WorkTimeInSeconds": str(seconds), "SubmitTime": "Wed Mar 01 11:23:45 PST 2017"}
        row |= {f"Input.{name}": value for name, value in hit.items()}
        if flat:
            for name, value in sent.items():
                if isinstance(value, str):
                    row[f"Answer.{name}"] = value
                else:
                    row |= {f"Answer.{name}.{word}": str(selected).lower() for word, selected in value.items()}
        else:
            row["Answer.taskAnswers"] = json.dumps([sent])
        self.rows.append(row)

    def results(self, file: Path) -> Path:
        extra = dict.fromkeys(name for row in self.rows for name in row if name not in COLUMNS)
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, [*COLUMNS, *extra, "Approve", "Reject"], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(self.rows)
        file.write_bytes(out.getvalue().encode("utf-8"))
        return file


class Studio:
    """A project, and what annotators hand in."""

    def __init__(self, folder: Path) -> None:
        self.config = Xml.fromstring((folder / "config.xml").read_text("utf-8"))
        self.tasks = json.loads((folder / "tasks.json").read_text("utf-8"))
        for number, task in enumerate(self.tasks, start=1):
            task |= {"id": number, "annotations": [], "predictions": []}

    def hand_in(self, place: int, annotator: int, answers: Form, **more: Any) -> None:
        results = []
        for name, answer in answers.items():
            (control,) = [tag for tag in self.config.iter() if tag.get("name") == name]
            if control.tag == "TextArea":
                value: dict[str, Any] = {"text": [answer]}
            else:
                words = [str(word) for word in (answer if isinstance(answer, list) else [answer])]
                assert set(words) <= {choice.get("value") for choice in control}
                value = {"choices": words}
            result = {"value": value, "id": "x", "from_name": name, "to_name": control.get("toName")}
            results.append(result | {"type": control.tag.lower(), "origin": "manual"})
        made = {"created_at": "2021-03-09T22:16:08.728353Z", "lead_time": 42.5, "was_cancelled": False}
        entry = {"id": 1, "completed_by": {"id": annotator, "email": "ann@lab.example"}, "result": results}
        self.tasks[place]["annotations"].append(entry | made | more)

    def export(self, file: Path) -> Path:
        file.write_text(json.dumps(self.tasks), encoding="utf-8")
        return file


@pytest.fixture
def turk() -> Callable[[Path], Turk]:
    return Turk


@pytest.fixture
def studio() -> Callable[[Path], Studio]:
    return Studio
