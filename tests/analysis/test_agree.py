"""The scores of a run beside people: levels, directions, what is left out."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from scipy import stats

from editgauge.analysis.agree import LEVELS, Agreement, agree
from editgauge.analysis.choice_agreement import ChoiceScore
from editgauge.analysis.rating_agreement import RatedScore
from editgauge.analysis.ratings import Rating, read_ratings
from editgauge.benchmarks.datasets import ratings as write_ratings
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import JournalEntry
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

MakeRun = Callable[..., Path]
Make = Callable[..., JournalEntry]
METHODS = ("good", "fair", "poor", "bad")
EDITS = 12


def quality(method: str, edit: int) -> float:
    return 0.9 - 0.2 * METHODS.index(method) + 0.05 * math.sin(3 * edit)


@pytest.fixture
def run(make_run: MakeRun, make_record: Make) -> Path:
    """`gain` knows the quality; `loss` knows it upside down, as it should; the last edit has no loss."""
    return make_run(
        *(
            make_record(
                f"e{edit}",
                {"gain": quality(method, edit), "loss": 1 - quality(method, edit) if edit < EDITS - 1 else "crashed"},
                method=method,
                place=edit,
                source=f"{edit // 2}.png",
                edit_type=("color", "style")[edit % 2],
            )
            for method in METHODS
            for edit in range(EDITS)
        )
    )


def lines(folder: Path, name: str, rows: Sequence[dict[str, object]]) -> Path:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder / name


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Anna sees the quality as it is, Ben in coarse steps."""
    return lines(
        tmp_path,
        "ratings.jsonl",
        [
            {"edit": f"e{edit}", "method": method, "rater": rater, "value": see(quality(method, edit))}
            for method in METHODS
            for edit in range(EDITS)
            for rater, see in (("anna", float), ("ben", lambda seen: round(seen * 2)))
        ],
    )


def rated(found: Agreement, name: str) -> RatedScore:
    return next(each for each in found.rated if each.spec.name == name)


def chosen(found: Agreement, name: str) -> ChoiceScore:
    assert found.choice_scores is not None
    return next(each for each in found.choice_scores.scores if each.spec.name == name)


def test_every_level_has_its_number_and_n(run: Path, ratings: Path) -> None:
    gain = rated(agree(run, ratings=ratings), "gain")
    pairs = [(quality(m, e), (quality(m, e) + round(quality(m, e) * 2)) / 2) for m in METHODS for e in range(EDITS)]
    assert list(gain.levels) == list(LEVELS)
    assert gain.levels["pooled"].spearman.value == pytest.approx(stats.spearmanr(*zip(*pairs, strict=True)).statistic)
    assert gain.levels["pooled"].pearson.value == pytest.approx(stats.pearsonr(*zip(*pairs, strict=True)).statistic)
    assert {level: each.spearman.n for level, each in gain.levels.items()} == {
        "pooled": 48, "per_method": 48, "per_rater": 96, "by_type": 48, "system": 4
    }  # fmt: skip
    assert set(gain.levels["per_method"].parts) == set(METHODS)
    assert set(gain.levels["by_type"].parts) == {"color", "style"}
    assert gain.levels["per_rater"].parts["anna"].value == pytest.approx(1)
    assert gain.levels["system"].spearman.value == pytest.approx(1)
    assert all(each.spearman.clusters == EDITS / 2 for each in gain.levels.values())


def test_a_score_where_lower_is_better_agrees_when_it_falls(run: Path, ratings: Path) -> None:
    found = agree(run, ratings=ratings)
    loss = rated(found, "loss")
    assert loss.levels["per_rater"].parts["anna"].value == pytest.approx(1)
    assert (loss.unscored, rated(found, "gain").unscored) == (len(METHODS), 0)
    assert loss.levels["pooled"].spearman.n == len(METHODS) * (EDITS - 1)


