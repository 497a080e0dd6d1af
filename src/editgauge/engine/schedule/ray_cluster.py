"""A Ray cluster: one that is there already, or one started on this machine for a single run."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from editgauge.engine.plan.worker_count import (
    BYTES_FOR_A_BYTE_OF_WEIGHTS,
    BYTES_OF_A_PROCESS,
    Machine,
    bytes_of_weights,
    run_on_cards,
    workers_for,
)
from editgauge.errors import BadInputError, EditGaugeError
from editgauge.models.lite.runtime import library

CLIENT = "ray://"
SECONDS_TO_ANSWER = 10
ATTEMPTS = 3


@contextmanager
def cluster(address: str | None = None) -> Iterator[Any]:
    """The module `ray`, connected.

    Args:
        address: of a cluster that runs, such as `10.0.0.1:6379`, or `auto` for the one this machine belongs to; one is
            started here, and ended with us, when left out
    """
    ray = library("ray", "--engine ray", "ray")
    if address and address.startswith(CLIENT):
        raise BadInputError(
            f"--address '{address}' is that of a Ray client server. Give this command on a node of the cluster, with "
            "--address auto."
        )
    if ray.is_initialized():  # by the caller, who also shuts it down
        yield ray
        return
    _connect(ray, address)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    if address is None:
        _start(ray)
        return
    try:
        _knock(address)
        ray.init(address, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:
        raise EditGaugeError(
            f"No Ray cluster can be used at '{address}': {str(error).splitlines()[0]} Start one with "
            "`ray start --head`, or leave --address out to have one started on this machine."
        ) from error


def _start(ray: Any) -> None:
    """A cluster of our own; on a busy machine 30 seconds, Ray's limit, can be too short: it is tried again."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # our own cluster sends no usage statistics
    for attempt in range(1, ATTEMPTS + 1):
        try:
            ray.init("local", include_dashboard=False, logging_level=logging.ERROR)
        except Exception as error:  # Ray raises no class of its own here
            ray.shutdown()
            if attempt == ATTEMPTS:
                raise EditGaugeError(
                    f"Ray did not start on this machine, {ATTEMPTS} times: {str(error).splitlines()[0]} Run with "
                    "--engine local, or start a cluster with `ray start --head` and give --address auto."
                ) from error
        else:
            return


def _knock(address: str) -> None:
    """Raises `OSError` if nothing listens there: Ray itself would retry for a minute, and then end this process."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()


def size_of(ray: Any) -> Machine:
    """What all nodes together have to work with."""
    there: Mapping[str, float] = ray.cluster_resources()
    cards = tuple(str(number) for number in range(int(there.get("GPU", 0))))
    return Machine(int(there.get("CPU", 0)), int(there.get("memory", 0)) or None, cards)


def living_nodes(ray: Any) -> set[str]:
    """The ids of the nodes that are still there."""
    return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


def needs_of(ray: Any, models: Mapping[str, str]) -> dict[str, Any]:
    """What one actor with these models asks of its node: a core, a GPU if they use one, and memory."""
    weights = bytes_of_weights(models)
    memory = BYTES_OF_A_PROCESS + BYTES_FOR_A_BYTE_OF_WEIGHTS * weights
    largest = max((int(node["Resources"].get("memory", 0)) for node in ray.nodes() if node["Alive"]), default=0)
    cards = int(bool(size_of(ray).cards) and run_on_cards(models))
    return {"num_cpus": 1, "num_gpus": cards, "memory": min(memory, largest)}


def actors_for(ray: Any, wanted: int, tasks: int, models: Mapping[str, str]) -> int:
    """How many actors pay and fit into the cluster."""
    return workers_for(wanted, tasks, models, size_of(ray)).processes
