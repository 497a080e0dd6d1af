"""Pytest fixtures that compare a run with a baseline."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from editgauge.analysis.gate import GateResult

OPTION = "--edit-baseline"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the baseline run."""
    group = parser.getgroup("editgauge")
    group.addoption(OPTION, metavar="RUN", help="Run folder that new runs are compared with.")


@pytest.fixture(scope="session")
def edit_baseline(request: pytest.FixtureRequest) -> Path:
    """Return the run folder of `--edit-baseline`; skip the test without it."""
    baseline = request.config.getoption(OPTION)
    if baseline is None:
        pytest.skip(f"no baseline: pass {OPTION} RUN")
    return Path(baseline)


@pytest.fixture
def assert_edit_not_worse(edit_baseline: Path) -> Callable[..., GateResult]:
    """Return a function that takes a run, `max_drop` and optionally `score` and `method`, and fails if it is worse."""
    from editgauge.analysis import gate

    return partial(gate.assert_edit_not_worse, against=edit_baseline)
