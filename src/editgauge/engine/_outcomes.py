"""Make outcomes of a method in a folder that can be resumed with the same settings."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

import cv2
import numpy as np

from editgauge._util.files import DRAFT_PREFIX, write_json, write_text
from editgauge._util.images import read_image, write_png
from editgauge._util.text import as_utf8
from editgauge.errors import BadImageError, BadInputError, CannotEditError, EditGaugeError
from editgauge.methods.card import MethodCard, absence_reason
from editgauge.methods.outcomes import OUTCOMES_FILE
from editgauge.methods.prompts import MethodPrompt

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.methods import Method
    from editgauge.methods.prompts import PromptOptions
    from editgauge.types import Edit

BYTES_PER_KIB = 1024


def claim(folder: Path, file: str, settings: dict[str, Any], content: str, command: str) -> None:
    """Create a folder for these settings, or check that it was created with them.

    Args:
        folder: folder to create or to reopen.
        file: name of the file with the settings.
        settings: settings that shape the content of the folder.
        content: plural noun for the content, such as `outcomes`.
        command: command that fills such folders.

    Raises:
        BadInputError: the folder has other settings, or other content.

    """
    path = folder / file
    if path.is_file():
        earlier = json.loads(path.read_text("utf-8"))
        changes = list(_changed_settings(earlier, settings))
        if changes:
            raise BadInputError(f"'{folder}' holds {content} made with other settings; choose another folder.", changes)
    elif folder.is_dir() and any(folder.iterdir()):
        raise BadInputError(f"'{folder}' is not empty and was not made by `{command}`; choose another folder.")
    else:
        write_json(path, settings)


def _changed_settings(earlier: Mapping[str, Any], settings: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield one line for each setting that differs, nested settings included."""
    for key, new in settings.items():
        old, name = earlier.get(key), f"{prefix}{key}"
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changed_settings(dict.fromkeys(new) | old, dict.fromkeys(old) | new, f"{name}.")
        elif old != new:
            yield f"{name}: {old} there, {new} asked for"


class OutcomeId(NamedTuple):
    """Identity of an outcome: its edit and seed."""

    id: str
    seed: int

    @property
    def name(self) -> str:
        """File name without suffix, from which the seed is parsed when outcomes are loaded.

        >>> OutcomeId("cat-black", 0).name, OutcomeId("cat-black", 2).name
        ('cat-black', 'cat-black__seed2')
        """
        return f"{self.id}__seed{self.seed}" if self.seed else self.id

    @property
    def file(self) -> str:
        """File name."""
        return f"{self.name}.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeLine:
    """Record of one outcome, or of the reason for its absence."""

    id: str
    seed: int
    prompt: str
    source_prompt: str | None = None
    instruction: str | None = None
    """Original instruction, if the prompt was rewritten."""
    rewriter: str | None = None
    image_path: str | None = None
    absence: str | None = None
    seconds: float | None = None
    """Time that the method took, if it was measured."""

    @property
    def key(self) -> OutcomeId:
        """Identity of the outcome."""
        return OutcomeId(self.id, self.seed)

    def written(self) -> str:
        """Return the outcome as a line of JSON."""
        fields = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(fields, ensure_ascii=False) + "\n"


