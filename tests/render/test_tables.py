"""One table, four renderers: nothing that a cell holds may be lost, and no text of a run may act as markup."""

from __future__ import annotations

import pytest

from editgauge._render.tables import (
    Column,
    EmptyCell,
    Label,
    ResultTable,
    ValueCell,
    as_html,
    as_latex,
    as_markdown,
    value_cell,
)
from editgauge._stats.intervals import Mean
from editgauge._stats.resampling import Estimate

TABLE = ResultTable(
    [Column("method", "left"), Column("ssim", higher_is_better=True), Column("share", format=".0%")],
    [
        [Label("a_b[x=1]", "the first"), ValueCell(0.5, 0.25, 0.75, n=12, unscored=3, few=True), 0.5],
        ["<b>&|", EmptyCell(unscored=2, reason="no_rule"), EmptyCell()],
    ],
    title="50 % of c_d",
    legend="mean [95% interval]",
)


def test_markdown_escapes_texts_and_keeps_every_part_of_a_cell() -> None:
    assert as_markdown(TABLE).splitlines() == [
        "### 50 % of c_d (mean [95% interval])",
        "",
        "| method | ssim ↑ | share |",
        "|---|---|---|",
        r"| a_b\[x=1\] the first | 0.500 [0.250, 0.750] (few) n=12+3 | 50% |",
        r"| \<b\>&\| | unscored 2 | - |",
    ]


def test_latex_escapes_texts_and_aligns_columns() -> None:
    assert as_latex(TABLE).splitlines() == [
        r"\begin{table}",
        r"\caption{50 \% of c\_d (mean [95\% interval])}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"method & ssim $\uparrow$ & share \\",
        r"\midrule",
        r"a\_b[x=1] the first & 0.500 [0.250, 0.750] (few) n=12+3 & 50\% \\",
        r"<b>\&| & unscored 2 & - \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_html_escapes_texts_and_says_why_there_is_no_score() -> None:
    page = as_html(TABLE)
    assert '<th scope="row"><bdi>&lt;b&gt;&amp;|</bdi></th>' in page
    assert '<td class="number" title="no_rule"><span class="n">2 unscored</span></td>' in page
    assert (
        '0.500 <span class="interval">[0.250, 0.750]<sup class="few">†</sup></span> <span class="n">n 12</span>' in page
    )
    assert '<span class="n">3 unscored</span>' in page


def test_a_row_must_fill_all_columns() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells, but the table has 2 columns"):
        ResultTable([Column("a"), Column("b")], [["only one"]])


def test_an_estimate_without_a_value_becomes_an_empty_cell_with_its_reason() -> None:
    assert value_cell(Estimate(None, None, None, 0, 0, "one rater")) == EmptyCell(reason="one rater")
    assert value_cell(None) == EmptyCell()
    assert value_cell(Mean(0.5, 0.4, 0.6, 10, 5), n=10) == ValueCell(0.5, 0.4, 0.6, n=10, few=True)


def test_negative_numbers_have_a_real_minus_sign_on_pages_only() -> None:
    table = ResultTable([Column("a", "left"), Column("b")], [["x", ValueCell(-0.5, -1.0, 0.0)]])
    assert "−0.500 <span" in as_html(table)
    assert "-0.500 [-1.000, 0.000]" in as_markdown(table)
