"""Any program as a method: words are handed over as they are, and every failure is an absence with its reason."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from editgauge._util.images import Pixels
from editgauge._util.masks import Rectangle
from editgauge.errors import BadInputError, CannotEditError
from editgauge.methods.card import RefusedError
from editgauge.methods.command import Command
from editgauge.methods.resolve import open_method
from editgauge.types import Edit

MakeEdit = Callable[..., Edit]
NEGATIVE = """
import json, sys
from PIL import Image, ImageOps
ImageOps.invert(Image.open(sys.argv[1])).save(sys.argv[2])
open(sys.argv[3], "w").write(json.dumps(sys.argv[4:]))
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """A command that runs this Python code with these words."""

    def write(code: str, words: str = "{source} {output}") -> str:
        (tmp_path / "editor.py").write_text(code)
        return f"{sys.executable} {tmp_path / 'editor.py'} {words}"

    return write


def test_every_placeholder_is_filled_and_no_shell_sees_the_words(
    script: Callable[..., str], make_edit: MakeEdit, photo: Pixels, tmp_path: Path
) -> None:
    evil = 'make "it" $(touch gone); `rm -rf x` {seed} \n* ü'
    words = "{source} {output} " + str(tmp_path / "told") + " {instruction} --caption={caption} {seed} {steps} '{ x }'"
    method = Command("mine", script(NEGATIVE, words)).variant({"steps": "20"})
    edited = method.edit(make_edit(instruction=evil, target_caption="a black cat"), photo, 7)
    assert (edited == 255 - photo).all()
    assert json.loads((tmp_path / "told").read_text()) == [evil, "--caption=a black cat", "7", "20", "{ x }"]
    assert method.settings()["options"] == {"steps": "20"}


def test_the_mask_is_white_where_the_picture_may_change(
    script: Callable[..., str], make_edit: MakeEdit, photo: Pixels
) -> None:
    copy = "import sys, shutil; shutil.copy(sys.argv[2], sys.argv[3])"
    method = Command("mine", script(copy, "{source} {mask} {output}"))
    mask = Rectangle(10, 20, 30, 40)
    seen = method.edit(make_edit(mask=mask), photo, 0)
    assert ((seen == 255).all(axis=2) == mask.render(128, 128)).all()
    assert set(np.unique(seen)) == {0, 255}
    with pytest.raises(CannotEditError, match="has no mask"):
        method.edit(make_edit(), photo, 0)


def test_a_command_may_choose_its_output_below_its_directory(
    script: Callable[..., str], make_edit: MakeEdit, photo: Pixels, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    (clone / "results").mkdir(parents=True)
    (clone / "results" / "old.png").write_bytes(b"")
    os.utime(clone / "results" / "old.png", (1, 1))
    code = "import sys, shutil; shutil.copy(sys.argv[1], 'results/new.png')"
    method = Command("mine", script(code, "{source}"), {"directory": str(clone), "results": "results"})
    assert (method.edit(make_edit(), photo, 0) == photo).all()
    assert method.settings()["results"] == "results"
    idle = Command("mine", script("", "{source}"), {"directory": str(tmp_path / "none"), "results": "results"})
    with pytest.raises(CannotEditError, match="crashed: "):
        idle.edit(make_edit(), photo, 0)


@pytest.mark.parametrize(("name", "form"), [("vqgan-clip", "caption"), ("open-edit", "captions")])
def test_a_released_script_runs_in_a_clone(name: str, form: str, tmp_path: Path) -> None:
    method = open_method(name)
    assert method.form == form
    with pytest.raises(BadInputError, match="directory=CLONE"):
        method.settings()
    settings = method.variant({"directory": str(tmp_path)}).settings()
    assert settings["repository"] in method.about
    assert str(tmp_path) not in str(settings), "a manifest names no machine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("{source} {output} {instruction}", ("make the cat black", None)),
        ("{source} {output} {caption}", ("a black cat", None)),
        ("{source} {output} {caption} {source_caption}", ("a black cat", "a white cat")),
    ],
)
def test_the_prompt_is_what_the_command_is_given(
    script: Callable[..., str], make_edit: MakeEdit, words: str, told: tuple[str, str | None]
) -> None:
    edit = make_edit(target_caption="a black cat", source_caption="a white cat")
    prompt = Command("mine", script("", words)).prompt(edit)
    assert (prompt.text, prompt.source) == told


