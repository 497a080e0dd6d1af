"""The container: built where docker runs, otherwise held to what can be read from its files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from editgauge._cli import app

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
INSTRUCTIONS = re.findall(
    r"^([A-Z]+) (.+)$", re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)), re.MULTILINE
)
"""Name and content of every instruction, continued lines joined."""


def contents(name: str) -> list[str]:
    return [content for instruction, content in INSTRUCTIONS if instruction == name]


def parsed(words: list[str]) -> dict[str, object]:
    """The options of a command line of ours; fails for a verb or an option that does not exist."""
    command, context = get_command(app), None
    while words and hasattr(command, "resolve_command"):
        context = command.make_context("editgauge", [words[0]], parent=context, resilient_parsing=True)
        _, command, _ = command.resolve_command(context, words)
        words = words[1:]
    return dict(command.make_context("", words).params)


def test_it_keeps_the_rules_of_dockerfile_linters() -> None:
    known = {
        "ARG",
        "CMD",
        "COPY",
        "ENTRYPOINT",
        "ENV",
        "EXPOSE",
        "FROM",
        "HEALTHCHECK",
        "RUN",
        "USER",
        "VOLUME",
        "WORKDIR",
    }
    assert {name for name, _ in INSTRUCTIONS} <= known, "ADD fetches and unpacks, MAINTAINER is gone"
    assert [len(contents(name)) for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK")] == [1, 1, 1]
    for name in ("ENTRYPOINT", "CMD"):
        assert json.loads(contents(name)[0]), "a shell would not pass signals on"
    assert all(place.startswith("/") for place in contents("WORKDIR"))
    assert contents("USER")[-1] not in {"root", "0"}
    for run in contents("RUN"):
        assert "sudo" not in run
        assert "|" not in run.replace("||", ""), "a pipe hides the failure of its first part"
        if "apt-get install" in run:
            assert "apt-get update" in run
            assert "--no-install-recommends" in run
            assert "--yes" in run
            assert "rm -rf /var/lib/apt/lists/*" in run
        if "pip install" in run:
            assert "--no-cache-dir" in run
            assert "--constraint" in run


def test_its_commands_and_those_of_the_compose_file_exist() -> None:
    command = json.loads(contents("CMD")[0])
    port = contents("EXPOSE")[0]

    assert parsed(command)["port"] == int(port)
    assert f"127.0.0.1:{port}/healthz" in contents("HEALTHCHECK")[0]
    assert parsed(COMPOSE["services"]["study"]["command"])["host"] == "0.0.0.0"
    with pytest.raises(Exception, match="No such option"):
        parsed(["serve", "--prot", "8080"])


def test_names_in_the_compose_file_are_defined() -> None:
    services = COMPOSE["services"]
    stages = {"context", "args", "dockerfile", "target"}
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        volumes = [volume.split(":")[0] for volume in service.get("volumes", ())]
        assert {volume for volume in volumes if not volume.startswith((".", "/"))} <= set(COMPOSE["volumes"])
        build = service.get("build")
        if isinstance(build, dict):
            assert set(build) <= stages
            assert set(build.get("args", ())) <= {arg.split("=")[0] for arg in contents("ARG")}
        assert build or ":" in service["image"], "an image without a version is another one tomorrow"
        for name, wait in service.get("depends_on", {}).items():
            assert wait["condition"] != "service_healthy" or "healthcheck" in services[name]


def test_it_is_slim_pinned_and_not_root() -> None:
    images = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    last = DOCKERFILE.split("\nFROM ")[-1]

    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+", image) for image in images)
    assert last.index("\nUSER editgauge") < last.index("\nENTRYPOINT")
    assert "HEALTHCHECK" in last


def test_it_copies_files_that_exist_and_installs_extras_that_exist() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    extras = re.search(r"'\.\[(.+)\]'", DOCKERFILE)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

    assert names
    assert all((ROOT / name).exists() and f"!{name}" in ignored for name in names)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(known)


def test_the_compose_file_holds_no_secret_and_publishes_to_this_machine_only() -> None:
    for service in COMPOSE["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        secrets = {name: value for name, value in service["environment"].items() if re.search("TOKEN|PASSWORD", name)}
        assert all(re.fullmatch(r"\$\{\w+:.*\}", value) for value in secrets.values())


@pytest.mark.slow
def test_it_builds() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        pytest.skip("NOT TESTED: docker does not run here")
    subprocess.run([docker, "build", "--tag", "editgauge-test", "."], cwd=ROOT, check=True)
    shown = subprocess.run(
        [docker, "run", "--rm", "editgauge-test", "--version"], check=True, capture_output=True, text=True
    )
    assert shown.stdout.strip()
