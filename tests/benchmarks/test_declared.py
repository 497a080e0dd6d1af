"""Public sets by their declared layouts, on files of the public shape; and where their outcomes lie."""

from __future__ import annotations

import csv
import json
import pickle
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._declared import declared_layouts
from editgauge.errors import BadInputError
from editgauge.methods.outcomes import find_outcomes
from editgauge.types import Benchmark

Draw = Callable[..., Path]


@pytest.fixture(autouse=True)
def cache(english_parser: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))


def _json(file: Path, value: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))


def _bytes(draw: Draw, folder: Path, shade: int) -> dict[str, Any]:
    return {"bytes": draw(folder / f"picture-{shade}.png", color=(shade, 9, 9)).read_bytes(), "path": None}


def _imgedit(folder: Path, draw: Draw) -> Path:
    draw(folder / "singleturn" / "animal" / "1.jpg")
    records = {
        "1082": {"id": "animal/1.jpg", "prompt": "Add a hat to the cat.", "edit_type": "add"},
        "673": {"id": "animal/1.jpg", "prompt": "Extract the cat.", "edit_type": "extract"},
    }
    _json(folder / "singleturn" / "singleturn.json", records)
    return folder


def _kris(folder: Path, draw: Draw) -> Path:
    for name in ("1.jpg", "2-1.jpg", "2-2.jpg", "1_gt.jpg"):
        draw(folder / "temporal_prediction" / name)
    records = {
        "1": {"ori_img": "1.jpg", "gt_img": "1_gt.jpg", "ins_en": "Show it in a year.", "explain_en": "It has grown."},
        "2": {"ori_img": ["2-1.jpg", "2-2.jpg"], "ins_en": "What comes next?", "explain_en": "The third."},
    }
    _json(folder / "temporal_prediction" / "annotation.json", records)
    return folder


def _rise(folder: Path, draw: Draw) -> Path:
    draw(folder / "temporal_reasoning_images" / "1.png")
    draw(folder / "logic" / "answer.png")
    shared = {"image": "temporal_reasoning_images/1.png", "subtask": "life", "instruction": "Show it in a year."}
    records = [
        {"index": "temporal_1", "category": "temporal_reasoning", "reference": "It has grown.", **shared},
        {"index": "logical_1", "category": "logical_reasoning", "reference_img": "logic/answer.png", **shared},
    ]
    _json(folder / "datav2_total_w_subtask.json", records)
    return folder


def _parquet(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), file)


def _gedit_v2(folder: Path, draw: Draw) -> Path:
    picture = _bytes(draw, folder / "in", 1)
    _parquet(
        folder / "data" / "test-00000.parquet", [{"key": "k1", "instruction": "Add a hat.", "source_image": picture}]
    )
    return folder


def _emu_edit(folder: Path, draw: Draw) -> Path:
    row = {
        "instruction": "Make it autumn.",
        "image": _bytes(draw, folder / "in", 2),
        "task": "style",
        "split": "test",
        "idx": 7,
        "hash": "abc",
        "input_caption": "a park",
        "output_caption": "a park in autumn",
    }
    _parquet(folder / "data" / "test-00000.parquet", [row])
    return folder


def _complex_edit(folder: Path, draw: Draw) -> Path:
    row = {
        "image_id": "real-3",
        "image": _bytes(draw, folder / "in", 3),
        "edit": {
            "compound": ["Add a hat.", "Add a hat and make it snow."],
            "sequence": ["Add a hat.", "Make it snow."],
        },
    }
    _parquet(folder / "test.parquet", [row])
    return folder


def _omnicontext(folder: Path, draw: Draw) -> Path:
    pictures = [_bytes(draw, folder / "in", 4), _bytes(draw, folder / "in", 5)]
    row = {"key": "k9", "task_type": "multi_character", "instruction": "Both at a table.", "input_images": pictures}
    _parquet(folder / "data" / "train-0.parquet", [row])
    return folder


def _compbench(folder: Path, draw: Draw) -> Path:
    row = {
        "image_path": "00001.png",
        "task": "add",
        "instruction": "Add a fish.",
        "caption": "a yellow fish",
        "input_image": _bytes(draw, folder / "in", 6),
        "edited_image": _bytes(draw, folder / "in", 7),
        "mask": _bytes(draw, folder / "in", 255),
    }
    _parquet(folder / "data" / "train-0.parquet", [row])
    return folder


