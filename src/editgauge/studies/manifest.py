"""`study.yaml`: what a study was made of."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from editgauge._util.fields import Fields
from editgauge._util.files import read_text, write_text
from editgauge.studies.errors import BadStudyError

FILE = "study.yaml"
DESIGN = "design.yaml"
IMAGES = "images"
LOCAL_DATABASE = "sqlite:///study.db"
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
    database: str = LOCAL_DATABASE

    def url(self, folder: Path) -> str:
        """Return the URL of the database."""
        return f"sqlite:///{folder.resolve() / 'study.db'}" if self.database == LOCAL_DATABASE else self.database

    def save(self, folder: Path) -> None:
        """Write the file, readable only by its owner because the database URL may contain a password."""
        write_text(folder / FILE, yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True, width=120))
        (folder / FILE).chmod(0o600)

    @classmethod
    def load(cls, folder: Path) -> StudyManifest:
        """Read the manifest; raise an error when the folder is no study."""
        path = folder / FILE
        try:
            return cls.model_validate(yaml.safe_load(read_text(path)))
        except FileNotFoundError as error:
            raise BadStudyError(
                f"'{folder}' is no study: it has no {FILE}. `editgauge study create` makes one from a run."
            ) from error
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
            raise BadStudyError(f"'{path}' cannot be read: {error}.") from error
