"""The fields of an explanation, and what they hold before anything is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from scrapy_polite.commands.robotsrules import Rules
    from scrapy_polite.guard.trail import Check
    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.naming.hosts import Invalid
    from scrapy_polite.origins.costs import Learned
    from scrapy_polite.stores.base import Peek

__all__ = [
    "Explanation",
    "Found",
    "Judged",
    "Named",
    "Planned",
    "charge",
    "invalid",
    "learned",
    "not_found",
    "state",
    "unjudged",
]


class Named(TypedDict):
    """What is told by the whole URL."""

    url: str
    canonical: str | None
    sent: str | None
    source: str | None


class Judged(TypedDict):
    """What scheme, host, port and user-info tell, whatever the path."""

    host: str | None
    shown: str | None
    port: int | None
    domain: str | None
    proxy: str | None
    admitted: bool | None
    reason: str | None
    rule: str | None
    range: str | None
    allow: str | None
    note: str | None
    let_through: bool
    checks: list[Check]
    addresses: list[str]
    pinned: str | None


class Planned(TypedDict):
    """What its keys and its kind tell."""

    site: str | None
    bucket: str | None
    image_service: str | None
    kind: str | None
    cost: float | None
    charges: list[dict[str, Any]]


class Found(TypedDict):
    """What only DNS and the store tell."""

    chain: list[str]
    ttl: float | None
    pointers: list[dict[str, Any]]
    origin: str | None
    evidence: list[str]
    confidence: float | None
    edge: dict[str, Any] | None
    aliases: list[str]
    ruling: dict[str, Any] | None
    learned: list[dict[str, Any]]
    behaviour: dict[str, Any] | None
    keys: list[dict[str, Any]]
    paces: list[dict[str, Any]]
    hold: dict[str, Any] | None
    robots: Rules | None
    due_in: float


class Explanation(Named, Judged, Planned, Found):
    """The answer about one URL. Every field is always there; docs/commands.md says what each holds."""


def invalid(url: str, why: Invalid) -> Explanation:
    """The answer about what is no URL with a host."""
    judged = unjudged() | {"admitted": False, "reason": f"{why.reason}: {why.detail}", "rule": why.reason}
    unplanned: Planned = {"site": None, "bucket": None, "image_service": None, "kind": None, "cost": None, "charges": []}
    return {"url": url, "canonical": None, "sent": None, "source": None, **judged, **unplanned, **not_found()}


def unjudged() -> Judged:
    """What is said before the guard has said anything."""
    return {
        "host": None,
        "shown": None,
        "port": None,
        "domain": None,
        "proxy": None,
        "admitted": None,
        "reason": None,
        "rule": None,
        "range": None,
        "allow": None,
        "note": None,
        "let_through": False,
        "checks": [],
        "addresses": [],
        "pinned": None,
    }


def not_found() -> Found:
    """What is said where neither DNS nor the store was asked."""
    return {
        "chain": [],
        "ttl": None,
        "pointers": [],
        "origin": None,
        "evidence": [],
        "confidence": None,
        "edge": None,
        "aliases": [],
        "ruling": None,
        "learned": [],
        "behaviour": None,
        "keys": [],
        "paces": [],
        "hold": None,
        "robots": None,
        "due_in": 0.0,
    }


def charge(charge: Charge) -> dict[str, Any]:
    """One charge, with what is special about it."""
    stated: dict[str, Any] = {"key": charge.key, "cost": charge.cost, "rate": charge.rate, "burst": charge.burst}
    if charge.least:
        stated["least"] = charge.least
    if charge.refundable:
        stated["refundable"] = True
    if charge.pace != 1:
        stated["pace"] = charge.pace
    return stated


def learned(one: Learned) -> list[dict[str, Any]]:
    """What is noted of a kind's cost at an origin, if anything is."""
    noted = one.noted
    if noted is None:
        return []
    stated = {"kind": one.kind, "cost": one.cost, "default": one.default, "samples": noted.samples, "pages": noted.pages}
    return [stated | {"at": noted.at, "because": noted.because}]


def state(key: str, peek: Peek) -> dict[str, Any]:
    """How things stand with one key."""
    cause = peek.cause
    why = {"kind": cause.kind, "reason": cause.reason} if cause is not None else {"kind": None, "reason": None}
    return {"key": key, "due_in": peek.due_in, "hold_in": peek.hold_in} | why
