"""What is known of one host: facts, each with its value, its time, its TTL and where it is from. Pure.

Three things bring facts: a DNS answer (:func:`looked_up`), a response (:func:`replied`) and a PTR name
(:func:`pointed`). What is new counts at once; what is gone counts until its absence has been seen twice, or once and for
a whole TTL: an address that round robin leaves out of one answer must not take a group of sites apart. An answer past its
TTL counts no more either once an address has answered that it does not have. What has run out counts no more, and not a
little less: addresses of a cloud come back as somebody else's.

Whatever a server sends, a host has at most `MOST` facts of a kind, and every value has a bounded length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff.refusals import recognise
from scrapy_polite.naming.hosts import literal
from scrapy_polite.origins.compact import facts_of, text_of
from scrapy_polite.origins.headers import told_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "Certificate",
    "Evidence",
    "Fact",
    "Lookup",
    "Reply",
    "joined",
    "looked_up",
    "moving",
    "pointed",
    "replied",
    "standing",
]

#: Seconds that an address counts: 20 TTLs, within these bounds. An address of a cloud's load balancer (TTL 60) is given
#: to another customer within hours; one with a TTL of a day stays for weeks.
ADDRESS_TTLS: Final = 20
ADDRESS_LIVES_LEAST: Final = 3600.0
ADDRESS_LIVES_MOST: Final = 7 * 86400.0

#: Seconds that a name counts at least (CNAME, PTR): what somebody has decided outlives the addresses behind it.
NAME_LIVES_LEAST: Final = 86400.0

#: Seconds that what a response told counts: a crawl that comes every day finds its sites where it left them.
REPLY_LIVES: Final = 2 * 86400.0

#: TTL of an address that answered although no DNS answer is known for the host (behind a proxy): a usual one.
USUAL_TTL: Final = 300.0

#: So many newer observations in a row without a fact end it. A session cookie comes with some pages only, so a marker
#: may be missing for longer than an address.
GONE_AFTER: Final = {"marker": 8, "configuration": 1, "product": 1, "tells": 1}
GONE_AFTER_OTHERS: Final = 2

#: Facts of one kind a host has at most. Of an answer with hundreds of addresses the lowest are enough to be met again.
MOST: Final = {"address": 16, "cname": 8, "peer": 4, "pointer": 16, "marker": 12, "certificate": 2}
MOST_OTHERS: Final = 4
MOST_FACTS: Final = 80
"""All kinds together, those of a newer version among them."""

#: Characters of a value at most: a PTR name (253) with its address (39) fits.
LONGEST_VALUE: Final = 300

#: Seconds that the clocks of machines are apart at most. What somebody says to have seen later than that he saw by a clock that
#: was wrong: it must not stand against all that is seen from now on until that time has come.
APART: Final = 3600.0

#: What another kind of file than a page adds, but never takes away or replaces.
FILE: Final = "file"
_NOT_HEX: Final = re.compile(r"[^0-9a-f]+")
_PAGES: Final = frozenset({"page", "search"})
_LOOKS: Final = ("configuration", "product", "tells")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing known of a host.

    `kind` is one of ``address``, ``cname``, ``pointer`` (``"<address> <name>"``), ``peer`` (the address that answered),
    ``marker``, ``configuration``, ``product`` (hashes), ``tells`` (how much those say), ``certificate``
    (``"<fingerprint> <names outside the host's domain> <serial>"``), or one that a newer version has made. `seen` is in unix
    seconds, `ttl` in seconds. `source` is ``dns``, ``response`` (a page), ``file`` (robots.txt, an image) or ``hand``.
    `absent` counts the newer observations that did not show it.
    """

    kind: str
    value: str
    seen: float
    ttl: float
    source: str
    absent: int = 0


