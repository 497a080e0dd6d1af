"""How many processes score a run, and on which devices: derived from cores, memory and GPUs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from editgauge.models.choice import make_models
from editgauge.models.weights import weights_of

TASKS_WORTH_A_PROCESS = 16
"""Fewer are done before a further process has started."""
BYTES_OF_A_PROCESS = 600_000_000
"""Libraries, and as many decoded pictures as `worker/memory.py` lets in; measured, without models: 200 MB and up."""
BYTES_FOR_A_BYTE_OF_WEIGHTS = 2
"""A network in use takes its weights and about as much again for what it works at."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
CARDS = Path("/proc/driver/nvidia/gpus")
MEMORY = Path("/proc/meminfo")
GROUPS, OURS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux says what a container or a job may use, and which of them we are in."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to work with."""

    cores: int
    memory: int | None = None
    """Bytes that are free; None where that cannot be determined."""
    cards: tuple[str, ...] = ()
    """GPUs, as `CUDA_VISIBLE_DEVICES` names them."""


@dataclass(frozen=True, slots=True)
class WorkerCount:
    """This many processes; where there are several cards, each process sees one of them."""

    processes: int
    cards: tuple[str, ...] = ()


def choose_worker_count(
    wanted: int, tasks: int, machine: Machine, *, judges: bool = False, weights: int = 0, on_cards: bool = False
) -> WorkerCount:
    """As many processes as pay and fit into memory, at least one.

    Args:
        wanted: what the user asks for; 0 for a choice of ours
        tasks: how many outcomes are to be scored
        machine: what there is to work with
        judges: whether judges are asked; that is done by one process, so that pace and budget have one keeper
        weights: bytes of the weights that every process loads
        on_cards: whether the models run on GPUs where there are some: then one process for each card
    """
    cards = machine.cards if on_cards and len(machine.cards) > 1 else ()
    if judges:
        return WorkerCount(1)
    if wanted:
        return WorkerCount(wanted, cards)
    worth = tasks // TASKS_WORTH_A_PROCESS
    if on_cards and machine.cards:
        return WorkerCount(max(1, min(len(machine.cards), worth)), cards)
    each = BYTES_OF_A_PROCESS + BYTES_FOR_A_BYTE_OF_WEIGHTS * weights
    fit = machine.cores if machine.memory is None else machine.memory // each
    return WorkerCount(max(1, min(machine.cores, worth, fit)))


def workers_for(
    wanted: int, tasks: int, models: Mapping[str, str], machine: Machine | None = None, *, judges: bool = False
) -> WorkerCount:
    """The choice for these models by role, on this machine unless another one is given."""
    return choose_worker_count(
        wanted,
        tasks,
        machine or this_machine(),
        judges=judges,
        weights=bytes_of_weights(models),
        on_cards=run_on_cards(models),
    )


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def this_machine() -> Machine:
    """What there is here, for this process: a scheduler or a container may have left us a part."""
    return Machine(cores(), free_memory(), visible_cards(os.environ.get(VISIBLE), _names(CARDS)))


def visible_cards(setting: str | None, installed: Iterable[str]) -> tuple[str, ...]:
    """The cards that may be used: those that the setting names, or all.

    >>> visible_cards("1,3", ["a", "b", "c", "d"]), visible_cards(None, ["a", "b"]), visible_cards("", ["a"])
    (('1', '3'), ('0', '1'), ())
    """
    if setting is None:
        return tuple(str(number) for number, _ in enumerate(installed))
    named = [card.strip() for card in setting.split(",") if card.strip()]
    return () if "-1" in named else tuple(named)


def free_memory() -> int | None:
    """Bytes that are free, within the limit of a container or a job; None where that cannot be determined."""
    try:
        rows = dict(line.split(":", 1) for line in MEMORY.read_text("ascii").splitlines())
        free = 1024 * int(rows["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        return None
    return min([free, *_left_by_groups(GROUPS, OURS)])


def _left_by_groups(groups: Path, ours: Path) -> list[int]:
    """Bytes that the group of this process and those around it leave, where they have a limit."""
    try:
        inside = ours.read_text("ascii").partition("0::")[2].strip().lstrip("/")
    except (OSError, ValueError):
        return []
    remaining = []
    for group in (groups / inside, *(groups / inside).parents):
        try:
            limit, used = ((group / name).read_text("ascii") for name in ("memory.max", "memory.current"))
            remaining.append(int(limit) - int(used))
        except (OSError, ValueError):  # no limit: the file is not there, or says 'max'
            continue
    return remaining


def bytes_of_weights(models: Mapping[str, str]) -> int:
    """How large the weights of these models are, as files."""
    names = {name for model in make_models(models).values() for name in model.weights}
    return sum(path.stat().st_size for name in names for path in weights_of(name).files.values())


def run_on_cards(models: Mapping[str, str]) -> bool:
    """Whether one of these models uses a GPU where there is one."""
    return any(hasattr(type(model), "device") for model in make_models(models).values())


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
