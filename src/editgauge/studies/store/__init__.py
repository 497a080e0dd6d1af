"""Where a study keeps what happened: the tables, and the database they live in."""

from editgauge.studies.store.database import Database
from editgauge.studies.store.tables import SCHEMA, AnswerRow, Assignment, Cell, Event, Item, Rater, Screening, Served

__all__ = ["SCHEMA", "AnswerRow", "Assignment", "Cell", "Database", "Event", "Item", "Rater", "Screening", "Served"]
