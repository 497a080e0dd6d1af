"""Which examples in docstrings are run as tests, whatever part of the repository is collected."""

from __future__ import annotations

import pytest

from editgauge import _face

VERBS = {
    place.replace(":", ".") for table in (*_face.VERBS.values(), *_face.GROUPS.values()) for place in table.values()
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the examples of verbs, which speak of a user's own files: `tests/docs` runs the commands instead."""
    examples = [item for item in items if isinstance(item, pytest.DoctestItem) and item.name in VERBS]
    config.hook.pytest_deselected(items=examples)
    items[:] = [item for item in items if item not in examples]
