"""The model hub's own client, pointed at a hub on this machine that speaks its protocol."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from editgauge.errors import BadInputError, FetchError
from editgauge.models.weights import MissingWeightsError, available, info, pull, verify, weights_of
from editgauge.models.weights._verbs import pull as pull_verb

hub_client = pytest.importorskip("huggingface_hub")
constants = pytest.importorskip("huggingface_hub.constants")

REPOSITORY = "we/net"
FIRST, SECOND = "a" * 40, "b" * 40
CONTENT = {
    "config.json": b'{"model_type": "net"}',
    "model.safetensors": b"numbers" * 1000,
    "pytorch_model.bin": b"a pickle",
    "onnx/model.onnx": b"a graph",
    "README.md": b"---\nlicense: mit\n---\n",
}
WANTED = {"config.json", "model.safetensors", "README.md"}


class Hub(http.server.ThreadingHTTPServer):
    """One repository with two commits; `main` is the first until it is moved."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.main = FIRST
        self.gated = False
        self.content = dict(CONTENT)
        self.told = dict(CONTENT)
        """What sizes and hashes are reported of; a damaged hub gives out something else."""
        self.asked: list[str] = []
        self.breaks_after: int | None = None
        """Bytes of the next weights after which the connection breaks, once."""

    def page(self, revision: str) -> bytes:
        siblings: list[dict[str, Any]] = []
        for name, content in self.told.items():
            file: dict[str, Any] = {
                "rfilename": name,
                "size": len(content),
                "blobId": hashlib.sha1(content).hexdigest(),
            }
            if name.endswith(("safetensors", "bin", "onnx")):
                file["lfs"] = {"sha256": sha256(content), "size": len(content), "pointerSize": 130}
            siblings.append(file)
        return json.dumps({"id": REPOSITORY, "sha": self.commit(revision), "siblings": siblings}).encode()

    def commit(self, revision: str) -> str:
        return self.main if revision == "main" else revision

    def tree(self) -> bytes:
        files: list[dict[str, Any]] = []
        for name, content in self.told.items():
            file: dict[str, Any] = {"type": "file", "path": name, "size": len(content)}
            file["oid"] = hashlib.sha1(content).hexdigest()
            if name.endswith(("safetensors", "bin", "onnx")):
                file["lfs"] = {"oid": sha256(content), "size": len(content), "pointerSize": 130}
            files.append(file)
        return json.dumps(files).encode()


