"""Where a study keeps what happened: the tables, and the database they live in."""

from editgauge.studies.store.database import Database
from editgauge.studies.store.tables import (
    SCHEMA,
    AnswerRow,
    Assignment,
    Event,
    Rater,
    Screening,
    Served,
    StudyCell,
    StudyItem,
)

__all__ = [
    "SCHEMA",
    "AnswerRow",
    "Assignment",
    "Database",
    "Event",
    "Rater",
    "Screening",
    "Served",
    "StudyCell",
    "StudyItem",
]
