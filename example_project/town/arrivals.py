"""The log of arrivals (and of DNS questions): one JSON object a line, on the disk as soon as it is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

COSTS: Final = {"search": 4, "page": 2, "image": 1, "robots": 1, "other": 1}
"""Kind of request and its cost in units."""


def kind_of(path: str) -> str:
    """The kind of a request by its path (with query)."""
    path = path.partition("?")[0]
    if path == "/robots.txt":
        return "robots"
    if path == "/search":
        return "search"
    if path.startswith("/listing/"):
        return "page"
    return "image" if path.endswith((".jpg", ".png")) else "other"


class Log:
    """Appends to one file, a line at a time; readers in other processes never see half a line that stays half."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1 << 16)

    def write(self, entry: dict[str, object]) -> None:
        if self._file.closed:
            return
        self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> list[dict[str, object]]:
    """All whole lines of a log that may still be written to."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]
