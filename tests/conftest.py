"""Fixtures and hooks shared by all tests.

- `photo`: a photograph as an array, 128 x 128.
- `make_record(edit, scores, ...)`: a record of the protocol `toy` (scores `gain`, higher is better, and `loss`, lower).
  A string instead of a score is the reason for its absence.
- `make_run(*records, ...)`: a run folder with these records; further keywords change its manifest.
- `make_benchmark(folder, edits, size, **fields)`: a benchmark folder, its images cut from photographs.
- `make_outcomes(benchmark, folder, number)`: outcomes of the method with that number.
- `editgauge(*words, code=0, ...)`: the installed command, as users type it.
- `small_disk(size)`: a separate file system of limited size; skips loudly where mounting is not allowed.
- `shared`: the folder named by EDITGAUGE_SHARED_DATA; skips loudly without it, and fails where `CI` is true.
- `plugin`: a folder in which `plugin_package/` is installed; `plugged_in`: the same, visible to this process.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import cv2
import hypothesis
import numpy as np
import pytest
import skimage.data

from editgauge._util.images import Pixels, read_image, write_png
from editgauge._util.registry import Registry
from editgauge.benchmarks import benchmarks
from editgauge.methods import methods
from editgauge.metrics import metrics
from editgauge.models import models
from editgauge.protocols import protocols
from editgauge.results import ImageStamp, JournalEntry, RunWriter, ScoreRecord
from editgauge.results.manifest import Manifest, ProtocolEntry
from editgauge.types import Reason, ScoreSpec
from tests.command_server import CommandServer, serve
from tests.shared_data import MISSING, shared_data

pytest_plugins = ["tests.endpoint"]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # oversubscribed threads of torch are ten times slower
os.environ["EDITGAUGE_CACHE_BYTES"] = "0"  # every test runs its models; none reads answers of another
PROFILE: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
"""Examples may take long on a loaded machine."""
hypothesis.settings.register_profile("deterministic", derandomize=True, database=None, max_examples=25, **PROFILE)
hypothesis.settings.register_profile("explore", max_examples=500, print_blob=True, **PROFILE)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))
ALL_SLOW = re.compile(r"^pytestmark = (?:pytest\.mark\.slow|\[[^\]]*pytest\.mark\.slow)", re.MULTILINE)
collect_ignore = ["plugin_package"]  # a separate package with modules that are broken on purpose


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the import of files and folders without a selected test: many import torch or a browser."""
    files = list(collection_path.rglob("test_*.py")) if collection_path.is_dir() else [collection_path]
    if config.option.markexpr == "not slow":
        deselected = [ALL_SLOW.search(file.read_text("utf-8")) is not None for file in files if _is_test(file)]
    elif config.option.markexpr == "slow":
        deselected = ["pytest.mark.slow" not in file.read_text("utf-8") for file in files if _is_test(file)]
    else:
        return None
    return (bool(deselected) and all(deselected)) or None


def pytest_collection_finish() -> None:
    """Exclude imported modules from garbage collection, which would scan them in every test."""
    gc.freeze()


def _is_test(file: Path) -> bool:
    return re.fullmatch(r"test_\w+\.py", file.name) is not None


os.environ.pop("COLUMNS", None)  # set in xdist workers; output in pipes uses its full width without it

TOY = ProtocolEntry(
    about="A protocol for tests.",
    paper="none",
    version="1",
    deviations=(),
    scores=(ScoreSpec("gain", True, (0.0, 1.0)), ScoreSpec("loss", False, (0.0, 1.0))),
)


@pytest.fixture(scope="session")
def english_parser() -> None:
    """Load the parser before a test replaces the cache folder that holds its model."""
    from editgauge.instructions import parse_instruction

    parse_instruction("remove the dog")


