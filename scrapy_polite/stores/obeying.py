"""What a ruling does to the names in a store, and how that is undone when it is taken back or has run out.

The ruling itself is kept first, and what follows from it is written after: whoever is interrupted between may do both again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .paces import merge, split

if TYPE_CHECKING:
    from .base import Ruling, Store

__all__ = ["enact", "name_for", "undo", "undo_lapsed"]


def name_for(store: Store, host: str, left: str | None) -> str:
    """The name of the origin that a host has for itself when it is split off from `left`: ``origin:<host>``, unless others
    are called so. None: nobody has met it."""
    name = f"origin:{host}"
    stands = store.standing([name])[name]
    others = any(kept.origin == name and kept.host != host for kept in store.hosts_of(name, 10_000))
    return f"origin:hand/{host}" if name == left or stands not in (name, left) or others else name


def enact(store: Store, ruling: Ruling, left: str | None) -> None:
    """Keep a ruling, and do what it says. `left`: the origin that its subject belonged to before, if any."""
    store.rule(ruling)
    if ruling.verb == "split" and left is not None:
        # For a moment one with the old one: so it starts from its due time and hold, and nobody bursts through either.
        store.merge(ruling.origin, left)
        split(store, ruling.origin, left)
    elif ruling.verb == "join" and ruling.subject.startswith("origin:"):
        merge(store, ruling.subject, ruling.origin)


def undo(store: Store, ruling: Ruling) -> None:
    """Take a ruling back, as long as it is the one that is kept; may be told again, by anybody."""
    if ruling not in store.rulings() and ruling not in store.lapsed():
        return
    if ruling.verb == "split":
        kept = store.kept([ruling.subject]).get(ruling.subject)
        if kept is not None:
            # Back where its evidence places it, not before either of both is due.
            merge(store, ruling.origin, kept.origin)
    elif ruling.subject.startswith("origin:"):
        split(store, ruling.subject, ruling.origin)
    store.unrule(ruling.subject)


def undo_lapsed(store: Store) -> list[Ruling]:
    """Undo all rulings that have run out; which those were."""
    lapsed = store.lapsed()
    for ruling in lapsed:
        undo(store, ruling)
    return lapsed
