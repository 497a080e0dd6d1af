"""AugCLIP's arithmetic where the answer is known: weights, hyperplanes, the least change, directions."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.svm import SVC

from editgauge.errors import UnscorableError
from editgauge.metrics.embeddings import cosine_similarity, directional_similarity, unit_vectors
from editgauge.protocols.augclip._hyperplane import (
    MIN_WEIGHT,
    Classifier,
    Hyperplane,
    Weights,
    even_weights,
    fit,
    ideal_similarity,
    naive_weights,
    relative_weights,
)
from editgauge.protocols.augclip._ideal import effects
from editgauge.protocols.clip_family import attribute_mean

Points = NDArray[np.float64]


def sets(seed: int, sources: int, targets: int, dimensions: int = 512) -> tuple[Points, Points]:
    """Two clouds of unit vectors, as CLIP's texts have them: cosines of about .75 within a set and .65 across."""
    random = np.random.default_rng(seed)
    common, *own = unit_vectors(random.standard_normal((3, dimensions)))
    return tuple(  # type: ignore[return-value]
        unit_vectors(
            np.sqrt(0.65) * common
            + np.sqrt(0.10) * mine
            + np.sqrt(0.25 / dimensions) * random.standard_normal((count, dimensions))
        )
        for count, mine in zip((sources, targets), own, strict=True)
    )


def with_cosines(own: float, opposite: float, sources: int, targets: int) -> tuple[Points, Points]:
    """Unit vectors whose cosines are exactly these, within a set and across."""
    count = sources + targets
    gram = np.full((count, count), opposite)
    gram[:sources, :sources] = gram[sources:, sources:] = own
    np.fill_diagonal(gram, 1.0)
    values, vectors = np.linalg.eigh(gram)
    points = vectors * np.sqrt(np.maximum(values, 0))
    return points[:sources], points[sources:]


def test_two_points_have_the_hyperplane_between_them() -> None:
    plane = fit(np.array([[-1.0, 0.0]]), np.array([[1.0, 0.0]]), c=10.0)
    np.testing.assert_allclose(plane.w, [1.0, 0.0], atol=1e-9)
    assert plane.b == pytest.approx(0.0, abs=1e-9)
    source = np.array([-0.6, 0.8])
    v = plane.modification(source)
    np.testing.assert_allclose(v, [0.6, 0.0], atol=1e-9)
    assert ideal_similarity(np.array([0.0, 1.0]), source, v) == pytest.approx(1.0)
    assert ideal_similarity(source, source, v) == pytest.approx(0.8)


def test_a_hyperplane_off_the_origin_is_found_with_its_offset() -> None:
    """Margins at x = 1 and x = 3: w = (1, 0), b = -2; what lies further out changes nothing."""
    source, target = np.array([[1.0, 0.0], [1.0, 5.0], [-7.0, 2.0]]), np.array([[3.0, 1.0], [3.0, 4.0], [9.0, 0.0]])
    plane = fit(source, target, c=1000.0)
    np.testing.assert_allclose(plane.w, [1.0, 0.0], atol=1e-6)
    assert plane.b == pytest.approx(-2.0, abs=1e-6)
    assert plane.misclassified(source, target) == 0.0
    assert plane.misclassified(target, source) == 1.0


@pytest.mark.parametrize("classifier", get_args(Classifier))
@given(seed=st.integers(0, 10_000), sources=st.integers(2, 12), targets=st.integers(2, 12))
@settings(max_examples=15)
def test_the_least_change_ends_on_the_hyperplane(classifier: Classifier, seed: int, sources: int, targets: int) -> None:
    source, target = sets(seed, sources, targets, 32)
    plane = fit(source, target, relative_weights(source, target).scaled(), classifier)
    picture = unit_vectors(np.random.default_rng(seed).standard_normal(32))
    assert plane.side(picture + plane.reach(picture)) == pytest.approx(0.0, abs=1e-9)
    v = plane.modification(picture)
    if plane.side(picture) >= 0:
        assert not v.any()
    else:
        assert plane.side(picture + v) == pytest.approx(0.0, abs=1e-9)
        assert abs(cosine_similarity(v, plane.w)) == pytest.approx(1.0)  # no shorter way leads there


def test_a_source_on_the_target_side_stays_where_it_is() -> None:
    plane = Hyperplane(np.array([1.0, 0.0]), -0.2)
    already = np.array([0.6, 0.8])
    assert not plane.modification(already).any()
    np.testing.assert_allclose(plane.reach(already), [-0.4, 0.0])
    assert ideal_similarity(already, already, plane.modification(already)) == pytest.approx(1.0)