@pytest.fixture(scope="session")
def photo() -> Pixels:
    astronaut: Callable[[], Pixels] = skimage.data.astronaut
    small = np.asarray(cv2.resize(astronaut(), (128, 128), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    small.setflags(write=False)
    return small


@dataclasses.dataclass(frozen=True)
class RawEntry(JournalEntry):
    """A journal entry with evidence as JSON, which may be damaged."""

    raw: tuple[dict[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        content = JournalEntry.to_dict(self)
        return {**content, "rows": [{**row, "evidence": list(self.raw)} for row in content["rows"]]}


def _record(
    edit: str = "cat-black",
    scores: Mapping[str, float | str] | None = None,
    *,
    method: str = "mine",
    seed: int = 0,
    protocol: str = "toy",
    place: int = 0,
    edit_type: str = "color",
    source: str = "cat.png",
    source_image: ImageStamp = ImageStamp("/nowhere/cat.png"),  # noqa: B008 - frozen
    edited_image: ImageStamp | None = None,
    detail: str = "",
    evidence: tuple[dict[str, Any], ...] = (),
) -> JournalEntry:
    values: Mapping[str, float | str] = {"gain": 0.5, "loss": "not_applicable"} if scores is None else scores
    records = (
        ScoreRecord(
            edit=edit,
            method=method,
            seed=seed,
            protocol=protocol,
            spec=ScoreSpec(name, True, (0.0, 1.0)),
            value=None if isinstance(score, str) else score,
            reason=cast("Reason", score) if isinstance(score, str) else None,
            detail=detail if isinstance(score, str) else "",
        )
        for name, score in values.items()
    )
    return RawEntry(
        place, edit, edit_type, source, method, seed, protocol, source_image, edited_image, tuple(records), raw=evidence
    )  # fmt: skip


@pytest.fixture
def make_record() -> Callable[..., JournalEntry]:
    return _record


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    def make(
        *records: JournalEntry,
        name: str = "run",
        finish: bool = True,
        extras: Mapping[str, Mapping[str, Any]] | None = None,
        groups: Mapping[str, Mapping[str, str]] | None = None,
        fields: Mapping[str, Mapping[str, Any]] | None = None,
        **changes: Any,
    ) -> Path:
        planned: dict[str, dict[str, int]] = {}
        for record in records:
            counts = planned.setdefault(record.method, {})
            counts[record.protocol] = counts.get(record.protocol, 0) + 1
        edits: dict[str, dict[str, Any]] = {
            record.edit: {"id": record.edit, "source": record.source} for record in records
        }
        for edit, edit_extras in (extras or {}).items():
            edits[edit]["extras"] = edit_extras
        for edit, edit_groups in (groups or {}).items():
            edits[edit]["groups"] = edit_groups
        for edit, edit_fields in (fields or {}).items():
            edits[edit] |= edit_fields
        lines = "".join(json.dumps(edit) + "\n" for edit in edits.values()).encode()
        manifest = Manifest(
            benchmark="toys",
            edits_sha256=hashlib.sha256(lines).hexdigest(),
            edits=len(edits),
            seed=0,
            models={},
            methods={method: f"/nowhere/{method}" for method in planned},
            protocols={"toy": TOY},
            planned=planned,
            editgauge="0.1.0",
            environment={"numpy": "2.0.0"},
        )
        with RunWriter(tmp_path / name, dataclasses.replace(manifest, **changes), lines) as writer:
            for record in records:
                writer.append(record)
            if finish:
                writer.finish()
        return tmp_path / name

    return make


SAMPLE_FOLDER = Path(skimage.__file__).parent / "data"
PHOTOS = [read_image(SAMPLE_FOLDER / f"{name}.png") for name in ("astronaut", "chelsea", "coffee")]
INSTRUCTIONS = (("color", "Make it black."), ("object_removal", "Remove it."), ("style", "As a charcoal drawing."))


@cache
def _crop(number: int, size: int) -> Pixels:
    """Crop a square from a photograph; every number gives another one."""
    photo = PHOTOS[number % 3]
    rows, columns = (side - size for side in photo.shape[:2])
    top, left = 37 * number % max(rows, 1), 53 * number % max(columns, 1)
    return np.ascontiguousarray(photo[top : top + size, left : left + size])


@pytest.fixture(scope="session")
def make_benchmark() -> Callable[..., Path]:
    """Return a factory: two edits share a source, every second edit has a mask; `fields` maps keys to values."""

    def make(folder: Path, edits: int = 4, size: int = 96, **fields: list[Any]) -> Path:
        folder.mkdir(parents=True)
        lines = []
        for number in range(edits):
            source = f"{number // 2}.png"
            if not (folder / source).exists():
                write_png(_crop(number // 2, size), folder / source)
            kind, instruction = INSTRUCTIONS[number % 3]
            record: dict[str, Any] = {"id": f"edit-{number:03d}", "source": source, "type": kind}
            record |= {"instruction": instruction}
            record |= {"mask": {"box": [size // 4, size // 4, size // 2, size // 2]}} if number % 2 else {}
            record |= {key: values[number] for key, values in fields.items() if values[number] is not None}
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        (folder / "edits.jsonl").write_text("".join(lines), encoding="utf-8")
        return folder

    return make


@pytest.fixture(scope="session")
def make_outcomes() -> Callable[..., Path]:
    """Return a factory: a darker patch, and around it blur that grows with the number of the method."""

    def make(benchmark: Path, folder: Path, number: int = 1) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for line in (benchmark / "edits.jsonl").read_text("utf-8").splitlines():
            edit = json.loads(line)
            source = read_image(benchmark / edit["source"])
            after = np.asarray(cv2.GaussianBlur(source, (0, 0), 0.3 + 0.3 * number), dtype=np.uint8)
            patch = slice(source.shape[0] // 4, source.shape[0] // 2)
            after[patch, patch] //= 2
            write_png(after, folder / f"{edit['id']}.png")
        return folder

    return make


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer]:
    with serve() as server:
        yield server


@pytest.fixture(scope="session")
def editgauge(command_server: CommandServer) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the command and asserts its exit code and that it prints no traceback.

    Calls with an environment or a plug-in start a process; others are forked from a warm one.
    """
    script = Path(sys.executable).with_name("editgauge")

    def run(
        *words: object,
        code: int = 0,
        cwd: Path | None = None,
        plugin: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        command = [*map(str, words)]
        if plugin or env:
            environment = {**os.environ, **({"PYTHONPATH": str(plugin)} if plugin else {}), **(env or {})}
            ended = subprocess.run(
                [str(script), *command], capture_output=True, encoding="utf-8", env=environment, cwd=cwd, check=False
            )
        else:
            ended = command_server(command, cwd)
        assert "Traceback" not in ended.stderr, ended.stderr
        assert ended.returncode == code, (ended.returncode, ended.stdout, ended.stderr)
        return ended

    return run


@pytest.fixture
def small_disk() -> Iterator[Callable[[str], Path]]:
    """Mount outside of pytest's folders: a killed test must not leave a mount in them that cannot be removed."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="small-disk-"))
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            folder.rmdir()
            pytest.skip(f"NOT TESTED, a small disk cannot be mounted here (are you root?): {error}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


@pytest.fixture
def tiny_disk(small_disk: Callable[[str], Path]) -> Path:
    return small_disk("64k")


@pytest.fixture
def shared() -> Path:
    return shared_data()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail tests in CI that are skipped because the public files are missing."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and MISSING in str(report.longrepr):
        report.outcome = "failed"
    return report


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package by hand: no network, no build, nothing in the environment of the project."""
    package = Path(__file__).parent / "plugin_package"
    project = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))["project"]
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(package / "src", site, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    about = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    )
    (about / "entry_points.txt").write_text("\n".join(groups))
    return site


@pytest.fixture
def plugged_in(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(plugin)
    _forget_plugins()
    yield plugin
    _forget_plugins()


def _forget_plugins() -> None:
    registries: tuple[Registry[Any], ...] = (benchmarks, methods, metrics, models, protocols)
    for registry in registries:
        vars(registry).pop("_plugins", None)
