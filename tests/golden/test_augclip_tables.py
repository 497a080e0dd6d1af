"""What AugCLIP published about metrics, as anchors: its tables are figures of the paper, not ours.

The outcomes, the attributes and the participants' choices were not released, so no metric can be measured again. What
follows from the printed numbers is recomputed: the ranks of table 4, and how many answers the shares can be of.
Tables 2 to 5, 9 and 11 are compared with the copy in `EDITGAUGE_SHARED_DATA` where there is one.
"""

from __future__ import annotations

import json
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from editgauge._stats.agreement import KENDALL, SPEARMAN, between
from editgauge._stats.pairwise import rank_methods
from tests.shared_data import shared_data

SETS = ("CelebA", "EditVal", "DreamBooth", "TEdBench", "MagicBrush")
QUESTIONS = {"CelebA": 39, "EditVal": 35, "DreamBooth": 37}
S_2AFC = {
    "L2": (0.653, 0.348, 0.464),
    "LPIPS": (0.465, 0.360, 0.286),
    "DINO": (0.574, 0.348, 0.286),
    "SC": (0.752, 0.764, 0.571),
    "CLIP-I": (0.848, 0.730, 0.857),
    "CLIP-T": (0.491, 0.399, 0.321),
    "CLIPdir": (0.673, 0.697, 0.357),
    "AugCLIP": (0.883, 0.831, 0.857),
}
"""Table 3: CelebA, EditVal, DreamBooth."""
ACC_BOTH = {
    "L2": (0.310, 0.002),
    "LPIPS": (0.090, 0.0),
    "DINO": (0.280, 0.008),
    "SC": (0.420, 0.936),
    "CLIP-I": (0.281, 0.810),
    "CLIP-T": (0.312, 0.260),
    "CLIPdir": (0.350, 0.601),
    "AugCLIP": (0.570, 0.889),
}
"""Table 5: TEdBench, MagicBrush."""
MEANS = {
    "DreamBooth": {
        "ELITE": {"CLIPdir": 0.1132, "LPIPS": 71.38, "AugCLIP": 0.7642, "human": 0.8478},
        "BlipDiffusion": {"CLIPdir": 0.0836, "LPIPS": 70.88, "AugCLIP": 0.7579, "human": 0.6525},
        "CustomDiffusion": {"CLIPdir": 0.1348, "LPIPS": 73.84, "AugCLIP": 0.6156, "human": 0.0263},
    },
    "EditVal": {
        "P2P": {"CLIPdir": 0.1771, "LPIPS": 15.04, "AugCLIP": 0.8521, "human": 0.6133},
        "InstructPix2Pix": {"CLIPdir": 0.1774, "LPIPS": 25.75, "AugCLIP": 0.8242, "human": 0.4855},
        "DiffEdit": {"CLIPdir": 0.2272, "LPIPS": 20.41, "AugCLIP": 0.8155, "human": 0.3214},
    },
    "CelebA": {
        "StyleCLIP": {"CLIPdir": 0.0376, "LPIPS": 27.04, "AugCLIP": 0.8484, "human": 0.6831},
        "Multi2One": {"CLIPdir": 0.0414, "LPIPS": 27.95, "AugCLIP": 0.8152, "human": 0.5469},
        "Asyrp": {"CLIPdir": -0.0001, "LPIPS": 36.98, "AugCLIP": 0.7750, "human": 0.3197},
    },
}
"""Table 4: means of editing models; methods in the order of people."""
RANKS = {
    "DreamBooth": {"CLIPdir": (2, 3, 1), "LPIPS": (2, 1, 3), "AugCLIP": (1, 2, 3)},
    "EditVal": {"CLIPdir": (3, 2, 1), "LPIPS": (1, 3, 2), "AugCLIP": (1, 2, 3)},
    "CelebA": {"CLIPdir": (2, 1, 3), "LPIPS": (1, 2, 3), "AugCLIP": (1, 2, 3)},
}
"""Table 4: the ranks printed beside the means."""
BY_TYPE = {
    "CLIPdir": (0.667, 0.688, 0.730, 0.5, 0.806, 1.0, 1.0, 0.529),
    "AugCLIP": (1.0, 0.75, 0.838, 1.0, 0.742, 1.0, 1.0, 0.647),
}
"""Table 6: positional addition, object replacement, alter parts, background, texture, color, action, style."""
IMPORTANCE = {"naive": (0.394, 0.637), "AugCLIP": (0.794, 0.883)}
"""Table 7: Pearson with people's attribute importance, source and target."""
WEIGHTING = {"unweighted": (0.849, 0.787, 0.786, 0.4, 0.83), "weighted": (0.883, 0.831, 0.857, 0.57, 0.889)}
"""Table 9."""
ATTRIBUTES = {
    ("short", "10"): (0.870, 0.719, 0.857, 0.540, 0.889),
    ("short", "20"): (0.829, 0.809, 0.821, 0.540, 0.868),
    ("short", "30"): (0.829, 0.764, 0.714, 0.570, 0.863),
    ("long", "30"): (0.843, 0.697, 0.750, 0.530, 0.862),
    ("short", "free"): (0.883, 0.831, 0.857, 0.570, 0.889),
}
"""Table 10: length and number of attributes."""
GPT_4V = (0.876, 0.933, 0.821, 0.620, 0.703)
"""Table 14: a judge in place of a metric."""