class OutcomeList:
    """Records of the outcomes in a folder.

    A line that a kill or a full disk truncated is ignored, so that its outcome is made again.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / OUTCOMES_FILE
        self._lines = {line.key: line for line in _read_lines(self._path) if _has_image(line, folder)}
        for draft in folder.glob(f"{DRAFT_PREFIX}*"):
            draft.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[OutcomeLine]:
        return iter(self._lines.values())

    def get(self, key: OutcomeId) -> OutcomeLine | None:
        """Return the record of an outcome, or None."""
        return self._lines.get(key)

    def add(self, line: OutcomeLine) -> None:
        """Append one record to the file."""
        self._lines[line.key] = line
        content = line.written().encode()
        try:
            with self._path.open("ab", buffering=0) as file:
                if file.write(content) != len(content):
                    raise OSError(None, "the disk is full")
        except OSError as error:
            raise BadInputError(
                f"'{self._path}' cannot be written: {error.strerror or error}. Make room there."
            ) from error

    def write(self, order: Iterable[str] = ()) -> None:
        """Rewrite the file, sorted by this order of edits and by seed."""
        indices = {edit_id: index for index, edit_id in enumerate(order)}
        lines = sorted(self, key=lambda line: (indices.get(line.id, len(indices)), line.seed))
        write_text(self._path, "".join(line.written() for line in lines))


def _read_lines(path: Path) -> Iterator[OutcomeLine]:
    """Yield the valid records of a file."""
    if not path.is_file():
        return
    for text in path.read_text("utf-8", "replace").split("\n"):
        try:
            entry: Any = json.loads(text)
            yield OutcomeLine(**entry)
        except (ValueError, TypeError):
            continue


def _has_image(line: OutcomeLine, folder: Path) -> bool:
    """Return whether the image of a record exists; an absence needs none."""
    return line.absence is not None or (folder / (line.image_path or line.key.file)).is_file()


def card_of(lines: Iterable[OutcomeLine], price: float | None, earlier: Mapping[str, Any]) -> MethodCard:
    """Summarize the outcomes in a folder.

    Args:
        lines: records of the outcomes.
        price: price of one outcome.
        earlier: card of an earlier session, whose peak memory is kept if it is higher.

    """
    absences = Counter[str]()
    outcomes = 0
    seconds: list[float] = []
    for line in lines:
        if line.absence is not None:
            absences[absence_reason(line.absence)] += 1
            continue
        outcomes += 1
        if line.seconds is not None:
            seconds.append(line.seconds)
    return MethodCard(
        outcomes=outcomes,
        failures=dict(absences.most_common()),
        seconds_mean=round(fmean(seconds), 4) if seconds else None,
        seconds_median=round(median(seconds), 4) if seconds else None,
        peak_memory=_max_or_none(earlier.get("peak_memory"), _peak_memory()),
        peak_gpu_memory=_max_or_none(earlier.get("peak_gpu_memory"), _peak_gpu_memory()),
        cost=None if price is None else round(price * outcomes, 6),
    )


def _max_or_none(*values: int | None) -> int | None:
    return max((value for value in values if value), default=None)


def _peak_memory() -> int | None:
    """Return the peak memory of this process and its children in bytes; None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else BYTES_PER_KIB
    return unit * max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _peak_gpu_memory() -> int | None:
    """Return the peak GPU memory in bytes, if the method has imported torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return int(torch.cuda.max_memory_allocated())


@dataclass(frozen=True, slots=True)
class Job:
    """One outcome to make."""

    edit: Edit
    seed: int

    @property
    def key(self) -> OutcomeId:
        """Identity of the outcome."""
        return OutcomeId(self.edit.id, self.seed)


def jobs_of(edits: Iterable[Edit], seeds: Sequence[int]) -> list[Job]:
    """Return a job for each edit and seed; raise `BadInputError` if two would write the same file."""
    jobs = [Job(edit, seed) for edit in edits for seed in seeds]
    key_by_file: dict[str, OutcomeId] = {}
    for job in jobs:
        key = key_by_file.setdefault(job.key.file.casefold(), job.key)
        if key != job.key:
            raise BadInputError(
                f"The edit '{key.id}' with seed {key.seed} and '{job.key.id}' with seed {job.key.seed} would both "
                f"be written to '{job.key.file}'; rename an edit, or leave that seed out."
            )
    return jobs


def split(
    jobs: Iterable[Job], folder: Path, outcome_list: OutcomeList, prompts: JobPrompts
) -> tuple[list[Job], list[Job]]:
    """Split jobs into finished and remaining ones.

    A refusal is finished, because a filter would refuse again; other absences are retried. An image without a record
    was written just before the process was killed: it is complete, and its record is added.
    """
    finished: list[Job] = []
    remaining: list[Job] = []
    for job in jobs:
        line = outcome_list.get(job.key)
        if line is not None and line.absence is not None:
            (finished if absence_reason(line.absence) == "refused" else remaining).append(job)
        elif not (folder / job.key.file).is_file():
            remaining.append(job)
        else:
            finished.append(job)
            if line is None:
                outcome_list.add(prompts.line(job, image_path=job.key.file))
    return finished, remaining


class JobPrompts:
    """Prompts of a method for its jobs, and the templates that they use."""

    def __init__(self, method: Method, wording: PromptOptions) -> None:
        self._method = method
        self._wording = wording
        self.templates: set[str] = set()

    def prompt_edit(self, edit: Edit) -> tuple[Edit, MethodPrompt]:
        """Return the edit as the method receives it, and its prompt."""
        prompted = self._wording.tell(self._method, edit)
        self.templates.update(prompted.templates)
        return prompted.edit, prompted.prompt

    def line(self, job: Job, **fields: Any) -> OutcomeLine:
        """Return the record of an outcome; without a prompt, it has the benchmark's instruction."""
        try:
            _, prompt = self.prompt_edit(job.edit)
        except BadInputError:
            prompt = MethodPrompt(job.edit.instruction)
        return OutcomeLine(
            id=job.edit.id,
            seed=job.seed,
            prompt=prompt.text,
            source_prompt=prompt.source,
            instruction=job.edit.instruction if prompt.rewriter else None,
            rewriter=prompt.rewriter,
            **fields,
        )


