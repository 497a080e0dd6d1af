"""Attributes are written once for ever, by rules or by a judge, and never mixed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge.benchmarks.attributes import read_attributes
from editgauge.builders.attributes import attributes
from editgauge.errors import BadInputError
from tests.endpoint import MODEL, Reply, Served


@pytest.fixture
def bench(make_benchmark: Callable[..., Path], tmp_path: Path) -> Path:
    captions = {"source_caption": ["a red cat"] * 4, "target_caption": ["a blue cat"] * 4}
    return make_benchmark(tmp_path / "bench", 4, 48, **captions)


def name(text: str) -> str:
    """What a well-behaved judge says to each of the three questions."""
    if "Description:" not in text:
        return "A red cat on grass."
    return json.dumps({"attributes": ["blue cat"] if "Request:" in text else ["red cat", "cat on grass"]})


def test_rules_write_every_edit_once(bench: Path, tmp_path: Path) -> None:
    file = tmp_path / "attributes.jsonl"
    first = attributes(bench, out=file, rules=True, limit=2, quiet=True)
    assert (first.made, first.reused, first.lacking) == (2, 0, ())
    before = read_attributes(file)
    again = attributes(bench, out=file, rules=True, quiet=True)
    assert (again.made, again.reused) == (2, 2)
    assert before.items() <= read_attributes(file).items()
    assert {item.by for item in read_attributes(file).values()} == {"rules.v1"}
    assert attributes(bench, out=file, rules=True, limit=1, quiet=True).reused == 1
    assert len(read_attributes(file)) == 4  # a shorter command forgets nothing


def test_a_judge_is_asked_once_for_ever(served: Served, bench: Path, tmp_path: Path) -> None:
    served.plan = lambda text, seen: name(text)
    file, address = tmp_path / "attributes.jsonl", f"openai:{MODEL}@{served.url}"
    assert attributes(bench, out=file, judge=address, quiet=True).made == 4
    result = read_attributes(file)
    (by,) = {item.by for item in result.values()}
    assert by == f"{MODEL} (augclip_caption.v1, augclip_source.v1, augclip_target.v1)"
    assert {item.source for item in result.values()} == {("red cat", "cat on grass")}
    assert {item.caption for item in result.values()} == {"A red cat on grass."}
    asked = len(served.requests)
    assert attributes(bench, out=file, judge=address, quiet=True).reused == 4
    file.unlink()
    assert attributes(bench, out=file, judge=address, replay=True, quiet=True).made == 4  # from the transcripts
    assert len(served.requests) == asked
    assert read_attributes(file) == result


def test_faults_are_typed_and_counted_and_asked_again_where_they_may_pass(
    served: Served, bench: Path, tmp_path: Path
) -> None:
    file, address = tmp_path / "attributes.jsonl", f"openai:{MODEL}@{served.url}"
    served.plan = lambda text, seen: Reply(status=401) if "Description:" not in text else name(text)
    closed = attributes(bench, out=file, judge=address, quiet=True)
    assert closed.faults == {"rejected": 4}
    assert read_attributes(file) == {}
    served.plan = lambda text, seen: name(text) if "Request:" not in text else "no list here"
    odd = attributes(bench, out=file, judge=address, quiet=True)
    assert odd.faults == {"unparsable": 4}
    assert odd.made == 0


def test_an_empty_list_is_no_answer(served: Served, bench: Path, tmp_path: Path) -> None:
    served.plan = lambda text, seen: '{"attributes": []}' if "Request:" in text else name(text)
    result = attributes(bench, out=tmp_path / "a.jsonl", judge=f"openai:{MODEL}@{served.url}", quiet=True)
    assert result.faults == {"unparsable": 4}
    assert "no target attribute" in result.lacking[0].detail


def test_seeds_have_a_file_each_and_are_asked_apart(served: Served, bench: Path, tmp_path: Path) -> None:
    served.plan = lambda text, seen: name(text)
    file, address = tmp_path / "attributes.jsonl", f"openai:{MODEL}@{served.url}"
    result = attributes(bench, out=file, judge=address, seeds=3, limit=1, quiet=True)
    assert [item.name for item in result.files] == [
        "attributes.jsonl",
        "attributes.seed1.jsonl",
        "attributes.seed2.jsonl",
    ]
    assert all(len(read_attributes(item)) == 1 for item in result.files)
    assert len(served.requests) == 9
    assert {request["temperature"] for request in served.requests} == {1.0}


def test_length_and_number_are_asked_for(served: Served, bench: Path, tmp_path: Path) -> None:
    served.plan = lambda text, seen: name(text)
    address = f"openai:{MODEL}@{served.url}"
    result = attributes(bench, out=tmp_path / "a.jsonl", judge=address, length="long", number=30, limit=1, quiet=True)
    lists = [text for text in served.seen if "Description:" in text]
    assert all("exactly 30" in text and "more than 5 words" in text for text in lists)
    assert next(iter(read_attributes(result.files[0]).values())).by.endswith("long, 30)")


def test_attributes_of_two_origins_are_never_mixed(served: Served, bench: Path, tmp_path: Path) -> None:
    file = tmp_path / "attributes.jsonl"
    attributes(bench, out=file, rules=True, quiet=True)
    with pytest.raises(BadInputError, match=r"rules\.v1"):
        attributes(bench, out=file, judge=f"openai:{MODEL}@{served.url}", quiet=True)
    assert served.requests == []


def test_a_notebook_with_a_running_loop_can_ask_too(served: Served, bench: Path, tmp_path: Path) -> None:
    served.plan = lambda text, seen: name(text)

    async def cell() -> int:
        return attributes(bench, out=tmp_path / "a.jsonl", judge=f"openai:{MODEL}@{served.url}", quiet=True).made

    assert asyncio.run(cell()) == 4


def test_an_unreadable_source_is_a_fault_of_its_edits_alone(served: Served, bench: Path, tmp_path: Path) -> None:
    served.plan = lambda text, seen: name(text)
    first = sorted(bench.rglob("*.png"))[0]
    first.write_bytes(b"no picture")
    result = attributes(bench, out=tmp_path / "a.jsonl", judge=f"openai:{MODEL}@{served.url}", quiet=True)
    assert (result.made, result.faults) == (2, {"unreadable_image": 2})  # two edits share a source


def test_the_command_line_uses_the_words_of_the_function(bench: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    done = CliRunner().invoke(
        groups["build"], ["attributes", str(bench), "--rules", "--out", str(file), "--limit", "3"]
    )
    assert done.exit_code == 0, done.output
    assert len(read_attributes(file)) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "pass `rules=True`, or `judge`"),
        ({"rules": True, "judge": "openai:x"}, "pass `rules=True`, or `judge`"),
        ({"rules": True, "seeds": 2}, "Rules always give the same"),
        ({"rules": True, "number": 10}, "Rules always give the same"),
        ({"judge": "openai:x", "seeds": 0}, "at least 1"),
        ({"judge": "openai:x", "length": "medium"}, "`length` is one of short, long"),
        ({"judge": "nobody"}, "`judge` takes an address"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: dict[str, bool | int | str], told: str, bench: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError, match=told):
        attributes(bench, out=tmp_path / "a.jsonl", quiet=True, **options)  # type: ignore[arg-type]
    assert not (tmp_path / "a.jsonl").exists()


def test_prompts_of_ones_own_may_leave_out_length_and_amount_and_be_answered_by_a_bare_list(
    served: Served, bench: Path, tmp_path: Path
) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "augclip_source.v1.txt").write_text("List what you see. Description: {caption}")
    (prompts / "augclip_target.v1.txt").write_text("List what should be. Description: {caption} Request: {request}")

    def answer(text: str, seen: object) -> str:
        if "Description:" not in text:
            return "A red cat on grass."
        return "['blue cat']" if "Request:" in text else '["red cat", "cat on grass"]'

    served.plan = answer
    file = tmp_path / "attributes.jsonl"
    made = attributes(bench, out=file, judge=f"openai:{MODEL}@{served.url}", prompts=prompts, quiet=True)

    assert (made.made, made.lacking) == (4, ())
    assert {item.target for item in read_attributes(file).values()} == {("blue cat",)}
