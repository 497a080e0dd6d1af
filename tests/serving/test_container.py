"""The container: built where docker runs, otherwise held to what can be read from its files."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


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
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]

    for service in services.values():
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
