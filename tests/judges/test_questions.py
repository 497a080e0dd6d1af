"""Pictures are encoded once while they are in use, also by many threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import Pixels
from editgauge.judges import _questions
from editgauge.judges._questions import MAX_CACHED_URLS, DataUrls, sent_size


def test_a_picture_is_encoded_once_for_all_who_ask(
    monkeypatch: pytest.MonkeyPatch, picture: Callable[[int], Pixels]
) -> None:
    made: list[str] = []
    real = _questions.data_url

    def counted(pixels: Pixels, encoding: _questions.Encoding) -> str:
        made.append(encoding)
        return real(pixels, encoding)

    monkeypatch.setattr(_questions, "data_url", counted)
    urls = DataUrls()
    with ThreadPoolExecutor(8) as threads:
        result = set(threads.map(lambda _: urls.url(picture(1), 1024, "png"), range(100)))
    assert len(made) == len(result) == 1
    others = [urls.url(picture(1), 12, "png"), urls.url(picture(1), 1024, "jpeg"), urls.url(picture(2), 1024, "png")]
    assert len({*result, *others}) == 4
    for seed in range(MAX_CACHED_URLS):
        urls.url(picture(10 + seed), 1024, "png")
    before = len(made)
    urls.url(picture(1), 1024, "png")
    assert len(made) == before + 1  # it made room for younger ones


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 2000))
def test_what_is_sent_keeps_its_shape_and_fits(width: int, height: int, most: int) -> None:
    sent = sent_size(np.broadcast_to(np.uint8(0), (height, width, 3)), most)
    assert max(sent) == min(most, max(width, height))
    assert min(sent) >= 1
    shrink = min(1.0, most / max(width, height))
    for side, full in zip(sent, (width, height), strict=True):
        assert side == 1 or abs(side - full * shrink) <= 0.5
