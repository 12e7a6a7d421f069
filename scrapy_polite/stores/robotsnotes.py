"""Copies of robots.txt files in a store: by host, in as many notes as it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff.robotstxt import Known, from_notes, more_notes

if TYPE_CHECKING:
    from .base import Store

__all__ = ["keep", "known", "subject"]

_KIND: Final = "robots"
"""The kind of the first note; those that follow have their number behind it."""


def subject(netloc: str) -> str:
    """What the notes on the robots.txt of ``netloc`` (scheme, host and port) are kept under."""
    return f"{_KIND}:{netloc}"


def known(store: Store, netloc: str) -> Known | None:
    """What is known of it, by whoever has asked last."""
    notes = store.notes([subject(netloc)]).get(subject(netloc), {})
    first = notes.get(_KIND)
    if first is None:
        return None
    return from_notes([first, *(notes.get(_named(number), "") for number in range(1, 1 + more_notes(first)))])


def keep(store: Store, netloc: str, copy: Known) -> None:
    """In place of what was known of it. Of a process that is killed in the middle nothing is known afterwards."""
    name = subject(netloc)
    first, *rest = copy.notes()
    before = store.notes([name]).get(name, {}).get(_KIND)
    for number, text in enumerate(rest, 1):
        store.note(name, _named(number), text)
    store.note(name, _KIND, first)
    for number in range(1 + len(rest), 1 + (more_notes(before) if before is not None else 0)):
        store.note(name, _named(number), "")  # Of a longer copy before: it is to take no room.


def _named(number: int) -> str:
    return f"{_KIND}:{number}"
