"""Requests that other queues left in a ``JOBDIR``: Scrapy's own, and ours of before it had one file for all sites.

They keep one file, or two, per site and priority, and read them destructively: so a copy is read, and the originals are removed
when all of it is safe. A kill on the way leaves the originals, and the next run takes over anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from scrapy.pqueues import ScrapyPriorityQueue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler

__all__ = ["OURS", "Left", "forget_half_written", "path_safe"]

OURS: Final = [0, "the requests are in requests.sqlite, which scrapy_polite.queue.OriginQueue reads"]
"""The state that our queue leaves in ``active.json`` while something waits. Not a list of numbers and not a dict: Scrapy's own
queues raise an error on it, where they would otherwise start as if nothing waited."""

ACTIVE: Final = "active.json"
"""Where Scrapy's scheduler keeps the state of its queue, when it closes."""


class Left:
    """What ``state``, the content of ``active.json``, says that another queue left in ``directory``; nothing if it is ours.

    ``lifo`` and ``start`` are the classes of ``SCHEDULER_DISK_QUEUE`` and ``SCHEDULER_START_DISK_QUEUE``, with which it was
    written.
    """

    def __init__(self, crawler: Crawler, directory: Path, state: Any, lifo: Any, start: Any) -> None:
        self._crawler = crawler
        self._directory = directory
        self._copy = directory / "taken-over"
        self._classes = (lifo, start)
        self._queues = {} if state == OURS else _queues(state)
        self.mark = ""
        """Names this state; another one, of a later run of another queue, has another name."""
        if self._queues:
            active = directory / ACTIVE
            written = active.stat().st_mtime_ns if active.exists() else 0
            self.mark = f"{written} {hashlib.sha256(json.dumps(state).encode()).hexdigest()}"

    def requests(self) -> Iterator[Request]:
        """All of them, in the order in which each site's would have been served."""
        lifo, start = self._classes
        for names, key, priorities in self._queues.values():
            shutil.rmtree(self._copy, ignore_errors=True)
            self._copy.mkdir()
            for name in names:
                _copy(self._directory / name, self._copy / name)
            queue = ScrapyPriorityQueue(self._crawler, lifo, str(self._copy / key), priorities, start_queue_cls=start)
            while (request := queue.pop()) is not None:
                yield request
            queue.close()
        shutil.rmtree(self._copy, ignore_errors=True)

    def remove(self) -> None:
        """Remove the originals, once what they held is safe. Only what the state names, nothing else."""
        shutil.rmtree(self._copy, ignore_errors=True)
        for names, _, _ in self._queues.values():
            for name in names:
                _remove(self._directory / name)


def forget_half_written(directory: Path) -> None:
    """Remove an ``active.json`` that was not written to its end, as on a full disk: Scrapy's scheduler would not start with it.
    Our own file says what waits, so nothing is lost; where there is none, it is left as it is."""
    active = directory / ACTIVE
    if not active.exists() or not (directory / "requests.sqlite").exists():
        return
    try:
        json.loads(active.read_bytes())
    except ValueError:
        active.unlink()


def path_safe(text: str) -> str:
    """A directory name for a slot, as Scrapy's DownloaderAwarePriorityQueue makes it."""
    safe = "".join(character if character.isalnum() or character in "-._" else "_" for character in text)
    return f"{safe}-{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"


def _queues(state: Any) -> dict[str, tuple[list[str], str, list[int]]]:
    """Of each of Scrapy's priority queues: the names in the directory, the key in it, and the priorities."""
    if isinstance(state, Mapping):
        keys = {slot: path_safe(slot) for slot in state}
        return {slot: ([keys[slot]], keys[slot], list(priorities)) for slot, priorities in state.items()}
    if not state:
        return {}
    names = [f"{priority}{suffix}" for priority in state for suffix in ("", "s")]
    return {"": (names, "", list(state))}


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.exists():
        shutil.copyfile(source, target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError):
            path.unlink()
