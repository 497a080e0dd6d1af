"""Layouts: where a method's outcomes lie below its folder, by the conventions in public use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from re import Pattern
from typing import TYPE_CHECKING

from editgauge._util.registry import Registry
from editgauge.methods.layouts._files import normalize_name

if TYPE_CHECKING:
    from editgauge.types import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A naming convention of outcome files."""

    name: str
    title: str
    about: str
    paths: Callable[[Edit], Iterable[str]]
    """Where the outcome of an edit may lie: paths below the method's folder, without suffix, the usual one first."""
    needs: tuple[str, ...] = ()
    """The extras an edit must have for `paths`."""
    ignored: Pattern[str] | None = None
    """Names, without suffix, of pictures that lie next to the outcomes and are none, such as copies of the source."""
    has_settings: bool = False
    """A file's name may end in the numbers that the method was set to: `11635_action_stand_1.5_6.5`."""
    prefixed: bool = False
    """A file's name may begin with anything and `_`: `output_modelA_23847.jpg`."""
    chained: bool = False
    """Each outcome was made from the method's own outcome of the turn before."""

    def missing_extras(self, edit: Edit) -> list[str]:
        """Return the extras that this layout needs and the edit lacks."""
        return [key for key in self.needs if edit.extras.get(key) is None or not str(edit.extras[key]).strip()]

    def expected_paths(self, edit: Edit) -> tuple[str, ...]:
        """Return the paths to try, without duplicates; empty when the edit lacks what they are built from."""
        return () if self.missing_extras(edit) else tuple(dict.fromkeys(map(normalize_name, self.paths(edit))))


LAYOUTS = {
    "plain": "editgauge.methods.layouts.shapes:plain",
    "gedit": "editgauge.methods.layouts.shapes:gedit",
    "pie_bench": "editgauge.methods.layouts.shapes:pie_bench",
    "editval": "editgauge.methods.layouts.shapes:editval",
    "magicbrush-inde": "editgauge.methods.layouts.shapes:magicbrush_inde",
    "magicbrush-iter": "editgauge.methods.layouts.shapes:magicbrush_iter",
    "magicbrush-output": "editgauge.methods.layouts.shapes:magicbrush_output",
    "tedbench": "editgauge.methods.layouts.shapes:tedbench",
    "imagenhub": "editgauge.methods.layouts.shapes:imagenhub",
    "imgedit": "editgauge.methods.layouts.shapes:imgedit",
    "kris": "editgauge.methods.layouts.shapes:kris",
    "rise": "editgauge.methods.layouts.shapes:rise",
    "omnicontext": "editgauge.methods.layouts.shapes:omnicontext",
    "compbench": "editgauge.methods.layouts.shapes:compbench",
    "edival": "editgauge.methods.layouts.shapes:edival",
    "hatie": "editgauge.methods.layouts.shapes:hatie",
}
"""In the order that decides when two find equally many outcomes: plain, then the more specific."""

layouts: Registry[Layout] = Registry("layout", LAYOUTS)