def test_scores_that_agree_most_come_first_for_each_question(
    make_run: MakeRun, make_record: Make, tmp_path: Path
) -> None:
    run = make_run(
        *(make_record(f"e{n}", {"gain": n / 9, "loss": n / 9}, place=n, source=f"{n}.png") for n in range(9))
    )
    told = [
        {"edit": f"e{n}", "method": "mine", "question": q, "value": n * s}
        for q, s in (("up", 1), ("down", -1))
        for n in range(9)
    ]
    found = agree(run, ratings=lines(tmp_path, "r.jsonl", told))
    assert [(each.question, each.spec.name) for each in found.rated] == [
        ("up", "gain"), ("up", "loss"), ("down", "loss"), ("down", "gain")
    ]  # fmt: skip
    per_rater, system = (found.rated[0].levels[level].spearman for level in ("per_rater", "system"))
    assert (per_rater.value, per_rater.reason) == (None, "the ratings name no rater")
    assert (system.value, system.n, system.reason) == (None, 1, "fewer than 3 pairs")


def test_a_score_that_nothing_has_is_told_not_guessed(make_run: MakeRun, make_record: Make, tmp_path: Path) -> None:
    run = make_run(*(make_record(f"e{n}", {"gain": n / 9, "loss": "no_rule"}, place=n) for n in range(4)))
    told = [{"edit": f"e{n}", "method": "mine", "rater": "anna", "value": n} for n in range(4)]
    loss = agree(run, ratings=lines(tmp_path, "r.jsonl", told)).rated[-1]
    assert (loss.spec.name, loss.unscored) == ("loss", 4)
    assert all(each.spearman.value is None and each.spearman.reason for each in loss.levels.values())


def choice(edit: int, first: str, second: str, side: str) -> dict[str, object]:
    return {"edit": f"e{edit}", "first": first, "second": second, "chosen": side}


def test_choices_by_hand(run: Path, tmp_path: Path) -> None:
    told = [
        choice(0, "good", "bad", "first"),
        choice(1, "bad", "good", "second"),
        choice(2, "fair", "poor", "second"),
        choice(3, "fair", "poor", "tie"),
        choice(EDITS - 1, "good", "bad", "first"),
        choice(5, "good", "nobody", "first"),
    ]
    found = agree(run, choices=lines(tmp_path, "c.jsonl", told))
    assert found.choices is not None
    assert found.choice_scores is not None
    assert (found.choices.unmatched, found.choice_scores.ties, found.rated) == (1, 1, ())
    gain, loss = (chosen(found, name) for name in ("gain", "loss"))
    assert gain.share is not None
    assert loss.share is not None
    assert (gain.share.value, gain.share.n, gain.unscored) == (3 / 4, 4, 0)
    assert (loss.share.value, loss.share.n, loss.unscored) == (2 / 3, 3, 1)
    assert {name: (mean.value, mean.n) for name, mean in gain.by_type.items()} == {"color": (0.5, 2), "style": (1.0, 2)}


def test_the_best_is_compared_on_the_choices_both_can_answer(
    make_run: MakeRun, make_record: Make, tmp_path: Path
) -> None:
    """`gain` is right everywhere; `loss` says nothing on ten edits, is wrong on nine and unscored on one."""
    run = make_run(
        *(
            make_record(
                f"e{n}",
                {"gain": gain, "loss": 0.5 if n < 10 else "crashed" if n == 19 else gain},
                method=method,
                place=n,
                source=f"{n}.png",
            )
            for method, gain in (("a", 0.9), ("b", 0.1))
            for n in range(20)
        )
    )
    found = agree(run, choices=lines(tmp_path, "c.jsonl", [choice(n, "a", "b", "first") for n in range(20)]))
    loss = chosen(found, "loss")
    assert loss.share is not None
    assert loss.share.value == pytest.approx(5 / 19)
    assert (loss.equal, loss.unscored) == (10, 1)
    assert found.choice_scores is not None
    (two,) = found.choice_scores.behind
    assert (two.first, two.second, two.only_first, two.only_second) == ("toy/gain", "toy/loss", 19, 0)
    assert two.difference.n == 19
    assert two.difference.value == pytest.approx(14 / 19)
    assert two.p is not None
    assert two.p == two.adjusted
    assert two.p < 0.001


