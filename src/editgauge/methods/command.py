"""Any program as a method: it is given a picture and words, and leaves a picture.

`--command "my_editor {source} {instruction} {output}"` is cut into words once, as a shell would, and the placeholders
are filled in afterwards: no shell sees what an edit says.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge._util.images import IMAGE_SUFFIXES, read_image, write_png
from editgauge.errors import BadImageError, BadInputError, CannotEditError
from editgauge.methods import Method
from editgauge.methods.card import RefusedError
from editgauge.methods.options import read_options
from editgauge.methods.prompts import render

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.methods.prompts import Form
    from editgauge.types import Edit

PLACEHOLDER = re.compile(r"\{(\w+)\}")
INPUTS = "inputs"
"""The placeholder of the edit's further pictures: a word of its own, which becomes as many words."""
EDIT_PLACEHOLDERS = ("source", INPUTS, "instruction", "caption", "source_caption", "mask", "output", "seed")
DEFAULT_OPTIONS = {"timeout": 600.0, "at_once": 1, "directory": "", "results": ""}
"""Seconds for one edit; how many run side by side, as most editors fill a GPU alone; the working directory; and, for
scripts that choose their own output path, the folder below it whose newest image is the outcome."""
MAX_STDERR_CHARACTERS = 300
CLOCK_TOLERANCE = 1.0
"""Seconds by which the clock of a file system may be behind."""
TEXT_PLACEHOLDERS = frozenset({"instruction", "caption", "source_caption"})
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "powershell", "pwsh", "python", "perl", "ruby", "node")
"""Programs that take a program as a word."""


