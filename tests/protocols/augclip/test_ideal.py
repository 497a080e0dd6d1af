"""Readings of AugCLIP, and how their options combine."""

from __future__ import annotations

import pytest

from editgauge.errors import BadInputError, UnscorableError
from editgauge.protocols import open_protocol
from editgauge.protocols.augclip._ideal import PaperReading, fit_ideal_edit, read_options
from tests.parity.test_augclip import as_printed, random_seen

LITERAL = PaperReading(sums=True, pictures=True, unclamped=True, dropped=True)


def score(number: int, reading: PaperReading) -> float | None:
    try:
        return fit_ideal_edit(random_seen(number), read_options("augclip", {}), reading).score
    except UnscorableError:
        return None


def test_the_literal_reading_is_what_the_paper_prints() -> None:
    scored = 0
    for number in range(60):
        printed = as_printed(random_seen(number), LITERAL)
        literal = score(number, LITERAL)
        assert (literal is None) == (printed is None), "a set without a positive weight cannot be parted"
        if printed is not None and literal is not None:
            assert literal == pytest.approx(printed[0], abs=1e-3)
            scored += 1
    assert scored >= 3


def test_without_the_clamp_only_sources_on_the_target_side_differ() -> None:
    differences = []
    for number in range(40):
        printed = as_printed(random_seen(number), PaperReading())
        clamped, unclamped = score(number, PaperReading()), score(number, PaperReading(unclamped=True))
        if printed is not None and clamped != unclamped:
            differences.append(number)
            assert printed[1], "the source lies on the target side"
    assert differences


@pytest.mark.parametrize(
    ("variant", "same_as"),
    [
        ("augclip[sum]", "augclip@sum"),
        ("augclip[pictures]", "augclip@appendix"),
        ("augclip[dropped,pictures,sum,unclamped]", "augclip@literal"),
        ("augclip@sum[dropped,pictures,unclamped]", "augclip@literal"),
    ],
)
def test_fixed_names_are_combinations_of_options(variant: str, same_as: str) -> None:
    assert open_protocol(variant).name == variant
    assert open_protocol(variant).deviations == open_protocol(same_as).deviations


def test_readings_combine_with_all_other_options() -> None:
    combined = open_protocol("augclip[judge,logistic,number=10,sum,unclamped]").with_models({"judge": "gpt-4o"})
    assert combined.name == "augclip[judge=gpt-4o,logistic,number=10,sum,unclamped]"
    assert "sums" in combined.deviations[0]


def test_a_reading_takes_no_value() -> None:
    with pytest.raises(BadInputError, match="'sum' takes no value"):
        open_protocol("augclip[sum=2]")
