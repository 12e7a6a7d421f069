"""What was learned of a key, as text that outlives the process. Pure.

One small JSON object for each thing that was learned, with a version. What a newer version has written, or is broken, counts as
nothing: it is learned again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final, Literal

__all__ = ["BEHAVIOUR", "COST", "Behaviour", "NotedCost", "NotedPart"]

Behaviour = Literal["edge", "bucket", "unknown"]

COST: Final = "cost:"
BEHAVIOUR: Final = "behaviour:"
"""What the kinds of notes begin with: behind it the kind of request, or the folder of an account ("": all of it)."""

VERSION: Final = 1

LONGEST: Final = 1_000
"""Characters of a sentence in a note."""


@dataclass(frozen=True, slots=True)
class NotedCost:
    """A step of what a kind of request costs at an origin. ``at``: unix seconds; ``samples``, ``pages``: answers of the kind,
    and of pages, that it was made from; ``because``: one sentence."""

    cost: float
    at: float
    samples: int
    pages: int
    because: str

    def as_text(self) -> str:
        return _written(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> NotedCost | None:
        found = _read(text)
        cost, at, because = _number(found.get("cost")), _number(found.get("at")), found.get("because")
        samples, pages = _number(found.get("samples")), _number(found.get("pages"))
        if cost is None or at is None or samples is None or pages is None or not isinstance(because, str):
            return None
        return cls(cost, at, int(samples), int(pages), because)


@dataclass(frozen=True, slots=True)
class NotedPart:
    """What an account of an image service, or a folder of it, was called last; "" for ``because``: never anything."""

    behaviour: Behaviour
    at: float
    because: str

    def as_text(self) -> str:
        return _written(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> NotedPart | None:
        found = _read(text)
        at, because = _number(found.get("at")), found.get("because")
        if at is not None and isinstance(because, str):
            for behaviour in _BEHAVIOURS:
                if found.get("behaviour") == behaviour:
                    return cls(behaviour, at, because)
        return None


_BEHAVIOURS: Final[tuple[Behaviour, ...]] = ("edge", "bucket", "unknown")


def _written(fields: dict[str, object]) -> str:
    return json.dumps({"v": VERSION, **fields, "because": str(fields["because"])[:LONGEST]}, separators=(",", ":"))


def _read(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("v") == VERSION else {}


def _number(value: object) -> float | None:
    """A number that can be reckoned with, and is not below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e15 else None