class Desk(http.server.BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(f"{self.command} {path}")
        if self.server.gated:
            self.answer(401, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to it is restricted."})
        elif path in {
            f"/api/models/{REPOSITORY}",
            *(f"/api/models/{REPOSITORY}/revision/{c}" for c in (FIRST, SECOND)),
        }:
            self.answer(200, self.server.page(path.rpartition("/revision/")[2] if "/revision/" in path else "main"))
        elif re.fullmatch(rf"/api/models/{REPOSITORY}/revision/main", path):
            self.answer(200, self.server.page("main"))
        elif path.startswith(f"/api/models/{REPOSITORY}/tree/"):
            self.answer(200, self.server.tree())
        elif path.startswith(f"/api/models/{REPOSITORY}/revision/"):
            self.answer(404, b"", {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "no such revision"})
        elif result := re.fullmatch(rf"/{REPOSITORY}/resolve/(\w+)/(.+)", path):
            self.file(self.server.commit(result[1]), result[2])
        else:
            self.answer(404, b"", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "no such repository"})

    do_HEAD = do_GET  # noqa: N815 - the name is the protocol's

    def file(self, commit: str, name: str) -> None:
        told, given = self.server.told[name], self.server.content[name]
        start = int((self.headers.get("Range") or "bytes=0-")[6:].split("-")[0])
        headers = {"ETag": f'"{sha256(told)}"', "X-Repo-Commit": commit, "X-Linked-Size": str(len(told))}
        length = len(told if self.command == "HEAD" else given)
        if start:
            headers["Content-Range"] = f"bytes {start}-{length - 1}/{length}"
        self.answer(206 if start else 200, given[start:], headers, len(told) if self.command == "HEAD" else None)

    def answer(
        self, status: int, content: bytes, headers: dict[str, str] | None = None, length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        if self.command == "GET" and self.server.breaks_after and len(content) > self.server.breaks_after:
            self.wfile.write(content[: self.server.breaks_after])
            self.server.breaks_after = None
            self.close_connection = True
        elif self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def hub(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        for name, value in {  # the client reads its environment once, when it is imported
            "ENDPOINT": place,
            "HUGGINGFACE_CO_URL_TEMPLATE": place + "/{repo_id}/resolve/{revision}/{filename}",
            "HF_HUB_CACHE": str(tmp_path / "hub"),
            "HF_HUB_DISABLE_XET": True,
            "HF_TOKEN_PATH": str(tmp_path / "no-token"),
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        hub_client.close_session()
        yield server
        hub_client.close_session()
        server.shutdown()


def test_a_pull_brings_settings_and_one_form_of_the_weights(hub: Hub) -> None:
    assert not available(REPOSITORY)
    told: list[str] = []
    result = pull(REPOSITORY, told.append)
    assert set(result.files) == WANTED
    assert {name: path.read_bytes() for name, path in result.files.items()} == {name: CONTENT[name] for name in WANTED}
    assert result.path("model.safetensors").parent == result.folder
    assert result.revision == f"we/net {FIRST}"
    assert weights_of(REPOSITORY) == result
    assert verify(REPOSITORY).sha256 == result.sha256
    assert told[-2:] == [f"fetching 3 files of we/net at {FIRST[:12]}", "checking we/net"]
    assert not any("pytorch_model.bin" in item or "onnx" in item for item in hub.asked)


def test_the_first_pull_pins_the_commit(hub: Hub) -> None:
    assert info(REPOSITORY).revision is None
    pull(REPOSITORY)
    hub.main = SECOND
    assert info(REPOSITORY).revision == FIRST
    assert pull(REPOSITORY).revision == f"we/net {FIRST}"
    other = pull(REPOSITORY, revision=SECOND)
    assert other.revision == f"we/net {SECOND}"
    assert weights_of(REPOSITORY, SECOND) == other
    assert weights_of(REPOSITORY).revision == f"we/net {FIRST}"


def test_weights_are_never_fetched_by_looking(hub: Hub) -> None:
    with pytest.raises(MissingWeightsError, match="run `editgauge models pull we/net`"):
        weights_of(REPOSITORY)
    assert hub.asked == []


def test_a_repository_with_old_weights_only(hub: Hub) -> None:
    hub.told = hub.content = {name: CONTENT[name] for name in ("config.json", "pytorch_model.bin")}
    assert set(pull(REPOSITORY).files) == {"config.json", "pytorch_model.bin"}


def test_a_truncated_file(hub: Hub) -> None:
    hub.content["model.safetensors"] = CONTENT["model.safetensors"][:500]
    with pytest.raises(FetchError, match=r"we/net (did not arrive whole|could not be fetched): .*Pull again"):
        pull(REPOSITORY)
    assert not available(REPOSITORY)
    hub.content["model.safetensors"] = CONTENT["model.safetensors"]
    assert pull(REPOSITORY).path("model.safetensors").read_bytes() == CONTENT["model.safetensors"]


def test_a_connection_that_breaks_is_taken_up_again(hub: Hub) -> None:
    hub.breaks_after = 5000
    result = pull(REPOSITORY)
    assert result.path("model.safetensors").read_bytes() == CONTENT["model.safetensors"]
    assert hub.breaks_after is None


def test_a_file_that_is_not_the_one_the_hub_tells_of(hub: Hub) -> None:
    hub.content["model.safetensors"] = CONTENT["model.safetensors"].replace(b"numbers", b"numberz")
    with pytest.raises(FetchError, match=rf"expected {sha256(CONTENT['model.safetensors'])}. It was removed"):
        pull(REPOSITORY)
    assert not available(REPOSITORY)
    hub.content["model.safetensors"] = CONTENT["model.safetensors"]
    pull(REPOSITORY)
    assert verify(REPOSITORY)


def test_damage_after_the_pull_is_seen(hub: Hub) -> None:
    place = pull(REPOSITORY).path("model.safetensors").resolve()
    place.write_bytes(CONTENT["model.safetensors"].replace(b"numbers", b"numberz"))
    with pytest.raises(BadInputError, match=r"model.safetensors is damaged"):
        verify(REPOSITORY)
    place.unlink()
    assert not available(REPOSITORY)


def test_the_hub_and_its_cache_are_those_of_the_environment(hub: Hub, tmp_path: Path) -> None:
    place = {"HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(tmp_path / "home")}
    program = f"from editgauge.models.weights import pull; print(pull({REPOSITORY!r}).folder)"
    settings = {**os.environ, **place, "HF_HUB_DISABLE_XET": "1"}
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=settings, check=True)
    assert ended.stdout.startswith(str(tmp_path / "home" / "hub" / "models--we--net"))
    assert ended.stderr == "", "the caller shows progress, not the client"


def test_a_gated_repository(hub: Hub) -> None:
    hub.gated = True
    with pytest.raises(FetchError, match=r"we/net is gated: accept its license .* `hf auth login`"):
        pull(REPOSITORY)


def test_an_unknown_revision_and_an_unknown_repository(hub: Hub) -> None:
    with pytest.raises(FetchError, match="we/net has no such revision"):
        pull(REPOSITORY, revision="c" * 40)
    with pytest.raises(FetchError, match="The model hub shows no we/other; is it private"):
        pull("we/other")


@pytest.mark.parametrize("why", ["forbidden", "unreachable"])
def test_without_the_hub_its_cache_is_taken(
    hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    def cut_off() -> None:
        if why == "forbidden":
            monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        else:
            monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
        hub_client.close_session()

    hub_client.snapshot_download(REPOSITORY, allow_patterns=["config.json", "*.safetensors"])  # as transformers does
    cut_off()
    told: list[str] = []
    result = pull(REPOSITORY, told.append)
    assert set(result.files) == {"config.json", "model.safetensors"}
    assert result.revision == f"we/net {FIRST}"
    assert any("the model hub was not reached" in words for words in told)
    pull_verb(REPOSITORY)
    assert "the model hub was not reached" in caplog.text
    shutil.rmtree(cache)
    shutil.rmtree(result.folder.parents[1])
    with pytest.raises(
        FetchError, match=r"we/net is not whole in the cache of the model hub, and the hub was not reached"
    ):
        pull(REPOSITORY)


def test_a_folder_of_the_user_is_taken_as_it_is(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine" / "we" / "net"
    mine.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (mine / name).write_bytes(CONTENT[name])
    monkeypatch.setenv("EDITGAUGE_WEIGHTS", str(tmp_path / "mine"))
    result = pull(REPOSITORY)
    assert result.folder == mine
    assert result.revision == "we/net of the folder given"
    hashes = sorted(sha256(CONTENT[name]) for name in result.files)
    assert result.sha256 == sha256("".join(f"{item}\n" for item in hashes).encode())
    assert hub.asked == []


def test_a_part_of_a_big_model_is_missing_from_the_cache(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    parts = {"model-1.safetensors": b"one", "model-2.safetensors": b"two"}
    settings = {"config.json": b"{}", "model.safetensors.index.json": json.dumps(index).encode()}
    hub.told = hub.content = {**settings, **parts}
    hub_client.snapshot_download(REPOSITORY, allow_patterns=["*.json", "model-1.safetensors"])
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub_client.close_session()
    with pytest.raises(FetchError, match=r"we/net is not whole in .*: there is no model-2.safetensors"):
        pull(REPOSITORY)


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED, folders are made read-only another way here")
def test_a_cache_that_cannot_be_written(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "hub").write_text("a file where the folder should be")
    with pytest.raises(FetchError, match=r"could not be kept in the cache of the model hub: .*set HF_HOME"):
        pull(REPOSITORY)
