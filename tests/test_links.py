"""Links and components against what they are defined as: a function of who points at what, counted anew from nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.origins.anchors import Pointing
from scrapy_polite.origins.edges import Edge
from scrapy_polite.origins.judge import Judge
from scrapy_polite.origins.tally import FEW_KEYS, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping

EDGE = Edge("cloudflare", "Cloudflare", "for the test")
STRONG = [f"address:203.0.113.{n}" for n in range(4)] + [f"cname:c{n}.acme.com" for n in range(2)]
AGES = {
    anchor: age
    for age, anchor in enumerate(
        [
            *STRONG,
            *(f"router:203.0.113.{n}" for n in range(4)),
            *(f"{kind}:m{n}" for n in range(3) for kind in ("marker", "platform")),
            *(f"pointer:p{n}.net" for n in range(2)),
            *(f"network:203.0.113.0/m{n}" for n in range(3)),
            *(f"domain:d{n}.com" for n in range(4)),
        ],
        start=1,
    )
}


@st.composite
def pointings(draw: st.DrawFn) -> Pointing:
    edge = draw(st.sampled_from([None, None, EDGE]))
    strong = draw(st.lists(st.sampled_from(STRONG[4:] if edge else STRONG), max_size=3, unique=True))
    addresses = [anchor for anchor in strong if anchor.startswith("address:")]
    markers = draw(st.lists(st.integers(0, 2), max_size=2, unique=True))
    beside = []
    if addresses:
        beside += [(f"pointer:p{n}.net", addresses[0]) for n in draw(st.lists(st.integers(0, 1), max_size=1))]
        beside += [(f"network:203.0.113.0/m{n}", address) for n in markers for address in addresses]
    weak = [*dict.fromkeys(anchor for anchor, _ in beside)]
    if edge and draw(st.booleans()):
        weak += [f"platform:m{n}" for n in markers]
        weak += [f"router:203.0.113.{n}" for n in draw(st.lists(st.integers(0, 3), max_size=1))]
    else:
        weak += [f"marker:m{n}" for n in markers]
    weak.append(f"domain:d{draw(st.integers(0, 3))}.com")
    look = draw(st.sampled_from([0, 1, 1, 1, 2]))
    peer = draw(st.sampled_from([None, *addresses])) if addresses else None
    return Pointing(tuple(strong), tuple(weak), tuple(beside), look, draw(st.sampled_from([1, 1, 2])), 6, edge, peer)


HOSTS = st.dictionaries(st.integers(0, 60).map(lambda n: f"h{n}.com"), pointings(), max_size=40)
STEPS = st.lists(st.tuples(st.integers(0, 15).map(lambda n: f"h{n}.com"), st.one_of(st.none(), pointings())), max_size=60)


def judge_of(hosts: Mapping[str, Pointing], order: list[str]) -> Judge:
    judge = Judge()
    for host in order:
        judge.learn(host, hosts[host], AGES)
    return judge


@settings(max_examples=150, deadline=None)
@given(HOSTS, st.randoms(use_true_random=False))
def test_the_order_in_which_hosts_come_does_not_matter(hosts: dict[str, Pointing], random: object) -> None:
    order = sorted(hosts)
    want = judge_of(hosts, order)
    random.shuffle(order)  # type: ignore[attr-defined]
    got = judge_of(hosts, order)
    for host in hosts:
        assert got.place(host) == want.place(host)
        assert got.hosts_of(got.place(host).origin) == want.hosts_of(want.place(host).origin)


@settings(max_examples=150, deadline=None)
@given(HOSTS, st.randoms(use_true_random=False))
def test_half_of_all_forgotten_and_learned_again_are_where_they_were(hosts: dict[str, Pointing], random: object) -> None:
    judge = judge_of(hosts, sorted(hosts))
    want = {host: judge.place(host) for host in hosts}
    judge.changes()
    half = random.sample(sorted(hosts), len(hosts) // 2)  # type: ignore[attr-defined]
    for host in half:
        judge.forget(host)
    for host in half:
        judge.learn(host, hosts[host], AGES)
    assert {host: judge.place(host) for host in hosts} == want
    # A name may have been handed over meanwhile to one that nobody had used: that one is an alias now, and no other.
    assert not {change.name for change in judge.changes()} & {placement.origin for placement in want.values()}


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_what_was_and_is_no_more_leaves_no_trace(steps: list[tuple[str, Pointing | None]]) -> None:
    lived = Judge()
    now: dict[str, Pointing] = {}
    for host, points in steps:
        if points is None:
            lived.forget(host)
            now.pop(host, None)
        else:
            lived.learn(host, points, AGES)
            now[host] = points
    fresh = judge_of(now, sorted(now))
    for host in now:
        assert lived.place(host) == fresh.place(host)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.integers(1, 7))
def test_changes_keep_a_store_of_aliases_exact(steps: list[tuple[str, Pointing | None]], every: int) -> None:
    judge = Judge()
    aliases: dict[str, str] = {}
    used: set[str] = set()
    now: dict[str, Pointing] = {}
    for number, (host, points) in enumerate(steps):
        if points is None:
            judge.forget(host)
            now.pop(host, None)
        else:
            judge.learn(host, points, AGES)
            now[host] = points
        if number % every:
            continue
        placed = {host: judge.place(host) for host in now}
        for change in judge.changes():
            if change.kind == "split":
                assert aliases.pop(change.name) == change.into
            elif change.kind == "merge":
                assert change.name not in aliases
                aliases[change.name] = change.into
            else:
                assert change.name not in aliases, "it stood alone, and goes on so"
        used.update(placement.origin for placement in placed.values() if placement.located)
        # A name stands for the origin it says, never for another alias; what a host is told is never an alias.
        assert not set(aliases) & set(aliases.values())
        assert not set(aliases) & {placement.origin for placement in placed.values() if placement.located}
        assert judge.changes() == []
    # A process that starts now, with that store, says nothing new.
    for host in now:
        judge.place(host)
    for change in judge.changes():
        if change.kind == "split":
            del aliases[change.name]
        else:
            aliases[change.name] = change.into
    restarted = judge_of(now, sorted(now))
    restarted.stand({name: aliases.get(name, name) for name in used})
    for host in now:
        assert restarted.place(host).origin == judge.place(host).origin
    assert restarted.changes() == []


@given(st.lists(st.tuples(st.integers(0, 2 * FEW_KEYS), st.integers(-3, 3)), max_size=80))
def test_a_tally_knows_its_largest_count(steps: list[tuple[int, int]]) -> None:
    tally: Tally[int] = Tally()
    counts: dict[int, int] = {}
    for key, by in steps:
        by = max(by, -counts.get(key, 0))
        if by:
            tally.add(key, by)
            counts[key] = counts.get(key, 0) + by
        left = {key: count for key, count in counts.items() if count}
        assert tally.counts == left
        assert tally.total == sum(left.values())
        assert tally.most == max(left.values(), default=0)
        assert (tally.top() is None) == (not left)
        assert not left or left[tally.top() or 0] == tally.most


@pytest.mark.parametrize("known", [True, False])
def test_an_alias_that_nothing_in_memory_witnesses_is_left_alone(known: bool) -> None:
    judge = Judge()
    if known:
        judge.stand({"origin:203.0.113.1": "origin:203.0.113.0"})
    judge.learn("h.com", Pointing(strong=("address:203.0.113.1",), weak=("domain:h.com",)), AGES)
    judge.learn("g.com", Pointing(strong=("address:203.0.113.0",), weak=("domain:g.com",)), AGES)
    assert judge.place("h.com").origin == "origin:203.0.113.1"
    if not known:
        judge.stand({"origin:203.0.113.1": "origin:203.0.113.0"})
    assert judge.changes() == []