@pytest.mark.parametrize("benchmark", RANKS)
@pytest.mark.parametrize("metric", ["CLIPdir", "LPIPS", "AugCLIP"])
def test_the_ranks_of_table_4_follow_from_its_means(benchmark: str, metric: str) -> None:
    means = {method: its[metric] for method, its in MEANS[benchmark].items()}
    names = sorted(means)
    places = rank_methods(
        np.array([means[name] for name in names]),
        np.array(names),
        *[np.zeros(3)] * 2,
        higher_is_better=metric != "LPIPS",
    )
    result = {name: place.value for name, place in zip(names, places, strict=True)}
    assert tuple(result[name] for name in means) == RANKS[benchmark][metric]
    assert {(place.low, place.high) for place in places} == {(1, 3)}, "one mean each says nothing of its own doubt"


@pytest.mark.parametrize(
    ("benchmark", "metric", "kendall", "spearman"),
    [
        ("DreamBooth", "AugCLIP", 1.0, 1.0),
        ("EditVal", "AugCLIP", 1.0, 1.0),
        ("CelebA", "AugCLIP", 1.0, 1.0),
        ("DreamBooth", "CLIPdir", -1 / 3, -0.5),
        ("EditVal", "CLIPdir", -1.0, -1.0),
        ("CelebA", "CLIPdir", 1 / 3, 0.5),
        ("DreamBooth", "LPIPS", 1 / 3, 0.5),
        ("EditVal", "LPIPS", 1 / 3, 0.5),
        ("CelebA", "LPIPS", 1.0, 1.0),
    ],
)
def test_only_augclip_has_people_s_order_everywhere(
    benchmark: str, metric: str, kendall: float, spearman: float
) -> None:
    table = MEANS[benchmark]
    scores = [its[metric] * (-1 if metric == "LPIPS" else 1) for its in table.values()]
    people, methods = [its["human"] for its in table.values()], np.array(list(table))
    assert between(KENDALL, scores, people, methods).value == pytest.approx(kendall)
    assert between(SPEARMAN, scores, people, methods).value == pytest.approx(spearman)


def test_the_averages_behind_the_claims() -> None:
    assert max(S_2AFC, key=lambda metric: fmean(S_2AFC[metric])) == "AugCLIP"
    assert fmean(S_2AFC["AugCLIP"]) == pytest.approx(0.857, abs=0.0005)
    assert fmean(S_2AFC["CLIP-I"]) == pytest.approx(0.812, abs=0.0005)
    assert max(ACC_BOTH, key=lambda metric: ACC_BOTH[metric][1]) == "SC", "AugCLIP is second on MagicBrush"
    assert WEIGHTING["weighted"] == (*S_2AFC["AugCLIP"], *ACC_BOTH["AugCLIP"]) == ATTRIBUTES["short", "free"]
    ahead = [ours - theirs for ours, theirs in zip(WEIGHTING["weighted"], GPT_4V, strict=True)]
    assert [name for name, by in zip(SETS, ahead, strict=True) if by < 0] == ["EditVal", "TEdBench"]
    assert [ours < theirs for theirs, ours in zip(*BY_TYPE.values(), strict=True)].index(True) == 4, "texture alone"
    assert all(ours > naive for ours, naive in zip(IMPORTANCE["AugCLIP"], IMPORTANCE["naive"], strict=True))


def fits(shares: tuple[float, ...], questions: int, parts: int = 1) -> bool:
    """Whether all shares, printed to three digits, can be of that many questions; `parts` of 2 allows half points."""
    whole = questions * parts
    return all(abs(round(share * whole) / whole - share) < 0.00051 for share in shares)


def test_the_shares_of_table_3_are_not_of_the_questions_of_table_2() -> None:
    """No interval was printed, and how many answers a share is of was not said: 37 and 35 cannot be right."""
    celeba, editval, dreambooth = zip(*S_2AFC.values(), strict=True)
    assert not any(fits(dreambooth, QUESTIONS["DreamBooth"], parts) for parts in (1, 2))
    assert [n for n in range(5, 56) if fits(dreambooth, n)] == [28]
    assert not any(fits(editval, QUESTIONS["EditVal"], parts) for parts in (1, 2))
    assert [n for n in range(5, 178) if fits(editval, n, parts=2)] == [89], "35.5 of 89: a tie that counts half"
    assert not any(fits(celeba, n, parts=2) for n in range(5, 300))
    assert S_2AFC["AugCLIP"][2] == S_2AFC["CLIP-I"][2] == pytest.approx(24 / 28, abs=0.0005), "a tie on DreamBooth"


def test_the_copy_holds_the_same_numbers() -> None:
    copy: dict[str, Any] = json.loads(shared_data("augclip", "published_tables.json").read_text("utf-8"))
    assert {name: tuple(row) for name, row in copy["table3_s2AFC"].items() if name != "columns"} == S_2AFC
    assert {name: tuple(row) for name, row in copy["table5_acc_both"].items() if name != "columns"} == ACC_BOTH
    assert {name: tuple(row) for name, row in copy["table9_weighting"].items() if name != "columns"} == WEIGHTING
    assert copy["table4_model_means"] == MEANS
    assert copy["table2_survey"]["questions"] == list(QUESTIONS.values())
    assert tuple(copy["table11_classifier"]["Linear SVM"][:5]) == WEIGHTING["weighted"]
