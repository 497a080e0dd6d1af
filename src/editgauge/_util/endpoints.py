"""Addresses and keys of HTTP endpoints, and safe decoding of their responses."""

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
RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


class EndpointAddress:
    """URL of an endpoint, with its API key.

    Args:
        url: base URL, including `/v1`.
        key: name of the environment variable with the key.
        default_key: variable that is read for every endpoint except OpenAI's, so that a vendor's key is never sent to
            another server.

    """

    def __init__(self, url: str, key: str | None, default_key: str) -> None:
        base, _, self._query = url.partition("?")
        self.base = base.rstrip("/")
        """URL without a query."""
        self.public_url = without_secrets(self.base)
        """URL for records and messages, without credentials."""
        self.key = self._read_key(key, default_key)
        self._secrets = (*secrets_in(url), *((self.key,) if self.key else ()))

    def of(self, path: str) -> str:
        """Return the URL of a path at the endpoint."""
        return f"{self.base}/{path}" + (f"?{self._query}" if self._query else "")

    def redact(self, text: str) -> str:
        """Replace our secrets in a text; an endpoint may repeat them, and responses are stored in the run."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def excerpt(self, content: bytes) -> str:
        """Return the start of an error response on one line."""
        text = content[: 10 * MAX_QUOTED_CHARACTERS].decode("utf-8", "replace")
        return self.redact(" ".join(text.split()))[:MAX_QUOTED_CHARACTERS]

    def _read_key(self, variable: str | None, default: str) -> str | None:
        name = variable or (OPENAI_KEY if self.base == OPENAI else default)
        key = read_secret(name)
        if not key and (variable or self.base == OPENAI):
            raise BadInputError(
                f"The key for {self.public_url} is read from the environment variable {name}, or from the file that "
                f"{name}_FILE names; neither is set."
            )
        if not key.isascii():
            raise BadInputError(f"The key in {name} has characters that no key has; was it copied completely?")
        return key or None


def model_and_url(address: str, expected: str) -> tuple[str, str]:
    """Split `MODEL@URL`, or `MODEL` alone at OpenAI; `expected` starts the error message for anything else."""
    match = ADDRESS.fullmatch(address)
    if match is None or "@http" in match["model"]:
        raise BadInputError(f"{expected}, with http:// or https://; got '{without_secrets(address)}'.")
    return match["model"], match["url"] or OPENAI


def without_secrets(address: str) -> str:
    """Return an address without user name, password, and query fields that are named like a key.

    >>> without_secrets("openai:tiny@https://me:pass@host/v1?api-key=abc&api-version=2")
    'openai:tiny@https://host/v1?api-version=2'
    """
    url, _, query = re.sub(r"(https?://)[^/?#]*@", r"\1", address).partition("?")
    fields = [field for field in query.split("&") if "=" in field and not SECRET_FIELD.search(field.partition("=")[0])]
    return f"{url}?{'&'.join(fields)}" if fields else url


def secrets_in(url: str) -> tuple[str, ...]:
    """Return the secrets in a URL, as they are written and as they are sent."""
    login = re.match(r"https?://([^/?#]*)@", url)
    password = login[1].partition(":")[2] or login[1] if login else ""
    fields = (field.partition("=") for field in url.partition("?")[2].split("&"))
    secrets = [password, *(value for name, _, value in fields if SECRET_FIELD.search(name))]
    return tuple(dict.fromkeys(form for secret in secrets if secret for form in (secret, unquote(secret))))


def read_secret(name: str) -> str:
    """Return a secret from an environment variable, or from the file that `NAME_FILE` points to; else an empty text."""
    value, file = os.environ.get(name, "").strip(), os.environ.get(f"{name}_FILE", "").strip()
    if value or not file:
        return value
    try:
        return read_text(Path(file)).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"The file that {name}_FILE names cannot be read: {error}.") from error


def retry_after(header: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header, which may hold a number or a date.

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
"""Makes zlib detect which of the two headers is present."""


class InvalidResponseError(Exception):
    """A response that is too long, damaged, or in an encoding that was not requested."""


def decode_body(content: bytes, packing: str, limit: int) -> bytes:
    """Decompress a response by its `Content-Encoding`, up to `limit` bytes.

    >>> decode_body(b"plain", "", 10)
    b'plain'
    """
    packing = packing.strip().lower()
    if packing in {"", "identity"}:
        return content
    if packing not in {"gzip", "deflate"}:
        raise InvalidResponseError(f"an answer packed as {packing[:20]!r}, which was not asked for")
    unpacker = zlib.decompressobj(GZIP_OR_ZLIB)
    try:
        unpacked = unpacker.decompress(content, limit)
    except zlib.error as error:
        raise InvalidResponseError(f"an answer that cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise InvalidResponseError(f"an answer of more than {limit:,} bytes when unpacked")
    return unpacked