@dataclass(frozen=True, slots=True)
class Lookup:
    """One DNS answer: the CNAME chain in order, all addresses, the TTL in seconds, the time. Canonical names."""

    chain: tuple[str, ...]
    addresses: tuple[str, ...]
    ttl: float
    at: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a server's certificate says: its serial number and SHA-256 fingerprint in hex, the DNS names it covers."""

    serial: str
    fingerprint: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """One response: the address that answered, the status, the kind of what was asked for (``page``, ``search``,
    ``image``, ``robots``), headers by lower-case name with their values in order, the certificate, the time."""

    peer: str | None
    status: int
    kind: str
    headers: Mapping[str, Sequence[str]]
    certificate: Certificate | None
    at: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything known of one host. Each (kind, value) stands once; kinds stand in alphabetical order.

    Inside a kind the order is by value, but for two: CNAMEs stand as in the chain, and peers with the one first that
    has answered for longest, which counts until it is gone.
    """

    host: str
    facts: tuple[Fact, ...] = ()

    def as_json(self) -> str:
        """The facts as one compact line, the same for the same facts; :meth:`from_json` reads it."""
        return text_of((fact.kind, fact.value, fact.seen, fact.ttl, fact.source, fact.absent) for fact in self.facts)

    @classmethod
    def from_json(cls, host: str, text: str) -> Evidence:
        """The evidence that :meth:`as_json` wrote; kinds that this version does not know are kept.

        Evidence is a memory that the next look-up brings back: of a text that is none, there is no evidence, and an address
        that is none is left out.
        """
        facts = [
            Fact(kind, value[:LONGEST_VALUE], seen, ttl, source, absent)
            for kind, value, seen, ttl, source, absent in facts_of(text)
            if kind not in ("address", "peer") or literal(value) is not None
        ]
        return cls(host, _in_order(facts))


def looked_up(known: Evidence, lookup: Lookup) -> Evidence:
    """What is known after a DNS answer. An answer without addresses is no observation: nothing is asked of such a host."""
    at = float(int(lookup.at))
    known = _by(known, at)
    if not lookup.addresses or _newest(known.facts, "address") > at:
        return known
    chain = [name for name in dict.fromkeys(lookup.chain) if name != known.host]
    seen = {"cname": chain[-MOST["cname"] :], "address": sorted(set(lookup.addresses))}
    ttl = lookup.ttl if lookup.ttl > 0 else 0.0
    return _observed(known, [Fact(kind, value, at, ttl, "dns") for kind in seen for value in seen[kind]], seen.keys(), at)


def replied(known: Evidence, reply: Reply) -> Evidence:
    """What is known after a response.

    The address that answered and its certificate count whatever was answered. Headers count on a response of status
    200 that is no challenge: what redirects, errors and walls against bots show is often the edge's own. Of anything but a
    page they only add: a static file has fewer headers than what the platform's software makes.
    """
    at = float(int(reply.at))
    known = _by(known, at)
    if max((fact.seen for fact in known.facts if fact.source == "response"), default=at) > at:
        return known
    kinds: set[str] = set()
    new: list[Fact] = []
    if reply.peer:
        kinds.add("peer")
        new.append(Fact("peer", reply.peer, at, _ttl_of(known.facts), "response"))
    if reply.certificate is not None:
        value = _covering(known.host, reply.certificate)
        kinds.add("certificate")
        if value is not None:
            new.append(Fact("certificate", value, at, REPLY_LIVES, "response"))
    if reply.status == 200 and recognise(reply.status, reply.headers) is None:
        told = told_by(reply.headers)
        source = "response" if reply.kind in _PAGES else FILE
        new += (Fact("marker", marker, at, REPLY_LIVES, source) for marker in told.markers)
        looks = zip(_LOOKS, (told.configuration, told.product, str(told.tells)), strict=True)
        if source == "response":
            kinds.update(_LOOKS, ("marker",))
            new += (Fact(kind, value, at, REPLY_LIVES, source) for kind, value in looks)
        elif not any(
            fact.kind == "product" and fact.source == "response" and at - fact.seen <= fact.ttl for fact in known.facts
        ):
            kinds.update(_LOOKS)
            new += (Fact(kind, value, at, REPLY_LIVES, source) for kind, value in looks)
    return _observed(known, new, kinds, at)


def moving(known: Evidence, peer: str) -> bool:
    """Whether a response from `peer` speaks against one from another address, which the newest DNS answer does not have any
    more."""
    answer = {fact.value for fact in known.facts if fact.kind == "address" and not fact.absent}
    return peer in answer and any(fact.kind == "peer" and fact.value not in answer for fact in known.facts)


def pointed(known: Evidence, address: str, names: Sequence[str], at: float, ttl: float) -> Evidence:
    """What is known after the PTR names of one of the host's addresses; no names: it has none."""
    at = float(int(at))
    about = f"{address} "
    facts = [Fact("pointer", about + name, at, max(ttl, 0.0), "dns") for name in sorted(set(names))[:MOST_OTHERS]]
    return _observed(known, facts, {"pointer"}, at, about)


