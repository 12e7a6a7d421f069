"""Anchors, the links between them, and the components that the links make. Pure.

Two anchors are linked while enough hosts point at both. Whether they are is a function of the counts alone, so the
components do not depend on the order in which hosts came, and a link falls as freely as it rises. To keep that exact at a
low cost each anchor knows at what number of hosts a link of its may fall or rise; its neighbours are looked through only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.origins.hosts import Host
    from scrapy_polite.origins.tally import Tally

__all__ = ["Anchor", "Component", "Links", "origin_name"]

#: Percent of the smaller of two strong anchors' hosts that must point at the other too (measured: 5 to 35 are alike). A
#: fail-over site with two addresses must not weld two crowds together. Of the smaller: a tenant's own name has one host.
SHARE: Final = 10

#: ... and at least two witnesses, unless both have so few hosts (1 to 20 are alike): one site with an address of
#: each IP version is one server.
FEW: Final = 6
WITNESSES: Final = 2

#: Percent of a strong anchor's hosts that must show a weak anchor to be gathered by it (10 to 30 are alike, 50 loses).
GATHER: Final = 30

#: Percent of the rarer of two markers' hosts that must show the other: then they are two names of one product.
PRODUCT: Final = 50

#: A weak anchor counts while more than so many percent of its hosts (30 to 70 are alike, 85 loses), at least
#: three, have one look, and that look says at least `TELLS`: bare software is alike everywhere.
ALIKE: Final = 50
ALIKE_HOSTS: Final = 3
TELLS: Final = 3

#: A marker is at home in the component that has this share in percent of its located hosts, and at least three of them.
EXCLUSIVE: Final = 90
EXCLUSIVE_HOSTS: Final = 3

#: So many hosts behind an edge's name make an address the edge's, so many self-service sites a marker the platform's, if
#: they are this share in percent of the others there too.
SHUNNED_HOSTS: Final = 3
SHUNNED: Final = 10

STRONG: Final = 0
GATHERER: Final = 1  # pointer, certificate, network: gathers addresses
MARKER: Final = 2  # gathers the names that customers have at an edge, and other markers
COUNTED: Final = 3  # router, platform, domain: never linked
ROLES: Final = {
    "cname": STRONG,
    "address": STRONG,
    "pointer": GATHERER,
    "certificate": GATHERER,
    "network": GATHERER,
    "marker": MARKER,
}
_NEVER: Final = 1 << 62


class Anchor:
    """One anchor, and what is counted of it."""

    __slots__ = (
        *("age", "alike", "component", "fall", "hosts", "is_address", "located", "looks", "n", "named", "near", "rise"),
        *("role", "shunned", "spread", "text", "void"),
    )

    def __init__(self, text: str, age: int) -> None:
        kind = text.partition(":")[0]
        self.text = text
        self.age = age
        self.role = ROLES.get(kind, COUNTED)
        self.is_address = kind == "address"
        self.n = 0
        """Hosts that point at it."""
        self.near: dict[Anchor, int] | None = None
        """Anchors that hosts point at together with it -> twice the witnesses, and one more if linked."""
        self.component: Component | None = None
        """None: it is a component of its own."""
        self.hosts: Host | set[Host] | None = None
        """Hosts that may be placed by it: one, or a set of them."""
        self.looks: Tally[int] | None = None
        self.alike = False
        self.spread: Tally[Anchor | Component] | None = None
        """Of a marker or a domain: components that its located hosts are in."""
        self.located: dict[Anchor, int] | None = None
        """Of a strong anchor: markers and domains of the hosts that are located by it."""
        self.shunned = 0
        """Hosts behind an edge at this address, or of self-service platforms with this marker."""
        self.void = False
        """An edge's address, a self-service platform's marker: it places nobody."""
        self.named = False
        """Its name has been given to a host."""
        self.fall = _NEVER
        self.rise = 0

    @property
    def kind(self) -> str:
        return self.text.partition(":")[0]

    @property
    def value(self) -> str:
        return self.text.partition(":")[2]

    @property
    def name(self) -> str:
        """The name of an origin that is called after it."""
        return origin_name(self.text)

    @property
    def place(self) -> Anchor | Component:
        return self.component or self

    @property
    def order(self) -> tuple[int, str]:
        """The older, the lower. A pointer's, certificate's or network's crowd is called after its addresses."""
        return (self.age + _NEVER if self.role == GATHERER else self.age), self.text

    def home(self) -> Anchor | Component | None:
        """Where nearly all hosts that show this marker, and that can be located, are."""
        spread = self.spread
        if spread is None:
            return None
        most = spread.most
        return spread.top() if most >= EXCLUSIVE_HOSTS and 100 * most >= EXCLUSIVE * spread.total else None

    def free(self) -> bool:
        """Whether too few of its hosts can be located to tell: it may stand for servers that are all hidden."""
        return self.spread is None or self.spread.total < EXCLUSIVE_HOSTS

    def able(self) -> bool:
        """Whether a weak anchor counts."""
        return self.alike and not self.void

    def judged_void(self) -> bool:
        return self.shunned >= SHUNNED_HOSTS and 100 * self.shunned >= SHUNNED * self.n

    def judged_alike(self) -> bool:
        looks = self.looks
        if looks is None or looks.total < ALIKE_HOSTS:
            return False
        top = looks.top()
        if top is None or top & 0xFF < TELLS:
            return False
        most = looks.counts[top]
        return most >= ALIKE_HOSTS and 100 * most > ALIKE * looks.total


