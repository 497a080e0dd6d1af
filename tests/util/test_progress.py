"""The time that is left: derived from how fast steps come, not from how long it took until the first one came."""

from __future__ import annotations

import io

import pytest

from editgauge._util import progress
from editgauge._util.progress import StepRate, log_info, print_log


def test_the_time_until_the_first_step_does_not_count() -> None:
    pace = StepRate()
    for number in range(11):
        pace.step(1000.0 + number / 2)

    assert pace.rate(1005.0) == 2.0


def test_the_first_steps_alone_give_no_estimate() -> None:
    pace = StepRate()
    assert pace.rate(5.0) is None
    for _ in range(8):
        pace.step(5.0)

    assert pace.rate(5.1) is None


def test_a_burst_evens_out() -> None:
    """A hundred steps at once every ten seconds are ten a second."""
    pace = StepRate()
    for burst in range(40):
        for _ in range(100):
            pace.step(10.0 * burst)

    rate = pace.rate(390.0)
    assert rate is not None
    assert 9 < rate < 11


def test_it_follows_a_run_that_becomes_slower() -> None:
    pace = StepRate()
    for second in range(1000):
        pace.step(float(second))
    for second in range(1000, 2000, 10):
        pace.step(float(second))

    rate = pace.rate(1990.0)
    assert rate is not None
    assert rate == pytest.approx(0.1, rel=0.1)


def test_a_line_without_a_rate_says_only_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("editgauge._util.progress.time.monotonic", lambda: now[0])
    out = io.StringIO()
    with progress._lines("scoring", 100, 0, out) as advance:
        for now[0] in (60.0, 62.0, 64.0, 66.0):
            advance()

    assert out.getvalue() == "scoring: 1 of 100\nscoring: 4 of 100, 0.5/s, 192 s left\n"


def test_messages_are_logged_unless_quiet(caplog: pytest.LogCaptureFixture) -> None:
    log_info("3 outcomes left out")
    log_info("never shown", quiet=True)
    assert caplog.messages == ["3 outcomes left out"]


def test_the_command_line_prints_messages_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_log()
    print_log()
    log_info("a \x1b[31mred\x1b[0m name")
    assert capsys.readouterr().err == "a red name\n"
