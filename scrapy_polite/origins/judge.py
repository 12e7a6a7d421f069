"""The judge: which hosts share servers, with what confidence, and why. Pure.

Hosts are not joined to each other: they point at anchors (:mod:`~scrapy_polite.origins.anchors`), and anchors are linked while
enough hosts witness it (:mod:`~scrapy_polite.origins.links`). Where DNS tells nothing, because an edge stands in
front, a marker in the headers places a host where the hosts with the same marker are that can be located: they are the control
group. If those are all over the place, the marker is software; if there are none, it is a product whose servers are all
hidden. Direct hosts are never joined over different addresses by headers alone: finished images look alike everywhere.

An origin is called after its oldest living anchor, by the anchors' row numbers in the store: the same name in every process
that shares it, after a restart, and in whatever order the evidence came.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.origins.hosts import Host, add_host, drop_host, hosts_at, look_of
from scrapy_polite.origins.links import ALIKE, ALIKE_HOSTS, COUNTED, GATHERER, MARKER, STRONG, Anchor, Component, Links
from scrapy_polite.origins.names import Names
from scrapy_polite.origins.placements import WEIGHTS, Placement, Reason, by_domain, by_markers, together
from scrapy_polite.origins.suspects import Suspect, suspects_among
from scrapy_polite.origins.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_polite.origins.anchors import Pointing
    from scrapy_polite.origins.names import Change

__all__ = ["THRESHOLD", "Judge", "Placement", "Reason"]

#: Confidence from which a placement counts (0.6 to 0.8 are alike, 0.9 loses).
THRESHOLD: Final = 0.8

#: Which anchors speak against which.
SHUNNED_BY: Final = {"address": "router", "marker": "platform"}
SHUNS: Final = {shunning: kind for kind, shunning in SHUNNED_BY.items()}

#: Of a crowd at one address, so many are looked at to say whether it is alike.
CROWD_SEEN: Final = 64

#: What hosts point at is kept once for so many different ones.
TUPLES_KEPT: Final = 4096


class Judge:
    """Learns what hosts point at, and answers where they are."""

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold
        self._hosts: dict[str, Host] = {}
        self._anchors: dict[str, Anchor] = {}
        self._domains: dict[str, Host | Anchor] = {}  # a domain of one host needs no anchor: it could tell itself only
        self._tuples: dict[tuple[Anchor, ...], tuple[Anchor, ...]] = {}
        self._links = Links()
        self._names = Names(self._anchors, self._links.touched)
        self._turns = 0

    def __len__(self) -> int:
        """How many hosts it knows."""
        return len(self._hosts)

    @property
    def generation(self) -> int:
        """Grows when something was learned of one host by which others may be placed elsewhere."""
        return self._turns + self._links.moves

    # -- learning
    def learn(self, host: str, pointing: Pointing, ages: Mapping[str, int]) -> None:
        """Take what a host points at, in place of what it pointed at before.

        `ages` has the row numbers of all its anchors in the store; the lower, the older.
        """
        known = self._anchors
        domain = ""
        weak: list[Anchor] = []
        for text in pointing.weak:
            if text.startswith("domain:"):
                domain = text[7:]
            else:
                weak.append(known.get(text) or self._new_anchor(text, ages))
        strong = [known.get(text) or self._new_anchor(text, ages) for text in pointing.strong]
        peer = pointing.peer
        new = Host(
            host,
            host if domain == host else domain or registrable_domain(host),
            self._shared(strong),
            self._shared(weak),
            look_of(pointing.configuration, pointing.product, pointing.tells),
            pointing.edge,
            None if peer is None else known.get(peer) or self._new_anchor(peer, ages),
            self._shared([known[text] for anchor, at in pointing.beside for text in (at, anchor)]),
        )
        old = self._hosts.get(host)
        if old is not None and old.same_as(new):
            return
        heirs = self._take_out(old) if old is not None else ()
        self._hosts[host] = new
        self._count(new, 1)
        self._bury(old, heirs)

    def forget(self, host: str) -> None:
        """Take back what was learned of a host: it is gone, or somebody else's. One that is not known is no matter."""
        old = self._hosts.pop(host, None)
        if old is not None:
            self._bury(old, self._take_out(old))

    def knows(self, host: str) -> bool:
        """Whether the host has been learned."""
        return host in self._hosts

    def _new_anchor(self, text: str, ages: Mapping[str, int]) -> Anchor:
        anchor = self._anchors[text] = Anchor(text, ages[text])
        self._names.born(anchor)
        shunning = SHUNNED_BY.get(anchor.kind)
        if shunning is not None:
            other = self._anchors.get(f"{shunning}:{anchor.value}")
            anchor.shunned = other.n if other is not None else 0
            anchor.void = anchor.judged_void()
        return anchor

    def _shared(self, anchors: list[Anchor]) -> tuple[Anchor, ...]:
        """One tuple for all the hosts of a crowd that point at the same."""
        if len(self._tuples) > TUPLES_KEPT:
            self._tuples.clear()
        found = tuple(anchors)
        return self._tuples.setdefault(found, found)

    def _take_out(self, host: Host) -> Sequence[tuple[Anchor, list[Anchor]]]:
        heirs = self._names.heirs_of(host)
        self._count(host, -1)
        return heirs

    def _bury(self, host: Host | None, heirs: Sequence[tuple[Anchor, list[Anchor]]]) -> None:
        """Forget the anchors that nobody points at any more; of those whose names were given, the names live on."""
        for anchor, company in heirs:
            if not anchor.n:
                self._names.hand_over(anchor, company)
        for anchor in (*host.strong, *host.weak) if host is not None else ():
            if not anchor.n and not anchor.named:
                self._anchors.pop(anchor.text, None)

    def _count(self, host: Host, by: int) -> None:
        """Count a host in (1) or out (-1), and all that follows from it."""
        everything = (*host.strong, *host.weak)
        pairs = list(_pairs(host))
        for anchor in everything:
            anchor.n += by
            if anchor.role in (STRONG, MARKER):
                (add_host if by > 0 else drop_host)(anchor, host)
                if anchor.role == STRONG and not anchor.is_address and anchor.n == (2 if by > 0 else 1):
                    self._turns += 1  # a name is one customer's no longer, or again
            if anchor.named and anchor.n == by:  # it lives again, and is nobody's legacy any more
                self._links.touched.add(anchor)
        for a, b in pairs:
            self._links.witness(a, b, by)
        if by > 0:
            self._enter_domain(host)
        flipped = self._tell_seat(host, by)
        if by < 0:
            self._leave_domain(host)
        if host.look:
            for anchor in host.weak:
                if anchor.role in (GATHERER, MARKER):
                    if anchor.looks is None:
                        anchor.looks = Tally()
                    anchor.looks.add(host.look, by)
                    if anchor.alike != anchor.judged_alike():
                        anchor.alike = not anchor.alike
                        flipped.append(anchor)
        self._links.settle(pairs, everything, by)
        for anchor in flipped:
            self._links.check_all(anchor)
        self._turns += bool(flipped)
        for anchor in everything:
            if anchor.role == COUNTED:
                shunned = self._anchors.get(f"{SHUNS[anchor.kind]}:{anchor.value}")
                if shunned is not None:
                    shunned.shunned = anchor.n
                    anchor = shunned
            if anchor.shunned and anchor.void != anchor.judged_void():
                self._turn(anchor)

    def _turn(self, anchor: Anchor) -> None:
        """So many that are not located are there that it locates nobody, or no longer; whoever came first."""
        flipped = [anchor]
        hosts = hosts_at(anchor)
        for host in hosts:
            flipped += self._tell_seat(host, -1)
        anchor.void = not anchor.void
        self._turns += 1
        for host in hosts:
            flipped += self._tell_seat(host, 1)
        for each in dict.fromkeys(flipped):
            self._links.check_all(each)

    def _tell_seat(self, host: Host, by: int) -> list[Anchor]:
        """Tell its markers and its domain where a host is located; answered are those markers that gather otherwise now."""
        seat = host.seat()
        if seat is None:
            return []
        flipped: list[Anchor] = []
        domain = self._domains.get(host.domain)
        for anchor in (*host.weak, domain):
            if isinstance(anchor, Anchor) and (anchor.role == MARKER or anchor is domain):
                free, where = anchor.free(), _where(anchor)
                _tell(anchor, seat, by)
                self._turns += _where(anchor) is not where
                if anchor.named:
                    self._links.touched.add(anchor)
                if free != anchor.free():
                    flipped.append(anchor)
        return flipped

    def _enter_domain(self, host: Host) -> None:
        entry = self._domains.get(host.domain)
        if isinstance(entry, Anchor):
            add_host(entry, host)
        elif entry is None:
            self._domains[host.domain] = host
        else:
            self._domains[host.domain] = anchor = Anchor(f"domain:{host.domain}", 0)
            add_host(anchor, entry)
            add_host(anchor, host)
            seat = entry.seat()
            if seat is not None:
                _tell(anchor, seat, 1)

    def _leave_domain(self, host: Host) -> None:
        entry = self._domains[host.domain]
        if not isinstance(entry, Anchor):
            del self._domains[host.domain]
            return
        drop_host(entry, host)
        left = hosts_at(entry)
        if len(left) == 1:
            self._domains[host.domain] = left[0]
            seat = left[0].seat()
            if seat is not None:
                _tell(entry, seat, -1)

    # -- answering
    def place(self, host: str) -> Placement:
        """Where a host that was learned is placed; KeyError for another."""
        known = self._hosts[host]
        votes: dict[Anchor | Component, list[tuple[Reason, Anchor]]] = {}
        for anchor in known.strong:
            if not anchor.void:
                kind = "peer" if anchor is known.peer else anchor.kind
                reason = Reason(kind, anchor.value, WEIGHTS[kind], anchor.n)
                votes.setdefault(anchor.place, []).append((reason, anchor))
        if not votes:
            return self._place_hidden(known)
        for anchor in known.weak:  # what was gathered supports the component it is in
            if anchor.role == GATHERER and anchor.alike and anchor.component in votes:
                reason = Reason(anchor.kind, anchor.value, WEIGHTS[anchor.kind], anchor.n)
                votes[anchor.component].append((reason, anchor))
        best = next(iter(votes)) if len(votes) == 1 else max(votes, key=lambda place: _rank(place, votes[place], known))
        reasons = [reason for reason, _ in votes[best]]
        if known.edge is not None and all(reason.kind == "cname" and reason.hosts == 1 for reason in reasons):
            # A name that nobody else has at the edge says only that it is a customer's.
            found = by_markers(known, homes_only=True)
            if found is not None and found[1] >= self._threshold:
                return self._placed(known, *found)
        confidence = together(reasons)
        if confidence < self._threshold:
            return by_domain(known)
        return self._placed(known, best, confidence, reasons)

    def _place_hidden(self, host: Host) -> Placement:
        """A host of which DNS tells nothing: by its markers, else by the rest of its domain."""
        found = by_markers(host)
        if found is not None and found[1] >= self._threshold:
            return self._placed(host, *found)
        domain = self._domains.get(host.domain)
        if isinstance(domain, Anchor) and domain.spread is not None and len(domain.spread.counts) == 1:
            (where,) = domain.spread.counts
            reason = Reason("domain", host.domain, WEIGHTS["domain"], domain.spread.total)
            if reason.weight >= self._threshold:
                return self._placed(host, where, reason.weight, [reason])
        return by_domain(host)

    def explain(self, host: str) -> Placement:
        """What :meth:`place` answers, with what a person asks next: whether the crowd at its address looks alike."""
        placement = self.place(host)
        crowded = [anchor for anchor in self._hosts[host].strong if anchor.is_address and not anchor.void and anchor.n > 1]
        if not placement.located or not crowded:
            return placement
        address = max(crowded, key=lambda anchor: (anchor.n, anchor.text))
        looks: Tally[int] = Tally()
        for other in sorted(hosts_at(address), key=lambda other: other.name)[:CROWD_SEEN]:
            if other.look:
                looks.add(other.look, 1)
        if looks.total < ALIKE_HOSTS:
            return placement
        if 100 * looks.most > ALIKE * looks.total:
            reason = Reason("alike", address.value, 0.0, looks.total)
        else:
            reason = Reason("unlike", address.value, 0.0, address.n)
        return replace(placement, because=(*placement.because, reason))

    def _placed(self, host: Host, place: Anchor | Component, confidence: float, reasons: list[Reason]) -> Placement:
        oldest = place if isinstance(place, Anchor) else place.oldest
        oldest.named = True
        return Placement(host.name, oldest.name, confidence, tuple(reasons), host.edge, located=True)

    def hosts_of(self, origin: str) -> list[str]:
        """The hosts in memory that are placed at an origin, in order; of a name that has become an alias, those of the
        origin that it stands for."""
        found: set[Host] = set()
        domain = self._domains.get(origin.removeprefix("origin:"))
        if domain is not None:
            found.update(hosts_at(domain) if isinstance(domain, Anchor) else (domain,))
        names = {origin}
        anchor = self._names.anchor_of(origin)
        root = self._names.root(anchor) if anchor is not None else None
        if root is not None:
            names.add(root.name)
            place = root.place
            for member in place.members if isinstance(place, Component) else (place,):
                found.update(hosts_at(member))
                for teller in member.located or ():  # those that are hidden, and whose home this is
                    found.update(hosts_at(teller))
        return sorted(host.name for host in found if self.place(host.name).origin in names)

    # -- names
    def stand(self, aliases: Mapping[str, str]) -> None:
        """Take the store's word for names that were used: the name -> the name it stands for (itself, if it stands alone).

        What is so already is no change. An alias that nothing in memory witnesses is left alone: whoever wrote it knew more.
        """
        self._names.stand(aliases)

    def changes(self) -> list[Change]:
        """Merges and splits of names that were used, since the last call; splits first."""
        parted = self._names.parted(self._links.parted)
        self._links.parted.clear()
        return [*parted, *self._names.changes()]

    def suspected_edges(self) -> list[Suspect]:
        """Groups of addresses that look like an edge which no table knows. For a person to confirm, never acted on: a branded
        shared host looks much the same, and to call that an edge would take its protection away."""
        return suspects_among(self._anchors.values())


