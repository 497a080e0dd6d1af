"""The verb `list`: the names that other verbs take."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from editgauge._util.registry import Registry
from editgauge.errors import BadInputError, UnknownNameError

KINDS = {
    "benchmarks": "Sets of edits with their source images.",
    "methods": "Editors whose outcomes are scored.",
    "protocols": "Ways to score, each from a paper.",
    "metrics": "Numbers computed from two images.",
    "models": "Neural networks, by role.",
    "judges": "Kinds of language models that answer questions.",
    "datasets": "Files that can be downloaded.",
    "layouts": "Ways to name the files of outcomes.",
    "rubrics": "Questions for judges, each from a paper.",
    "edit-types": "Kinds of edits, with the fields each needs.",
}
"""Everything that can be listed, and what it is."""


def _describe_loader(load: Any) -> dict[str, Any]:
    return {"about": (load.__doc__ or "").strip().partition("\n")[0]}


def _describe_about(entry: Any) -> dict[str, Any]:
    return {"about": entry.about}


def _describe_method(method: Any) -> dict[str, Any]:
    from editgauge.methods.resolve import as_method

    return {"about": as_method(method, getattr(method, "__name__", "it")).about}


def _describe_metric(metric: Any) -> dict[str, Any]:
    info = metric.info
    return {
        "about": info.about,
        "higher_is_better": info.higher_is_better,
        "range": list(info.range),
        "formula": info.formula,
    }


def _describe_protocol(protocol: Any) -> dict[str, Any]:
    return {"about": protocol.about, "paper": protocol.paper, "scores": [spec.name for spec in protocol.scores]}


def _describe_model(load: Any) -> dict[str, Any]:
    card = load().card
    return {"about": f"{card.id}, {card.license}", "role": card.role}


_REGISTRIES: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "benchmarks": ("editgauge.benchmarks", _describe_loader),
    "methods": ("editgauge.methods", _describe_method),
    "protocols": ("editgauge.protocols", _describe_protocol),
    "metrics": ("editgauge.metrics", _describe_metric),
    "models": ("editgauge.models", _describe_model),
    "judges": ("editgauge.judges", _describe_loader),
    "datasets": ("editgauge.benchmarks.datasets", _describe_about),
    "layouts": ("editgauge.methods.layouts", _describe_about),
}
"""The module whose registry has the name of the kind, and how an entry is described; imported when it is listed."""


def list_names(kind: str | None = None, name: str | None = None) -> list[dict[str, Any]]:
    """List what is available: benchmarks, methods, protocols, metrics, models and more.

    Example:
        $ editgauge list metrics
        $ editgauge list methods sdedit
        >>> editgauge.list("metrics")

    Args:
        kind: one of benchmarks, methods, protocols, metrics, models, judges, datasets, layouts, rubrics, edit-types; by
            default the kinds themselves.
        name: a method: list the options that `edit` takes for it.

    """
    if kind is None:
        return [{"name": entry, "about": about} for entry, about in KINDS.items()]
    if name is not None:
        return _list_options(kind, name)
    if kind == "edit-types":
        return _list_edit_types()
    if kind == "rubrics":
        return _list_rubrics()
    if kind not in _REGISTRIES:
        raise UnknownNameError("list", kind, KINDS)
    module, describe = _REGISTRIES[kind]
    registry: Registry[Any] = getattr(import_module(module), kind)
    rows = [
        {"name": entry, "from": registry.origin(entry), **_describe(registry, entry, describe)} for entry in registry
    ]
    if kind == "benchmarks":
        from editgauge.benchmarks import BY_PATH

        forms: Registry[Any] = Registry("form of benchmark", BY_PATH)
        rows += [{"name": f"path/to/{form}", "from": "editgauge", **_describe(forms, form, describe)} for form in forms]
    if kind == "methods":
        from editgauge.methods.resolve import ADDRESSES

        rows += [{"name": entry, "from": "editgauge", "about": about} for entry, about in ADDRESSES.items()]
    return rows


def _list_edit_types() -> list[dict[str, Any]]:
    from editgauge.edit_types import EDIT_TYPES

    return [
        {"name": kind.name, "about": kind.meaning, "fields": ", ".join(kind.needs) or "none", "example": kind.example}
        for kind in EDIT_TYPES.values()
    ]


def _list_rubrics() -> list[dict[str, Any]]:
    from editgauge.protocols.rubric._model import open_rubric, rubric_names

    rubrics = {name: open_rubric(name).rubric for name in rubric_names()}
    return [
        {
            "name": f"rubric:{name}",
            "about": rubric.about,
            "paper": rubric.paper,
            "scores": [score.name for score in rubric.scores],
            "released": rubric.released.notes if rubric.released else [],
        }
        for name, rubric in rubrics.items()
    ]


def _list_options(kind: str, name: str) -> list[dict[str, Any]]:
    from editgauge.methods.resolve import open_method

    if kind != "methods":
        raise BadInputError(f"Only methods have options to list, got '{kind} {name}'; leave '{name}' out.")
    return [
        {"name": option_name, "usual": option.default, "takes": option.kind, "about": option.about}
        for option_name, option in open_method(name).option_specs.items()
    ]


def _describe(registry: Registry[Any], name: str, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Describe an entry; a broken plug-in must not hide the others."""
    try:
        return describe(registry.get(name))
    except Exception as error:
        return {"about": f"cannot be used: {error}"}
