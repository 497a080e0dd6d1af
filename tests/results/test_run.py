"""Reading a run, finished or not: every score once, in the order the run was asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import BadInputError, BadRunError
from editgauge.evidence import Box, Note, to_json
from editgauge.results import ImageStamp, JournalEntry, OutcomeKey, Run, RunWriter, ScoreKey, ScoreRecord, writer
from editgauge.results.manifest import FILE, Manifest, ProtocolEntry
from editgauge.types import ScoreSpec

Make = Callable[..., JournalEntry]
Open = Callable[..., RunWriter]

SPECS = (ScoreSpec("zeta", True, (0, 1)), ScoreSpec("alpha", True, (0, 1)))
ENTRY = ProtocolEntry("", "", "1", (), SPECS)
METHODS, PROTOCOLS, EDITS, SEEDS = ("second", "first"), ("yours", "mine"), ("z", "b", "a"), (2, 10)
IN_ORDER = [
    (method, edit, seed, protocol, spec.name)
    for method in METHODS
    for edit in EDITS
    for seed in SEEDS
    for protocol in PROTOCOLS
    for spec in SPECS
]


def everything() -> list[JournalEntry]:
    """One record for each method, edit, seed and protocol; no order of names is the order asked for."""
    return [
        JournalEntry(
            index, edit, "color", "s", method, seed, protocol, ImageStamp("/s"), None,
            tuple(
                ScoreRecord(edit=edit, method=method, seed=seed, protocol=protocol, spec=spec, value=0.5)
                for spec in SPECS
            ),
        )
        for method in METHODS for index, edit in enumerate(EDITS) for seed in SEEDS for protocol in PROTOCOLS
    ]  # fmt: skip


@given(st.permutations(everything()), st.integers(1, 30), st.booleans())
def test_scores_are_in_the_order_asked_for_whatever_the_order_of_writing(
    shuffled: list[JournalEntry], in_a_journal: int, finish: bool
) -> None:
    methods, protocols = dict.fromkeys(METHODS, "/x"), dict.fromkeys(PROTOCOLS, ENTRY)
    wanted = Manifest("b", "0" * 64, 3, 0, {}, methods, protocols, {}, "0.1.0")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "ENTRIES_PER_JOURNAL", in_a_journal)
        with RunWriter(Path(folder), wanted, b"") as run:
            for record in shuffled:
                run.append(record)
            if finish:
                run.finish()
        table = Run.open(Path(folder)).scores

    columns = ("method", "edit", "seed", "protocol", "name")
    assert list(zip(*(table[column].to_pylist() for column in columns), strict=True)) == IN_ORDER


def test_an_unfinished_run_can_be_read(
    open_writer: Open, make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ENTRIES_PER_JOURNAL", 2)
    with open_writer(tmp_path, planned={"mine": {"toy": 9}}) as run:
        for name in "abc":
            run.append(make_record(name, place=ord(name)))
        with (tmp_path / "scores" / "000002.jsonl").open("ab") as file:
            file.write(b"1234 half a li")  # another record is just being written

        opened = Run.open(tmp_path)
        assert opened.scores["edit"].to_pylist() == ["a", "a", "b", "b", "c", "c"]
        assert opened.planned == 9
        assert opened.manifest.finished is None


def test_a_run_without_scores_can_be_read(open_writer: Open, tmp_path: Path) -> None:
    open_writer(tmp_path).__exit__()
    opened = Run.open(tmp_path)

    assert opened.scores.num_rows == 0
    assert opened.evidence(ScoreKey("a", "mine", 0, "toy")) == {}


def test_a_run_that_is_being_written_can_be_read_at_any_time(
    open_writer: Open, make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealing turns the journal into columns between opening the run and reading its scores and evidence."""
    monkeypatch.setattr(writer, "ENTRIES_PER_JOURNAL", 2)
    with open_writer(tmp_path) as run:
        run.append(make_record("a", evidence=({"note": "seen"},)))
        opened = Run.open(tmp_path)
        run.append(make_record("b", evidence=({"note": "seen"},)))

        assert sorted(set(opened.scores["edit"].to_pylist())) == ["a", "b"]
        assert opened.evidence(ScoreKey("a", "mine", 0, "toy"))["gain"] == [Note("seen")]