def _hatie(folder: Path, draw: Draw) -> Path:
    draw(folder / "original_images" / "2331.jpg")
    query = {"type": "obj_rep", "original": ["31", "dog"], "target": "cat", "id": 23847}
    captions = {"original_caption": "a dog", "target_caption": "a cat"}
    queries = {"2331": [{**query, **captions, "instruction": "Replace the dog with a cat."}]}
    (folder / "queries").mkdir()
    (folder / "queries" / "queries_w_remove.pkl").write_bytes(pickle.dumps(queries))
    return folder


def _edit_compass(folder: Path, draw: Draw) -> Path:
    draw(folder / "Part1" / "ADD" / "images" / "1.png")
    draw(folder / "Part5" / "Mix" / "images" / "a.png")
    draw(folder / "Part5" / "Mix" / "images" / "b.png")
    record = {
        "save_id": "1",
        "source_image": "Part1/ADD/images/1.png",
        "prompt_en": "Add a hat.",
        "prompt_cn": "加帽子",
    }
    several = {
        **record,
        "source_image": "Part5/Mix/images/a.png",
        "reference_image_path": ["Part5/Mix/images/b.png"],
        "prompt_en": "Let both meet.",
    }
    _json(folder / "Part1" / "ADD" / "ADD.json", [record])
    _json(folder / "Part5" / "Mix" / "Mix.json", [several])
    return folder


def _imagenworld(folder: Path, draw: Draw) -> Path:
    for entry, images in {"TIE/TIE_A_000001": ["1.png"], "SRIE/SRIE_P_000002": ["1.png", "2.png"]}.items():
        for name in images:
            draw(folder / entry / name)
        metadata = {"prompt_refined": "Make it night.", "cond_images": images, "topic": "A"}
        _json(folder / entry / "metadata.json", metadata)
    _json(folder / "TIG" / "TIG_A_000003" / "metadata.json", {"prompt_refined": "A night.", "cond_images": []})
    return folder


def _rededit(folder: Path, draw: Draw) -> Path:
    draw(folder / "redbench" / "add" / "add-1.png")
    record = {
        "id": "1",
        "source": "redbench/add/add-1.png",
        "a_to_b_instructions": "加一只猫",
        "a_to_b_instructions_eng": "Add a cat.",
        "task": "add",
    }
    (folder / "redbench.jsonl").write_text(json.dumps(record))
    return folder


def _texteditbench(folder: Path, draw: Draw) -> Path:
    for origin in ("data_manual_production", "data_web-sourced_instances"):
        sample = folder / origin / "Data_Analytics" / "001"
        draw(sample / "1.jpg")
        draw(sample / "1_mask.jpg", color=(255, 255, 255))
        record = {
            "id": "TextEditing_Data Analytics_001",
            "topic": "Data Analytics",
            "prompt": "Delete the title.",
            "editing_method": "text_delete",
            "difficulty": "easy",
            "input_image": "1.jpg",
        }
        if origin == "data_manual_production":
            draw(sample / "text_delete_1.jpg")
            record["output_image"] = "text_delete_1.jpg"
        _json(sample / "Data Analytics_001.json", [record] if "output_image" in record else record)
    return folder


def _uniredit(folder: Path, draw: Draw) -> Path:
    draw(folder / "original_image" / "maze" / "1.png")
    draw(folder / "reference_image" / "maze" / "1.png")
    record = {
        "original_image_path": "original_image/maze/1.png",
        "reference_image_path": "reference_image/maze/1.png",
        "instruction": "Draw the way out.",
        "rules": "No walls are crossed.",
        "name": "maze",
        "idx": 1,
        "reference_effect": "A line to the exit.",
    }
    _json(folder / "data.json", [record])
    return folder


