"""Your own benchmark: a folder with images and a `benchmark.yaml` or an `edits.jsonl`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from editgauge._util.documents import Document, read_yaml
from editgauge._util.fields import format_value
from editgauge._util.files import open_regular, open_text, read_text
from editgauge.benchmarks._format import read_benchmark, read_edits
from editgauge.errors import BadInputError
from editgauge.types import Benchmark

LINES = "edits.jsonl"
FILES = ("benchmark.yaml", "benchmark.yml", LINES)

EXAMPLE = """\
A benchmark folder holds images and a benchmark.yaml (or an edits.jsonl with one edit on each line), for example:
    sources:
      cat: {image: cat.png}
    edits:
      - {id: cat-black, source: cat, type: color, instruction: Make the cat black., subject: cat, to: black}"""


def load(folder: Path) -> Benchmark:
    """Load a folder of images with a `benchmark.yaml` or an `edits.jsonl`.

    Raises one `BadInputError` with every problem, each with file and line. The images are looked for, not decoded.
    """
    file = _benchmark_file(folder)
    find, name, where = ImagesOf(folder), folder.resolve().name or "benchmark", str(folder)
    try:
        if file.name == LINES:
            with open_text(file, "utf-8-sig") as lines:
                return read_edits(lines, file.name, find, name=name, where=where)
        return read_benchmark(read_yaml(read_text(file, "utf-8-sig"), file.name), find, name=name, where=where)
    except UnicodeDecodeError:
        return read_benchmark(_not_text(file), find, name=name, where=where)
    except OSError as error:
        raise BadInputError(f"'{file}' cannot be read: {error.strerror or error}") from error


def _benchmark_file(folder: Path) -> Path:
    try:
        inside = {path.name for path in folder.iterdir()}
    except FileNotFoundError as error:
        raise BadInputError(f"There is no folder '{folder}'. {EXAMPLE}") from error
    except NotADirectoryError as error:
        raise BadInputError(f"'{folder}' is a file; give the folder it is in. {EXAMPLE}") from error
    except (OSError, ValueError) as error:
        raise BadInputError(f"The folder {format_value(str(folder))} cannot be read: {error}") from error
    files = [name for name in FILES if name in inside]
    if not files:
        raise BadInputError(f"'{folder}' {'is empty' if not inside else 'has no benchmark file'}. {EXAMPLE}")
    if len(files) > 1:
        raise BadInputError(f"'{folder}' has both {' and '.join(files)}; keep one of them.")
    return folder / files[0]


def _not_text(file: Path) -> Document:
    """Says where a file stops being UTF-8."""
    with open_regular(file) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                what = f"not UTF-8 text (byte {line[error.start]:#04x}); save it as UTF-8"
                return Document(file.name, faults=[(number, what)])
    return Document(file.name)


class MissingImageError(BadInputError):
    """Raised for an image of a benchmark folder that does not exist."""


class ImagesOf:
    """Finds the images of a benchmark folder, and refuses every path that leaves it.

    So are links that leave it, unless `follows_links`: a download may be a folder of links, as in the hub's cache.
    """

    def __init__(self, folder: Path, *, follows_links: bool = False) -> None:
        self.folder = folder
        self.inside = folder.resolve()
        self.follows_links = follows_links

    def __call__(self, word: str) -> Path:
        """Resolve a path relative to the folder; raise `BadInputError` if it is missing or outside."""
        if "\\" in word or not word.isprintable():
            raise BadInputError(
                f"the path {format_value(word)} holds a backslash or a control character; write folders with '/'"
            )
        if PurePosixPath(word).is_absolute() or PureWindowsPath(word).drive or ".." in PurePosixPath(word).parts:
            raise BadInputError(
                f"the path {format_value(word)} leaves the benchmark folder; give one relative to it, without '..'"
            )
        path = self.folder / word
        try:
            if not self.follows_links and not path.resolve().is_relative_to(self.inside):
                raise BadInputError(f"the path {format_value(word)} is a link that leaves the benchmark folder")
            if path.is_file():
                return path
            if not path.exists():
                raise MissingImageError(f"the image {format_value(word)} does not exist")
            problem = "is not a file"
        except (OSError, RuntimeError, ValueError) as error:
            problem = f"cannot be looked at ({error})"
        raise BadInputError(f"the image {format_value(word)} {problem}")
