"""`study.yaml`: what a study was made of."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from editgauge._util.fields import Fields
from editgauge._util.files import read_text, write_text
from editgauge.studies.errors import BadStudy

FILE = "study.yaml"
DESIGN = "design.yaml"
IMAGES = "images"
BESIDE = "sqlite:///study.db"
"""The database is in the study's own folder."""


class StudyManifest(Fields):
    """What a study was made of; never changed afterwards, except for the database's address when it moves."""

    study: str
    """Says that folder and database belong together."""
    editgauge: str
    created: str
    run: str
    design: str
    """The name or path it was given by; the text itself is in `design.yaml`."""
    raters: int
    seed: int
    sample: str
    items: int
    gold: int
    skipped: dict[str, int] = Field(default_factory=dict)
    """Why outcomes of the run are not in the study, and how many."""
    pictures: dict[str, str] = Field(default_factory=dict)
    """Pictures of the qualification: path in the design to name in `images`."""
    database: str = BESIDE

    def url(self, folder: Path) -> str:
        """The database's address."""
        return f"sqlite:///{folder.resolve() / 'study.db'}" if self.database == BESIDE else self.database

    def save(self, folder: Path) -> None:
        """Writes the file; only its owner may read it, for a database's address may hold a password."""
        write_text(folder / FILE, yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True, width=120))
        (folder / FILE).chmod(0o600)

    @classmethod
    def load(cls, folder: Path) -> StudyManifest:
        """Reads the file; says clearly when the folder is no study."""
        path = folder / FILE
        try:
            return cls.model_validate(yaml.safe_load(read_text(path)))
        except FileNotFoundError as error:
            raise BadStudy(
                f"'{folder}' is no study: it has no {FILE}. `editgauge study create` makes one from a run."
            ) from error
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
            raise BadStudy(f"'{path}' cannot be read: {error}.") from error