def make_all(
    method: Method, jobs: Sequence[Job], folder: Path, prompts: JobPrompts, on_done: Callable[[OutcomeLine], None]
) -> None:
    """Make the outcomes turn by turn and call `on_done` after each; a failure of one does not stop the others."""
    workers = method.at_once if method.at_once > 0 else os.cpu_count() or 1
    with _opencv_threads(1 if workers > 1 else None):
        pool = ThreadPoolExecutor(workers)
        try:
            for turn in _group_by_turn(jobs):
                futures = [pool.submit(_make_outcome, method, job, folder, prompts) for job in turn]
                for future in as_completed(futures):
                    on_done(future.result())
        finally:
            pool.shutdown(cancel_futures=True)


def _group_by_turn(jobs: Iterable[Job]) -> list[list[Job]]:
    """Group jobs by turn, because the source of a later turn is the outcome of the previous one."""
    by_turn: dict[int, list[Job]] = {}
    for job in jobs:
        by_turn.setdefault(job.edit.turn if job.edit.follows else 1, []).append(job)
    return [by_turn[turn] for turn in sorted(by_turn)]


def _make_outcome(method: Method, job: Job, folder: Path, prompts: JobPrompts) -> OutcomeLine:
    """Write the outcome and return its record; a failure of the method is recorded as an absence.

    Errors that concern all edits, such as a missing key or missing weights, are raised.
    """
    try:
        result, seconds = _run_method(method, job, folder, prompts)
        pixels = _check_image(result)
    except (CannotEditError, BadImageError) as error:
        return prompts.line(job, absence=as_utf8(str(error)))
    except EditGaugeError:
        raise
    except Exception as error:
        return prompts.line(job, absence=as_utf8(f"crashed: {type(error).__name__}: {error}"))
    write_png(pixels, folder / job.key.file)
    return prompts.line(job, image_path=job.key.file, seconds=round(seconds, 4))


def _run_method(method: Method, job: Job, folder: Path, prompts: JobPrompts) -> tuple[Any, float]:
    """Run the method and return the image and the seconds it took."""
    try:
        edit, _ = prompts.prompt_edit(job.edit)
    except BadInputError as error:
        raise CannotEditError(str(error)) from error
    if job.edit.inputs and not method.takes_inputs:
        raise CannotEditError(f"the edit has {len(job.edit.inputs) + 1} source pictures, and the method takes one")
    source = _read_source(job, folder)
    start = time.perf_counter()
    result = method.edit(edit, source, job.seed)
    return result, time.perf_counter() - start


def _read_source(job: Job, folder: Path) -> Pixels:
    """Read the source image, or the outcome of the previous turn."""
    if job.edit.follows is None:
        return read_image(job.edit.source.path)
    path = folder / OutcomeId(job.edit.follows, job.seed).file
    if not path.is_file():
        raise CannotEditError(f"the outcome of the turn before, '{job.edit.follows}', is missing")
    return read_image(path)


def _check_image(result: Any) -> Pixels:
    """Return the result of a method if it is an RGB image of 8 bits; otherwise raise `CannotEditError`."""
    is_array = isinstance(result, np.ndarray)
    if is_array and result.dtype == np.uint8 and result.ndim == 3 and result.shape[2] == 3 and result.size:
        return np.asarray(result)
    description = f"{result.dtype} {result.shape}" if is_array else type(result).__name__
    raise CannotEditError(f"crashed: the method gave {description} instead of uint8 (height, width, 3)")


@contextmanager
def _opencv_threads(count: int | None) -> Iterator[None]:
    """Limit the threads of OpenCV, so that concurrent edits do not compete, and restore their number afterwards."""
    original_count = cv2.getNumThreads()
    if count is not None:
        cv2.setNumThreads(count)
    try:
        yield
    finally:
        cv2.setNumThreads(original_count)