def test_scores_sealed_while_they_are_being_read_are_not_lost(
    open_writer: Open, make_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_writer(tmp_path) as run:
        run.append(make_record("a"))
        opened, real = Run.open(tmp_path), Path.glob
        sealed: list[bool] = []

        def glob(self: Path, pattern: str) -> object:
            if not sealed:
                sealed.append(True)
                run.finish()  # just before the reader looks for journals
            return real(self, pattern)

        monkeypatch.setattr(Path, "glob", glob)
        assert set(opened.scores["edit"].to_pylist()) == {"a"}
        assert sealed


def test_evidence_is_found_by_record_and_score(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    box, note = Box("edited", 1, 2, 3, 4, "cat", 0.5), Note("a cat")
    told = (to_json(box), to_json(note))
    with open_writer(tmp_path) as run:
        run.append(make_record("a", {"gain": 1.0}, evidence=told))
        run.append(make_record("a", {"gain": 1.0}, seed=1, evidence=(to_json(Note("another seed")),)))
        run.append(make_record("a", {"gain": 1.0}, method="theirs", evidence=(to_json(Note("another method")),)))
        run.append(make_record("b", {"gain": 1.0}))
        run.finish()
    opened = Run.open(tmp_path)

    assert opened.evidence(ScoreKey("a", "mine", 0, "toy")) == {"gain": [box, note]}
    assert opened.evidence(ScoreKey("a", "mine", 1, "toy")) == {"gain": [Note("another seed")]}
    assert opened.evidence(ScoreKey("b", "mine", 0, "toy")) == {}
    assert opened.evidence(ScoreKey("a", "mine", 0, "other")) == {}


def test_what_a_score_means_is_looked_up(open_writer: Open, tmp_path: Path) -> None:
    open_writer(tmp_path).__exit__()

    assert Run.open(tmp_path).spec("toy", "loss").higher_is_better is False


def test_edits_are_read_in_order_whatever_their_words(make_manifest: Callable[..., Manifest], tmp_path: Path) -> None:
    from editgauge._util.images import ImageFile
    from editgauge.results.edits import to_lines
    from editgauge.types import Edit

    source = ImageFile("s.png", Path("/s.png"))
    edits = [
        Edit(id=name, source=source, type="color", instruction=text)
        for name, text in (("e0", "one\u2028two\x85three"), ("e1", "plain"))
    ]
    lines = to_lines(edits)
    RunWriter(tmp_path, make_manifest(), lines).__exit__()

    assert {name: edit["instruction"] for name, edit in Run.open(tmp_path).edits.items()} == {
        edit.id: edit.instruction for edit in edits
    }


@pytest.mark.parametrize("content", [b"\xff", b"{", b"{}\n", b"[1]\n", None])
def test_edits_that_cannot_be_read_are_named(content: bytes | None, open_writer: Open, tmp_path: Path) -> None:
    open_writer(tmp_path).__exit__()
    if content is None:
        (tmp_path / "edits.jsonl").unlink()
    else:
        (tmp_path / "edits.jsonl").write_bytes(content)

    with pytest.raises(BadRunError, match=r"edits\.jsonl' cannot be read"):
        _ = Run.open(tmp_path).edits


@pytest.mark.parametrize("kind", ["scores", "evidence"])
def test_a_damaged_segment_is_named(kind: str, open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    with open_writer(tmp_path) as run:
        run.append(make_record("a"))
        run.finish()
    path = tmp_path / kind / "000001.parquet"
    path.write_bytes(path.read_bytes()[:-30])

    with pytest.raises(BadRunError, match=rf"{kind}/000001\.parquet' was changed since .*editgauge verify"):
        _ = (
            Run.open(tmp_path).scores
            if kind == "scores"
            else Run.open(tmp_path).evidence(ScoreKey("a", "mine", 0, "toy"))
        )


def test_an_altered_journal_is_named(open_writer: Open, make_record: Make, tmp_path: Path) -> None:
    with open_writer(tmp_path) as run:
        run.append(make_record("a"))
    path = tmp_path / "scores" / "000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.9"))

    with pytest.raises(BadRunError, match=r"000001\.jsonl', line 1: "):
        _ = Run.open(tmp_path).scores


# --- views -------------------------------------------------------------------------------------------------------


def test_a_run_is_opened_by_folder_or_as_it_is(make_run: Callable[..., Path], make_record: Make) -> None:
    folder = make_run(make_record("a"))
    run = Run(folder)

    assert Run.open(run) is run
    assert Run.open([run]) is run
    assert Run.open(str(folder)).table.equals(run.table)


def test_the_score_table_has_values_reasons_and_groups_by_outcome(
    make_run: Callable[..., Path], make_record: Make
) -> None:
    run = Run(
        make_run(make_record("a", seed=3), make_record("a"), make_record("b", {"gain": "no_rule"}, source="dog.png"))
    )
    table = run.score_columns

    assert table.values("toy", "gain") == {OutcomeKey("a", "mine", 0): 0.5, OutcomeKey("a", "mine", 3): 0.5}
    assert table.reasons("toy", "gain") == {OutcomeKey("b", "mine", 0): "no_rule"}
    assert table.seeds == {("a", "mine"): [0, 3], ("b", "mine"): [0]}
    assert table.sources == {"a": "cat.png", "b": "dog.png"}
    assert table.values("toy", "unheard-of") == {}
    assert table.select(table.rows("toy", "gain")).value.size == 3


def test_every_outcome_has_a_verdict(make_run: Callable[..., Path], make_record: Make) -> None:
    specs = tuple(ScoreSpec(name, True, (0, 1)) for name in ("edit", "kept"))
    run = Run(
        make_run(
            make_record("a", {"edit": 1.0, "kept": 0.9}, protocol="editgauge", evidence=({"note": "Cat found."},)),
            make_record("b", {"edit": 0.1, "kept": 0.9}, protocol="editgauge", place=1),
            protocols={"editgauge": ProtocolEntry("", "", "1", (), specs)},
        )
    )
    outcomes = run.outcomes().to_pylist()

    assert [(row["edit"], row["done"], row["kept"]) for row in outcomes] == [("a", "yes", "well"), ("b", "no", "well")]
    assert outcomes[0]["because"].endswith("kept: 0.90; cat found")
    assert outcomes[0]["sentence"].startswith("Done: yes")
    assert run.outcomes(edits=["b"]).to_pylist() == outcomes[1:]
    assert [records[0].value for _, records in run.iter_outcomes()] == [1.0, 0.1]


def test_several_runs_are_read_as_one(make_run: Callable[..., Path], make_record: Make) -> None:
    old = make_run(make_record("a", {"gain": 0.0}), name="old")
    new = make_run(make_record("a", {"gain": 1.0}), make_record("a", {"gain": 0.5}, method="theirs"), name="new")
    run = Run.open([old, Run(new)])

    assert list(run.manifest.methods) == ["mine (old)", "mine (new)", "theirs"]
    assert run.table["method"].to_pylist() == list(run.manifest.methods)
    assert run.table["value"].to_pylist() == [0.0, 1.0, 0.5]
    assert run.planned == 3


def test_runs_that_cannot_be_compared_are_not_joined(make_run: Callable[..., Path], make_record: Make) -> None:
    folders = [make_run(make_record("a"), name=name, benchmark=name) for name in ("old", "new")]

    with pytest.raises(BadInputError, match=r"the benchmark changed from 'old' to 'new'"):
        Run.open(folders)
    with pytest.raises(BadInputError, match="at least one run"):
        Run.open([])


# --- manifests ---------------------------------------------------------------------------------------------------


def test_a_manifest_comes_back_with_everything_in_its_order(
    make_manifest: Callable[..., Manifest], tmp_path: Path
) -> None:
    told = make_manifest(
        methods={"zebra": "/z", "ape": "/a"},
        protocols={"second": ENTRY, "first": dataclasses.replace(ENTRY, deviations=("one", "two"))},
        planned={"zebra": {"second": 3}},
        models={"detector": {"id": "owl"}},
        segments={"000001": {"scores_sha256": "f0" * 32, "evidence_sha256": "0f" * 32}},
    )
    told.save(tmp_path)
    back = Manifest.load(tmp_path)

    assert back == told
    assert list(back.methods) == ["zebra", "ape"]
    assert list(back.protocols) == ["second", "first"]
    assert told.differences(back) == []


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(BadRunError, match=rf"'{folder}' is not a run folder: it has no manifest\.json"):
            Run.open(folder)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "cannot be read"),
        ('{"schema": 1', "cannot be read"),
        ("\udcff", "cannot be read"),
        ("[]", "has schema None, this version of editgauge reads schema 1"),
        ("{}", "has schema None"),
        ('{"schema": 2}', "has schema 2"),
        ('{"schema": 1}', "is not complete"),
        ('{"schema": 1, "protocols": {}}', "is not complete"),
        (
            '{"schema": 1, "protocols": {"toy": {}}}',
            "is damaged or was not written by editgauge:\n  - 'protocols' is not",
        ),
        ('{"schema": 1, "protocols": 3}', "is damaged or was not written by editgauge:\n  - 'protocols' is not"),
    ],
)
def test_a_broken_manifest_is_named_with_what_is_wrong(content: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content.encode("utf-8", "surrogateescape"))

    with pytest.raises(BadRunError, match=rf"manifest\.json' {complaint}"):
        Run.open(tmp_path)
