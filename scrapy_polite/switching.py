"""Python's lock handed on more often while a thread of ours has long work: the reactor waits for it each time that it wakes."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["switching_often"]

OFTEN: Final = 0.001
"""Seconds after which a thread that works hands the lock on; Python's default of 5 ms is what the reactor would then wait."""

_inside = 0
_before = OFTEN


@contextmanager
def switching_often() -> Iterator[None]:
    """For as long as it lasts; several may. From the reactor's thread only."""
    global _inside, _before
    if not _inside:
        _before = sys.getswitchinterval()
        sys.setswitchinterval(min(OFTEN, _before))
    _inside += 1
    try:
        yield
    finally:
        _inside -= 1
        if not _inside:
            sys.setswitchinterval(_before)
