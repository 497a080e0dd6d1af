"""Laws that every metric keeps, whoever wrote it: the registry is walked, so none can be forgotten."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from editgauge._util.images import Pixels, Unit, as_unit
from editgauge._util.masks import BoolMask
from editgauge.metrics import BUILT_IN, metrics
from editgauge.metrics.base import Metric

each_metric = pytest.mark.parametrize("compare", [metrics.get(name) for name in metrics], ids=list(metrics))


@dataclass(frozen=True)
class Pair:
    """Two images of one size, and a mask for them; printed small when a law fails."""

    height: int
    width: int
    channels: int
    before_kind: str
    after_kind: str
    seed: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.height, self.width, 3) if self.channels == 3 else (self.height, self.width)

    def images(self) -> tuple[Unit, Unit]:
        random = np.random.default_rng(self.seed)
        return CONTENTS[self.before_kind](random, self.shape), CONTENTS[self.after_kind](random, self.shape)

    def mask(self) -> BoolMask:
        random = np.random.default_rng(self.seed + 1)
        mask = random.random((self.height, self.width)) < random.choice([0.05, 0.5, 0.95])
        mask[random.integers(self.height), random.integers(self.width)] = True
        return np.asarray(mask)


def _noise(random: np.random.Generator, shape: tuple[int, ...]) -> Unit:
    return random.random(shape, dtype=np.float32)


def _flat(random: np.random.Generator, shape: tuple[int, ...]) -> Unit:
    return np.full(shape, random.random(), dtype=np.float32)


def _black_and_white(random: np.random.Generator, shape: tuple[int, ...]) -> Unit:
    return random.integers(0, 2, shape).astype(np.float32)


def _ramp(random: np.random.Generator, shape: tuple[int, ...]) -> Unit:
    """Every shade equally often, or nearly so: the histogram that does not vary."""
    return np.linspace(0, 1, math.prod(shape), endpoint=False, dtype=np.float32).reshape(shape)


CONTENTS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Unit]] = {
    "noise": _noise,
    "flat": _flat,
    "black": lambda _, shape: np.zeros(shape, dtype=np.float32),
    "white": lambda _, shape: np.ones(shape, dtype=np.float32),
    "black and white": _black_and_white,
    "ramp": _ramp,
}

lengths = st.one_of(st.integers(1, 12), st.integers(1, 40))
pairs = st.builds(
    Pair,
    height=lengths,
    width=lengths,
    channels=st.sampled_from([1, 3]),
    before_kind=st.sampled_from(sorted(CONTENTS)),
    after_kind=st.sampled_from(sorted(CONTENTS)),
    seed=st.integers(0, 2**32 - 1),
)
one_metric = st.sampled_from([metrics.get(name) for name in metrics])


@cache
def photograph() -> Unit:
    cat: Callable[[], Pixels] = skimage.data.chelsea
    return as_unit(cat()[60:220, 100:340])


def noisy(strength: float) -> Unit:
    noise = np.random.default_rng(7).standard_normal(photograph().shape)
    return np.clip(photograph() + strength * noise, 0, 1).astype(np.float32)


def blurred(sigma: float) -> Unit:
    return np.asarray(cv2.GaussianBlur(photograph(), (0, 0), sigma), dtype=np.float32)


def compressed(quality: int) -> Unit:
    eight_bit = np.rint(photograph() * 255).astype(np.uint8)
    _, encoded = cv2.imencode(".jpg", eight_bit, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return as_unit(np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), dtype=np.uint8))


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=0, abs_tol=1e-6)


def test_built_in_metrics_are_all_walked() -> None:
    assert set(BUILT_IN) <= set(metrics)


@each_metric
def test_info_tells_all_that_a_reader_needs(compare: Metric) -> None:
    info = compare.info
    assert metrics.get(info.name) is compare
    assert info.formula.strip()
    assert info.about.endswith(".")
    assert all(map(math.isfinite, info.range))
    assert info.range[0] < info.range[1]
    assert info.reach >= 0


@each_metric
@given(pair=pairs)
def test_an_image_against_itself_is_as_good_as_it_gets(compare: Metric, pair: Pair) -> None:
    image, _ = pair.images()
    assert compare(image, image.copy()) == compare.info.best
    assert compare(image, image.copy(), pair.mask()) == compare.info.best


@each_metric
@given(pair=pairs)
def test_the_value_lies_within_the_range(compare: Metric, pair: Pair) -> None:
    lowest, highest = compare.info.range
    for where in (None, pair.mask()):
        value = compare(*pair.images(), where)
        assert type(value) is float
        assert lowest <= value <= highest


@each_metric
def test_symmetry_is_claimed_truly(compare: Metric) -> None:
    one, other = noisy(0.1), blurred(3)
    assert close(compare(one, other), compare(other, one)) == compare.info.symmetric


@given(compare=one_metric.filter(lambda compare: compare.info.symmetric), pair=pairs)
def test_the_images_may_be_swapped(compare: Metric, pair: Pair) -> None:
    before, after = pair.images()
    assert close(compare(before, after), compare(after, before))
    assert close(compare(before, after, pair.mask()), compare(after, before, pair.mask()))


@pytest.mark.parametrize(
    "damaged",
    [
        [photograph(), *map(noisy, (0.01, 0.03, 0.1, 0.2, 0.4))],
        [photograph(), *map(blurred, (0.6, 1, 2, 4, 8))],
        [photograph(), *map(compressed, (95, 70, 30, 5))],
    ],
    ids=["noise", "blur", "jpeg"],
)
@each_metric
def test_damage_never_looks_like_improvement(compare: Metric, damaged: list[Unit]) -> None:
    values = [compare(photograph(), image) for image in damaged]
    assert values == sorted(values, reverse=compare.info.higher_is_better)
    assert len(set(values)) == len(values)


@each_metric
@given(pair=pairs)
def test_a_full_mask_is_no_mask(compare: Metric, pair: Pair) -> None:
    everywhere = np.ones((pair.height, pair.width), dtype=np.bool_)
    assert close(compare(*pair.images(), everywhere), compare(*pair.images()))


@each_metric
@given(pair=pairs)
def test_what_happens_out_of_reach_of_the_mask_does_not_matter(compare: Metric, pair: Pair) -> None:
    before, after = pair.images()
    where = pair.mask()
    unseen = ~_square_grown(where, compare.info.reach)
    elsewhere = after.copy()
    elsewhere[unseen] = 1 - elsewhere[unseen]
    assert close(compare(before, elsewhere, where), compare(before, after, where))


@each_metric
def test_what_happens_within_the_mask_does_matter(compare: Metric) -> None:
    before = photograph()
    where = np.zeros(before.shape[:2], dtype=np.bool_)
    where[40:60, 70:110] = True
    after = before.copy()
    after[where] = 1 - after[where]
    assert compare(before, after, ~_square_grown(where, compare.info.reach)) == compare.info.best
    inside, everywhere = compare(before, after, where), compare(before, after)
    assert inside != everywhere != compare.info.best
    assert (inside < everywhere) == compare.info.higher_is_better


@each_metric
def test_the_reach_is_no_larger_than_stated(compare: Metric) -> None:
    before = photograph()
    where = np.zeros(before.shape[:2], dtype=np.bool_)
    where[80, 120] = True
    after = before.copy()
    just_seen = _square_grown(where, compare.info.reach) & ~_square_grown(where, compare.info.reach - 1)
    after[just_seen] = 1 - after[just_seen]
    assert compare(before, after, where) != compare.info.best


def _square_grown(mask: BoolMask, by: int) -> BoolMask:
    """Windows are squares: a disc, as `masks.grown` has it, would leave their corners out."""
    if by < 0:
        return np.zeros_like(mask)
    square = np.ones((2 * by + 1, 2 * by + 1), dtype=np.uint8)
    return np.asarray(cv2.dilate(mask.astype(np.uint8), square), dtype=np.bool_)


@each_metric
@given(pair=pairs)
def test_the_arrays_are_left_as_they_were(compare: Metric, pair: Pair) -> None:
    before, after = pair.images()
    where = pair.mask()
    copies = before.copy(), after.copy(), where.copy()
    compare(before, after, where)
    compare(before, after)
    for array, copy in zip((before, after, where), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@each_metric
def test_arrays_that_cannot_be_written_will_do(compare: Metric) -> None:
    before, after = photograph().copy(), noisy(0.1)
    before.flags.writeable = after.flags.writeable = False
    assert math.isfinite(compare(before, after))


@each_metric
@given(pair=pairs)
def test_memory_layout_does_not_matter(compare: Metric, pair: Pair) -> None:
    before, after = pair.images()
    where = pair.mask()
    expected = compare(before, after, where)
    for view in (_every_second_of_a_larger_one, _backwards_in_memory, _columns_first_in_memory):
        assert compare(view(before), view(after), view(where)) == expected
        assert compare(view(before), after, where) == expected


def _every_second_of_a_larger_one(array: NDArray[Any]) -> NDArray[Any]:
    larger = np.zeros((2 * array.shape[0], 2 * array.shape[1], *array.shape[2:]), dtype=array.dtype)
    larger[::2, ::2] = array
    return larger[::2, ::2]


def _backwards_in_memory(array: NDArray[Any]) -> NDArray[Any]:
    return array[::-1, ::-1].copy()[::-1, ::-1]


def _columns_first_in_memory(array: NDArray[Any]) -> NDArray[Any]:
    return np.asfortranarray(array)


@pytest.mark.parametrize("precision", [np.float64, np.longdouble])
@each_metric
def test_a_wider_float_type_gives_the_same_value(compare: Metric, precision: type[np.floating[Any]]) -> None:
    before, after = photograph(), noisy(0.1)
    wide: NDArray[Any] = before.astype(precision)
    expected = compare(before, after)
    assert close(compare(wide, after.astype(precision)), expected)
    assert close(compare(wide, after), expected)


@each_metric
def test_half_precision_is_accepted(compare: Metric) -> None:
    before: NDArray[Any] = photograph().astype(np.float16)
    after: NDArray[Any] = noisy(0.1).astype(np.float16)
    assert close(compare(before, after), compare(before.astype(np.float32), after.astype(np.float32)))


@each_metric
def test_a_gray_image_is_one_of_three_equal_channels(compare: Metric) -> None:
    before, after = (image[..., 1] for image in (photograph(), noisy(0.1)))
    expected = compare(before, after)
    assert close(compare(np.dstack([before] * 3), np.dstack([after] * 3)), expected)
    assert close(compare(before[..., None], after[..., None]), expected)


BLACK = np.zeros((12, 14, 3), dtype=np.float32)
EVERYWHERE = np.ones((12, 14), dtype=np.bool_)


def with_one_pixel(value: float) -> Unit:
    image = BLACK.copy()
    image[3, 4, 1] = value
    return image


REFUSED: dict[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, type[Exception], str]] = {
    "bytes as floats": (BLACK, with_one_pixel(255), None, ValueError, "divide by 255"),
    "integers": (BLACK, BLACK.astype(np.int64), None, TypeError, "uint8"),
    "negative": (with_one_pixel(-0.1), BLACK, None, ValueError, r"got values from -0\.1 to 0"),
    "not a number": (BLACK, with_one_pixel(math.nan), None, ValueError, r"\[0, 1\]"),
    "infinite": (BLACK, with_one_pixel(math.inf), None, ValueError, r"\[0, 1\]"),
    "other height": (BLACK, BLACK[1:], None, ValueError, "differ in size"),
    "other width": (BLACK, BLACK[:, 1:], None, ValueError, "differ in size"),
    "gray and color": (BLACK, BLACK[..., 0], None, ValueError, "differ in size"),
    "no pixels": (BLACK[:0], BLACK[:0], None, ValueError, "nothing to compare"),
    "transparency": (np.dstack([BLACK, EVERYWHERE]), np.dstack([BLACK, EVERYWHERE]), None, ValueError, "the shape"),
    "a row of numbers": (BLACK[0, :, 0], BLACK[0, :, 0], None, ValueError, "got the shape"),
    "empty mask": (BLACK, BLACK, ~EVERYWHERE, ValueError, "nothing to compare"),
    "mask of another size": (BLACK, BLACK, EVERYWHERE[1:], ValueError, "the mask is"),
    "mask of bytes": (BLACK, BLACK, EVERYWHERE.astype(np.uint8), TypeError, "not bool"),
}


@pytest.mark.parametrize(("before", "after", "where", "error", "words"), REFUSED.values(), ids=REFUSED)
@each_metric
def test_what_would_give_a_wrong_number_is_refused(
    compare: Metric,
    before: NDArray[Any],
    after: NDArray[Any],
    where: NDArray[Any] | None,
    error: type[Exception],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        compare(before, after, where)


@each_metric
def test_rounding_over_white_is_no_reason_to_refuse(compare: Metric) -> None:
    white = np.ones_like(BLACK)
    lowest, highest = compare.info.range
    assert lowest <= compare(np.nextafter(white, np.float32(2)), BLACK) <= highest
    assert lowest <= compare(np.nextafter(BLACK, np.float32(-1)), white) <= highest
