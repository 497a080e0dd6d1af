"""Shared by the tests of the loaders.

- `draw(path, ...)`: writes a small picture there, with its folders.
- `told(call, ...)`: the problems of the `BadInputError` that the call raises, with paths below `tmp_path`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from editgauge.errors import BadInputError


def _draw(path: Path, size: tuple[int, int] = (8, 6), color: Any = (90, 120, 150), mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, color).save(path)
    return path


@pytest.fixture
def draw() -> Callable[..., Path]:
    return _draw


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    def problems(call: Callable[..., Any], *arguments: Any) -> tuple[str, ...]:
        with pytest.raises(BadInputError) as caught:
            call(*arguments)
        assert all(problem.isprintable() for problem in caught.value.problems)
        return tuple(problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems)

    return problems