@pytest.mark.parametrize("classifier", get_args(Classifier))
@pytest.mark.parametrize("sums", [False, True])
def test_the_order_of_attributes_changes_no_digit(classifier: Classifier, sums: bool) -> None:
    source, target = sets(3, 9, 14)
    random = np.random.default_rng(0)

    def answer(one: Points, other: Points) -> tuple[list[float], float]:
        plane = fit(one, other, Weights(np.full(9, 0.5), np.full(14, 2.0)) if sums else None, classifier)
        return plane.w.tolist(), plane.b

    first = answer(source, target)
    for _ in range(5):
        assert answer(random.permutation(source), random.permutation(target)) == first


@given(seed=st.integers(0, 1000), scale=st.floats(0.1, 10))
@settings(max_examples=20)
def test_weights_follow_their_attributes_wherever_they_stand(seed: int, scale: float) -> None:
    source, target = sets(seed, 6, 8, 24)
    order = np.random.default_rng(seed).permutation(6)
    plain, moved = relative_weights(source, target), relative_weights(source[order] * scale, target * scale)
    np.testing.assert_allclose(moved.source, plain.source[order], atol=1e-12)
    np.testing.assert_allclose(moved.target, plain.target, atol=1e-12)


def test_a_repeated_attribute_weighs_more_as_equation_4_says() -> None:
    """Three orthogonal attributes, and the first once more: it gains its likeness with its twin, the others nothing."""
    axes = np.eye(5)
    opposite = axes[[4, 4]]
    twice = relative_weights(axes[[0, 0, 1, 2]], opposite, sums=True)
    np.testing.assert_allclose(twice.source, [1.0, 1.0, MIN_WEIGHT, MIN_WEIGHT])
    by_means = relative_weights(axes[[0, 0, 1, 2]], opposite)
    np.testing.assert_allclose(by_means.source, [1 / 3, 1 / 3, MIN_WEIGHT, MIN_WEIGHT])
    assert by_means.clipped_source == 0.5


def test_sums_turn_a_whole_set_negative_where_means_do_not() -> None:
    """10 source and 20 target attributes at cosines of .75 within and .65 across: -6.25 and +7.75."""
    source, target = with_cosines(0.75, 0.65, 10, 20)
    by_sums, by_means = relative_weights(source, target, sums=True), relative_weights(source, target)
    assert (by_sums.clipped_source, by_sums.clipped_target) == (1.0, 0.0)
    assert by_sums.abandoned
    np.testing.assert_array_equal(by_sums.source, np.ones(10))
    np.testing.assert_array_equal(by_sums.target, np.ones(20))
    np.testing.assert_allclose(np.concatenate([by_means.source, by_means.target]), 0.10, atol=1e-9)
    assert not by_means.abandoned
    swapped = relative_weights(target, source, sums=True)
    assert swapped.clipped_target == 1.0


def test_weights_scaled_to_the_mean_1_keep_their_ratios() -> None:
    weights = Weights(np.array([0.1, 0.3]), np.array([0.2]), clipped_source=0.5).scaled()
    np.testing.assert_allclose(weights.source, [0.5, 1.5])
    np.testing.assert_allclose(weights.target, [1.0])
    assert weights.clipped_source == 0.5


@pytest.mark.parametrize(("sources", "targets"), [(10, 10), (10, 20), (20, 10), (30, 30)])
def test_scaled_means_part_the_sets_where_unscaled_ones_give_up_a_whole_set(sources: int, targets: int) -> None:
    """Mean cosines are near .1: with C = 1 so soft an SVM calls everything by the heavier set's name."""
    source, target = sets(1, sources, targets)
    weights = relative_weights(source, target)
    soft = fit(source, target, weights).misclassified(source, target)
    assert soft == pytest.approx(min(sources, targets) / (sources + targets))
    assert fit(source, target, weights.scaled()).misclassified(source, target) == 0.0


@pytest.mark.parametrize(("sources", "targets"), [(4, 60), (60, 4)])
def test_sets_of_very_different_size_keep_their_weights_and_are_parted_by_a_larger_c(
    sources: int, targets: int
) -> None:
    source, target = sets(1, sources, targets)
    weights = relative_weights(source, target).scaled()
    assert np.all(weights.source > 0.5)
    assert np.all(weights.target > 0.5)
    assert fit(source, target, weights).misclassified(source, target) <= 4 / 64
    assert fit(source, target, weights, c=10.0).misclassified(source, target) == 0.0


