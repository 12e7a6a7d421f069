"""How inhabitants of special manners treat a visitor: pure state machines over `now` (monotonic) and `wall` (Unix).

A manner says what to answer instead of the page, or None: answer as usual. robots.txt is never asked about here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Final, Protocol

BUSY_SECONDS: Final = 3.0
DOWN_SECONDS: Final = 5.0
CHALLENGE_SECONDS: Final = 5.0

CHALLENGE_PAGE: Final = (
    "<!DOCTYPE html><html lang='en'><head><title>Just a moment...</title>"
    "<meta name='robots' content='noindex,nofollow'></head>"
    "<body><h1>Checking your browser</h1><p>Enable JavaScript and cookies to continue.</p>"
    "<form id='challenge-form' method='POST'><noscript>JavaScript is needed.</noscript></form></body></html>"
)


@dataclass(frozen=True, slots=True)
class Instead:
    """An answer in place of the page; `hold_until`: monotonic time before which the visitor shall not come again."""

    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)
    hold_until: float | None = None


class Manner(Protocol):
    def instead(self, now: float, wall: float) -> Instead | None: ...


class BusySeconds:
    """429 with Retry-After in seconds from the first visit until the hold is over; coming early does not extend it."""

    def __init__(self, patience: float) -> None:
        self.seconds = max(1, round(BUSY_SECONDS * patience))
        self.until: float | None = None

    def instead(self, now: float, wall: float) -> Instead | None:
        if self.until is None:
            self.until = now + self.seconds
        if now >= self.until:
            return None
        # Rounded up: a visitor who comes back exactly then must find the hold over.
        left = math.ceil(self.until - now)
        return Instead(429, "Too many requests", {"Retry-After": str(left)}, self.until)


class BusyDate:
    """429 with Retry-After as an HTTP-date from the first visit until then. It ends on a whole second, as dates do."""

    def __init__(self, patience: float) -> None:
        self.seconds = BUSY_SECONDS * patience
        self.until: float | None = None
        self.date = ""

    def instead(self, now: float, wall: float) -> Instead | None:
        if self.until is None:
            end = math.ceil(wall + self.seconds)
            self.until = now + (end - wall)
            self.date = formatdate(end, usegmt=True)
        if now >= self.until:
            return None
        return Instead(429, "Too many requests", {"Retry-After": self.date}, self.until)


class Phase:
    """One answer for a while from the first visit on, and the usual one ever after. No hold is stated."""

    def __init__(self, seconds: float, answer: Instead) -> None:
        self.seconds = seconds
        self.answer = answer
        self.until: float | None = None

    def instead(self, now: float, wall: float) -> Instead | None:
        if self.until is None:
            self.until = now + self.seconds
        return self.answer if now < self.until else None


def manner_of(inhabitant: str, patience: float) -> Manner | None:
    """The manner of an inhabitant, in its state before anybody came; None: an ordinary one."""
    if inhabitant == "busy-seconds":
        return BusySeconds(patience)
    if inhabitant == "busy-date":
        return BusyDate(patience)
    if inhabitant == "down":
        return Phase(DOWN_SECONDS * patience, Instead(503, "Service Unavailable"))
    if inhabitant == "challenge":
        # https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/
        return Phase(
            CHALLENGE_SECONDS * patience,
            Instead(403, CHALLENGE_PAGE, {"cf-mitigated": "challenge", "Server": "cloudflare"}),
        )
    return None
