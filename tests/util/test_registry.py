"""Names to things: lazily, with help for a wrong name, and with the guilty named when a plug-in is broken."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge._util.registry import Registry
from editgauge.errors import EditGaugeError, UnknownNameError

BUILT_IN = {"own": "own_module_for_this_test:answer", "other": "json:dumps"}
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a distribution with entry points of the group `editgauge.toys`, and its modules, on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(entries: dict[str, str], name: str = "their-package", **modules: str) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "".join(f"{entry} = {value}\n" for entry, value in entries.items())
        (info / "entry_points.txt").write_text(f"[editgauge.toys]\n{lines}")
        for module, text in modules.items():
            (tmp_path / f"{module}.py").write_text(text)
            monkeypatch.delitem(sys.modules, module, raising=False)

    return make


def toys() -> Registry[object]:
    return Registry("toy", BUILT_IN)


def test_nothing_is_imported_until_it_is_asked_for(install: Install) -> None:
    install({"theirs": "their_module_for_this_test:answer"}, their_module_for_this_test="answer = 42\n")
    registry = toys()

    assert list(registry) == ["other", "own", "theirs"]
    assert "theirs" in registry
    assert registry.origin("theirs") == "their-package"
    assert "their_module_for_this_test" not in sys.modules

    assert registry.get("theirs") == 42
    assert "their_module_for_this_test" in sys.modules


def test_the_project_s_own_indices_import_none_of_what_they_name() -> None:
    """Checked in a fresh process: in this one, other tests have imported everything."""
    import subprocess

    check = (
        "import sys; from editgauge.protocols import protocols; names = list(protocols);"
        "sys.exit('editgauge.protocols.preservation' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError) as caught:
        toys().get("othr")

    assert str(caught.value) == (
        "There is no toy called 'othr'. Did you mean 'other'? `editgauge list toys` shows all 2."
    )


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"called 'zzz'\. `editgauge list toys` shows all 2\."):
        toys().get("zzz")


def test_a_plug_in_cannot_take_over_a_built_in_name(install: Install) -> None:
    install({"other": "their_module_for_this_test:answer"}, their_module_for_this_test="answer = 'taken over'\n")
    registry = toys()

    from json import dumps

    assert registry.get("other") is dumps
    assert registry.origin("other") == "editgauge"
    assert list(registry) == ["other", "own"]


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        ("import a_module_nobody_has\n", "No module named 'a_module_nobody_has'"),
        ("other_answer = 42\n", "has no attribute 'answer'"),
        ("raise ValueError('no configuration')\n", "no configuration"),
        ("this is no Python\n", "invalid syntax"),
    ],
    ids=["import error", "nothing of that name", "any other error", "syntax error"],
)
def test_a_broken_plug_in_is_named(module: str, complaint: str, install: Install) -> None:
    install({"theirs": "their_module_for_this_test:answer"}, their_module_for_this_test=module)

    with pytest.raises(EditGaugeError) as caught:
        toys().get("theirs")

    for part in ("toy 'theirs'", "their-package", "their_module_for_this_test:answer", complaint):
        assert part in str(caught.value)


def test_an_entry_point_may_reach_into_a_class_and_name_extras(install: Install) -> None:
    """Both are forms that packaging allows."""
    text = "class Shelf:\n    answer = 42\n"
    install({"theirs": "their_module_for_this_test:Shelf.answer [gpu]"}, their_module_for_this_test=text)

    assert toys().get("theirs") == 42


def test_a_registry_without_plug_ins_works() -> None:
    assert list(toys()) == ["other", "own"]
    assert "theirs" not in toys()


def test_a_plug_in_that_exits_or_is_none_is_an_error(install: Install) -> None:
    install(
        {"exits": "exiting_module_for_this_test:answer", "nothing": "empty_module_for_this_test:answer"},
        exiting_module_for_this_test="import sys\nsys.exit(0)\n",
        empty_module_for_this_test="answer = None\n",
    )
    for name in ("exits", "nothing"):
        with pytest.raises(EditGaugeError, match=f"'{name}' from their-package"):
            toys().get(name)