def test_a_heavy_attribute_draws_the_hyperplane_its_way() -> None:
    source, target = np.array([[0.0, 0.0], [1.2, 0.0]]), np.array([[1.0, 0.0], [2.0, 0.0]])
    heavy = fit(source, target, Weights(np.array([1.0, 50.0]), np.array([1.0, 1.0])))
    light = fit(source, target, Weights(np.array([1.0, 0.01]), np.array([1.0, 1.0])))
    assert heavy.side(source[1]) < light.side(source[1])


def test_naive_weights_are_cosines_with_the_way_of_the_text_and_backwards_for_sources() -> None:
    weights = naive_weights(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[0.6, 0.8]]), np.array([2.0, 0.0]))
    np.testing.assert_allclose(weights.source, [1.0, MIN_WEIGHT])
    np.testing.assert_allclose(weights.target, [0.6])


def test_the_quick_solver_gives_what_scikit_learn_gives_for_the_whole_vectors() -> None:
    source, target = sets(5, 12, 17)
    weights = relative_weights(source, target).scaled()
    points, labels = np.vstack([source, target]), np.repeat([-1, 1], [12, 17])
    plain: Any = SVC(kernel="linear", tol=1e-9)
    plain.fit(points, labels, sample_weight=np.concatenate([weights.source, weights.target]))
    plane = fit(source, target, weights)
    np.testing.assert_allclose(plane.w, plain.coef_[0], atol=1e-5)
    assert plane.b == pytest.approx(plain.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("classifier", get_args(Classifier))
@pytest.mark.parametrize(("sources", "targets"), [(1, 1), (1, 6), (6, 1)])
def test_a_single_attribute_is_enough_on_either_side(classifier: Classifier, sources: int, targets: int) -> None:
    source, target = sets(2, sources, targets)
    plane = fit(source, target, relative_weights(source, target).scaled(), classifier, c=100.0)
    assert plane.misclassified(source, target) == 0.0


def test_lda_weighs_directions_by_the_scatter_within_the_sets() -> None:
    """Means differ as much along x as along y, but the sets scatter along x: the hyperplane is nearly level."""
    scatter = np.array([[x, y] for x in (-3.0, 3.0) for y in (-0.1, 0.1)] * 10)
    plane = fit(scatter - 0.5, scatter + 0.5, classifier="lda")
    assert plane.w[1] > 20 * plane.w[0] > 0
    assert plane.side(np.zeros(2)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("classifier", get_args(Classifier))
def test_equal_sets_have_no_hyperplane(classifier: Classifier) -> None:
    same = np.eye(3)[:2]
    with pytest.raises(ValueError, match="no hyperplane parts"):
        fit(same, same, even_weights(same, same), classifier)


def test_an_empty_side_has_no_hyperplane() -> None:
    with pytest.raises(ValueError, match="on either side"):
        fit(np.zeros((0, 3)), np.eye(3))


def test_effects_say_what_the_change_brings_and_takes() -> None:
    """From x to the middle of x and y: y gains .707, x loses .293, z stays."""
    x, y, z = np.eye(3)
    np.testing.assert_allclose(effects(x, x + y, np.stack([y, x, z])), [0.5**0.5, 0.5**0.5 - 1, 0.0], atol=1e-12)


def test_the_direction_of_the_text_is_followed_or_not() -> None:
    x, y, z = np.eye(3)
    assert directional_similarity(x, y, x, y) == pytest.approx(1.0)
    assert directional_similarity(y, x, x, y) == pytest.approx(-1.0)
    assert directional_similarity(x, y, z, -z) == pytest.approx(0.0)


def test_no_change_has_no_direction() -> None:
    x, y, _ = np.eye(3, dtype=np.float32)
    with pytest.raises(UnscorableError, match="edited image is the source image"):
        directional_similarity(x, x, x, y)
    with pytest.raises(UnscorableError, match="target text is the source text"):
        directional_similarity(x, y, x, x + np.float32(1e-8))


def test_weights_of_attributes_are_taken_as_they_are() -> None:
    """Eq. 14 of AugCLIP does not bring them to the sum 1: half of 2 times y is y."""
    _, y, z = np.eye(3)
    assert attribute_mean(np.stack([y, z]), np.array([2.0, 0.0])).tolist() == y.tolist()
    assert attribute_mean(np.stack([y, z]), np.array([1.0, 0.0])).tolist() == (y / 2).tolist()


def test_a_vector_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="no direction"):
        cosine_similarity(np.zeros(3), np.ones(3))
