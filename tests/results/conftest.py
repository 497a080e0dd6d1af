"""Shared by the tests of the run folder.

- `open_writer(folder, **changes)`: a writer; keywords change the manifest.
- `killed_before(step)`: a context in which the process dies just before it changes the file system for the step-th
  time; everything after that fails too, as it would for a dead process. Gives whether that many steps were made.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from editgauge.results import RunWriter
from editgauge.results.manifest import Manifest, ProtocolEntry
from editgauge.types import ScoreSpec

EDITS = b'{"id": "a", "source": "cat.png"}\n'


class Killed(BaseException):
    """The process died."""


class Death:
    """Whether it came."""

    came = False


def _manifest(**changes: Any) -> Manifest:
    toy = ProtocolEntry("", "", "1", (), (ScoreSpec("gain", True, (0, 1)), ScoreSpec("loss", False, (0, 1))))
    plain = Manifest(
        benchmark="toys",
        edits_sha256=hashlib.sha256(EDITS).hexdigest(),
        edits=1,
        seed=0,
        models={},
        methods={"mine": "/nowhere/mine"},
        protocols={"toy": toy},
        planned={"mine": {"toy": 1}},
        editgauge="0.1.0",
        roles={"toy": []},
    )
    return dataclasses.replace(plain, **changes)


@pytest.fixture
def make_manifest() -> Callable[..., Manifest]:
    return _manifest


@pytest.fixture
def open_writer() -> Callable[..., RunWriter]:
    return lambda folder, **changes: RunWriter(folder, _manifest(**changes), EDITS)


@pytest.fixture
def killed_before(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], AbstractContextManager[Death]]:
    @contextmanager
    def context(step: int) -> Iterator[Death]:
        death, made = Death(), 0

        def mortal(name: str) -> None:
            real = getattr(Path, name)

            def change(self: Path, *args: Any, **options: Any) -> Any:
                nonlocal made
                made += 1
                death.came = death.came or made == step
                if death.came:
                    raise Killed
                return real(self, *args, **options)

            patch.setattr(Path, name, change)

        with monkeypatch.context() as patch:
            for name in ("replace", "rename", "unlink", "mkdir"):
                mortal(name)
            try:
                yield death
            except Killed:
                assert death.came

    return context
