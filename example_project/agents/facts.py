"""The town's facts, if there is a town: the file that the environment variable TOWN names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def town() -> dict[str, Any] | None:
    """What the running town says about itself (ports, name server, sites); None outside the demo."""
    path = os.environ.get("TOWN")
    if not path:
        return None
    facts: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return facts
