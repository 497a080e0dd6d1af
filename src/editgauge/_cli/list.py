"""The verb `list`: what there is, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from editgauge._util.registry import Registry
from editgauge.benchmarks import BY_PATH, benchmarks
from editgauge.benchmarks.datasets import datasets
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.judges import judges
from editgauge.methods import methods
from editgauge.methods.layouts import layouts
from editgauge.methods.resolve import ADDRESSES, as_method, open_method
from editgauge.metrics import metrics
from editgauge.models import models
from editgauge.protocols import protocols
from editgauge.protocols.rubric._model import open_rubric, rubric_names


def _benchmark(load: Any) -> dict[str, Any]:
    return {"about": (load.__doc__ or "").strip().partition("\n")[0]}


def _about(thing: Any) -> dict[str, Any]:
    return {"about": thing.about}


def _method(thing: Any) -> dict[str, Any]:
    return {"about": as_method(thing, getattr(thing, "__name__", "it")).about}


def _metric(metric: Any) -> dict[str, Any]:
    info = metric.info
    return {
        "about": info.about,
        "higher_is_better": info.higher_is_better,
        "range": list(info.range),
        "formula": info.formula,
    }


def _protocol(protocol: Any) -> dict[str, Any]:
    return {"about": protocol.about, "paper": protocol.paper, "scores": [spec.name for spec in protocol.scores]}


def _model(load: Any) -> dict[str, Any]:
    card = load().card
    return {"about": f"{card.id}, {card.license}", "role": card.role}


_KINDS: dict[str, tuple[Registry[Any], Callable[[Any], dict[str, Any]]]] = {
    "benchmarks": (benchmarks, _benchmark),
    "methods": (methods, _method),
    "protocols": (protocols, _protocol),
    "metrics": (metrics, _metric),
    "models": (models, _model),
    "judges": (judges, _benchmark),
    "datasets": (datasets, _about),
    "layouts": (layouts, _about),
}
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
"""What `list` lists."""


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
        return [{"name": each, "about": about} for each, about in KINDS.items()]
    if name is not None:
        return _options(kind, name)
    if kind == "edit-types":
        return [
            {
                "name": each.name,
                "about": each.meaning,
                "fields": ", ".join(each.needs) or "none",
                "example": each.example,
            }
            for each in EDIT_TYPES.values()
        ]
    if kind == "rubrics":
        return [_rubric(each) for each in rubric_names()]
    if kind not in _KINDS:
        raise UnknownNameError("kind of thing", kind, KINDS, "editgauge list")
    registry, describe = _KINDS[kind]
    rows = [{"name": name, "from": registry.origin(name), **_described(registry, name, describe)} for name in registry]
    if kind == "benchmarks":
        forms: Registry[Any] = Registry("form of benchmark", BY_PATH)
        rows += [
            {"name": f"path/to/{form}", "from": "editgauge", **_described(forms, form, describe)} for form in forms
        ]
    if kind == "methods":
        rows += [{"name": name, "from": "editgauge", "about": about} for name, about in ADDRESSES.items()]
    return rows


def _rubric(name: str) -> dict[str, Any]:
    rubric = open_rubric(name).rubric
    return {
        "name": f"rubric:{name}",
        "about": rubric.about,
        "paper": rubric.paper,
        "scores": [made.name for made in rubric.scores],
        "released": rubric.released.notes if rubric.released else [],
    }


def _options(kind: str, name: str) -> list[dict[str, Any]]:
    if kind != "methods":
        raise BadInputError(f"Only methods have options to list, got '{kind} {name}'; leave '{name}' out.")
    known = open_method(name).known
    return [
        {"name": each, "usual": option.usual, "takes": option.kind, "about": option.about}
        for each, option in known.items()
    ]


def _described(registry: Registry[Any], name: str, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """One broken plug-in must not hide everything else."""
    try:
        return describe(registry.get(name))
    except Exception as error:
        return {"about": f"cannot be used: {error}"}
