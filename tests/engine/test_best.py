"""Of several outcomes the one is chosen that a score prefers; what has no score is never chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import ImageFile, pixel_hash, read_image, write_png
from editgauge.engine.best import CHOICES_FILE, best
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods.outcomes import find_outcomes
from editgauge.results import ImageStamp, JournalEntry
from editgauge.types import Edit

GAINS: dict[tuple[str, str, int], float | str] = {
    ("a", "one", 0): 0.2,
    ("a", "one", 1): 0.9,
    ("a", "two", 0): 0.4,
    ("b", "one", 0): "refused",
    ("b", "two", 0): 0.1,
    ("c", "one", 0): "refused",
    ("c", "two", 0): "unparsable",
    ("d", "one", 0): 0.5,
    ("d", "two", 0): 0.5,
}


@pytest.fixture
def run(tmp_path: Path, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> Path:
    source = tmp_path / "source.png"
    write_png(np.zeros((8, 8, 3), np.uint8), source)
    records = []
    for number, ((edit, method, seed), gain) in enumerate(GAINS.items()):
        file = tmp_path / method / f"{edit}-{seed}.png"
        write_png(np.full((8, 8, 3), 20 * number, np.uint8), file)
        stamps = [ImageStamp(str(item), pixels=pixel_hash(read_image(item))) for item in (source, file)]
        records.append(
            make_record(
                edit,
                {"gain": gain, "loss": 0.3},
                method=method,
                seed=seed,
                place="abcd".index(edit),
                source_image=stamps[0],
                edited_image=stamps[1],
            )
        )
    return make_run(*records)


def test_the_best_outcome_of_each_edit_becomes_one_of_a_new_method(run: Path, tmp_path: Path) -> None:
    done = best(run, score="gain", out=tmp_path / "best", quiet=True)
    assert (done.winners, done.most, done.fewest, done.ties, done.without) == ({"one": 2, "two": 1}, 3, 1, 1, 1)
    edits = [Edit(id=name, source=ImageFile("s", Path("s")), type="color", instruction="x") for name in "abcd"]
    outcomes = {outcome.edit_id: outcome for outcome in find_outcomes("best", tmp_path / "best", edits).outcomes}
    chosen = {name: outcomes[name].image for name in "abd"}
    for name, origin in {"a": "one/a-1.png", "b": "two/b-0.png", "d": "one/d-0.png"}.items():
        assert chosen[name] is not None
        assert np.array_equal(read_image(chosen[name] or Path()), read_image(tmp_path / origin))
    assert outcomes["c"].image is None
    assert "refused: 1, unparsable: 1" in (outcomes["c"].absence or "")
    first = json.loads((tmp_path / "best" / CHOICES_FILE).read_text("utf-8"))["choices"][0]
    assert (first["method"], first["seed"], first["value"], len(first["of"])) == ("one", 1, 0.9, 3)


def test_where_lower_is_better_the_lowest_is_chosen_and_methods_can_be_named(run: Path, tmp_path: Path) -> None:
    assert best(run, score="toy/loss", out=tmp_path / "l", method=["two"], quiet=True).winners == {"two": 4}


def test_what_cannot_be_chosen_is_explained(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="quality"):
        best(run, score="quality", out=tmp_path / "x")
    with pytest.raises(UnknownNameError, match="three"):
        best(run, score="gain", out=tmp_path / "x", method=["three"])
    with pytest.raises(BadInputError, match="means 2 scores"):
        best(run, score="toy/*", out=tmp_path / "x")
    with pytest.raises(BadInputError, match="is not empty"):
        best(run, score="gain", out=tmp_path)
    write_png(np.full((8, 8, 3), 255, np.uint8), tmp_path / "one" / "a-1.png")
    with pytest.raises(BadInputError, match="another picture"):
        best(run, score="gain", out=tmp_path / "x")