@pytest.mark.parametrize(
    ("code", "absence"),
    [
        ("import sys; sys.exit('first\\nno weights here\\n\\n')", "crashed: '.*' ended with 1: no weights here"),
        ("import os; os.kill(os.getpid(), 9)", "crashed: '.*' was ended by signal 9: it said nothing"),
        ("", "crashed: '.*' left nothing at {output}"),
        ("import sys; open(sys.argv[2], 'w').write('x')", "crashed: '.*' left no image"),
    ],
)
def test_every_way_of_failing_has_its_reason(
    script: Callable[..., str], make_edit: MakeEdit, photo: Pixels, code: str, absence: str
) -> None:
    with pytest.raises(CannotEditError, match=absence):
        Command("mine", script(code)).edit(make_edit(), photo, 0)


def test_a_wrapper_can_say_that_its_model_refused(
    script: Callable[..., str], make_edit: MakeEdit, photo: Pixels
) -> None:
    with pytest.raises(RefusedError, match=r"^refused: safety checker$"):
        Command("mine", script("import sys; sys.exit('Refused: safety checker')")).edit(make_edit(), photo, 0)


def test_one_that_takes_too_long_is_stopped_with_all_it_started(
    make_edit: MakeEdit, photo: Pixels, tmp_path: Path
) -> None:
    code = f"sleep 60 & echo $! > {tmp_path}/child; wait"
    method = Command("mine", f"sh -c '{code}' {{source}} {{output}}").variant({"timeout": "2"})
    with pytest.raises(CannotEditError, match="timeout: 'sh' was stopped after 2 seconds"):
        method.edit(make_edit(), photo, 0)
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_a_null_byte_in_the_words_costs_only_its_edit(
    script: Callable[..., str], make_edit: MakeEdit, photo: Pixels
) -> None:
    method = Command("mine", script("", "{source} {output} {style}"), {"style": "a\0b"})
    with pytest.raises(CannotEditError, match="cannot be started"):
        method.edit(make_edit(), photo, 0)


def test_all_that_is_wrong_with_a_command_is_told_at_once() -> None:
    with pytest.raises(BadInputError) as caught:
        Command("mine", "no_such_program_anywhere {instruction}")
    assert caught.value.problems == (
        "it lacks {source}",
        "it lacks {output}",
        "there is no program 'no_such_program_anywhere'",
    )


def test_a_quote_without_its_end_is_told() -> None:
    with pytest.raises(BadInputError, match="cannot be split into words"):
        Command("mine", "cp {source} '{output}")


def test_a_placeholder_needs_a_value_and_an_option_a_placeholder() -> None:
    method = Command("mine", "cp {source} {output} {steps} {eta}")
    with pytest.raises(BadInputError, match="steps") as caught:
        method.variant({"eta": "1"}).settings()
    assert caught.value.problems == ("steps",)
    with pytest.raises(BadInputError) as unknown:
        method.variant({"step": "3", "at_once": "many"})
    assert unknown.value.problems == (
        "no option 'step'; did you mean 'steps'?",
        "at_once is a whole number, got 'many'",
    )


@pytest.mark.parametrize(
    ("name", "told"), [("identity", "there is already"), ("a/b", "path separator"), ("", "is empty")]
)
def test_a_command_needs_a_name_of_its_own(name: str, told: str) -> None:
    with pytest.raises(BadInputError, match=told):
        open_method(name, "cp {source} {output}")


@pytest.mark.parametrize(
    ("command", "warned"),
    [
        ("bash -c 'convert {source} \"{instruction}\" {output}'", True),
        ("sh -c 'draw {caption} {source} {output}'", True),
        ("python3 -c 'print(\"{instruction}\") # {source} {output}'", True),
        ('bash -c \'convert "$1" "$2" "$3"\' edit {source} {instruction} {output}', False),
        ("bash edit.sh {instruction} {source} {output}", False),
        ("bash -c 'cp {source} {output}'", False),
    ],
)
def test_a_shell_that_would_run_the_words_of_an_edit_is_warned_about(command: str, warned: bool) -> None:
    assert bool(Command("mine", command).warning) is warned
