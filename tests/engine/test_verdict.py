"""One verdict from hand-made scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from editgauge._util.images import ImageFile
from editgauge.engine.result import ScoreResult
from editgauge.evidence import Box, Evidence, ImageNote, Note, Side
from editgauge.protocols.verdict import make_verdict
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


def test_all_agree() -> None:
    rows = [
        row("editval", "edit", 1.0, "Zebra .96 found, horse gone: replaced."),
        row("pixlens", "edit", 1.0, "Zebra .96 found in its place."),
        row("editgauge", "edit", 0.99),
        row("editgauge", "preservation", 0.11),
        row("editgauge", "artifact", 0.2),
    ]
    assert make_verdict(rows).sentence == (
        "Done: yes (zebra .96 found, horse gone: replaced). Rest kept: poorly (preservation 0.11). "
        "Artifacts: none seen. Sure: high; from: editval, pixlens, editgauge."
    )


def test_a_disagreement_is_said_and_not_averaged() -> None:
    verdict = make_verdict([row("editval", "edit", 1.0), row("pixlens", "edit", 0.0)])
    assert (verdict.done, verdict.done_because, verdict.sure) == ("disputed", "editval: yes, pixlens: no", "low")


def test_where_nothing_tells_it_says_what_to_add() -> None:
    unknown = "none of the 80 words that the model knows means 'submarine'"
    verdict = make_verdict([row("editval", "edit", None, unknown, "unknown_word")])
    assert verdict.done == "cannot tell"
    assert "submarine" in verdict.done_because
    assert "--models best" in verdict.sentence


def test_an_answer_near_one_half_is_none() -> None:
    verdict = make_verdict([row("editgauge", "edit", 0.55), row("preservation", "ssim_outside", 0.95)])
    assert (verdict.done, verdict.kept) == ("cannot tell", "well")
    assert verdict.done_because == "editgauge 0.55 is too close to one half"


def test_scores_that_are_not_there_are_not_made_up() -> None:
    verdict = make_verdict([row("preservation", "ssim", 0.3)])
    assert (verdict.done, verdict.kept, verdict.artifacts) == ("cannot tell", "cannot tell", "cannot tell")
    assert verdict.sources == ()


def test_a_low_number_is_no_answer_where_no_detector_knows_the_word() -> None:
    unknown = "none of the 80 words that the model knows means 'hat'"
    verdict = make_verdict([row("editval", "edit", None, unknown, "unknown_word"), row("editgauge", "edit", 0.28)])
    assert verdict.done == "cannot tell"
    assert verdict.done_because == f"editgauge 0.28, but {unknown}"
    assert "--models best" in verdict.advice


def test_what_is_said_of_several_steps_is_one_sentence() -> None:
    notes = Note("1 of 2 steps done"), Note("Zebra .96 found, horse gone: replaced."), Note("No dog seen.")
    both = [row(name, "edit", 0.0, evidence=notes) for name in ("editval", "pixlens")]
    assert make_verdict(both).done_because == "1 of 2 steps done; zebra .96 found, horse gone: replaced; no dog seen"


def test_what_the_loader_did_to_an_image_is_no_reason_for_the_verdict() -> None:
    scaled = ImageNote("Source image: scaled from 9 x 9 to 3 x 3.")
    loaded = row("editval", "edit", 1.0, "Zebra .96 found.", evidence=(scaled,))
    assert make_verdict([loaded]).done_because == "zebra .96 found"


def boxed(protocol: str, value: float, note: str, *boxes: tuple[Side, str, float]) -> ScoreRecord:
    return row(
        protocol, "edit", value, note, evidence=tuple(Box(on, 0, 0, 9, 9, label, sure) for on, label, sure in boxes)
    )


def an_edit(edit_type: str, **fields: str) -> Edit:
    return Edit(id="e", source=ImageFile("p", Path("/p")), type=edit_type, instruction="", **fields)  # type: ignore[arg-type]


KEPT = row("editgauge", "preservation", 0.9)
NO_DOG = [boxed(name, 0.0, "No dog seen.", ("edited", "beach", 0.9)) for name in ("editval", "pixlens")]
ADD_DOG = an_edit("object_addition", to="dog")


def test_a_thing_that_one_detector_does_not_see_may_be_there_all_the_same() -> None:
    verdict = make_verdict([*NO_DOG, row("editgauge", "edit", 0.12), KEPT], ADD_DOG)
    assert (verdict.done, verdict.sure) == ("no", "low")
    assert "--models best" in verdict.advice


def test_where_nothing_changed_or_all_was_redrawn_no_is_certain() -> None:
    assert make_verdict([*NO_DOG, row("editgauge", "edit", 0.01), KEPT], ADD_DOG).sure == "high"
    assert make_verdict([*NO_DOG, row("editgauge", "edit", 0.12)], ADD_DOG).sure == "medium"


def test_what_should_be_gone_and_is_clearly_seen_makes_a_no_certain() -> None:
    swap = an_edit("object_replacement", subject="sandwich", to="pizza")
    own = row("editgauge", "edit", 0.1)
    clear, faint = (boxed("editval", 0.0, "No pizza.", ("edited", "sandwich", sure)) for sure in (0.8, 0.34))
    assert make_verdict([clear, own, KEPT], swap).sure == "high"
    assert make_verdict([faint, own, KEPT], swap).sure == "low"


def test_a_yes_is_certain_only_with_a_clear_sighting_and_a_second_witness() -> None:
    clear, faint = (
        [boxed(name, 1.0, "Dog found.", ("edited", "dog", sure)) for name in ("editval", "pixlens")]
        for sure in (0.8, 0.4)
    )
    own = row("editgauge", "edit", 0.8)
    assert make_verdict([*clear, own], ADD_DOG).sure == "high"
    assert make_verdict([*faint, own], ADD_DOG).sure == "medium"
    assert make_verdict(clear, ADD_DOG).sure == "medium"  # one detector, whichever rules read it


def test_what_would_help_is_said_once() -> None:
    advice = "--models best looks for any word, --judge asks a vision-language model"
    verdict = make_verdict(
        [
            row("editval", "edit", None, "no model looked for 'hat'", "unknown_word", advice=advice),
            row("editgauge", "edit", None, "no hat is seen", "not_detected", advice=advice),
        ]
    )
    assert verdict.sentence.count("--models best") == 1


def test_a_protocol_without_a_rule_is_no_reason_where_another_says_what_it_lacks() -> None:
    no_rule = row("editval", "edit", None, "this protocol has no rule", "no_rule")
    unknown = row("pixlens", "edit", None, "no word means 'salad'", "unknown_word")
    verdict = make_verdict([no_rule, unknown])
    assert verdict.done_because == "no word means 'salad'"
    assert "rule" not in verdict.sentence
    assert make_verdict([no_rule]).done_because == "no chosen protocol has a rule for this edit type"


def test_the_short_table_leaves_out_protocols_without_a_rule() -> None:
    no_rule, answer = row("editval", "edit", None, "", "no_rule"), row("pixlens", "edit", 1.0)
    own = row("editgauge", "edit", None, "", "no_rule")
    assert _headlines(no_rule, answer, KEPT) == [answer, KEPT]
    assert _headlines(no_rule, own, KEPT) == [own, KEPT], "where no protocol has a rule, that is said once"


def _headlines(*rows: ScoreRecord) -> list[ScoreRecord]:
    picture = np.zeros((2, 2, 3), np.uint8)
    item = Item(
        edit=ADD_DOG, outcome=Outcome(edit_id="e", method="m", image=Path("/p")), source=picture, edited=picture
    )
    return ScoreResult(rows, item, make_verdict(rows)).headlines
