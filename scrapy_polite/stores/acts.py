"""Who has ended or begun a hold by hand, when and why: kept in the store, whichever that is, and for all who use it.

The ledger has it too, where there is one; but a ledger is a file of one machine, and may be switched off.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from .base import LONGEST_NOTE

if TYPE_CHECKING:
    from .base import Store

__all__ = ["ENDS", "Act", "acts", "add"]

_SUBJECT: Final = "by hand"
_NOTE: Final = "acts"

MOST: Final = 100
"""Acts that are kept, the newest; fewer where people give long reasons."""

LONGEST: Final = 500
"""Characters that are kept of a reason, and of what a hold was."""

ENDS: Final = ("retried", "released")
"""What is done to a hold that ends by it."""

VERSION: Final = 1
"""Of the note."""


class Act(NamedTuple):
    """What somebody has done to a key.

    Args:
        at: when, in seconds since 1970.
        key: whose hold it was.
        verb: "parked", or one of `ENDS`.
        author: who said so.
        reason: why, in his words; "" where he gave none.
        was: the hold as it was before; "" where there was none.
    """

    at: float
    key: str
    verb: str
    author: str
    reason: str
    was: str

    def sentence(self) -> str:
        """Who did what and why, without the time."""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.key} {self.verb} by {self.author}{why}{f' (was {self.was})' if self.was else ''}"


def add(store: Store, act: Act) -> None:
    """Keep one more act, as nobody else adds one meanwhile."""
    short = act._replace(reason=act.reason[:LONGEST], was=act.was[:LONGEST], author=act.author[:LONGEST])

    def change(before: str | None) -> str:
        kept = [*_read(before), short][-MOST:]
        while len(text := _text(kept)) > LONGEST_NOTE and len(kept) > 1:
            del kept[0]
        return text

    store.amend(_SUBJECT, _NOTE, change)


def acts(store: Store) -> list[Act]:
    """What was done by hand, the newest first."""
    return _read(store.notes([_SUBJECT]).get(_SUBJECT, {}).get(_NOTE))[::-1]


def _text(kept: list[Act]) -> str:
    return json.dumps({"version": VERSION, "acts": [list(act) for act in kept]}, ensure_ascii=False)


def _read(text: str | None) -> list[Act]:
    try:
        found = json.loads(text) if text is not None else None
    except ValueError:
        return []
    rows = found.get("acts") if isinstance(found, dict) and found.get("version") == VERSION else None
    return [Act(*row) for row in rows if _is_act(row)] if isinstance(rows, list) else []


def _is_act(row: object) -> bool:
    if not isinstance(row, list) or len(row) != len(Act._fields):
        return False
    return isinstance(row[0], int | float) and all(isinstance(text, str) for text in row[1:])