def _wiseedit(folder: Path, draw: Draw) -> Path:
    for subset, count in (("WiseEdit/Awareness/Awareness_1", 1), ("WiseEdit-Complex/WiseEdit_Complex_2", 2)):
        paths = [f"{subset}/imgs/{number}.png" for number in range(count)]
        for path in paths:
            draw(folder / path)
        columns = ["idx", "prompt", "promptcn", *(f"input_{number + 1}" for number in range(count))]
        lines = [",".join(columns), ",".join(["1", "Mark the odd one.", "标出", *paths])]
        name = PurePosixPath(subset).name
        (folder / subset / f"{name}.csv").write_text("\n".join(lines), "utf-8-sig")
    return folder


WRITERS = {
    "edit-compass": _edit_compass,
    "imagenworld": _imagenworld,
    "rededit": _rededit,
    "texteditbench": _texteditbench,
    "uniredit": _uniredit,
    "wiseedit": _wiseedit,
    "imgedit": _imgedit,
    "kris": _kris,
    "rise": _rise,
    "gedit-v2": _gedit_v2,
    "emu-edit": _emu_edit,
    "complex-edit": _complex_edit,
    "omnicontext": _omnicontext,
    "compbench": _compbench,
    "hatie": _hatie,
}
TEXT_GROUPS = {"task": "text_delete", "topic": "Data Analytics", "difficulty": "easy"}
READ = {
    "edit-compass": (
        ["add-1", "mix-1"],
        None,
        [{"part": "Part1", "task": "ADD"}, {"part": "Part5", "task": "Mix"}],
    ),
    "imagenworld": (
        ["srie_p_000002", "tie_a_000001"],
        None,
        [{"task": "SRIE", "topic": "A"}, {"task": "TIE", "topic": "A"}],
    ),
    "rededit": (["add-1"], ["object_addition"], [{"task": "add"}]),
    "texteditbench": (
        ["data_manual_production-data_analytics-001", "data_web-sourced_instances-data_analytics-001"],
        None,
        [{**TEXT_GROUPS, "origin": origin} for origin in ("data_manual_production", "data_web-sourced_instances")],
    ),
    "uniredit": (["maze-1"], None, [{"category": "maze"}]),
    "wiseedit": (
        ["awareness_1-1", "wiseedit_complex_2-1"],
        None,
        [{"subset": "Awareness_1"}, {"subset": "WiseEdit_Complex_2"}],
    ),
    "imgedit": (["1082", "673"], ["object_addition", "unspecified"], [{"task": "add"}, {"task": "extract"}]),
    "kris": (["1", "2"], None, [{"category": "temporal_prediction"}] * 2),
    "rise": (
        ["temporal_1", "logical_1"],
        None,
        [{"category": f"{kind}_reasoning", "subtask": "life"} for kind in ("temporal", "logical")],
    ),
    "gedit-v2": (["k1"], ["object_addition"], [{}]),
    "emu-edit": (["7"], ["style"], [{"task": "style", "split": "test"}]),
    "complex-edit": (["real-3-1", "real-3-2"], None, [{"complexity": "1"}, {"complexity": "2"}]),
    "omnicontext": (["multi_character-k9"], None, [{"task": "multi_character"}]),
    "compbench": (["add-00001-png"], ["object_addition"], [{"task": "add"}]),
    "hatie": (["23847"], ["object_replacement"], [{"task": "obj_rep"}]),
}
OUTCOMES = {
    "edit-compass": ["en/Part1/ADD/1.png", "en/Part5/Mix/1.png"],
    "imagenworld": ["TIE/TIE_A_000001/model_output/mine.png", "SRIE/SRIE_P_000002/model_output/mine.png"],
    "rededit": ["add/add-1.png"],
    "texteditbench": ["canva/Data_Analytics/001_edited.jpg", "real/Data_Analytics/001_edited.jpg"],
    "uniredit": ["maze/1.png"],
    "wiseedit": ["Awareness_1/en/1.png", "WiseEdit_Complex_2/en/1.png"],
    "imgedit": ["1082.png"],
    "kris": ["temporal_prediction/1.jpg", "temporal_prediction/2.jpg"],
    "rise": ["images/temporal_reasoning/temporal_1.png", "images/logical_reasoning/logical_1.png"],
    "gedit-v2": ["k1.png"],
    "omnicontext": ["fullset/multi_character/k9.png"],
    "compbench": ["add/00001.png"],
    "hatie": ["output_modelA_23847.jpg"],
}


