"""Benchmarks: named sets of edits with their source images."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editgauge._util.datasets import skip_broken_records
from editgauge._util.registry import Registry
from editgauge._util.text import format_count
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from editgauge.types import Benchmark, Edit

BUILT_IN = {
    "sample": "editgauge.benchmarks.sample:load",
    "demo": "editgauge.benchmarks.sample:load_demo",
    "editval": "editgauge.benchmarks.editval:load",
    "editval-pixlens": "editgauge.benchmarks.editval:load_pixlens",
    "editinspector": "editgauge.benchmarks.editinspector:load",
    "tedbench": "editgauge.benchmarks.tedbench:load",
    "magicbrush": "editgauge.benchmarks.magicbrush:load",
    "magicbrush-multiturn": "editgauge.benchmarks.magicbrush:load_multiturn",
    "magicbrush-pixlens": "editgauge.benchmarks.magicbrush_pixlens:load",
    "pie_bench": "editgauge.benchmarks.pie_bench:load",
    "gedit": "editgauge.benchmarks.gedit:load",
    "gedit-v2": "editgauge.benchmarks._declared:gedit_v2",
    "imgedit": "editgauge.benchmarks._declared:imgedit",
    "kris": "editgauge.benchmarks._declared:kris",
    "rise": "editgauge.benchmarks._declared:rise",
    "emu-edit": "editgauge.benchmarks._declared:emu_edit",
    "complex-edit": "editgauge.benchmarks._declared:complex_edit",
    "omnicontext": "editgauge.benchmarks._declared:omnicontext",
    "compbench": "editgauge.benchmarks.compbench:load",
    "hatie": "editgauge.benchmarks._declared:hatie",
    "edit-compass": "editgauge.benchmarks._declared:edit_compass",
    "imagenworld": "editgauge.benchmarks._declared:imagenworld",
    "rededit": "editgauge.benchmarks._declared:rededit",
    "texteditbench": "editgauge.benchmarks._declared:texteditbench",
    "uniredit": "editgauge.benchmarks._declared:uniredit",
    "wiseedit": "editgauge.benchmarks._declared:wiseedit",
    "edival": "editgauge.benchmarks.edival:load",
    "imagenhub": "editgauge.benchmarks.imagenhub:load",
    "celeba": "editgauge.benchmarks.celeba:load",
    "dreambooth": "editgauge.benchmarks.dreambooth:load",
    "unibench": "editgauge.benchmarks.unibench:load",
    "unibench-photos": "editgauge.benchmarks.unibench:load_photos",
    "unibench-sample": "editgauge.benchmarks.unibench:load_sample",
}
BY_PATH = {
    "folder": "editgauge.benchmarks.folder:load",
    "huggingface.yaml": "editgauge.benchmarks.huggingface:load",
}
"""Forms of benchmark that are opened by a path instead of a name; shown by `editgauge list benchmarks`."""

benchmarks: Registry[Callable[..., Benchmark]] = Registry("benchmark", BUILT_IN)
_forms: Registry[Callable[..., Benchmark]] = Registry("form of benchmark", BY_PATH)


def open_benchmark(
    benchmark: str | Path,
    data: str | Path | None = None,
    images: str | Path | None = None,
    *,
    skip_broken: bool = False,
) -> Benchmark:
    """Open a benchmark by name or folder.

    Args:
        benchmark: a name, with options in brackets where it has some (`unibench-sample[trials=3]`); a folder in the
            project's own format; or a file that maps the columns of a data set (any `.yaml`, or a folder that holds it
            as `huggingface.yaml`).
        data: where the benchmark's public files lie, for those that are not shipped.
        images: where its source images lie, when they come from elsewhere (such as a COCO folder).
        skip_broken: go on where records are broken: an edit whose image is missing stays and is counted as unscored,
            other broken records are left out; `Benchmark.broken` lists the problems.

    """
    if not skip_broken:
        return _open(benchmark, data, images)
    with skip_broken_records() as problems:
        opened = _open(benchmark, data, images)
    if not problems:
        return opened
    about = "; ".join(filter(None, (opened.about, f"{format_count(len(problems), 'problem')} of the data skipped")))
    return replace(opened, about=about, broken=tuple(problems))


def _open(benchmark: str | Path, data: str | Path | None, images: str | Path | None) -> Benchmark:
    name = str(benchmark)
    if is_path(benchmark):
        load = _forms.get(_form(Path(name)))
        return with_turns(_called(load, name, {"data": data, "images": images}, Path(name)))
    base, written = split_name(name)
    load = benchmarks.get(base)
    options = read_options(base, load, written)
    hint = ""
    if data is None and "data" in signature(load).parameters:
        from editgauge.benchmarks._pull import pull_hint, pulled_data

        data, hint = pulled_data(base), pull_hint(base)
    try:
        opened = _called(partial(load, **options) if options else load, base, {"data": data, "images": images})
    except BadInputError as error:
        if data is None and hint and not error.problems:
            raise BadInputError(f"{error}{hint}") from error
        raise
    return with_turns(replace(opened, name=full_name(base, options)) if options else opened)


def with_turns(benchmark: Benchmark) -> Benchmark:
    """Add the first source and the earlier masks to the later turns of a benchmark."""
    if not any(edit.follows for edit in benchmark.edits):
        return benchmark
    by_id: dict[str, Edit] = {}
    for edit in benchmark.edits:
        previous = by_id.get(edit.follows or "")
        if previous is None:
            by_id[edit.id] = edit
        else:
            first, masks = previous.first_source or previous.source, (*previous.masks_before, previous.mask)
            by_id[edit.id] = replace(edit, first_source=first, masks_before=masks)
    return replace(benchmark, edits=tuple(by_id.values()))


def is_path(benchmark: str | Path) -> bool:
    """Whether a benchmark is opened by a path, not by a name."""
    name = str(benchmark)
    looks_like_path = isinstance(benchmark, Path) or "/" in name or "\\" in name or name in {".", ".."}
    return name not in benchmarks and (looks_like_path or Path(name).exists())


def _form(path: Path) -> str:
    """Return the form of the benchmark at a path."""
    is_mapping = path.is_file() and path.suffix in {".yaml", ".yml"} and path.stem != "benchmark"
    return "huggingface.yaml" if is_mapping or (path / "huggingface.yaml").is_file() else "folder"


def _called(
    load: Callable[..., Benchmark], name: str, locations: dict[str, str | Path | None], *arguments: Path
) -> Benchmark:
    """Call the loader with the given locations; raise `BadInputError` for one that it does not take."""
    options = {option: Path(value) for option, value in locations.items() if value is not None}
    useless = [f"--{option}" for option in options if option not in signature(load).parameters]
    if useless:
        raise BadInputError(f"The benchmark '{name}' takes no {' and no '.join(useless)}.")
    return load(*arguments, **options)


PLACES = ("data", "images")
"""What a loader takes by options of the command line."""
_WITH_OPTIONS = re.compile(r"(?P<base>[^\[\]]+)\[(?P<options>[^\[\]]*)\]")


def split_name(name: str) -> tuple[str, dict[str, str]]:
    """Split a benchmark name into its base and its options.

    >>> split_name("unibench[seed=1, trials=3]"), split_name("sample")
    (('unibench', {'seed': '1', 'trials': '3'}), ('sample', {}))
    """
    match = _WITH_OPTIONS.fullmatch(name)
    if not match:
        return name, {}
    pairs = (part.partition("=") for part in match["options"].split(",") if part.strip())
    return match["base"], {option.strip(): value.strip() for option, _, value in pairs}


def read_options(base: str, load: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, int]:
    """Convert options to the integer arguments of the loader; list all faults."""
    usual = {
        name: parameter.default
        for name, parameter in signature(load).parameters.items()
        if name not in PLACES and isinstance(parameter.default, int)
    }
    available = f"there are {', '.join(usual)}" if usual else "it has none"
    problems = [f"no option '{name}'; {available}" for name in texts if name not in usual]
    problems += [
        f"'{name}' is a whole number, got '{value}'"
        for name, value in texts.items()
        if name in usual and not re.fullmatch(r"[0-9]{1,18}", value)
    ]
    if problems:
        raise BadInputError(f"The options of the benchmark '{base}' cannot be used.", problems)
    return {name: int(value) for name, value in texts.items()}


def full_name(base: str, options: Mapping[str, int]) -> str:
    """Return the canonical name with options.

    >>> full_name("unibench", {"trials": 3, "seed": 1})
    'unibench[seed=1,trials=3]'
    """
    listed = ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    return f"{base}[{listed}]" if listed else base
