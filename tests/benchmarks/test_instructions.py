"""Instructions in MagicBrush's manner, written for this test: what is read off them, and what must be refused."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from editgauge.benchmarks._text.instructions import Parts, read_instruction
from editgauge.core.errors import CannotTell
from editgauge.core.types import Position, Relation


def added(to: str, relation: Relation | None = None) -> Parts:
    return Parts("object_addition", to=to, position=Position(relation) if relation else None)


def placed(to: str, relation: Relation, anchor: str) -> Parts:
    return Parts("positional_addition", anchor, None, to, Position(relation, anchor))


def part(subject: str, to: str) -> Parts:
    return Parts("alter_parts", subject, None, to)


def replaced(old: str, new: str) -> Parts:
    return Parts("object_replacement", old, old, new)


def removed(subject: str, single: bool = False) -> Parts:
    return Parts("single_instance_removal" if single else "object_removal", subject)


def colored(subject: str, to: str, before: str | None = None) -> Parts:
    return Parts("color", subject, before, to)


def sized(subject: str, to: str) -> Parts:
    return Parts("size", subject, None, to)


def moved(subject: str, to: Relation, before: str | None = None) -> Parts:
    return Parts("position_replacement", subject, before, to, Position(to))


READ = {
    "Add a kite.": added("kite"),
    "add a lantern to the picture": added("lantern"),
    "add two swans": added("swans"),
    "we need some candles": added("candles"),
    "let there be lots of daisies in the meadow": added("daisies"),
    "what if there was a fox behind the fence?": added("fox"),
    "I want a deer near the river": added("deer"),
    "put a volcano in the background": added("volcano"),
    "place a jug in the middle of the table": added("jug"),
    "add a moon on the left of the image": added("moon", "left"),
    "Put a teapot on the shelf": placed("teapot", "on", "shelf"),
    "put honey on the waffle": placed("honey", "on", "waffle"),
    "Could we have a parrot on the branch?": placed("parrot", "on", "branch"),
    "let there be a rowing boat on the pond": placed("rowing boat", "on", "pond"),
    "There should be a candle on the cake": placed("candle", "on", "cake"),
    "Insert a lamp to the right of the armchair": placed("lamp", "right", "armchair"),
    "add a rug under the piano": placed("rug", "below", "piano"),
    "Add a balloon above the house, please": placed("balloon", "above", "house"),
    "it needs a clock above the door": placed("clock", "above", "door"),
    "put a beret on the goat": part("goat", "beret"),
    "add a saddle to the camel": part("camel", "saddle"),
    "let the owl wear a monocle": part("owl", "monocle"),
    "let the guard wear leather boots": part("guard", "leather boots"),
    "give the snowman a carrot nose": part("snowman", "carrot nose"),
    "have the boy hold a lantern": part("boy", "lantern"),
    "Have the sailor be holding a rope": part("sailor", "rope"),
    "What if the bear had wings?": part("bear", "wings"),
    "What if the penguin wore a scarf?": part("penguin", "scarf"),
    "the mannequin should wear a veil": part("mannequin", "veil"),
    "have a goat instead of the sheep": replaced("sheep", "goat"),
    "put a melon in place of the pumpkin": replaced("pumpkin", "melon"),
    "replace the tram with a steam train": replaced("tram", "steam train"),
    "swap the carrot for a cucumber": replaced("carrot", "cucumber"),
    "turn the canoe into a raft": replaced("canoe", "raft"),
    "change the owl to a crow": replaced("owl", "crow"),
    "change the harp for a cello": replaced("harp", "cello"),
    "Make the pony a zebra": replaced("pony", "zebra"),
    "let the bench be a sofa": replaced("bench", "sofa"),
    "let the cart turn into a sleigh": replaced("cart", "sleigh"),
    "what if the tower was a lighthouse": replaced("tower", "lighthouse"),
    "The stump should be replaced by a fountain": replaced("stump", "fountain"),
    "transform the puddle into lava": replaced("puddle", "lava"),
    "remove the ladder": removed("ladder"),
    "get rid of all the pigeons": removed("pigeons"),
    "Take out the spoon from the bowl": removed("spoon"),
    "take away the kettle in the picture": removed("kettle"),
    "The scarecrow should be removed.": removed("scarecrow"),
    "delete one of the umbrellas": removed("umbrellas", single=True),
    "erase one sheep": removed("sheep", single=True),
    "make the door green": colored("door", "green"),
    "change the color of the roof to dark red": colored("roof", "dark red"),
    "change the ferry's color to navy": colored("ferry", "navy"),
    "paint the fence white": colored("fence", "white"),
    "let the tractor be yellow": colored("tractor", "yellow"),
    "The curtain should be light blue": colored("curtain", "light blue"),
    "Can the kiosk be orange?": colored("kiosk", "orange"),
    "change the brown mule to black": colored("mule", "black", "brown"),
    "change the mailbox from red to blue": colored("mailbox", "blue", "red"),
    "make the tomato bigger": sized("tomato", "large"),
    "Make the statue a bit smaller": sized("statue", "small"),
    "enlarge the mushroom": sized("mushroom", "large"),
    "decrease the size of the pearl": sized("pearl", "small"),
    "let the snail be huge": sized("snail", "large"),
    "move the vase to the left": moved("vase", "left"),
    "Move the stool from the right to the middle of the image": moved("stool", "center", "right"),
}
REFUSED = (
    "let the hound bark",
    "make it rain",
    "make the child eat a pear",
    "let there be no clouds",
    "make the clown on the left taller",
    "remove the girl's bonnet",
    "add a cup and a spoon",
    "remove the kettle and add a vase",
    "change the background to a harbour",
    "turn day into night",
    "Make the soup look tastier",
    "give him a hat",
    "move the chair closer to the table",
    "put the cup on the table",
    "change the oak to a cork oak",
    "remove the second candle",
    "paint a moustache",
    "replace the pear that lies on the plate with a fig",
    "swap one of the oars for a paddle",
    "have a squirrel watch the pigeons",
    "add more light",
    "let the plate be transparent",
    "make the wall brick",
    "turn the picture into a painting",
    "what would it look like if the pool was frozen",
    "remove it",
    "",
)


def test_there_are_enough_of_each() -> None:
    assert len(READ) + len(REFUSED) >= 60
    assert Counter(parts.type for parts in READ.values()).keys() == {
        *("object_addition", "positional_addition", "alter_parts", "object_replacement", "object_removal"),
        *("single_instance_removal", "color", "size", "position_replacement"),
    }


@pytest.mark.parametrize("told", READ)
def test_what_is_said_in_so_many_words_is_read(told: str) -> None:
    assert read_instruction(told) == READ[told]
    assert read_instruction(f"  Please {told.upper()} ") == READ[told]


@pytest.mark.parametrize("told", REFUSED)
def test_the_rest_is_refused_with_a_reason(told: str) -> None:
    with pytest.raises(CannotTell) as caught:
        read_instruction(told)
    assert caught.value.reason == "unparsable"
    assert len(caught.value.detail) > 10


FAMILIES = {
    "Add": {"object_addition", "positional_addition", "alter_parts"},
    "Remove": {"object_removal", "single_instance_removal"},
    "Change Attribute": {"color", "size", "alter_parts"},
}


def test_on_real_instructions_the_types_agree_with_people(shared: Path) -> None:
    """EditInspector labeled 783 edits of MagicBrush by what was done.

    Its 'Replace' is often worded as an addition ("put a cake on the plate"; 95 of 139 agree): that label is not asked.
    The rules were corrected with these instructions in view, so this guards against losses and proves nothing more.
    """
    with (shared / "editinspector" / "editinspector_benchmark.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    asked = agreed = parsed = 0
    for row in rows:
        try:
            found = read_instruction(row["instruction"])
        except CannotTell:
            continue
        parsed += 1
        if row["action"] in FAMILIES:
            asked += 1
            agreed += found.type in FAMILIES[row["action"]]
    assert (len(rows), parsed) == (783, 454)
    assert agreed / asked > 0.97
