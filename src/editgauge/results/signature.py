"""The signature of a score: everything that shaped the number, in one line that can be printed, parsed and compared.

```
editval|v:3|eg:0.2.0|size:4000000px|m:detector=owlv2-base#1f0c9a2b|b:sample#77ab01cd|edits:40|seed:0|fail:left-out
```

Equal signatures mean equal numbers for equal images, up to the last bits in which versions of libraries differ.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from editgauge._util.images import WORKING_PIXELS
from editgauge._util.variants import options_text
from editgauge.errors import BadInputError
from editgauge.results.manifest import Manifest

CODES = {
    "version": "v",
    "editgauge": "eg",
    "size": "size",
    "models": "m",
    "judges": "j",
    "benchmark": "b",
    "edits": "edits",
    "broken": "broken",
    "readings": "read",
    "shard": "shard",
    "seed": "seed",
    "failures": "fail",
    "aggregation": "agg",
    "scored": "n",
}
"""Short name of each field in the order of the line; the protocol comes first and has none."""
WORDS = {
    "protocol": "the protocol or its variant",
    "version": "the version of the protocol",
    "editgauge": "the version of EditGauge",
    "size": "the size at which images are measured",
    "models": "the models, their weights or their settings",
    "judges": "the judges, their prompts or their sampling",
    "benchmark": "the benchmark or its edits",
    "edits": "the number of edits",
    "broken": "the number of broken edits that were left out",
    "readings": "the readings of the instructions",
    "shard": "the part of the outcomes",
    "seed": "the random seed",
    "failures": "what counts for a score that is missing",
    "aggregation": "how scores are averaged",
    "scored": "how many outcomes are scored",
}
UNSHAPING = frozenset({"name", "license", "address", "endpoint"})
"""What the manifest says about a model or a judge that changes no number: the same model may be served elsewhere."""
HASH_CHARACTERS = 8
_FIELD = re.compile(r"([a-z]+):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that shaped a score.

    Attributes:
        protocol: name of the protocol with its variant.
        fields: value of each further field that applies, by its name in `CODES`.

    >>> signature = Signature("editval", {"version": "3", "seed": "0"})
    >>> str(signature), Signature.parse(str(signature)) == signature
    ('editval|v:3|seed:0', True)
    >>> signature.differences(Signature("editval", {"version": "4", "seed": "0"}))
    ["the version of the protocol: '3' and '4'"]

    """

    protocol: str
    fields: Mapping[str, str]

    def __str__(self) -> str:
        """One line, for tables and captions."""
        parts = (f"{code}:{_escape(self.fields[name])}" for name, code in CODES.items() if name in self.fields)
        return "|".join((_escape(self.protocol), *parts))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the line.

        Raises:
            BadInputError: the text is no signature.

        """
        protocol, *parts = text.strip().split("|")
        names = {code: name for name, code in CODES.items()}
        fields: dict[str, str] = {}
        for part in parts:
            match = _FIELD.fullmatch(part)
            name = names.get(match[1]) if match else None
            if match is None or name is None or name in fields:
                raise BadInputError(f"'{part[:60]}' is no field of a signature, or is there twice.")
            fields[name] = _unescape(match[2])
        if not protocol or not fields:
            raise BadInputError(f"'{text[:60]}' is no signature: it reads PROTOCOL|v:VERSION|….")
        return cls(_unescape(protocol), fields)

    def to_dict(self) -> dict[str, str]:
        """Return the long form for JSON, with full field names."""
        return {"protocol": self.protocol, **{name: self.fields[name] for name in CODES if name in self.fields}}

    def differences(self, other: Signature) -> list[str]:
        """Say in words which fields differ."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [
            f"{words}: {_quote(mine.get(name))} and {_quote(theirs.get(name))}"
            for name, words in WORDS.items()
            if mine.get(name) != theirs.get(name)
        ]

    def with_counts(self, scored: int, total: int) -> Signature:
        """Add how many outcomes a mean is over."""
        return Signature(self.protocol, {**self.fields, "scored": f"{scored}/{total}"})


def make_signature(
    protocol: str,
    version: str,
    editgauge: str,
    models: Mapping[str, Mapping[str, str]],
    judges: Mapping[str, Mapping[str, Any]],
) -> Signature:
    """Build the signature of a protocol from the manifest entries of its models and of all judges."""
    options = options_text(protocol)
    fields = {"version": version, "editgauge": editgauge, "size": f"{WORKING_PIXELS}px"}
    named_models = (f"{role}={_named(entry, 'name')}" for role, entry in sorted(models.items()))
    named_judges = (f"{name}={_named(entry, 'model')}" for name, entry in sorted(judges.items()) if name in options)
    lists = {"models": ",".join(named_models), "judges": ",".join(named_judges)}
    return Signature(protocol, fields | {name: text for name, text in lists.items() if text})


def signature_of(manifest: Manifest, protocol: str) -> Signature:
    """Build the signature of a protocol's scores in a run."""
    roles = manifest.roles.get(protocol, list(manifest.models))
    models = {role: entry for role, entry in manifest.models.items() if role in roles}
    version = manifest.protocols[protocol].version
    signature = make_signature(protocol, version, manifest.editgauge, models, manifest.judges)
    fields = {
        "benchmark": f"{manifest.benchmark}#{manifest.edits_sha256[:HASH_CHARACTERS]}",
        "edits": str(manifest.edits),
        "seed": str(manifest.seed),
        "failures": "left-out",
        "aggregation": "mean",
    }
    optional = {
        "broken": str(len(manifest.broken)) if manifest.broken else "",
        "readings": manifest.fields_sha256[:HASH_CHARACTERS],
        "shard": manifest.shard,
    }
    return Signature(protocol, {**signature.fields, **fields, **{key: text for key, text in optional.items() if text}})


def _named(entry: Mapping[str, Any], key: str) -> str:
    """Return the name of a model or judge with a hash of all that decides its answers."""
    shaping = {name: value for name, value in entry.items() if name not in UNSHAPING}
    digest = hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()
    return f"{entry[key]}#{digest[:HASH_CHARACTERS]}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("|", "%7C").replace("\n", "%0A")


def _unescape(text: str) -> str:
    return text.replace("%0A", "\n").replace("%7C", "|").replace("%25", "%")


def _quote(text: str | None) -> str:
    return "nothing" if text is None else f"'{text}'"
