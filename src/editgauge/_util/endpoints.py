"""Endpoints over HTTP: where they are, which key they get, and what of both is never told."""

from __future__ import annotations

import os
import re
import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import unquote

from editgauge._util.files import read_text
from editgauge.errors import MAX_QUOTED_CHARACTERS, BadInputError

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
SECRET_FIELD = re.compile(r"key|token|secret|pass|pwd|sig|auth|code|cred", re.IGNORECASE)
ADDRESS = re.compile(r"(?P<model>.+?)(?:@(?P<url>https?://.+))?")
TRIED_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


class EndpointAddress:
    """Where an endpoint is, with its key.

    Args:
        url: its address, with its `/v1`
        key: the name of the environment variable that holds the key
        usual_key: the one that is read for every endpoint but OpenAI's, so that a vendor's key never reaches a stranger
    """

    def __init__(self, url: str, key: str | None, usual_key: str) -> None:
        base, _, self._query = url.partition("?")
        self.base = base.rstrip("/")
        """Without a query."""
        self.place = without_secrets(self.base)
        """For the record: without a name, a password or a query that the address may hold."""
        self.key = self._read_key(key, usual_key)
        self._secrets = (*secrets_in(url), *((self.key,) if self.key else ()))

    def of(self, path: str) -> str:
        """The address of something that the endpoint offers."""
        return f"{self.base}/{path}" + (f"?{self._query}" if self._query else "")

    def hidden(self, text: str) -> str:
        """The text without our secrets, which an endpoint may repeat: what it says is kept in the run."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def shown(self, content: bytes) -> str:
        """How an endpoint's words about its trouble begin, on one line."""
        text = content[: 10 * MAX_QUOTED_CHARACTERS].decode("utf-8", "replace")
        return self.hidden(" ".join(text.split()))[:MAX_QUOTED_CHARACTERS]

    def _read_key(self, named: str | None, usual: str) -> str | None:
        name = named or (OPENAI_KEY if self.base == OPENAI else usual)
        key = read_secret(name)
        if not key and (named or self.base == OPENAI):
            raise BadInputError(
                f"The key for {self.place} is read from the environment variable {name}, or from the file that "
                f"{name}_FILE names; neither is set."
            )
        if not key.isascii():
            raise BadInputError(f"The key in {name} holds signs that no key has; was it copied whole?")
        return key or None


def model_and_url(address: str, written: str) -> tuple[str, str]:
    """The parts of `MODEL@URL`, or of `MODEL` alone at OpenAI; `written` says what takes such an address, and how."""
    match = ADDRESS.fullmatch(address)
    if match is None or "@http" in match["model"]:
        raise BadInputError(f"{written}, with http:// or https://; got '{without_secrets(address)}'.")
    return match["model"], match["url"] or OPENAI


def without_secrets(address: str) -> str:
    """An address for records and messages: without a user name, a password, or fields of its query named like a key.

    >>> without_secrets("openai:tiny@https://me:pass@host/v1?api-key=abc&api-version=2")
    'openai:tiny@https://host/v1?api-version=2'
    """
    place, _, query = re.sub(r"(https?://)[^/?#]*@", r"\1", address).partition("?")
    kept = [field for field in query.split("&") if "=" in field and not SECRET_FIELD.search(field.partition("=")[0])]
    return f"{place}?{'&'.join(kept)}" if kept else place


def secrets_in(url: str) -> tuple[str, ...]:
    """The secrets of an address, as they are written there and as they are sent."""
    login = re.match(r"https?://([^/?#]*)@", url)
    password = login[1].partition(":")[2] or login[1] if login else ""
    fields = (field.partition("=") for field in url.partition("?")[2].split("&"))
    named = [value for name, _, value in fields if SECRET_FIELD.search(name)]
    return tuple(dict.fromkeys(form for each in (password, *named) if each for form in (each, unquote(each))))


def read_secret(name: str) -> str:
    """A secret from an environment variable, or from the file that the variable with `_FILE` names; else nothing."""
    value, file = os.environ.get(name, "").strip(), os.environ.get(f"{name}_FILE", "").strip()
    if value or not file:
        return value
    try:
        return read_text(Path(file)).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"The file that {name}_FILE names cannot be read: {error}.") from error


def retry_after(header: str | None) -> float | None:
    """The seconds that a `Retry-After` header asks for, which may be a number or a date.

    >>> retry_after("2.5"), retry_after("soon"), retry_after("Thu, 01 Jan 1970 00:00:00 GMT")
    (2.5, None, 0.0)
    """
    if not header:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", header.strip()):
        return float(header)
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
"""Tells zlib to see for itself which of the two headers there is."""


class TooLong(Exception):
    """An answer that is longer than allowed, damaged, or packed in a way that was not asked for."""


def bounded_body(content: bytes, packing: str, limit: int) -> bytes:
    """The content of an answer, unpacked as its `Content-Encoding` says; never more than `limit` bytes.

    >>> bounded_body(b"plain", "", 10)
    b'plain'
    """
    packing = packing.strip().lower()
    if packing in {"", "identity"}:
        return content
    if packing not in {"gzip", "deflate"}:
        raise TooLong(f"an answer packed as {packing[:20]!r}, which was not asked for")
    unpacker = zlib.decompressobj(GZIP_OR_ZLIB)
    try:
        unpacked = unpacker.decompress(content, limit)
    except zlib.error as error:
        raise TooLong(f"an answer that cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise TooLong(f"an answer of more than {limit:,} bytes when unpacked")
    return unpacked
