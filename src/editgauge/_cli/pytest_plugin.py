"""Fixtures for tests of edit quality; pytest loads them by the entry point of the package."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from editgauge.analysis.gate import Gate

OPTION = "--edit-baseline"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The baseline of all tests that ask for one."""
    group = parser.getgroup("editgauge")
    group.addoption(OPTION, metavar="RUN", help="Run folder that new runs are compared with.")


@pytest.fixture(scope="session")
def edit_baseline(request: pytest.FixtureRequest) -> Path:
    """The run folder of `--edit-baseline`; the test is skipped without it."""
    baseline = request.config.getoption(OPTION)
    if baseline is None:
        pytest.skip(f"there is no baseline: give {OPTION} RUN")
    return Path(baseline)


@pytest.fixture
def assert_edit_not_worse(edit_baseline: Path) -> Callable[..., Gate]:
    """Call it with a run, `max_drop` and optionally `score` and `method`: fails when the run is worse."""
    from editgauge.analysis import gate

    return partial(gate.assert_edit_not_worse, against=edit_baseline)
