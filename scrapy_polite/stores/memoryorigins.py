"""What the store of one process keeps of hosts, their anchors, what people ruled, and notes. Its owner holds the lock."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from .base import DAY, Kept, News, each_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .base import Ruling


@dataclass(slots=True)
class _Host:
    """`number`: in the order of first coming."""

    number: int
    kept: Kept
    version: int
    seen: float


@dataclass(slots=True)
class _Note:
    text: str
    seen: float


@dataclass(slots=True)
class _Anchor:
    """`hosts`: the numbers of the hosts that point at it, sorted."""

    number: int
    seen: float
    hosts: list[int]


class Known:
    """Hosts, anchors, rulings and notes. `now` is in seconds of the wall clock."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}
        self._by_number: dict[int, str] = {}
        self._anchors: dict[str, _Anchor] = {}
        self._placed: dict[str, list[int]] = {}
        self._rulings: dict[str, Ruling] = {}
        self._notes: dict[str, dict[str, _Note]] = {}
        # Every keeping in order; all but a host's newest are passed over.
        self._log: list[tuple[int, str]] = []
        self._version = self._ruled = self._anchor_number = self._host_number = 0

    def ages(self, anchors: Iterable[str], now: float | None) -> dict[str, int]:
        """`now` None: of those that are there."""
        if now is None:
            return {anchor: self._anchors[anchor].number for anchor in anchors if anchor in self._anchors}
        return {anchor: self._anchor(anchor, now).number for anchor in sorted(set(anchors))}

    def _anchor(self, anchor: str, now: float) -> _Anchor:
        found = self._anchors.get(anchor)
        if found is None:
            self._anchor_number += 1
            found = self._anchors[anchor] = _Anchor(self._anchor_number, now, [])
        elif found.seen < now - DAY:
            found.seen = now
        return found

    def keep(self, hosts: Iterable[Kept], now: float) -> int:
        for kept in each_once(hosts):
            self._version += 1
            found = self._hosts.get(kept.host)
            if found is None:
                self._host_number += 1
                found = self._hosts[kept.host] = _Host(self._host_number, kept, 0, now)
                self._by_number[found.number] = kept.host
            else:
                self._unpoint(found)
            found.kept, found.version, found.seen = kept, self._version, now
            for anchor in kept.anchors:
                insort(self._anchor(anchor, now).hosts, found.number)
            insort(self._placed.setdefault(kept.origin, []), found.number)
            self._log.append((self._version, kept.host))
        if len(self._log) > 2 * len(self._hosts) + 1000:
            self._log = [(version, host) for version, host in self._log if self._newest(version, host)]
        return self._version

    def _unpoint(self, host: _Host) -> None:
        for anchor in host.kept.anchors:
            _drop(self._anchors[anchor].hosts, host.number)
        placed = self._placed[host.kept.origin]
        _drop(placed, host.number)
        if not placed:
            del self._placed[host.kept.origin]

    def _newest(self, version: int, host: str) -> bool:
        found = self._hosts.get(host)
        return found is not None and found.version == version

    def kept(self, hosts: Iterable[str]) -> dict[str, Kept]:
        return {host: self._hosts[host].kept for host in dict.fromkeys(hosts) if host in self._hosts}

    def pointing_at(self, anchors: Iterable[str], most: int) -> dict[str, Kept]:
        numbers: set[int] = set()
        for anchor in anchors:
            if anchor in self._anchors:
                numbers.update(self._anchors[anchor].hosts[: max(0, most)])
        return {kept.host: kept for kept in self._numbered(sorted(numbers))}

    def news(self, since: int, most: int) -> News:
        since = since if since <= self._version else 0
        hosts: list[Kept] = []
        version = since
        for position in range(bisect_right(self._log, since, key=lambda entry: entry[0]), len(self._log)):
            at, host = self._log[position]
            if self._newest(at, host):
                if len(hosts) >= max(1, most):
                    return News(version, hosts, self._ruled > since)
                hosts.append(self._hosts[host].kept)
                version = at
        return News(self._version, hosts, self._ruled > since)

    def origins(self, alias: Mapping[str, str], most: int) -> list[tuple[str, int]]:
        count: dict[str, int] = {}
        for name, hosts in self._placed.items():
            root = alias.get(name, name)
            count[root] = count.get(root, 0) + len(hosts)
        return sorted(count.items())[: max(0, most)]

    def hosts_of(self, names: Sequence[str], most: int) -> list[Kept]:
        """The hosts kept under these names, one name after the other."""
        found: list[Kept] = []
        for name in names:
            found += self._numbered(self._placed.get(name, [])[: max(0, most - len(found))])
        return found

    def _numbered(self, numbers: Iterable[int]) -> list[Kept]:
        return [self._hosts[self._by_number[number]].kept for number in numbers]

    def rule(self, ruling: Ruling) -> None:
        self._rulings[ruling.subject] = ruling
        self._version = self._ruled = self._version + 1

    def unrule(self, subject: str, now: float) -> bool:
        ruling = self._rulings.pop(subject, None)
        if ruling is None:
            return False
        self._version = self._ruled = self._version + 1
        return ruling.until is None or ruling.until > now

    def rulings(self, now: float) -> list[Ruling]:
        return [ruling for _, ruling in sorted(self._rulings.items()) if ruling.until is None or ruling.until > now]

    def lapsed(self, now: float) -> list[Ruling]:
        return [ruling for _, ruling in sorted(self._rulings.items()) if ruling.until is not None and ruling.until <= now]

    def note(self, subject: str, kind: str, text: str, now: float) -> None:
        self._notes.setdefault(subject, {})[kind] = _Note(text, now)

    def notes(self, subjects: Iterable[str], now: float) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for subject in dict.fromkeys(subjects):
            for kind, note in self._notes.get(subject, {}).items():
                note.seen = now
                found.setdefault(subject, {})[kind] = note.text
        return found

    def unnote(self, subject: str) -> None:
        self._notes.pop(subject, None)

    def forget(self, before: float, limit: int) -> int:
        """At most `limit` hosts kept before `before`, and as many anchors that nobody asked for since and that have no host,
        and as many notes."""
        limit = max(0, limit)
        oldest = islice((host for version, host in self._log if self._newest(version, host)), limit)
        gone = [host for host in oldest if self._hosts[host].seen < before]
        for host in gone:
            found = self._hosts.pop(host)
            del self._by_number[found.number]
            self._unpoint(found)
        idle = (anchor for anchor, known in self._anchors.items() if known.seen < before and not known.hosts)
        for anchor in list(islice(idle, limit)):
            del self._anchors[anchor]
        noted = ((subject, kind) for subject, kinds in self._notes.items() for kind in kinds if kinds[kind].seen < before)
        for subject, kind in list(islice(noted, limit)):
            del self._notes[subject][kind]
            if not self._notes[subject]:
                del self._notes[subject]
        return len(gone)

    def names(self, name: str) -> bool:
        """Whether a host is kept under that name, or a ruling is about it."""
        return name in self._placed or name in self._rulings


def _drop(numbers: list[int], number: int) -> None:
    del numbers[bisect_left(numbers, number)]
