"""The one sentence of a run says only what the verdicts say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from editgauge.analysis.headline import MethodName, make_headline
from editgauge.analysis.significance import RunTests
from editgauge.analysis.summary import summarize
from editgauge.results import ImageStamp, JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

SCORES = (ScoreSpec("edit", True, (0.0, 1.0), "", "done"), ScoreSpec("rest", True, (0.0, 1.0), "", "kept"))
ENTRY = ProtocolEntry("For tests.", "none", "1", (), SCORES)
Say = Callable[..., str]


@pytest.fixture
def say(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Say:
    """The sentence of methods with these means of edit done and rest kept; `idle` leaves the source as it is."""

    def told(means: Mapping[str, tuple[float, float]], sources: int = 40) -> str:
        records = [
            make_record(
                f"e{n}",
                {"edit": done + 0.01 * (n % 3), "rest": kept + 0.01 * (n % 3)},
                method=method,
                source=f"{n}.png",
                place=n,
                source_image=ImageStamp("/s.png", 1, 1, "aaa"),
                edited_image=ImageStamp("/e.png", 1, 1, "aaa" if method == "idle" else "bbb"),
            )
            for method, (done, kept) in means.items()
            for n in range(sources)
        ]
        run = Run.open(make_run(*records, protocols={"toy": ENTRY}))
        result = make_headline(summarize(run), RunTests(run))
        assert {part for part in result.parts if isinstance(part, MethodName)} <= {MethodName(name) for name in means}
        return result.sentence

    return told


def test_who_does_what_was_asked_and_who_breaks_the_rest(say: Say) -> None:
    sentence = say({"good": (0.9, 0.9), "poor": (0.2, 0.9), "wild": (0.6, 0.1)})
    assert sentence == (
        "good does what was asked best: 0.91 [0.91, 0.91] on average over 40 edits that can be judged; "
        "wild breaks the rest."
    )


def test_the_source_itself_is_never_the_best(say: Say) -> None:
    sentence = say({"idle": (0.95, 0.98), "good": (0.8, 0.9), "poor": (0.2, 0.5)})
    assert sentence.startswith("good does what was asked best: ")
    assert sentence.endswith("; poor breaks the rest.")


def test_methods_that_do_not_differ(say: Say) -> None:
    sentence = say({"one": (0.5, 0.5), "two": (0.5, 0.5)})
    assert sentence.startswith("No method does what was asked significantly better than another: one 0.51 [")
    assert sentence.endswith("; no method keeps the rest significantly better than another.")


def test_two_at_the_top(say: Say) -> None:
    sentence = say({"one": (0.9, 0.5), "two": (0.9, 0.5), "last": (0.1, 0.5)})
    assert sentence.startswith("one 0.91 [0.91, 0.91] and two 0.91 [0.91, 0.91] do what was asked best on average")
    assert ", without a significant difference between them" in sentence


def test_a_single_method_has_its_score_and_scale(say: Say) -> None:
    sentence = say({"one": (0.9, 0.5)})
    assert sentence.startswith("one scores 0.91 [0.91, 0.91] for 'edit done' on a scale from 0 to 1")


def test_more_than_three_methods_at_the_top_are_counted(say: Say) -> None:
    sentence = say({**dict.fromkeys(("a", "b", "c", "d", "e"), (0.9, 0.5)), "last": (0.1, 0.5)})
    assert " and 2 more do what was asked best" in sentence
    assert "…" not in sentence


def test_few_source_images_claim_nothing(say: Say) -> None:
    sentence = say({"one": (0.9, 0.5), "two": (0.1, 0.5)}, sources=4)
    assert sentence.startswith(
        "Too few source images (4; 10 are needed) to say which method does what was asked best: one 0.91 and"
    )
