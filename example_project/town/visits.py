"""The two words that servers of the town speak: a visit comes in, an answer goes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Visit:
    """One request. `at`: monotonic seconds when its first bytes arrived; `path` with query; `host` bare."""

    at: float
    host: str
    path: str
    method: str = "GET"
    agent: str = ""
    address: str = ""
    port: int = 0
    tls: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server says. `delay`: seconds that it still takes; `hold_until`: monotonic end of a stated hold."""

    status: int
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hold_until: float | None = None


def text(status: int, body: str, content_type: str = "text/plain; charset=utf-8", **headers: str) -> Answer:
    """A short answer in plain text."""
    return Answer(status, body.encode(), content_type, {name.replace("_", "-"): value for name, value in headers.items()})


Inhabitant = Callable[[Visit], Awaitable[Answer]]
"""A server of the town: answers a visit; must not block."""
