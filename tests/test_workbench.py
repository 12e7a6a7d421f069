"""Whose turn it is: a workbench in virtual time."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.limits.workbench import Choice, Workbench

MEMORY, DISK = "memory", "disk"


def bench(*sites: str, origin: str = "origin:o", lead: float = 0.0, caps: dict[str, float] | None = None) -> Workbench:
    """Open sites of one origin, each with something in memory."""
    found = Workbench(lead)
    for site in sites:
        found.stand(site, MEMORY)
        found.place(site, (site, origin), caps or {})
        found.open(site)
    return found


def chosen(found: Workbench, now: float) -> str:
    choice = found.choose(now)
    assert isinstance(choice, Choice), choice
    return choice.site


def test_nothing_waits() -> None:
    assert Workbench(0.5).choose(0.0) is None


def test_a_new_site_is_gated_until_it_is_opened() -> None:
    found = Workbench(0.0)
    assert found.stand("site:a", MEMORY)
    assert found.choose(1.0) is None
    found.open("site:a")
    assert found.choose(1.0) == Choice("site:a", MEMORY)


def test_an_early_source_is_served_while_the_site_is_gated() -> None:
    found = Workbench(0.0)
    found.stand("site:a", MEMORY)
    found.stand("site:a", "turns", early=True)
    assert found.choose(1.0) == Choice("site:a", "turns")


def test_early_sources_are_served_alone_while_nobody_takes_what_the_others_hold() -> None:
    found = bench("site:a", "site:b", caps={"origin:o": 2})
    assert found.choose_early(0.0) is None
    found.stand("site:b", "turns", early=True)
    found.stand("site:b", "robots", early=True)
    assert chosen(found, 0.0) == "site:a", "others come first, and would hide them"
    for loan in ("r1", "r2"):
        choice = found.choose_early(0.0 if loan == "r1" else 2.0)
        assert isinstance(choice, Choice)
        assert choice.site == "site:b"
        found.leave("site:b", choice.source)
        found.take("site:b", choice.source, loan, {"site:b": 2.0} if loan == "r1" else {}, 0.0)
        if loan == "r1":
            assert found.choose_early(0.5) == 1.5
    assert found.choose_early(9.0) is None
    found.stand("site:b", "turns", early=True)
    assert found.choose_early(9.0) is None, "as many are in flight as may be"
    found.left("r1", 9.0)
    assert found.choose_early(9.0) == Choice("site:b", "turns")


def test_a_site_that_was_served_waits_for_its_own_limit_and_others_go_on() -> None:
    found = bench("site:a", "site:b")
    first = chosen(found, 0.0)
    found.take(first, MEMORY, "r1", {first: 2.0, "origin:o": 0.1}, 0.0)
    assert chosen(found, 0.1) != first
    found.take(chosen(found, 0.1), MEMORY, "r2", {"site:b": 2.0, "origin:o": 0.1}, 0.1)
    wait = found.choose(0.2)
    assert isinstance(wait, float)
    assert abs(wait - 1.8) < 1e-9


def test_the_origin_makes_all_of_its_sites_wait_and_no_other() -> None:
    found = bench("site:a", "site:b")
    found.take("site:a", MEMORY, "r1", {"site:a": 0.1, "origin:o": 5.0}, 0.0)
    assert found.choose(1.0) == 4.0
    found.stand("site:z", MEMORY)
    found.place("site:z", ("site:z", "origin:other"), {})
    found.open("site:z")
    assert chosen(found, 1.0) == "site:z"


def test_a_request_is_let_go_ahead_of_its_due_time_by_the_lead() -> None:
    found = bench("site:a", lead=0.5)
    found.take("site:a", MEMORY, "r1", {"site:a": 2.0}, 0.0)
    assert found.choose(1.0) == 0.5
    assert chosen(found, 1.5) == "site:a"


def test_what_never_reached_the_wire_is_given_back() -> None:
    found = bench("site:a")
    found.take("site:a", MEMORY, "cached", {"site:a": 60.0, "origin:o": 60.0}, 0.0)
    assert isinstance(found.choose(0.1), float)
    found.left("cached", 0.2)
    assert chosen(found, 0.2) == "site:a"


def test_a_booking_replaces_the_estimate() -> None:
    found = bench("site:a")
    found.take("site:a", MEMORY, "r", {"site:a": 2.0, "origin:o": 2.0}, 0.0)
    found.booked("r", {"site:a": 2.0, "origin:o": 2.0}, 1.5)
    wait = found.choose(1.5)
    assert isinstance(wait, float)
    assert abs(wait - 2.0) < 1e-9
    found.left("r", 1.7)
    assert found.choose(1.5) == wait


def test_a_hold_moves_a_key_and_forgiving_moves_it_back() -> None:
    found = bench("site:a")
    found.learn("site:a", 30.0, 0.0)
    assert found.choose(1.0) == 29.0
    found.forgive("site:a", 1.0)
    assert chosen(found, 1.0) == "site:a"


def test_no_more_in_flight_per_origin_than_its_cap() -> None:
    found = bench("site:a", "site:b", caps={"origin:o": 1})
    found.take(chosen(found, 0.0), MEMORY, "r1", {}, 0.0)
    assert found.choose(100.0) is None
    found.left("r1", 101.0)
    assert isinstance(found.choose(101.0), Choice)


def test_the_end_of_a_request_frees_the_origin_for_another_site_when_its_own_has_nothing_left() -> None:
    found = bench("site:a", "site:b", caps={"origin:o": 1})
    first = chosen(found, 0.0)
    found.take(first, MEMORY, "r1", {}, 0.0)
    found.leave(first, MEMORY)
    found.left("r1", 1.0)
    assert chosen(found, 1.0) != first


def test_a_cap_of_a_site_holds_that_site_only() -> None:
    found = bench("site:a", "site:b", caps={"site:a": 1, "site:b": 1})
    found.take("site:a", MEMORY, "r1", {}, 0.0)
    assert chosen(found, 0.0) == "site:b"
    found.take("site:b", MEMORY, "r2", {}, 0.0)
    assert found.choose(9.0) is None


def test_sources_of_a_site_take_turns() -> None:
    found = bench("site:a")
    found.stand("site:a", DISK)
    turns = []
    for n in range(4):
        choice = found.choose(float(n))
        assert isinstance(choice, Choice)
        turns.append(choice.source)
        found.take("site:a", choice.source, n, {"site:a": 1.0}, float(n))
        found.booked(n, {"site:a": 1.0}, float(n))
    assert turns == [MEMORY, DISK, MEMORY, DISK]


def test_a_site_that_moves_to_another_origin_waits_there() -> None:
    found = bench("site:a")
    found.learn("origin:busy", 50.0, 0.0)
    found.place("site:a", ("site:a", "origin:busy"), {})
    assert found.choose(0.0) == 50.0


def test_pruning_forgets_what_is_idle_and_due_and_nothing_else() -> None:
    found = bench("site:a", "site:b")
    found.take("site:a", MEMORY, "r", {"site:a": 5.0, "origin:o": 1.0}, 0.0)
    found.leave("site:a", MEMORY)
    found.prune(1.0)
    assert not found.add("site:a"), "a request of it is in flight"
    found.left("r", 2.0)
    found.learn("site:a", 9.0, 2.0)
    found.prune(2.0)
    assert found.add("site:a"), "nothing waits for it: it is new when it comes back"
    found.stand("site:a", MEMORY)
    found.place("site:a", ("site:a", "origin:o"), {})
    found.open("site:a")
    found.leave("site:b", MEMORY)
    assert found.choose(2.0) == 7.0, "its due time was kept"


requests = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.1, 0.5, 2.0]), st.booleans()), min_size=1, max_size=60)


@settings(deadline=None)
@given(requests=requests, rate=st.sampled_from([0.05, 0.3]), service=st.floats(0.0, 3.0))
def test_every_request_gets_its_turn_and_limits_hold_whatever_is_cached(
    requests: list[tuple[int, float, bool]], rate: float, service: float
) -> None:
    """A run to the end in virtual time: sites with queues of requests, some of which a cache answers."""
    found = Workbench(0.0)
    queues: dict[str, list[tuple[float, bool]]] = {}
    for number, least, cached in requests:
        queues.setdefault(f"site:{number}", []).append((least, cached))
    for site in queues:
        found.stand(site, MEMORY)
        found.place(site, (site, "origin:o"), {"origin:o": 3})
        found.open(site)
    now, served, ends, flying = 0.0, Counter[str](), [], 0
    sent: list[tuple[float, str, float]] = []
    for _ in range(20 * len(requests) + 50):
        choice = found.choose(now)
        if isinstance(choice, Choice):
            site = choice.site
            least, cached = queues[site].pop()
            lent = {site: least, "origin:o": rate}
            token = object()
            if not queues[site]:
                found.leave(site, MEMORY)
            found.take(site, MEMORY, token, lent, now)
            flying += 1
            assert flying <= 3
            served[site] += 1
            if cached:
                found.left(token, now)
                flying -= 1
            else:
                found.booked(token, lent, now)
                sent.append((now, site, least))
                heapq.heappush(ends, (now + service, id(token), token))
            continue
        upcoming = [ends[0][0]] if ends else []
        if choice is not None:
            upcoming.append(now + choice)
        if not upcoming:
            break
        now = min(upcoming)
        while ends and ends[0][0] <= now:
            found.left(heapq.heappop(ends)[2], now)
            flying -= 1
    assert served.total() == len(requests)
    for (earlier, _, _), (later, _, _) in itertools.pairwise(sent):
        assert later - earlier >= rate - 1e-6
    for site in queues:
        own = [(at, least) for at, name, least in sent if name == site]
        for (earlier, least), (later, _) in itertools.pairwise(own):
            assert later - earlier >= least - 1e-6


def test_a_refund_lets_those_go_that_waited_for_what_was_charged() -> None:
    found = bench("site:a", "site:b")
    found.take("site:a", MEMORY, "r", {"site:a": 2.0, "origin:o": 2.0}, 0.0)
    found.booked("r", {"site:a": 2.0, "origin:o": 2.0}, 0.0)
    assert found.choose(0.1) == 1.9
    found.refunded("origin:o", 2.0, 0.1)
    assert chosen(found, 0.1) == "site:b"
    found.leave("site:b", MEMORY)
    assert found.choose(0.1) == 1.9, "its own limit"
    found.refunded("site:a", 2.0, 0.1)
    assert chosen(found, 0.1) == "site:a"


def test_a_refund_of_one_booking_leaves_the_others_charged() -> None:
    found = bench("site:a")
    for number in range(3):
        found.take("site:a", MEMORY, number, {"site:a": 1.0}, 0.0)
        found.booked(number, {"site:a": 1.0}, 0.0)
        found.left(number, 0.0)
    found.refunded("site:a", 1.0, 0.0)
    assert found.choose(0.0) == 2.0


def test_a_refund_goes_not_below_what_others_have_told() -> None:
    found = bench("site:a")
    found.take("site:a", MEMORY, "r", {"site:a": 2.0, "origin:o": 1.0}, 0.0)
    found.booked("r", {"site:a": 2.0, "origin:o": 1.0}, 0.0)
    found.learn("site:a", 5.0, 0.0)
    found.refunded("site:a", 2.0, 0.1)
    assert found.choose(1.0) == 4.0
    found.forgive("site:a", 2.0)
    assert chosen(found, 2.0) == "site:a"


def test_a_refund_leaves_the_loans_of_what_has_not_been_sent_yet() -> None:
    found = bench("site:a")
    found.take("site:a", MEMORY, "sent", {"site:a": 2.0}, 0.0)
    found.booked("sent", {"site:a": 2.0}, 0.0)
    found.take("site:a", MEMORY, "waits", {"site:a": 2.0}, 0.0)
    found.refunded("site:a", 2.0, 0.5)
    assert found.choose(0.5) == 2.0


def test_a_refund_of_a_key_that_was_forgotten_is_nothing() -> None:
    found = bench("site:a")
    found.refunded("site:gone", 2.0, 0.0)
    assert chosen(found, 0.0) == "site:a"


def test_a_key_with_a_burst_lets_requests_go_as_much_sooner_as_the_store_admits_them() -> None:
    found = bench("site:a", "site:b")
    found.place("site:a", ("site:a", "origin:o"), {}, {"site:a": 0.5, "origin:o": 0.9})
    found.take("site:a", MEMORY, "r", {"site:a": 2.0, "origin:o": 1.0}, 0.0)
    found.leave("site:b", MEMORY)
    assert found.choose(0.0) == 1.5
    found.stand("site:b", MEMORY)
    assert found.choose(0.0) == 1.0, "the burst is that of requests behind an edge: this one has none"
