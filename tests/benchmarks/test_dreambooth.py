"""DreamBooth: subjects, prompts, and the file that names them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.dreambooth import OWN_LIVE_PROMPTS, OWN_PROMPTS, load
from editgauge.errors import BadInputError

PROMPTS = """\
Classes

subject_name,class
cat2,cat
red_toy,toy

Prompts

Object Prompts

prompt_list = [
'a {0} {1} in the garden'.format(unique_token, class_token),
'a green {0} {1}'.format(unique_token, class_token),
'a ball shaped {0} {1}'.format(unique_token, class_token)
]

Live Subject Prompts

prompt_list = [
'a {0} {1} wearing a scarf'.format(unique_token, class_token),
'a wet {0} {1}'.format(unique_token, class_token)
]
"""


@pytest.fixture
def data(tmp_path: Path, draw: Callable[..., Path]) -> Callable[..., Path]:
    def write(prompts: str | None = PROMPTS) -> Path:
        for name in ("cat2/00.jpg", "cat2/02.jpg", "cat2/01.JPG", "red_toy/00.jpg"):
            draw(tmp_path / name)
        (tmp_path / "red_toy" / "notes.txt").touch()
        (tmp_path / "empty").mkdir(exist_ok=True)
        if prompts is not None:
            (tmp_path / "prompts_and_classes.txt").write_text(prompts)
        return tmp_path

    return write


def test_each_subject_with_each_prompt(data: Callable[..., Path]) -> None:
    benchmark = open_benchmark("dreambooth", data=data())
    assert {edit.id: edit.type for edit in benchmark.edits} == {
        "cat2-a-cat-wearing-a-scarf": "object_addition",
        "cat2-a-wet-cat": "unspecified",
        "red_toy-a-toy-in-the-garden": "background",
        "red_toy-a-green-toy": "color",
        "red_toy-a-ball-shaped-toy": "shape",
    }
    scarf = benchmark.edits[0]
    assert scarf.instruction == scarf.target_caption == "a cat wearing a scarf"
    assert (scarf.subject, scarf.source_caption) == ("cat", "a cat")
    assert scarf.source.name == "cat2/00.jpg"
    assert scarf.source.path.is_file()
    assert scarf.extras == {
        "subject": "cat2",
        "class": "cat",
        "prompt": "a {0} {1} wearing a scarf",
        "subject_images": ["cat2/01.JPG", "cat2/02.jpg"],
    }
    assert benchmark.about == "5 edits of 2 subjects in 4 pictures (the paper says 30 subjects)"


def test_without_the_file_the_prompts_are_ours(data: Callable[..., Path]) -> None:
    benchmark = load(data(None))
    assert len(benchmark.edits) == len(OWN_PROMPTS) + len(OWN_LIVE_PROMPTS)
    assert [edit.extras["prompt"] for edit in benchmark.edits if edit.subject == "cat"] == list(OWN_LIVE_PROMPTS)
    assert benchmark.edits[-1].subject == "red toy"
    assert benchmark.about.endswith("; prompts by EditGauge, for there is no prompts_and_classes.txt")


def test_all_faults_are_told_with_their_line(data: Callable[..., Path], told: Callable[..., Any]) -> None:
    prompts = PROMPTS.replace("red_toy,toy", "cat2,dog").replace("'a wet {0} {1}'", "'a wet {1}'")
    assert list(told(load, data(prompts))) == [
        "prompts_and_classes.txt: line 5: the subject 'cat2' is given twice",
        "prompts_and_classes.txt: line 21: a prompt needs '{0} {1}', the learned word and the class, between quotes",
        "prompts_and_classes.txt: record 'red_toy': the subject has pictures and no class",
    ]
    assert list(told(load, data("Classes\n\ncat2,cat\nred_toy,toy\n"))) == [
        "prompts_and_classes.txt: line 4: there are no prompts for objects",
        "prompts_and_classes.txt: line 4: there are no prompts for live subjects",
    ]


def test_a_folder_without_subjects_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="has no folder with pictures"):
        load(tmp_path)


def test_some_edits_are_drawn_with_a_seed_from_all_subjects(data: Callable[..., Path]) -> None:
    place = data()
    drawn = open_benchmark("dreambooth[edits=2]", data=place)

    assert {edit.extras["subject"] for edit in drawn.edits} == {"cat2", "red_toy"}
    assert drawn.edits == open_benchmark("dreambooth[edits=2]", data=place).edits
    assert "drawn from 5 with the seed 0" in drawn.about
    with pytest.raises(BadInputError, match="more than the 5 edits"):
        open_benchmark("dreambooth[edits=6]", data=place)
