"""Paces in a store: a note for each kind of page at each origin, with the state that all processes share."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff.pacestate import State, as_row, from_row, merged, parted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .base import Store

__all__ = ["change", "merge", "paces", "split"]

_NOTE: Final = "pace:"
"""What the kind of such a note begins with."""


def paces(store: Store, origins: Iterable[str]) -> dict[str, dict[str, State]]:
    """What is known of the kinds of page at those among `origins` of which something is."""
    found: dict[str, dict[str, State]] = {}
    for origin, notes in store.notes(origins).items():
        for name, text in sorted(notes.items()):
            if name.startswith(_NOTE) and (state := _read(text)) is not None:
                found.setdefault(origin, {})[name.removeprefix(_NOTE)] = state
    return found


def change(store: Store, origin: str, kind: str, make: Callable[[State | None], State]) -> State:
    """Keep what `make` makes of the state that is there, as nobody else changes it meanwhile; what is kept then. `make` may be
    called more than once."""

    def changed(before: str | None) -> str:
        return json.dumps(as_row(make(_read(before))))

    state = _read(store.amend(origin, _NOTE + kind, changed))
    assert state is not None
    return state


def merge(store: Store, name: str, into: str) -> None:
    """`Store.merge`, at which the more careful pace of both stays. It may be told again, by anybody."""
    standing = store.standing([name, into])
    younger, older = standing[name], standing[into]
    if younger != older:
        for kind, state in paces(store, [younger]).get(younger, {}).items():
            change(store, older, kind, partial(_careful, state))
    store.merge(name, into)


def split(store: Store, name: str, of: str) -> None:
    """`Store.split`, at which the part does not become faster than the whole was. It may be told again, by anybody."""
    standing = store.standing([name, of])
    whole = standing[of]
    store.split(name, of)
    if standing[name] == whole != name:
        for kind, state in paces(store, [whole]).get(whole, {}).items():
            change(store, name, kind, partial(_careful, parted(state)))


def _careful(state: State, known: State | None) -> State:
    return merged(known, state) if known is not None else state


def _read(text: str | None) -> State | None:
    try:
        row = json.loads(text) if text is not None else None
    except ValueError:
        return None
    return from_row(row) if isinstance(row, list) else None
