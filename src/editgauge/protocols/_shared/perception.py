"""What a protocol may ask while it scores."""

from __future__ import annotations

import typing

from editgauge.judges.interfaces import Judging
from editgauge.models.interfaces import Perception


class Sight(Perception, Judging, typing.Protocol):
    """Models that see, and judges that answer questions."""
