"""Few labels, many scores: closed cases, laws, and simulations of what the interval promises."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge._stats.intervals import MIN_SOURCES, Labels, Numbers
from editgauge._stats.prediction_powered import (
    PoweredMean,
    in_units_of,
    mean_by_clusters,
    prediction_powered_mean,
)

World = tuple[Numbers, Numbers, Labels, Numbers, Labels]


def world(
    random: np.random.Generator, quality: float, rated: int = 30, unrated: int = 150, shared: bool = False
) -> World:
    """Source images with one to four edits each; labels average to 0. Shared: rated and unrated edits of one source."""
    clusters = np.repeat(np.arange(rated + unrated), random.integers(1, 5, size=rated + unrated))
    labels, noise = (random.normal(size=rated + unrated)[clusters] + random.normal(size=clusters.size) for _ in "ab")
    scores = quality * labels + np.sqrt(1 - quality**2) * noise
    chosen = random.random(clusters.size) < rated / (rated + unrated) if shared else clusters < rated
    return labels[chosen], scores[chosen], clusters[chosen], scores[~chosen], clusters[~chosen]


def plain(labeled: int, unlabeled: int, seed: int = 0) -> World:
    """Every edit with a source image of its own, and a score that is the label."""
    labels = np.random.default_rng(seed).normal(size=labeled + unlabeled)
    some, rest = labels[:labeled], labels[labeled:]
    return some, some, np.arange(labeled), rest, np.arange(labeled, labeled + unlabeled)


def covers(mean: PoweredMean, truth: float = 0.0) -> bool:
    return mean.low is not None and mean.high is not None and mean.low <= truth <= mean.high


def simulate(worlds: int, quality: float, **options: int | bool) -> tuple[float, float, float]:
    """The share of intervals that cover, the mean ratio of widths, and the bias in standard errors."""
    random = np.random.default_rng(11)
    found = [prediction_powered_mean(*world(random, quality, **options)) for _ in range(worlds)]  # type: ignore[arg-type]
    values = np.array([each.value for each in found])
    ratios = [each.width_ratio for each in found if each.width_ratio is not None]
    bias = float(values.mean() / values.std() * np.sqrt(worlds))
    return sum(map(covers, found)) / worlds, float(np.mean(ratios)), bias


# --- closed cases ------------------------------------------------------------------------------------------------


def test_a_weight_of_zero_is_the_labels_alone() -> None:
    found = prediction_powered_mean(*world(np.random.default_rng(0), 0.8), weight=0.0)

    assert (found.value, found.low, found.high) == pytest.approx(
        (found.labels_alone.value, found.labels_alone.low, found.labels_alone.high)
    )
    assert found.width_ratio == pytest.approx(1)


def test_labels_alone_have_the_t_interval_when_every_edit_has_its_own_source() -> None:
    from scipy.stats import sem, t

    labels = np.random.default_rng(1).gamma(2, size=25)
    found = mean_by_clusters(labels, np.arange(25))

    assert (found.low, found.high) == pytest.approx(t.interval(0.95, 24, labels.mean(), sem(labels)))


def test_copies_of_a_label_add_no_certainty_when_they_share_a_source() -> None:
    labels = np.random.default_rng(2).normal(size=20)
    once, copied = mean_by_clusters(labels, np.arange(20)), mean_by_clusters(labels.repeat(3), np.arange(20).repeat(3))

    assert (copied.low, copied.high) == pytest.approx((once.low, once.high))


def test_a_perfect_score_is_worth_a_label_for_every_edit() -> None:
    """200 labels and 600 perfect scores that vary as much are as good as 800 labels: half the width."""
    labels = np.random.default_rng(0).normal(size=200)
    more = np.tile(labels, 3) + 0.4
    found = prediction_powered_mean(labels, labels, np.arange(200), more, np.arange(200, 800))

    assert found.width_ratio == pytest.approx(np.sqrt(200 / 800), rel=0.01)
    assert found.weight == pytest.approx(600 / 800, abs=0.01)
    assert found.value == pytest.approx(np.concatenate([labels, more]).mean(), abs=0.01)


def test_the_weight_is_that_of_the_paper_when_every_edit_has_its_own_source() -> None:
    """For a mean: cov(label, score) / ((1 + n / N) var(score)), here with the variance of each sample by itself."""
    random = np.random.default_rng(3)
    labels, more = random.normal(size=400), 1.3 * random.normal(size=1200)
    scores = 0.5 * labels + random.normal(size=400) * np.sqrt(0.75)
    found = prediction_powered_mean(labels, scores, np.arange(400), more, np.arange(400, 1600))

    covariance = float(np.cov(labels, scores)[0, 1])
    assert found.weight == pytest.approx(covariance / (scores.var(ddof=1) + 400 / 1200 * more.var(ddof=1)))
    assert found.value == pytest.approx(labels.mean() + found.weight * (more.mean() - scores.mean()))


def test_a_score_that_goes_the_wrong_way_does_not_count() -> None:
    labels, scores, clusters, more, others = plain(50, 100)
    found = prediction_powered_mean(labels, -scores, clusters, -more, others)

    assert found.weight == 0
    assert (found.value, found.low, found.high) == (
        (found.labels_alone.value, found.labels_alone.low, found.labels_alone.high)
    )
    assert "does not count" in found.note


@pytest.mark.parametrize(("unit", "shift"), [(0.01, 0.0), (1.0, 7.0), (40.0, -3.0)])
def test_the_scale_of_the_score_does_not_matter(unit: float, shift: float) -> None:
    labels, scores, clusters, more, others = world(np.random.default_rng(4), 0.7)
    expected = prediction_powered_mean(labels, *_scaled(labels, scores, clusters, more, others))
    found = prediction_powered_mean(
        labels, *_scaled(labels, unit * scores + shift, clusters, unit * more + shift, others)
    )

    assert (found.value, found.low, found.weight) == pytest.approx((expected.value, expected.low, expected.weight))


def _scaled(
    labels: Numbers, scores: Numbers, clusters: Labels, more: Numbers, others: Labels
) -> tuple[Numbers, Labels, Numbers, Labels]:
    here, there = in_units_of(labels, scores, more)
    return here, clusters, there, others


# --- nothing to gain, or nothing to say ----------------------------------------------------------------------------


def test_one_source_has_no_interval() -> None:
    labels, scores, _, more, others = plain(20, 40)
    found = prediction_powered_mean(labels, scores, np.zeros(20), more, others)

    assert (found.value, found.low, found.high, found.width_ratio) == (labels.mean(), None, None, None)
    assert "one source image" in found.note


def test_equal_labels_have_no_interval() -> None:
    _, scores, clusters, more, others = plain(20, 40)
    found = prediction_powered_mean(np.ones(20), scores, clusters, more, others)

    assert (found.value, found.low) == (1.0, None)
    assert "all ratings are equal" in found.note


def test_without_unlabeled_edits_it_is_the_labels_alone() -> None:
    labels, scores, clusters, _, _ = plain(20, 40)
    found = prediction_powered_mean(labels, scores, clusters, np.array([]), np.array([]))

    assert (found.low, found.weight, found.n_unlabeled) == (found.labels_alone.low, 0.0, 0)
    assert "nothing to add" in found.note


@pytest.mark.parametrize("sizes", [(MIN_SOURCES - 1, 40), (40, MIN_SOURCES - 1)])
def test_few_sources_on_either_side_leave_the_labels_alone(sizes: tuple[int, int]) -> None:
    found = prediction_powered_mean(*plain(*sizes))

    assert (found.low, found.weight) == (found.labels_alone.low, 0.0)
    assert "fewer than 10 source images" in found.note


def test_a_score_that_never_varies_tells_nothing() -> None:
    labels, scores, clusters, more, others = plain(20, 40)
    found = prediction_powered_mean(labels, np.ones_like(scores), clusters, np.ones_like(more), others)

    assert (found.low, found.weight) == (found.labels_alone.low, 0.0)
    assert "same everywhere" in found.note


# --- simulations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_it_is_unbiased_and_covers_about_as_often_as_it_says(shared: bool) -> None:
    coverage, ratio, bias = simulate(400, 0.8, shared=shared)

    assert 0.91 <= coverage <= 0.985
    assert 0.5 < ratio < 0.8
    assert abs(bias) < 3.5


def test_a_worthless_score_costs_next_to_nothing() -> None:
    coverage, ratio, _ = simulate(300, 0.0)

    assert 0.9 <= coverage <= 0.985
    assert 0.98 < ratio < 1.02


def test_ignoring_the_sources_would_be_too_sure() -> None:
    """The reason for clustering, and a proof that the simulation above can fail."""
    random = np.random.default_rng(11)
    found = []
    for _ in range(300):
        labels, scores, _, more, _ = world(random, 0.8)
        own = np.arange(labels.size + more.size)
        found.append(prediction_powered_mean(labels, scores, own[: labels.size], more, own[labels.size :]))

    assert sum(map(covers, found)) / 300 < 0.89


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("quality", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("rated", [15, 60])
def test_coverage_in_many_worlds(rated: int, quality: float, shared: bool) -> None:
    coverage, ratio, bias = simulate(3_000, quality, rated=rated, unrated=200, shared=shared)

    assert 0.90 <= coverage <= 0.98
    assert ratio < 1.02
    assert abs(bias) < 4