def origin_name(anchor: str) -> str:
    """The name of an origin that is called after an anchor."""
    kind, _, value = anchor.partition(":")
    return f"origin:{value}" if ROLES.get(kind, COUNTED) == STRONG else f"origin:{kind}/{value}"


class Component:
    """Anchors that are linked to each other; `oldest` gives the name."""

    __slots__ = ("members", "oldest")

    def __init__(self, members: set[Anchor]) -> None:
        self.members = members
        self.oldest = min(members, key=_order)

    @property
    def name(self) -> str:
        return self.oldest.name


class Links:
    """The links of all anchors. `touched` collects named anchors whose component may have another name now."""

    def __init__(self) -> None:
        self.touched: set[Anchor] = set()
        self.parted: list[tuple[Anchor, Anchor]] = []
        """What gives a part the name that it never had, and the anchor whose name it had until then."""
        self.moves = 0
        """How often an anchor has come into another component."""

    def witness(self, a: Anchor, b: Anchor, by: int) -> None:
        """One host more, or less, points at both. Nothing is linked yet: see :meth:`settle`."""
        if a.near is None:
            a.near = {}
        if b.near is None:
            b.near = {}
        seen = a.near.get(b, 0) + 2 * by
        if seen > 1:
            a.near[b] = b.near[a] = seen
            return
        del a.near[b], b.near[a]
        if seen & 1:
            self._part(a, b)

    def settle(self, pairs: Iterable[tuple[Anchor, Anchor]], grown: Iterable[Anchor], by: int) -> None:
        """Link and part what follows from new counts: of these pairs, and of these anchors' crowds, which are one larger or
        smaller."""
        for a, b in pairs:
            if a.near and b in a.near:
                self._check(a, b)
        for a in grown:
            if not a.near:
                continue
            crossing = a.role == STRONG and a.n == (FEW + 1 if by > 0 else FEW)
            if crossing or (a.n > a.fall if by > 0 else a.n <= a.rise):
                self.check_all(a)

    def check_all(self, a: Anchor) -> None:
        """Look through all that is near one anchor."""
        a.fall, a.rise = _NEVER, 0
        for b in list(a.near or ()):
            self._check(a, b)

    def _check(self, a: Anchor, b: Anchor) -> None:
        if a.role > b.role:
            a, b = b, a  # the stronger first
        if a.near is None or b.near is None:
            return
        seen = a.near[b]
        witnesses = seen >> 1
        if b.role == STRONG:
            able, share = not (a.void or b.void), SHARE
        elif a.role == MARKER:
            # Once hosts that show it can be located, a marker goes where they are, and stands for nothing itself.
            able, share = a.able() and b.able() and a.free() and b.free(), PRODUCT
        else:
            able, share = b.able() and not a.void and (b.role == GATHERER or b.free()), GATHER
        both = a.role == b.role  # the smaller crowd counts; of a weak and a strong anchor, the strong one's
        bound = witnesses * 100 // share
        linked = able and (min(a.n, b.n) if both else a.n) <= bound
        if linked and b.role == STRONG:
            linked = witnesses >= WITNESSES or max(a.n, b.n) <= FEW
        if linked:
            counts = a if not both or a.n <= b.n else b
            counts.fall = min(counts.fall, bound)
        elif able:
            a.rise = max(a.rise, bound)
            if both:
                b.rise = max(b.rise, bound)
        if linked != bool(seen & 1):
            a.near[b] = b.near[a] = seen ^ 1
            if linked:
                self._join(a, b)
            else:
                self._part(a, b)

    # -- components
    def _join(self, a: Anchor, b: Anchor) -> None:
        one, other = a.place, b.place
        if one is other:
            return
        if _size(one) < _size(other):
            one, other = other, one
        if isinstance(one, Anchor):
            alone, one = one, Component({one})
            self._move(alone, alone, one)
        assert isinstance(one, Component)
        oldest = one.oldest
        for anchor in other.members if isinstance(other, Component) else (other,):
            self._move(anchor, other, one)
            one.members.add(anchor)
            if anchor.order < one.oldest.order:
                one.oldest = anchor
        if one.oldest is not oldest and oldest.named:
            self.touched.add(oldest)

    def _part(self, a: Anchor, b: Anchor) -> None:
        """A link has gone: search from both ends at once, and if they do not meet, the smaller piece leaves."""
        whole = a.component
        if whole is None:
            return
        sides = ([a], [b])
        pieces = ({a}, {b})
        while True:
            for side, piece, across in ((sides[0], pieces[0], pieces[1]), (sides[1], pieces[1], pieces[0])):
                if not side:
                    self._leave(whole, piece)
                    return
                at = side.pop()
                for anchor, seen in (at.near or {}).items():
                    if seen & 1 and anchor not in piece:
                        if anchor in across:
                            return
                        piece.add(anchor)
                        side.append(anchor)

    def _leave(self, whole: Component, piece: set[Anchor]) -> None:
        whole.members -= piece
        named = whole.oldest
        if named.named:
            new = min(whole.members if named in piece else piece, key=_order)
            if not new.named:
                self.parted.append((new, named))
        if whole.oldest in piece:
            if whole.oldest.named:
                self.touched.add(whole.oldest)
            whole.oldest = min(whole.members, key=_order)
        if len(whole.members) == 1:
            (left,) = whole.members
            self._move(left, whole, None)
        part = Component(piece) if len(piece) > 1 else None
        for anchor in piece:
            self._move(anchor, whole, part)

    def _move(self, anchor: Anchor, old: Anchor | Component, new: Component | None) -> None:
        anchor.component = new
        self.moves += 1
        if anchor.named:
            self.touched.add(anchor)
        place = new or anchor
        for teller, count in (anchor.located or {}).items():
            if teller.spread is not None:
                teller.spread.add(old, -count)
                teller.spread.add(place, count)
            if teller.named:
                self.touched.add(teller)


def _order(anchor: Anchor) -> tuple[int, str]:
    return anchor.order


def _size(place: Anchor | Component) -> int:
    return len(place.members) if isinstance(place, Component) else 1