def _opened(name: str, tmp_path: Path, draw: Draw) -> Benchmark:
    return open_benchmark(name, data=WRITERS[name](tmp_path / name, draw))


def test_every_declared_set_is_tested() -> None:
    assert set(WRITERS) == set(declared_layouts())


@pytest.mark.parametrize("name", WRITERS)
def test_records_become_edits(name: str, tmp_path: Path, draw: Draw) -> None:
    edits = _opened(name, tmp_path, draw).edits
    ids, types, groups = READ[name]
    assert [edit.id for edit in edits] == ids
    assert [dict(edit.groups) for edit in edits] == groups
    assert types is None or [edit.type for edit in edits] == types
    assert all(edit.source.path.is_file() for edit in edits)


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes_are_found_where_the_authors_scripts_put_them(name: str, tmp_path: Path, draw: Draw) -> None:
    edits = _opened(name, tmp_path, draw).edits
    for path in OUTCOMES[name]:
        draw(tmp_path / "outcomes" / path)
    outcomes = find_outcomes("mine", tmp_path / "outcomes", edits)
    assert outcomes.present == len(OUTCOMES[name])
    assert outcomes.unexpected == ()


def test_a_list_of_pictures_gives_further_inputs(tmp_path: Path, draw: Draw) -> None:
    one, two = _opened("kris", tmp_path, draw).edits
    assert (one.inputs, [item.picture.name for item in two.inputs]) == ((), ["2-2.jpg"])
    assert one.reference is not None
    assert one.extras["explain_en"] == "It has grown."
    [edit] = _opened("omnicontext", tmp_path, draw).edits
    assert [item.role for item in edit.inputs] == ["subject"]


def test_further_pictures_masks_and_references_of_the_newer_sets(tmp_path: Path, draw: Draw) -> None:
    assert [len(edit.inputs) for edit in _opened("edit-compass", tmp_path, draw).edits] == [0, 1]
    assert [len(edit.inputs) for edit in _opened("imagenworld", tmp_path, draw).edits] == [1, 0]
    assert [len(edit.inputs) for edit in _opened("wiseedit", tmp_path, draw).edits] == [0, 1]
    manual, web = _opened("texteditbench", tmp_path, draw).edits
    assert (manual.reference is not None, web.reference) == (True, None)
    assert manual.mask is not None
    assert manual.mask.render(8, 6).all()
    [edit] = _opened("uniredit", tmp_path, draw).edits
    assert edit.reference is not None
    assert edit.extras["reference_effect"] == "A line to the exit."


def test_masks_captions_and_references_are_taken_over(tmp_path: Path, draw: Draw) -> None:
    [edit] = _opened("compbench", tmp_path, draw).edits
    assert edit.mask is not None
    assert edit.mask.render(8, 6).any()
    assert edit.reference is not None
    [emu] = _opened("emu-edit", tmp_path, draw).edits
    assert (emu.source_caption, emu.target_caption) == ("a park", "a park in autumn")


def _compbench_folders(folder: Path, draw: Draw) -> Path:
    """Every kind of folder that the authors' download script writes."""
    tasks = folder / "tasks"
    _json(
        tasks / "add" / "metadata.json", [{"image_path": "a1/0/3.png", "instruction": "Add a fish.", "caption": "fish"}]
    )
    for kind in ("input_image", "edited_image", "mask"):
        draw(tasks / "add" / kind / "a1" / "0" / "3.png", color=(255, 255, 255))
    several = tasks / "multi_turn_editing"
    files = {
        tasks / "act_loc_view" / "action" / "instructions.jsonl": {"instruction": "Let it jump."},
        several / "multi_object_remove.jsonl": {"remove_ins": "Remove both.", "caption1": "sand", "caption2": "sea"},
        several / "multi_turn_add.jsonl": {
            "turn1_add_ins": "Add a cat.",
            "turn2_add_ins": "Add a dog.",
            "turn1_caption": "a cat",
            "turn2_caption": "a dog",
        },
    }
    for file, record in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"image_name": "7.png", **record}) + "\n", "utf-8")
    draw(tasks / "act_loc_view" / "action" / "ori_images" / "7.png")
    for part in ("multi_object_remove", "turn1_add", "turn2_add"):
        draw(several / part / "ori_images" / "7.png")
        draw(
            several / part / "masks" / ("7_t1.png" if part == "multi_object_remove" else "7.png"), color=(255, 255, 255)
        )
    return folder


