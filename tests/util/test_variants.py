"""Names with options in brackets."""

from __future__ import annotations

import pytest

from editgauge._util.variants import base_name, format_variant, options_text, paper_name, parse_variant
from editgauge.errors import BadInputError


@pytest.mark.parametrize(
    ("name", "base", "options"),
    [
        ("editval", "editval", {}),
        ("editval[]", "editval", {}),
        ("editval[ delta=200 , algorithm1 ]", "editval", {"delta": "200", "algorithm1": ""}),
        ("rubric:gedit@released[gpt-4o]", "rubric:gedit@released", {"gpt-4o": ""}),
        ("x[a=b=c]", "x", {"a": "b=c"}),
    ],
)
def test_names_are_split_into_base_and_options(name: str, base: str, options: dict[str, str]) -> None:
    assert parse_variant(name) == (base, options)
    assert parse_variant(format_variant(base, options)) == (base, options)
    assert base_name(name) == base


@pytest.mark.parametrize("name", ["", "[a]", "x[a", "x]a[", "x[a][b]", "x[a]b"])
def test_names_with_unmatched_brackets_are_refused(name: str) -> None:
    with pytest.raises(BadInputError):
        parse_variant(name)


def test_parts_of_a_name() -> None:
    assert options_text("augclip@sum[lda,c=2]") == "lda,c=2"
    assert paper_name("augclip@sum[lda,c=2]") == "augclip"