def joined(one: Evidence, other: Evidence) -> Evidence:
    """The same host as two processes have seen it: of each fact the newest sighting, whichever comes first.

    What only one of them has is doubted if the other has looked since.
    """
    if _order_of(other) > _order_of(one):  # the order of chain and peers is that of whoever looked last
        one, other = other, one
    found: dict[tuple[str, str], Fact] = {}
    for mine, theirs in ((one, other), (other, one)):
        have = {(fact.kind, fact.value): fact for fact in theirs.facts}
        for fact in mine.facts:
            twin = have.get((fact.kind, fact.value))
            if twin is not None:
                fact = max(fact, twin, key=lambda fact: (fact.seen, -fact.absent, fact.source, fact.ttl))
            elif fact.source != FILE and _newest(theirs.facts, fact.kind) > fact.seen:
                fact = replace(fact, absent=max(fact.absent, 1))
            if fact.absent < GONE_AFTER.get(fact.kind, GONE_AFTER_OTHERS):
                found.setdefault((fact.kind, fact.value), fact)
    for kind in _LOOKS:  # there is one of each: a page's before a file's, then the newest
        rivals = sorted((fact for fact in found.values() if fact.kind == kind), key=lambda f: (f.source, f.seen, f.value))
        for fact in rivals[:-1]:
            del found[fact.kind, fact.value]
    return Evidence(one.host, _in_order(found.values()))


def standing(facts: Iterable[Fact], now: float) -> tuple[list[Fact], float]:
    """The facts that count at `now`, and the time at which the first of them runs out (infinity: none)."""
    facts = tuple(facts)
    moved = _moved(facts)
    count: list[Fact] = []
    expires = float("inf")
    for fact in facts:
        end = fact.seen + _life(fact.kind, fact.source, fact.ttl)
        if fact.absent:  # what stands against it was seen at that time
            end = min(end, _newest(facts, fact.kind) + fact.ttl)
        if end < now or (moved and fact.kind == "address" and fact.seen + fact.ttl < moved):
            continue
        count.append(fact)
        if end < expires:
            expires = end
    return count, expires


def _moved(facts: Iterable[Fact]) -> float:
    """When an address answered that no DNS answer has; 0: none did. Of answers that were past their TTL by then, no address
    counts: the site is somewhere else now."""
    addresses: set[str] = set()
    answered, peer = 0.0, ""
    for fact in facts:
        if fact.kind == "address":
            addresses.add(fact.value)
        elif fact.kind == "peer" and not fact.absent and fact.seen > answered:
            answered, peer = fact.seen, fact.value
    return 0.0 if peer in addresses else answered