def test_scores_are_chosen_by_name(run: Path, ratings: Path) -> None:
    assert [each.spec.name for each in agree(run, ratings=ratings, score=["loss"]).rated] == ["loss"]
    assert [each.spec.name for each in agree(run, ratings=ratings, score=["toy/gain"]).rated] == ["gain"]
    assert [each.spec.name for each in agree(run, ratings=ratings, score=["toy/*"]).rated] == ["gain", "loss"]
    with pytest.raises(UnknownNameError, match=r"no score in this run called 'toy\[lda\]/\*'"):
        agree(run, ratings=ratings, score=["toy[lda]/*"])
    with pytest.raises(UnknownNameError, match=r"no score in this run called 'gian'\. Did you mean 'gain'\?"):
        agree(run, ratings=ratings, score=["gian"])
    with pytest.raises(UnknownNameError, match=r"There are: gain, loss\.$"):
        agree(run, ratings=ratings, score=["zzz"])


def test_a_score_that_bears_its_model_is_found_without_it(
    make_run: MakeRun, make_record: Make, ratings: Path, tmp_path: Path
) -> None:
    names = ("likeness[clip:small/one]", "likeness[two]", "plain")
    bearing = ProtocolEntry("A toy.", "none", "1", (), tuple(ScoreSpec(name, True, (0.0, 1.0)) for name in names))
    values = {(m, e): dict.fromkeys(names, quality(m, e)) for m in METHODS for e in range(EDITS)}
    records = [make_record(f"e{e}", each, method=m, place=e) for (m, e), each in values.items()]
    made = make_run(*records, protocols={"toy": bearing}, name="bearing")

    def found(name: str) -> list[str]:
        return sorted(each.spec.name for each in agree(made, ratings=ratings, score=[name]).rated)

    assert found("likeness") == found("toy/likeness") == sorted(names[:2])
    assert found("likeness[two]") == ["likeness[two]"]
    with pytest.raises(UnknownNameError, match=r"called 'likeness\[three\]'"):
        found("likeness[three]")


def test_one_score_has_no_rival(run: Path, tmp_path: Path) -> None:
    found = agree(run, choices=lines(tmp_path, "c.jsonl", [choice(0, "good", "bad", "first")]), score=["gain"])
    assert found.choice_scores is not None
    assert found.choice_scores.behind == ()


def test_something_to_agree_with_is_needed(run: Path) -> None:
    with pytest.raises(BadInputError, match="Nothing to agree with"):
        agree(run)


def test_a_score_is_compared_at_edit_types_that_another_protocol_has_no_rule_for(
    make_run: MakeRun, make_record: Make, tmp_path: Path
) -> None:
    """As EditVal's appendices J.1 and K do: CLIP and detector scores against people, type by type, within methods."""
    records, told = [], []
    for edit in range(EDITS):
        for method in METHODS:
            good = quality(method, edit)
            kind = ("size", "style")[edit % 2]
            scores: dict[str, float | str] = {"gain": good, "loss": 1 - good if kind == "size" else "no_rule"}
            records.append(
                make_record(f"e{edit}", scores, method=method, place=edit, source=f"{edit}.png", edit_type=kind)
            )
            told.append({"edit": f"e{edit}", "method": method, "value": good})
    found = agree(make_run(*records), ratings=lines(tmp_path, "ratings.jsonl", told))

    ruled, free = rated(found, "loss"), rated(found, "gain")
    assert set(ruled.levels["by_type"].parts) == set(ruled.by_type_within_methods) == {"size"}
    assert ruled.unscored == len(METHODS) * EDITS / 2
    assert set(free.by_type_within_methods) == {"size", "style"}
    style = free.by_type_within_methods["style"]
    assert style.spearman.value == style.pearson.value == pytest.approx(1)
    assert style.cosine.value == pytest.approx(1)
    assert style.spearman.n == len(METHODS) * EDITS / 2
    assert set(style.parts) == set(METHODS)


def test_people_s_means_and_agreement_come_with_the_ratings(run: Path, ratings: Path) -> None:
    (people,) = agree(run, ratings=ratings).people
    assert people.raters == 2
    assert list(people.means) == sorted(METHODS)
    assert people.means["good"].value > people.means["bad"].value
    assert people.means["good"].clusters == EDITS / 2
    seen = [quality(method, edit) for method in METHODS for edit in range(EDITS)]
    anna_and_ben = stats.spearmanr(seen, [round(each * 2) for each in seen]).statistic
    assert people.ceiling.value == pytest.approx(anna_and_ben), "of two, each is the mean of the others"
    assert people.panel is not None
    assert people.panel.majority.n == len(METHODS) * EDITS


