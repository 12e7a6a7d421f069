"""A store that is only looked at: what is read comes from it, and what would be written is dropped."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from .base import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_polite.limits.gcra import Booked, Wait, Want

    from .base import Cause, Held, Kept, News, Peek, Ruling, Store
    from .deferring import Deferred

YOUNGEST: Final = 1 << 60
"""From here on anchors are numbered that the store does not know: they are younger than all that it does."""


class LookOnly:
    """A `Store` around another one, for whoever wants to know what a crawl would find and must not leave a trace.

    What was asked to be written is said to be done, and is not there afterwards. Nothing can be booked.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers = count(YOUNGEST)
        self._young: dict[str, int] = {}

    @property
    def blocking(self) -> bool:
        return self._store.blocking

    # -- read

    def now(self) -> int:
        return self._store.now()

    def peek(self, keys: Iterable[str]) -> dict[str, Peek]:
        return self._store.peek(keys)

    def held(self) -> list[Held]:
        return self._store.held()

    def standing(self, names: Iterable[str]) -> dict[str, str]:
        return self._store.standing(names)

    def aliases_of(self, origins: Iterable[str], most: int = 100) -> dict[str, list[str]]:
        return self._store.aliases_of(origins, most)

    def ages(self, anchors: Iterable[str], *, allot: bool = True) -> dict[str, int]:
        asked = list(anchors)
        found = self._store.ages(asked, allot=False)
        for anchor in asked:
            if anchor not in found and allot:
                found[anchor] = self._young[anchor] = self._young.get(anchor) or next(self._numbers)
        return found

    def kept(self, hosts: Iterable[str]) -> dict[str, Kept]:
        return self._store.kept(hosts)

    def pointing_at(self, anchors: Iterable[str], most: int) -> dict[str, Kept]:
        return self._store.pointing_at(anchors, most)

    def news(self, since: int, most: int = 1000) -> News:
        return self._store.news(since, most)

    def origins(self, most: int = 10_000) -> list[tuple[str, int]]:
        return self._store.origins(most)

    def hosts_of(self, origin: str, most: int = 1000) -> list[Kept]:
        return self._store.hosts_of(origin, most)

    def rulings(self) -> list[Ruling]:
        return self._store.rulings()

    def lapsed(self) -> list[Ruling]:
        return self._store.lapsed()

    def notes(self, subjects: Iterable[str]) -> dict[str, dict[str, str]]:
        return self._store.notes(subjects)

    def deferred(self, owner: str | None = None, key: str | None = None, most: int = 10_000) -> list[Deferred]:
        return self._store.deferred(owner, key, most)

    def count_deferred(self) -> dict[str, int]:
        return self._store.count_deferred()

    # -- written

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        raise StoreError("the store is only looked at: nothing can be booked")

    def hold(self, key: str, seconds: float, cause: Cause) -> float:
        return max(seconds, self._store.peek([key])[key].hold_in)

    def release(self, key: str) -> bool:
        return self._store.peek([key])[key].hold_in > 0

    def settle(self, key: str, micros: int) -> None:
        """Dropped."""

    def merge(self, name: str, into: str) -> None:
        """Dropped."""

    def split(self, name: str, of: str) -> None:
        """Dropped."""

    def keep(self, hosts: Sequence[Kept]) -> int:
        """Dropped. To whoever begins here all is news."""
        return 0

    def rule(self, ruling: Ruling) -> None:
        """Dropped."""

    def unrule(self, subject: str) -> bool:
        return any(ruling.subject == subject for ruling in self._store.rulings())

    def note(self, subject: str, kind: str, text: str) -> None:
        """Dropped."""

    def defer(self, rows: Sequence[Deferred]) -> None:
        """Dropped."""

    def take_deferred(self, owner: str, run: str, most: int, lease: float, within: float = 0.0) -> list[Deferred]:
        """Who only looks gets none."""
        return []

    def renew_deferred(self, run: str, lease: float) -> int:
        return 0

    def done_deferred(self, owner: str, fingerprints: Sequence[str], run: str) -> int:
        return 0

    def hasten_deferred(self, key: str) -> int:
        return 0

    def drop_deferred(self, owner: str | None = None, key: str | None = None) -> int:
        return 0

    def amend(self, subject: str, kind: str, change: Callable[[str | None], str]) -> str:
        return change(self._store.notes([subject]).get(subject, {}).get(kind))

    def forget_hosts(self, idle: float, limit: int = 1000) -> int:
        return 0

    def purge(self, idle: float, limit: int = 1000) -> int:
        return 0

    def close(self) -> None:
        self._store.close()