class Command(Method):
    """A command that makes one outcome each time it is run.

    Args:
        name: what the method is called
        command: its words, with placeholders for what belongs to an edit and for options
        options: values for the placeholders that are options, and for `DEFAULT_OPTIONS`

    """

    about = "A command."

    def __init__(self, name: str, command: str, options: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._command = command
        self._given = dict(options or {})
        self._words = _words(command, writes_output=not self._given.get("results"))
        self._holders = set(PLACEHOLDER.findall(command))
        placeholders = dict.fromkeys(sorted(self._holders - set(EDIT_PLACEHOLDERS)), "")
        self._options = read_options(name, {**placeholders, **DEFAULT_OPTIONS}, self._given)
        self._timeout: float = self._options["timeout"]
        self._directory = Path(self._options["directory"]).expanduser() if self._options["directory"] else None
        self.at_once = self._options["at_once"]
        self.form = _form(self._holders)
        self.takes_inputs = INPUTS in self._holders
        if self.takes_inputs and f"{{{INPUTS}}}" not in self._words:
            raise BadInputError(f"{{{INPUTS}}} in the command of '{name}' stands for several files; write it alone.")
        self.warning = shell_warning(self._words)
        """What its user should know before it runs; nothing for most commands."""

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Run the command and read the image it wrote to `{output}`."""
        with tempfile.TemporaryDirectory(prefix="editgauge-") as folder:
            values = self._values(edit, source, seed, Path(folder))
            inputs = _written(edit, Path(folder)) if self.takes_inputs else []
            words = (inputs if word == f"{{{INPUTS}}}" else [_filled(word, values)] for word in self._words)
            started = time.time()
            self._run([word for some in words for word in some])
            output = self._newest_result(started) if self._options["results"] else Path(values["output"])
            try:
                return read_image(output)
            except BadImageError as error:
                result = "no image that can be read" if output.exists() else "nothing"
                raise CannotEditError(f"crashed: '{self._words[0]}' left {result} at {{output}}") from error

    def _newest_result(self, started: float) -> Path:
        """Return the newest image that the command wrote below its results folder."""
        folder = (self._directory or Path()) / str(self._options["results"])
        files = (file for file in folder.rglob("*") if file.suffix.lower() in IMAGE_SUFFIXES)
        times = {file: file.stat().st_mtime for file in files}
        fresh = [file for file, modified in times.items() if modified >= started - CLOCK_TOLERANCE]
        if not fresh:
            raise CannotEditError(f"crashed: '{self._words[0]}' left no image below '{folder}'")
        return max(fresh, key=times.__getitem__)

    def settings(self) -> dict[str, Any]:
        """Return the command and its placeholder values; raise `BadInputError` when a value is missing."""
        lacking = sorted(self._holders - set(EDIT_PLACEHOLDERS) - set(self._given))
        if lacking:
            raise BadInputError(
                f"The command of '{self.name}' has placeholders that need a value: pass `option='NAME=VALUE'`.", lacking
            )
        return {
            "command": self._command,
            "options": {k: v for k, v in self._options.items() if k not in DEFAULT_OPTIONS},
            **({"results": self._options["results"]} if self._options["results"] else {}),
        }

    def variant(self, options: Mapping[str, str]) -> Command:
        """Return the command with other values for its placeholders."""
        return type(self)(self.name, self._command, {**self._given, **options})

    def _values(self, edit: Edit, source: Pixels, seed: int, folder: Path) -> dict[str, str]:
        values = {name: str(value) for name, value in self._options.items()}
        values |= {"source": str(folder / "source.png"), "output": str(folder / "output.png"), "seed": str(seed)}
        write_png(source, folder / "source.png")
        if "instruction" in self._holders:
            values["instruction"] = render(edit, "instruction").text
        if "caption" in self._holders:
            values["caption"] = render(edit, "caption").text
        if "source_caption" in self._holders:
            values["source_caption"] = render(edit, "captions").source or ""
        if "mask" in self._holders:
            if edit.mask is None:
                raise CannotEditError(f"the edit '{edit.id}' has no mask, which the command wants")
            values["mask"] = str(folder / "mask.png")
            height, width = source.shape[:2]
            where = edit.mask.render(width, height)
            write_png(np.repeat(np.where(where, np.uint8(255), np.uint8(0))[..., None], 3, axis=2), folder / "mask.png")
        return values

    def _run(self, words: list[str]) -> None:
        """Run the command in its own process group, so that its child processes end with it."""
        program = words[0]
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, and no shell
                words,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # a null byte in an instruction is a ValueError
            raise CannotEditError(f"crashed: '{program}' cannot be started: {error}") from error
        try:
            output = process.communicate(timeout=self._timeout)[1]
        except subprocess.TimeoutExpired as error:
            raise CannotEditError(f"timeout: '{program}' was stopped after {self._timeout:g} seconds") from error
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if process.returncode:
            raise _failed(program, process.returncode, output.decode("utf-8", "replace"))


def _filled(word: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda holder: values[holder[1]], word)


def _written(edit: Edit, folder: Path) -> list[str]:
    """Write the edit's further input images as files and return their paths."""
    paths = [folder / f"input-{number}.png" for number in range(2, len(edit.inputs) + 2)]
    for path, image in zip(paths, edit.inputs, strict=True):
        write_png(read_image(image.picture.path), path)
    return list(map(str, paths))


def _failed(program: str, code: int, stderr: str) -> CannotEditError:
    """Build the error from the last line of stderr; a line starting with `refused:` marks a refusal."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = lines[-1][:MAX_STDERR_CHARACTERS] if lines else "it said nothing"
    if last.lower().startswith("refused:"):
        return RefusedError(last[len("refused:") :].strip() or f"'{program}' would not")
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
    return CannotEditError(f"crashed: '{program}' {ended}: {last}")


def _words(command: str, *, writes_output: bool) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInputError(f"`command` cannot be split into words ({error}): {command}") from error
    holders = set(PLACEHOLDER.findall(command))
    problems = [] if words else ["it is empty"]
    needed = ("source", "output") if writes_output else ("source",)
    problems += [f"it lacks {{{name}}}" for name in needed if name not in holders]
    if words and not PLACEHOLDER.search(words[0]) and shutil.which(words[0]) is None:
        problems.append(f"there is no program '{words[0]}'")
    if problems:
        raise BadInputError(f"`command` cannot be used: {command}", problems)
    return words


def shell_warning(words: list[str]) -> str:
    """Return a warning when a shell would parse texts of an edit as part of its program.

    >>> shell_warning(["bash", "-c", "draw '{instruction}' {output}"])[:55]
    "The command hands {instruction} to 'bash -c' as program"
    >>> shell_warning(["bash", "-c", 'draw "$1"', "draw", "{instruction}"])
    ''
    """
    program = Path(words[0]).name.lower().removesuffix(".exe").rstrip("0123456789.")
    if program not in SHELLS:
        return ""
    for flag, script in pairwise(words[1:]):
        texts = [name for name in PLACEHOLDER.findall(script) if name in TEXT_PLACEHOLDERS]
        if flag in {"-c", "-lc", "-ec", "/c", "-e", "-Command"} and texts:
            return (
                f"The command hands {{{texts[0]}}} to '{words[0]} {flag}' as program text: an instruction with quotes "
                f"or $(…) would be run. Pass it as an argument: {program} {flag} '… \"$1\" …' name {{{texts[0]}}}"
            )
    return ""


def _form(holders: set[str]) -> Form | None:
    """Return the form of the prompt, which follows from the placeholders."""
    if "instruction" in holders:
        return "instruction"
    if "source_caption" in holders:
        return "captions"
    return "caption" if "caption" in holders else None


class ReleasedScript(Command):
    """The authors' own script, run inside a clone of their repository, which `--option directory=` names."""

    def __init__(self, name: str, command: str, options: Mapping[str, str] | None = None) -> None:
        super().__init__(name, command, options)
        self.repository, purpose = REPOSITORIES[name]
        self.about = f"{purpose}: the script of {self.repository}, run in your clone (--option directory=CLONE)."

    def settings(self) -> dict[str, Any]:
        """Return the command, its values and the repository; raise `BadInputError` without a clone."""
        if self._directory is None or not self._directory.is_dir():
            raise BadInputError(
                f"'{self.name}' runs the authors' script: clone https://github.com/{self.repository}, set it up as its "
                "README says, and pass `option='directory=CLONE'`."
            )
        return {**super().settings(), "repository": self.repository}


REPOSITORIES = {
    "open-edit": ("xh-liu/Open-Edit", "Open-Edit (arXiv 2008.01576)"),
    "vqgan-clip": ("nerdyrodent/VQGAN-CLIP", "VQGAN+CLIP (arXiv 2204.08583)"),
}
vqgan_clip = ReleasedScript(
    "vqgan-clip",
    "{python} generate.py -ii {source} -p {caption} -o {output} -sd {seed} -i {iterations}",
    {"python": "python", "iterations": "300"},
)
open_edit = ReleasedScript(
    "open-edit",
    "{python} test.py --name OpenEdit --img_path {source} --ori_cap {source_caption} --new_cap {caption} "
    "--edge_level 41 --lr 0.002 --which_epoch latest",
    {"python": "python", "results": "visual_results"},
)