def _observed(known: Evidence, new: Sequence[Fact], kinds: Iterable[str], at: float, about: str = "") -> Evidence:
    """`known` with `new`; older facts of these `kinds`, and with a value that begins so, were absent once more if they are
    not among them."""
    kinds = frozenset(kinds)
    cut = (fact if len(fact.value) <= LONGEST_VALUE else replace(fact, value=fact.value[:LONGEST_VALUE]) for fact in new)
    fresh = {(fact.kind, fact.value): fact for fact in cut}
    facts: list[Fact] = []
    for fact in known.facts:
        again = fresh.pop((fact.kind, fact.value), None)
        if again is not None:
            # A marker of a page stays one when a file shows it too.
            facts.append(replace(again, source=fact.source) if again.source == FILE and fact.kind == "marker" else again)
        elif fact.kind in kinds and fact.value.startswith(about):
            if fact.absent + 1 < GONE_AFTER.get(fact.kind, GONE_AFTER_OTHERS):
                facts.append(replace(fact, absent=fact.absent + 1))
        elif at - fact.seen <= _life(fact.kind, fact.source, fact.ttl):
            facts.append(fact)
    facts += fresh.values()
    if "cname" in kinds:  # the chain's order is that of the newest answer, what is doubted behind it
        place = {fact.value: number for number, fact in enumerate(new) if fact.kind == "cname"}
        facts.sort(key=lambda fact: place.get(fact.value, len(new)) if fact.kind == "cname" else 0)
    return Evidence(known.host, _in_order(facts))


def _in_order(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Bounded: of each kind those that were seen last, then the lowest values."""
    kinds: dict[str, list[Fact]] = {}
    for fact in facts:
        kinds.setdefault(fact.kind, []).append(fact)
    kept: list[Fact] = []
    for kind in sorted(kinds):
        of = kinds[kind]
        if kind not in ("cname", "peer"):
            of.sort(key=lambda fact: fact.value)
        most = MOST.get(kind, MOST_OTHERS)
        if len(of) > most:
            # Of markers the old ones stay: a server that makes new ones up with every page gets no further.
            chosen = set(sorted(range(len(of)), key=lambda i: (of[i].absent, i))[:most])
            of = [fact for i, fact in enumerate(of) if i in chosen]
        kept += of
    return tuple(kept[:MOST_FACTS])


@lru_cache(maxsize=1024)  # of every fact, whenever its host is placed anew
def _life(kind: str, source: str, ttl: float) -> float:
    """Seconds that a fact counts after it was seen."""
    if source in ("response", FILE) and kind != "peer":
        return ttl
    life = min(max(ttl * ADDRESS_TTLS, ADDRESS_LIVES_LEAST), ADDRESS_LIVES_MOST)
    if kind in ("address", "peer"):
        return life
    return max(life, NAME_LIVES_LEAST) if source == "dns" else ttl


def _by(known: Evidence, at: float) -> Evidence:
    """`known` as it can have been seen by a time: what was seen in its future counts as seen then."""
    if all(fact.seen <= at + APART for fact in known.facts):
        return known
    return Evidence(known.host, tuple(replace(fact, seen=at) if fact.seen > at + APART else fact for fact in known.facts))


def _newest(facts: Iterable[Fact], kind: str) -> float:
    return max((fact.seen for fact in facts if fact.kind == kind), default=0.0)


def _ttl_of(facts: Iterable[Fact]) -> float:
    return max((fact.ttl for fact in facts if fact.kind == "address"), default=USUAL_TTL)


def _order_of(evidence: Evidence) -> tuple[float, str]:
    return max((fact.seen for fact in evidence.facts), default=0.0), evidence.as_json()


def _covering(host: str, certificate: Certificate) -> str | None:
    """The fact that a certificate is, if it covers the host: one that does not says nothing about its servers."""
    names = [name.lower() for name in certificate.names]
    above = host.partition(".")[2]
    if host not in names and (not above or f"*.{above}" not in names):
        return None
    bare = host.removeprefix("www.")
    others = sum(1 for name in names if name.removeprefix("*.") != bare and not name.endswith(f".{bare}"))
    return f"{_hex(certificate.fingerprint)[:32]} {others} {_hex(certificate.serial)[:40]}"


def _hex(text: str) -> str:
    return _NOT_HEX.sub("", text[:LONGEST_VALUE].lower())