def test_without_names_of_raters_only_their_means_are_known(run: Path, tmp_path: Path) -> None:
    told = lines(tmp_path, "r.jsonl", [{"edit": f"e{e}", "method": "good", "value": e} for e in range(EDITS)])
    (people,) = agree(run, ratings=told).people
    assert (people.raters, people.panel, people.alpha.value, people.ceiling.value) == (0, None, None, None)
    assert people.means["good"].value == (EDITS - 1) / 2


SHARED = os.environ.get("EDITGAUGE_SHARED_DATA")


def written(file: Path, *lines: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def given(name: str, place: object) -> Path:
    return Path(f"{name}={place}")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Two raters, as ImagenHub publishes them."""
    head = "uid\tours\ttheirs"
    written(tmp_path / "IE" / "IE_rater1.tsv", head, "sample_1_1.jpg\t[0.5, 1]\t[0,0]", "sample_2_1.jpg\t[1,1]\t")
    written(tmp_path / "IE" / "IE_rater2.tsv", head, "sample_1_1.jpg\t[1, 1]\t[0,0.5]", "sample_2_1.jpg\t[1,1]\t[1,1]")
    return tmp_path / "IE"


def test_imagenhub_tables_give_both_aspects_and_their_geometric_mean(tables: Path) -> None:
    ratings = read_ratings(given("imagenhub", tables))
    assert Rating("sample_1_1", "ours", 0.5, "IE_rater1", "SC") in ratings
    assert Rating("sample_1_1", "ours", 1.0, "IE_rater1", "PQ") in ratings
    assert Rating("sample_1_1", "ours", math.sqrt(0.5), "IE_rater1", "overall") in ratings
    assert len(ratings) == 7 * 3, "an empty cell is no answer"


def test_files_can_be_named_one_by_one(tables: Path) -> None:
    both = ",".join(str(file) for file in sorted(tables.glob("*.tsv")))
    assert read_ratings(given("imagenhub", both)) == read_ratings(given("imagenhub", tables))
    assert {each.rater for each in read_ratings(given("imagenhub", tables / "IE_rater2.tsv"))} == {"IE_rater2"}


def test_every_faulty_cell_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "r.tsv", "uid\tours\ttheirs", "a.jpg\t[1]\tgood", "b.jpg\t[1, 1]\t[-1, 0]")
    with pytest.raises(BadInputError) as raised:
        read_ratings(given("imagenhub", file))
    assert raised.value.problems == (
        "r.tsv:2: column 'ours': expected [SC, PQ] such as [0.5, 1], got '[1]'",
        "r.tsv:2: column 'theirs': expected [SC, PQ] such as [0.5, 1], got 'good'",
        "r.tsv:3: column 'theirs': expected [SC, PQ] such as [0.5, 1], got '[-1, 0]'",
    )


def test_what_is_missing_or_unknown_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="imagenhub"):
        read_ratings(given("imagenhubb", tmp_path))
    with pytest.raises(BadInputError, match=r"no \.tsv files"):
        read_ratings(given("imagenhub", tmp_path))
    with pytest.raises(BadInputError, match="no such file"):
        read_ratings(given("imagenhub", tmp_path / "none.tsv"))
    with pytest.raises(BadInputError, match="turn is missing"):
        read_ratings(given("magicbrush", written(tmp_path / "ratings.csv", "id,rater,overall", "1,a,3")))


def test_the_only_method_of_a_run_is_meant_where_the_files_name_none(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    lines = [f"{i},1,{rater},{i},{i % 3}" for i in range(8) for rater in ("a", "b")]
    file = written(tmp_path / "mb" / "ratings.csv", "id,turn,rater,overall,quality", *lines, "8,1,a,,")
    records = [make_record(f"{i}-1", {"gain": float(i)}, method="m", place=i, source=f"{i}.png") for i in range(8)]
    found = agree(make_run(*records), ratings=given("magicbrush", file))
    assert {each.question for each in found.rated} == {"overall", "quality"}
    best = next(each for each in found.rated if each.question == "overall")
    assert best.levels["pooled"].spearman.value == pytest.approx(1)
    two = [make_record(f"{i}-1", {"gain": 1.0}, method=name, place=i) for i in range(8) for name in ("m", "n")]
    with pytest.raises(BadInputError, match="do not name the method") as raised:
        agree(make_run(*two), ratings=given("magicbrush", file.parent))
    assert raised.value.problems == ("m", "n")


def test_published_ratings_become_a_csv_that_agree_reads(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "ratings.csv"
    assert write_ratings("imagenhub", data=tables, out=out) == 21
    assert read_ratings(out) == read_ratings(given("imagenhub", tables))
    with pytest.raises(BadInputError, match="--method"):
        write_ratings("magicbrush", data=tables, out=out)


def test_answers_from_outside_stand_among_the_scores_in_their_direction(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    uids = [f"sample_{i}_1.jpg" for i in range(9)]
    rows = [f"{uid}\t[{(i % 3) / 2}, {(i // 3) / 2}]" for i, uid in enumerate(uids)]
    human = written(tmp_path / "h" / "rater1.tsv", "uid\tours", *rows)
    judged = [f"ours\t{uid}\t[{i % 3}, 9]\t[{i // 3}, 10]" for i, uid in enumerate(uids)]
    judge = written(
        tmp_path / "gpt.tsv", "method\tuid\tSC_scores\tPQ_scores", *judged[1:], "ours\tsample_0_1.jpg\t\t[]"
    )
    lpips = {uid: {"LPIPS": 1 - i % 3 / 4} for i, uid in enumerate(uids)}
    written(tmp_path / "metrics" / "ours.json", json.dumps(lpips))
    edits = [uid.removesuffix(".jpg") for uid in uids]
    run = make_run(*(make_record(edit, {"gain": 1.0}, method="ours", place=i) for i, edit in enumerate(edits)))
    sources = [given("viescore", judge), given("viescore", tmp_path / "metrics")]
    found = agree(run, ratings=given("imagenhub", human), external=sources)
    values = {(each.question, each.protocol, each.spec.name): each for each in found.rated}
    judge_on_sc = values["SC", "external[gpt]", "SC"]
    assert judge_on_sc.levels["pooled"].spearman.value == pytest.approx(1)
    assert judge_on_sc.unscored == 1, "an answer that could not be read is no score"
    metric = values["SC", "external[metrics]", "LPIPS"]
    assert not metric.spec.higher_is_better
    assert metric.levels["pooled"].spearman.value == pytest.approx(1)
    only = agree(run, ratings=given("imagenhub", human), score=["external*/SC"], external=sources)
    assert {each.spec.name for each in only.rated} == {"SC"}


@pytest.mark.slow
@pytest.mark.skipif(SHARED is None, reason="NOT TESTED: EDITGAUGE_SHARED_DATA does not name the published data")
def test_the_published_correlations_of_viescore_come_out_of_the_raw_files(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    place = Path(SHARED or "") / "imagenhub_viescore"
    expected = json.loads((place / "expected_correlations.json").read_text())["gemini_0shot"]["per_method_spearman"]
    human = given("imagenhub", place / "human_ratings")
    methods = sorted(expected)
    edits = sorted({rating.edit for rating in read_ratings(human)})
    records = [
        make_record(edit, {"gain": 1.0}, method=method, place=i, source=edit.rsplit("_", 1)[0])
        for i, edit in enumerate(edits)
        for method in methods
    ]
    judge = given("viescore", place / "vie_scores" / "text_guided_ie_gemini_0shot.tsv")
    found = agree(make_run(*records), ratings=human, score=["external*/*"], external=[judge])
    for aspect, question in (("SC", "SC"), ("PQ", "PQ"), ("O", "overall")):
        (score,) = (each for each in found.rated if (each.question, each.spec.name) == (question, question))
        parts = score.levels["per_method"].parts
        for method in methods:
            assert parts[method].value == pytest.approx(expected[method][aspect], abs=0.001), (method, aspect)
