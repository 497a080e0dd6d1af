"""Coroutines run from plain functions, with and without a running event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from editgauge._util.batching import run_async


async def current_thread() -> threading.Thread:
    await asyncio.sleep(0)
    return threading.current_thread()


def test_without_a_loop_it_runs_in_this_thread() -> None:
    assert run_async(current_thread()) is threading.current_thread()


def test_inside_a_running_loop_it_runs_in_another_thread() -> None:
    async def notebook() -> threading.Thread:
        return run_async(current_thread())

    assert asyncio.run(notebook()) is not threading.current_thread()


def test_errors_come_through() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def notebook() -> None:
        run_async(fail())

    calls: list[Callable[[], object]] = [lambda: run_async(fail()), lambda: asyncio.run(notebook())]
    for call in calls:
        with pytest.raises(ValueError, match="no"):
            call()
