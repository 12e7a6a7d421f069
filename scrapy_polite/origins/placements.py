"""Where a host is placed, and why: what the judge answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scrapy_polite.origins.hosts import looks_like
from scrapy_polite.origins.links import MARKER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.origins.edges import Edge
    from scrapy_polite.origins.hosts import Host
    from scrapy_polite.origins.links import Anchor, Component

__all__ = ["BY_DOMAIN", "WEIGHTS", "Placement", "Reason", "by_domain", "by_markers", "together"]

#: How sure one piece of evidence makes; several agree as independent witnesses do: 1 - product of (1 - weight).
WEIGHTS: Final = {
    "peer": 0.98,
    "cname": 0.97,
    "address": 0.93,
    "pointer": 0.85,
    "certificate": 0.85,
    "network": 0.80,
    "domain": 0.80,
    "marker": 0.62,
    "look": 0.50,
}

#: Confidence in "nothing places this host: taken as its domain's".
BY_DOMAIN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for a placement.

    `kind` is a kind of anchor; or ``peer`` (the address that answered), ``look`` (the same configuration or product as
    most with the marker), ``control`` (`value` is ``"186 of 188"``: so many of the located hosts with this marker are there),
    ``tenant`` or ``router``; ``unlike`` and ``alike`` stand in what :meth:`Judge.explain` answers. `hosts` is how many show
    the same, the host itself among them.
    """

    kind: str
    value: str
    weight: float
    hosts: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a host is placed. `located` is False where nothing places it: then `origin` is its registrable domain's,
    with a confidence of 0.5."""

    host: str
    origin: str
    confidence: float
    because: tuple[Reason, ...]
    edge: Edge | None
    located: bool


def together(reasons: Sequence[Reason]) -> float:
    """How sure these reasons make, if each is a witness for itself."""
    doubt = 1.0
    for reason in reasons:
        doubt *= 1 - reason.weight
    return round(1 - doubt, 4)


def by_domain(host: Host) -> Placement:
    """The placement of a host that nothing places."""
    reason = Reason("domain", host.domain, BY_DOMAIN, 1)
    return Placement(host.name, f"origin:{host.domain}", BY_DOMAIN, (reason,), host.edge, located=False)


def by_markers(host: Host, homes_only: bool = False) -> tuple[Anchor | Component, float, list[Reason]] | None:
    """Where a host's markers place it, how surely and why: at their home, or together with all that show them where none of
    those can be located (not with `homes_only`). None if they place nobody."""
    votes: list[tuple[Anchor, Anchor | Component]] = []
    for anchor in host.weak:
        if anchor.role == MARKER and anchor.able():
            home = anchor.home()
            if home is not None:
                votes.append((anchor, home))
            elif anchor.free() and not homes_only:
                votes.append((anchor, anchor.place))
    if not votes:
        return None
    # Markers of one product may be at home in different places: the most common one speaks for all.
    most, place = max(votes, key=lambda vote: (vote[0].n, -vote[0].age, vote[0].text))
    reasons: list[Reason] = []
    for anchor, _ in votes:
        reasons.append(Reason("marker", anchor.value, WEIGHTS["marker"], anchor.n))
        if anchor.spread is not None and anchor.home() is place:
            control = f"{anchor.spread.most} of {anchor.spread.total}"
            reasons.append(Reason("control", control, 0.0, anchor.spread.total))
    top = most.looks.top() if most.looks is not None else None
    if top is not None and looks_like(host.look, top):
        reasons.append(Reason("look", most.value, WEIGHTS["look"], most.looks.most if most.looks is not None else 0))
    return place, together(reasons), reasons
