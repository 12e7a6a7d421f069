"""A read-through cache: what it has it serves, what it lacks it fetches from the origin, once for all who wait."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import Final

import aiohttp

from town.visits import Answer, Visit

KEPT_HEADERS: Final = ("Cache-Control", "Location", "Retry-After")
EDGE_LATENCY: Final = 0.004
CAPACITY: Final = 2000


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored answer; fresh until `until` (monotonic seconds)."""

    answer: Answer
    stored: float
    until: float


class ReadThrough:
    """An edge server in front of one origin. Tells HIT or MISS by ``X-Cache`` and by ``Cache-Status`` (RFC 9211)."""

    def __init__(self, origin: str, session: aiohttp.ClientSession) -> None:
        self.origin = origin
        self.session = session
        self.entries: dict[tuple[str, str], Entry] = {}
        self.flights: dict[tuple[str, str], asyncio.Task[Answer]] = {}

    async def __call__(self, visit: Visit) -> Answer:
        key = (visit.host, visit.path)
        now = time.monotonic()
        entry = self.entries.get(key)
        if entry is not None and now < entry.until:
            status = f"b-cdn; hit; ttl={int(entry.until - now)}"
            return self._told(entry.answer, {"X-Cache": "HIT", "Cache-Status": status, "Age": str(int(now - entry.stored))})
        flight = self.flights.get(key)
        collapsed = flight is not None
        if flight is None:
            flight = self.flights[key] = asyncio.ensure_future(self._fetch(key, visit))
            flight.add_done_callback(lambda _: self.flights.pop(key, None))
        answer = await asyncio.shield(flight)
        status = f"b-cdn; fwd={'miss' if entry is None else 'stale'}; fwd-status={answer.status}"
        status += "; collapsed" if collapsed else "; stored" if key in self.entries else ""
        return self._told(answer, {"X-Cache": "MISS", "Cache-Status": status})

    def keep(self, key: tuple[str, str], answer: Answer) -> None:
        """Stores `answer`, if its Cache-Control lets it be stored at all."""
        age = re.search(r"max-age=(\d+)", answer.headers.get("Cache-Control", ""))
        if answer.status == 200 and age and int(age[1]) > 0:
            now = time.monotonic()
            if len(self.entries) >= CAPACITY:
                self.entries.pop(next(iter(self.entries)))
            self.entries[key] = Entry(answer, now, now + int(age[1]))

    async def _fetch(self, key: tuple[str, str], visit: Visit) -> Answer:
        host, path = key
        headers = {"Host": host, "User-Agent": visit.agent, "Via": "1.1 b-cdn"}
        try:
            async with self.session.get(self.origin + path, headers=headers, allow_redirects=False) as response:
                body = await response.read()
                kept = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
                answer = Answer(response.status, body, response.headers.get("Content-Type", "text/plain"), kept)
        except (aiohttp.ClientError, TimeoutError, asyncio.TimeoutError):
            return Answer(502, b"Bad Gateway", "text/plain")
        self.keep(key, answer)
        return answer

    @staticmethod
    def _told(answer: Answer, more: dict[str, str]) -> Answer:
        return Answer(
            answer.status,
            answer.body,
            answer.content_type,
            {**answer.headers, **more, "Server": "BunnyCDN-UK1"},
            EDGE_LATENCY,
        )
