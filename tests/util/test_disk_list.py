"""A shelf is a sequence like a tuple, wherever its things lie."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from editgauge._util.disk_list import DiskList

THINGS = some.lists(some.text(max_size=20) | some.integers(), max_size=30)


@given(THINGS, some.integers(0, 40), some.data())
def test_it_is_a_sequence(things: list[object], in_memory: int, data: some.DataObject) -> None:
    shelf = DiskList(things, in_memory)
    assert list(shelf) == things
    assert len(shelf) == len(things)
    assert list(shelf.settled()) == things
    order = data.draw(some.permutations(range(len(things))))
    assert list(shelf.in_order(order)) == [things[place] for place in order]
    assert [shelf[place] for place in range(-len(things), len(things))] == things * 2
    assert list(shelf[1:7:2]) == things[1:7:2]


def test_it_grows_while_it_is_read() -> None:
    shelf = DiskList(range(5), max_in_memory=2)
    first = iter(shelf)
    assert next(first) == 0
    shelf.append(5)
    assert shelf[5] == 5
    assert next(first) == 1


def test_few_are_a_tuple() -> None:
    assert DiskList("ab").settled() == ("a", "b")
    many = DiskList("abc", max_in_memory=2)
    assert many.settled() is many
