"""The run folder: a manifest, the edits, the scores and their evidence. Everything later reads only that folder.

```
RUN/
  manifest.json            what was run: options, versions, hashes, what each score means
  edits.jsonl              the edits, in the benchmark's order
  scores/000002.jsonl      the journal being written: one checked line per (edit, method, seed, protocol)
  scores/000001.parquet    a sealed journal: one row per score, columnar
  evidence/000001.parquet  boxes, masks and notes of the same journal
  sets.json                scores of whole sets of outcomes, such as FID, where a protocol has them
  asked.json               what the last command asked of judges: calls, tokens, cost
  superseded/0001/         an earlier run into this folder whose options differed
```
"""

from editgauge.results._journal import EncodedEntry, JournalEntry
from editgauge.results._records import ImageStamp, OutcomeKey, ScoreKey, ScoreRecord, SetScore
from editgauge.results.manifest import Manifest, ProtocolEntry
from editgauge.results.run import Run, RunSource, label_methods
from editgauge.results.signature import Signature
from editgauge.results.tables import LabelColumn, Rows, ScoreColumns
from editgauge.results.writer import RunWriter

__all__ = [
    "EncodedEntry",
    "ImageStamp",
    "JournalEntry",
    "LabelColumn",
    "Manifest",
    "OutcomeKey",
    "ProtocolEntry",
    "Rows",
    "Run",
    "RunSource",
    "RunWriter",
    "ScoreColumns",
    "ScoreKey",
    "ScoreRecord",
    "SetScore",
    "Signature",
    "label_methods",
]