def test_the_folders_of_compbench_s_download_give_the_edits_of_the_hub(tmp_path: Path, draw: Draw) -> None:
    benchmark = open_benchmark("compbench", data=_compbench_folders(tmp_path, draw))
    assert benchmark.about == (
        "5 edits; task: action 1, add 1, multi_object_remove 1, multi_turn_add 2; 1 without a mask"
    )
    assert {edit.id: (edit.instruction, edit.type, edit.extras["caption"]) for edit in benchmark.edits} == {
        "add-a1-0-3-png": ("Add a fish.", "object_addition", "fish"),
        "action-7-png": ("Let it jump.", "action", ""),
        "multi_object_remove-7-png": ("Remove both.", "object_removal", "sand|sea"),
        "multi_turn_add-turn1_add-7-png": ("Add a cat.", "object_addition", "a cat"),
        "multi_turn_add-turn2_add-7-png": ("Add a dog.", "object_addition", "a dog"),
    }
    assert benchmark.edits[0].reference is not None
    assert all(edit.mask is None or edit.mask.render(8, 6).any() for edit in benchmark.edits)
    for path in ("add/a1/0/3.png", "turn1_add/7.png", "multi_turn_add/turn2_add/7.png"):
        draw(tmp_path / "outcomes" / path)
    outcomes = find_outcomes("mine", tmp_path / "outcomes", benchmark.edits)
    assert (outcomes.present, outcomes.unexpected) == (3, ())


def test_faults_in_compbench_s_folders_name_the_file_and_the_picture(
    tmp_path: Path, draw: Draw, told: Callable[..., Any]
) -> None:
    folder = _compbench_folders(tmp_path, draw)
    records = [{"image_path": "gone.png", "instruction": "Add a fish."}, {"image_path": "a1/0/3.png"}, {"caption": "x"}]
    _json(folder / "tasks" / "add" / "metadata.json", records)
    assert list(told(lambda place: open_benchmark("compbench", data=place), folder)) == [
        "tasks/add/metadata.json: record 'gone.png': the image 'tasks/add/input_image/gone.png' does not exist",
        "tasks/add/metadata.json: record 'a1/0/3.png': 'instruction' is missing",
        "tasks/add/metadata.json: line 3: 'image_path' or 'image_name' is missing: the name of the picture",
    ]


def test_broken_records_are_skipped_and_counted(tmp_path: Path, draw: Draw) -> None:
    folder = _kris(tmp_path / "kris", draw)
    complete = open_benchmark("kris", data=folder)
    assert complete.broken == ()
    complete.edits[0].source.path.unlink()
    annotations = sorted(folder.glob("*/annotation.json"))[-1]
    records = json.loads(annotations.read_text())
    records["broken"] = {**records["2"], "ins_en": None}
    annotations.write_text(json.dumps(records))
    with pytest.raises(BadInputError, match="skip_broken=True"):
        open_benchmark("kris", data=folder)
    skipped = open_benchmark("kris", data=folder, skip_broken=True)
    assert [edit.id for edit in skipped.edits] == [edit.id for edit in complete.edits], "missing images stay as edits"
    assert len(skipped.broken) == 2
    assert all(str(folder) in problem for problem in skipped.broken)
    assert "2 problems of the data skipped" in skipped.about