def _pairs(host: Host) -> Iterator[tuple[Anchor, Anchor]]:
    """The pairs of anchors that a host is a witness of."""
    strong = host.strong
    for place, anchor in enumerate(strong):
        for other in strong[place + 1 :]:
            yield anchor, other
    yield from zip(host.beside[::2], host.beside[1::2], strict=True)
    markers: list[Anchor] = []
    for anchor in host.weak:
        if anchor.role == MARKER:
            for other in markers:
                yield other, anchor
            markers.append(anchor)
            if host.edge is not None:
                for other in strong:
                    if not other.is_address:
                        yield other, anchor


def _where(teller: Anchor) -> Anchor | Component | None:
    """Where a marker or a domain places those that cannot be located."""
    if teller.role == MARKER:
        return teller.home()
    counts = teller.spread.counts if teller.spread is not None else {}
    return next(iter(counts)) if len(counts) == 1 else None


def _tell(teller: Anchor, seat: Anchor, by: int) -> None:
    if teller.spread is None:
        teller.spread = Tally()
    teller.spread.add(seat.place, by)
    if seat.located is None:
        seat.located = {}
    seat.located[teller] = seat.located.get(teller, 0) + by
    if not seat.located[teller]:
        del seat.located[teller]


def _rank(
    place: Anchor | Component, votes: Sequence[tuple[Reason, Anchor]], host: Host
) -> tuple[bool, bool, float, int, int, str]:
    """First company, then the address that really answered, confidence, the crowd, and the older.

    Company first: some hosters give every site an IPv6 address of its own next to the IPv4 address that all share.
    """
    crowd = max(anchor.n for _, anchor in votes)
    oldest = place if isinstance(place, Anchor) else place.oldest
    answered = any(anchor is host.peer for _, anchor in votes)
    confidence = together([reason for reason, _ in votes])
    return crowd > 1 or place is not oldest, answered, confidence, crowd, -oldest.age, oldest.text
