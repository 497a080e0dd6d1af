"""Choose the number of worker processes from cores, memory and GPUs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from editgauge.models.profiles import make_models
from editgauge.models.weights import weights_of

MIN_TASKS_PER_PROCESS = 16
"""Fewer are done before a further process has started."""
PROCESS_BYTES = 600_000_000
"""Libraries and decoded images (`MAX_IMAGE_BYTES`); measured without models: 200 MB and up."""
MEMORY_PER_WEIGHT_BYTE = 2
"""A network in use takes its weights and about as much again for activations."""
VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
GPU_FOLDER = Path("/proc/driver/nvidia/gpus")
MEMORY_INFO = Path("/proc/meminfo")
CGROUP_FOLDER, PROCESS_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux limits what a container or a job may use, and the cgroup of this process."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Resources that this process may use."""

    cores: int
    memory: int | None = None
    """Free bytes; None if unknown."""
    gpus: tuple[str, ...] = ()
    """As `CUDA_VISIBLE_DEVICES` names them."""


@dataclass(frozen=True, slots=True)
class WorkerCount:
    """Number of worker processes; with several GPUs, each process sees one of them."""

    processes: int
    gpus: tuple[str, ...] = ()


def choose_worker_count(
    processes: int, tasks: int, machine: Machine, *, judges: bool = False, weights: int = 0, use_gpus: bool = False
) -> WorkerCount:
    """Choose as many processes as pay off and fit into memory, at least one.

    Args:
        processes: what the user asks for; 0 to choose.
        tasks: number of outcomes to score.
        machine: available resources.
        judges: whether judges are asked; one process does that, so that rate limit and budget are kept in one place.
        weights: bytes of weights that every process loads.
        use_gpus: whether the models run on GPUs; then there is one process per GPU.

    """
    gpus = machine.gpus if use_gpus and len(machine.gpus) > 1 else ()
    if judges:
        return WorkerCount(1)
    if processes:
        return WorkerCount(processes, gpus)
    useful = tasks // MIN_TASKS_PER_PROCESS
    if use_gpus and machine.gpus:
        return WorkerCount(max(1, min(len(machine.gpus), useful)), gpus)
    process_bytes = PROCESS_BYTES + MEMORY_PER_WEIGHT_BYTE * weights
    fitting = machine.cores if machine.memory is None else machine.memory // process_bytes
    return WorkerCount(max(1, min(machine.cores, useful, fitting)))


def worker_count_for(
    processes: int, tasks: int, models: Mapping[str, str], machine: Machine | None = None, *, judges: bool = False
) -> WorkerCount:
    """Choose the number of processes for these models by role, on this machine by default."""
    return choose_worker_count(
        processes,
        tasks,
        machine or this_machine(),
        judges=judges,
        weights=weight_bytes(models),
        use_gpus=uses_gpus(models),
    )


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def this_machine() -> Machine:
    """Return the resources of this process, within the limits of its container or job."""
    gpus = visible_gpus(os.environ.get(VISIBLE_DEVICES), _names(GPU_FOLDER))
    return Machine(count_cores(), free_memory(), gpus)


def visible_gpus(setting: str | None, installed: Iterable[str]) -> tuple[str, ...]:
    """Return the GPUs that the setting names, or all.

    >>> visible_gpus("1,3", ["a", "b", "c", "d"]), visible_gpus(None, ["a", "b"]), visible_gpus("", ["a"])
    (('1', '3'), ('0', '1'), ())
    """
    if setting is None:
        return tuple(str(number) for number, _ in enumerate(installed))
    names = [name.strip() for name in setting.split(",") if name.strip()]
    return () if "-1" in names else tuple(names)


def free_memory() -> int | None:
    """Return the free bytes, within the limit of a container or a job; None if unknown."""
    try:
        rows = dict(line.split(":", 1) for line in MEMORY_INFO.read_text("ascii").splitlines())
        free = 1024 * int(rows["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError):
        return None
    return min([free, *_cgroup_headrooms(CGROUP_FOLDER, PROCESS_CGROUP)])


def _cgroup_headrooms(groups: Path, process_group: Path) -> list[int]:
    """Return the bytes left in the cgroup of this process and its ancestors, where they have a limit."""
    try:
        name = process_group.read_text("ascii").partition("0::")[2].strip().lstrip("/")
    except (OSError, ValueError):
        return []
    headrooms = []
    for group in (groups / name, *(groups / name).parents):
        try:
            limit, used = ((group / file).read_text("ascii") for file in ("memory.max", "memory.current"))
            headrooms.append(int(limit) - int(used))
        except (OSError, ValueError):  # no limit: the file is missing, or says 'max'
            continue
    return headrooms


def weight_bytes(models: Mapping[str, str]) -> int:
    """Return the size of the weight files of these models."""
    names = {name for model in make_models(models).values() for name in model.weights}
    return sum(path.stat().st_size for name in names for path in weights_of(name).files.values())


def uses_gpus(models: Mapping[str, str]) -> bool:
    """Return whether one of these models uses a GPU if there is one."""
    return any(hasattr(type(model), "device") for model in make_models(models).values())


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