class Evil:
    """What a pickle from a stranger may hold."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (Path("opened-by-a-pickle"), "x"))


@pytest.mark.parametrize("content", [pickle.dumps({"2331": [Evil()]}), pickle.dumps([Path("a")]), b"\x80\x05junk"])
def test_a_pickle_that_could_run_code_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries_w_remove.pkl").write_bytes(content)
    with pytest.raises(BadInputError, match="cannot be read safely"):
        open_benchmark("hatie", data=tmp_path)
    assert not (tmp_path / "opened-by-a-pickle").exists()


def test_json_of_hatie_s_shape_is_read_as_well_and_faults_name_the_query(
    tmp_path: Path, draw: Draw, told: Callable[..., Any]
) -> None:
    draw(tmp_path / "original_images" / "2331.jpg")
    good = {"id": 1, "type": "bg_chg", "instruction": "Change the background to snow."}
    _json(tmp_path / "queries.json", {"2331": [good, {"id": 2, "type": "obj_add"}, 7], "99": [{**good, "id": 3}]})
    assert list(told(lambda place: open_benchmark("hatie", data=place), tmp_path)) == [
        "queries.json: record '2': 'instruction' is missing",
        "queries.json: line 3: must be a mapping, got 7",
        "queries.json: record '3': the image 'original_images/99.jpg' does not exist",
    ]


def test_all_faults_are_told_at_once(tmp_path: Path, draw: Draw, told: Callable[..., Any]) -> None:
    draw(tmp_path / "singleturn" / "a.jpg")
    records = {
        "1": {"id": "A.jpg", "prompt": "Add a hat.", "edit_type": "add"},
        "2": {"id": "a.jpg", "edit_type": "add"},
        "3": {"prompt": ["x"], "edit_type": "add"},
        "4": {"id": "../a.jpg", "prompt": "Add a hat.", "edit_type": "add"},
    }
    _json(tmp_path / "singleturn.json", records)
    problems = told(lambda place: open_benchmark("imgedit", data=place), tmp_path)
    assert list(problems) == [
        "singleturn.json: record '1': the image 'A.jpg' does not exist",
        "singleturn.json: record '2': 'prompt' is missing",
        "singleturn.json: record '3': 'prompt' must be a text, got ['x']",
        "singleturn.json: record '3': 'id' is missing: the source picture",
        "singleturn.json: record '4': the path '../a.jpg' leaves the benchmark folder; give one relative to it, "
        "without '..'",
    ]


@pytest.mark.parametrize("name", [*WRITERS, "edival"])
def test_an_empty_folder_is_refused_with_what_is_needed(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="needs"):
        open_benchmark(name, data=tmp_path)


ROWS = [
    (0, 1, ["subject_add"], ["Add a bench"], ["wall"]),
    (0, 2, ["subject_add", "count_change"], ["Add a bench", '"Change the count of bench to 4"'], []),
    (1, 1, ["color_alter"], ["Change the color of car to red"], ["tree"]),
]


def _edival(folder: Path, draw: Draw, rows: list[Any]) -> Path:
    for index in range(2):
        draw(folder / "input_images" / f"{index}_input_raw.jpg")
    with (folder / "instructions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_index", "turns", "task_type", "instructions", "unchanged_objects"])
        writer.writerows(rows)
    return folder


def test_turns_of_edival_follow_each_other(tmp_path: Path, draw: Draw) -> None:
    edits = open_benchmark("edival", data=_edival(tmp_path / "data", draw, ROWS)).edits
    assert [(edit.id, edit.turn, edit.follows) for edit in edits] == [
        ("0-1", 1, None),
        ("0-2", 2, "0-1"),
        ("1-1", 1, None),
    ]
    assert edits[1].instruction == "Change the count of bench to 4"
    assert edits[2].type == "color"
    assert edits[0].extras["unchanged_objects"] == ["wall"]
    for name in ("0_input_raw_turn_1", "0_input_raw_turn_2", "1_input_raw_turn_1", "0_input_raw"):
        draw(tmp_path / "outcomes" / "multipass" / f"{name}.png")
    outcomes = find_outcomes("mine", tmp_path / "outcomes", edits)
    assert (outcomes.layout, outcomes.present, outcomes.unexpected) == ("edival", 3, ())


def test_faults_of_edival_are_told_by_line(tmp_path: Path, draw: Draw, told: Callable[..., Any]) -> None:
    rows = [
        (0, 2, "['x']", "['Add']", "[]"),
        (9, 1, "['x']", "Add a bench", "[]"),
        (1, "one", "['x']", "['Add']", "[]"),
    ]
    problems = told(lambda place: open_benchmark("edival", data=place), _edival(tmp_path, draw, rows))
    assert problems[0].endswith("line 2: turn 2 of picture 0 comes before turn 1, or without it")
    assert "line 3: 'instructions' must be a list of texts" in problems[1]
    assert "line 3: the image '9_input_raw.jpg' does not exist" in problems[2]
    assert "line 4: 'turns' is the number of the turn, at least 1; got 'one'" in problems[3]
