"""One verdict from hand-made scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import ImageFile
from editgauge.engine.result import ScoreResult
from editgauge.evidence import Evidence, ImageNote, Note
from editgauge.protocols.editgauge._models import fitted
from editgauge.protocols.verdict import decide_done, make_verdict
from editgauge.results import ScoreRecord
from editgauge.types import Edit, Item, Outcome, Reason, ScoreSpec


def row(
    protocol: str,
    name: str,
    value: float | None,
    note: str = "",
    reason: Reason | None = None,
    *,
    advice: str = "",
    evidence: tuple[Evidence, ...] = (),
) -> ScoreRecord:
    return ScoreRecord(
        edit="e",
        method="m",
        seed=0,
        protocol=protocol,
        spec=ScoreSpec(name, True, (0.0, 1.0)),
        value=value,
        reason=reason,
        detail=note if value is None else "",
        advice=advice,
        evidence=(*((Note(note),) if note and value is not None else ()), *evidence),
    )


def own(**values: float) -> list[ScoreRecord]:
    return [row("editgauge", name, value) for name, value in values.items()]


def test_every_answer_rests_on_its_own_score() -> None:
    """A zebra instead of a horse before a redrawn background: done, not kept, well made."""
    rules = [row("editval", "edit", 1.0, "Zebra .96 found, no horse seen: replaced."), row("pixlens", "edit", 1.0)]
    verdict = make_verdict([*rules, *own(edit=0.93, kept=0.3, quality=0.8, success=0.4)])
    assert (verdict.done, verdict.kept, verdict.quality) == ("yes", "poorly", "good")
    assert verdict.done_because == "zebra .96 found, no horse seen: replaced; requested change 0.93"
    assert verdict.sentence.startswith("Done: yes (zebra .96 found, no horse seen: replaced; requested change 0.93).")
    assert list(verdict.columns) == ["done", "kept", "quality", "confidence", "because"]


@pytest.mark.parametrize(
    ("edit", "success", "kept", "done"),
    [
        (0.9, 0.8, 0.9, "yes"),
        (0.9, 0.1, 0.9, "cannot tell"),
        (0.9, 0.1, 0.2, "yes"),
        (0.65, 0.1, 0.2, "cannot tell"),
        (0.5, 0.5, 0.9, "cannot tell"),
        (0.2, 0.1, 0.9, "no"),
        (None, 0.05, 0.9, "no"),
        (None, 0.05, 0.2, "cannot tell"),
        (None, None, 0.9, "cannot tell"),
    ],
)
def test_done_follows_from_three_scores(edit: float | None, success: float | None, kept: float, done: str) -> None:
    assert decide_done(edit, success, kept) == done


def test_confidence_is_the_measured_share_of_right_answers() -> None:
    levels = {level.level: level for level in fitted().confidence if level.answer == "no"}
    certain = make_verdict(own(edit=0.05, success=0.001, kept=0.9))
    doubtful = make_verdict(own(edit=0.3, success=0.9, kept=0.9))
    assert (certain.confidence, certain.precision) == ("high", (levels["high"].right, levels["high"].total))
    assert doubtful.confidence == "low"
    assert f"{levels['high'].right} of {levels['high'].total} such answers" in certain.sentence


def test_rules_answer_where_the_own_protocol_does_not() -> None:
    assert make_verdict([row("editval", "edit", 1.0, "Zebra .96 found.")]).done == "yes"
    disagreeing = make_verdict([row("editval", "edit", 1.0), row("pixlens", "edit", 0.0)])
    assert (disagreeing.done, disagreeing.confidence) == ("cannot tell", "low")
    assert disagreeing.done_because == "protocols disagree: editval: yes, pixlens: no"


def test_steps_that_were_done_in_part_are_partly_done() -> None:
    assert make_verdict(own(edit=0.1, steps_done=0.5, success=0.1, kept=0.9)).done == "partly"


def test_where_nothing_tells_it_says_what_to_add() -> None:
    unknown = "none of the 80 words that the model knows means 'submarine'"
    verdict = make_verdict([row("editval", "edit", None, unknown, "unknown_word")])
    assert verdict.done == "cannot tell"
    assert "submarine" in verdict.done_because
    assert "`models='best'`" in verdict.sentence


def test_scores_that_do_not_exist_are_not_made_up() -> None:
    verdict = make_verdict([row("preservation", "ssim", 0.3)])
    assert (verdict.done, verdict.kept, verdict.quality) == ("cannot tell", "cannot tell", "cannot tell")
    assert verdict.sources == ()


def test_what_the_loader_did_to_an_image_is_no_reason_for_the_verdict() -> None:
    scaled = ImageNote("Source image: scaled from 9 x 9 to 3 x 3.")
    loaded = row("editval", "edit", 1.0, "Zebra .96 found.", evidence=(scaled,))
    assert make_verdict([loaded]).done_because == "zebra .96 found"


KEPT = row("editgauge", "kept", 0.9)


def test_what_would_help_is_said_once() -> None:
    advice = "`models='best'` looks for any word, `judge` asks a vision-language model"
    verdict = make_verdict(
        [
            row("editval", "edit", None, "no model looked for 'hat'", "unknown_word", advice=advice),
            row("editgauge", "edit", None, "no hat is seen", "not_detected", advice=advice),
        ]
    )
    assert verdict.sentence.count("`models='best'`") == 1


def test_a_protocol_without_a_rule_is_no_reason_where_another_says_what_it_lacks() -> None:
    no_rule = row("editval", "edit", None, "this protocol has no rule", "no_rule")
    unknown = row("pixlens", "edit", None, "no word means 'salad'", "unknown_word")
    verdict = make_verdict([no_rule, unknown])
    assert verdict.done_because == "no word means 'salad'"
    assert "rule" not in verdict.sentence
    assert make_verdict([no_rule]).done_because == "no chosen protocol has a rule for this edit type"


def test_the_short_table_leaves_out_protocols_without_a_rule() -> None:
    no_rule, answer = row("editval", "edit", None, "", "no_rule"), row("pixlens", "edit", 1.0)
    unscored = row("editgauge", "edit", None, "", "no_rule")
    assert _headlines(no_rule, answer, KEPT) == [answer, KEPT]
    assert _headlines(no_rule, unscored, KEPT) == [unscored, KEPT], "where no protocol has a rule, that is said once"


def _headlines(*rows: ScoreRecord) -> list[ScoreRecord]:
    picture = np.zeros((2, 2, 3), np.uint8)
    edit = Edit(id="e", source=ImageFile("p", Path("/p")), type="object_addition", instruction="", to="dog")
    item = Item(edit=edit, outcome=Outcome(edit_id="e", method="m", image=Path("/p")), source=picture, edited=picture)
    return ScoreResult(rows, item, make_verdict(rows)).headlines
