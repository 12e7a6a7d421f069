"""What a crawl makes of the law of pace: what it listens to, what it charges, how processes share it. In virtual time."""

from __future__ import annotations

import asyncio
import logging
import math
from itertools import count
from typing import TYPE_CHECKING

import pytest
from commandline import objects, polite
from scrapy import Request
from scrapy.settings import Settings

from scrapy_polite.backoff.pace import first, held, observe
from scrapy_polite.backoff.pacewords import because
from scrapy_polite.booker import Booker
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.limits.plan import Charge, Limits
from scrapy_polite.origins.edges import Edge
from scrapy_polite.pacing import FIRST_MINUTE, ONE_HOLD, Pacing
from scrapy_polite.planning import Planner
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import Kept, Ruling, StoreError, open_store
from scrapy_polite.stores.memory import MemoryStore
from scrapy_polite.stores.obeying import enact
from scrapy_polite.stores.paces import change, merge, paces, split
from scrapy_polite.ticket import Ticket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anystore import Clock

    from scrapy_polite.backoff.pacestate import State
    from scrapy_polite.stores.base import Store

SITE, ORIGIN = "site:a.test", "origin:a.test"
BUNNY = Edge("bunny", "bunny.net", "a test says so")
MISS, HIT = {"cdn-cache": ["MISS"]}, {"cdn-cache": ["HIT"]}


class Shared(MemoryStore):
    """A store whose clock the test turns, and that may stop to answer."""

    def __init__(self) -> None:
        super().__init__(lambda: round(self.time * 1e6))
        self.time = 1_000.0
        self.broken = False

    def amend(self, *arguments: object) -> str:  # type: ignore[override]
        if self.broken:
            raise StoreError("a test says so")
        return super().amend(*arguments)  # type: ignore[arg-type]


class Crawl:
    """One process of a crawl of an origin that may have 10 requests a second."""

    def __init__(self, store: Shared, **settings: object) -> None:
        self.shared = store
        config = Config.from_settings(Settings({"POLITE_ORIGIN_RATE": 20, "POLITE_SITE_RATE": 1000, **settings}))
        view = store.opened_again()
        view._clock = lambda: round(store.time * 1e6)
        self.politeness = Politeness(config, view, Resolver(), None, None)
        self.pacing = Pacing(self.politeness.booker, config.limits, None, config.paces, lambda: store.time)
        self.politeness.pacing = self.pacing

    def pace(self, kind: str = "page", key: str = ORIGIN, cost: float = 2) -> float:
        planned = self.pacing.plan(kind, (Charge(SITE, cost, 1000), Charge(key, cost, 20)))
        assert planned[0].pace == 1
        return planned[-1].pace

    def ticket(self, kind: str = "page", edge: Edge | None = None, key: str = ORIGIN) -> Ticket:
        charges = (Charge(SITE, 2, 1000), Charge(key, 2, 20))
        ticket = Ticket(self.politeness, None, "http://a.test/", SITE, kind, charges, edge)
        ticket.sent, ticket.direct = self.shared.time, True
        return ticket

    def answer(
        self,
        seconds: float,
        times: int = 1,
        *,
        kind: str = "page",
        status: int = 200,
        edge: Edge | None = None,
        headers: Mapping[str, Sequence[str]] = {},
        direct: bool = True,
        key: str = ORIGIN,
    ) -> None:
        """One answer after the other, ten a second or as slow as they are."""
        for _ in range(times):
            ticket = self.ticket(kind, edge, key)
            ticket.direct = direct
            self.shared.time += max(0.1, seconds)
            ticket.answered = (ticket.sent or 0.0) + seconds
            self.pacing.heard(ticket, status, headers)

    def told(self) -> None:
        """All that was heard is told to the store."""

        async def tell() -> None:
            while self.pacing._untold and await self.pacing._tell():
                pass

        asyncio.run(tell())

    def meet(self) -> None:
        asyncio.run(self.pacing.meet(ORIGIN))


@pytest.fixture
def shared() -> Shared:
    return Shared()


def warm(crawl: Crawl, seconds: float = 0.1) -> None:
    """Its pace is 1, and it knows what is usual."""
    crawl.meet()
    crawl.answer(seconds, 1000)
    assert crawl.pace() == 1


def test_an_origin_that_becomes_slow_is_charged_more_time_and_no_other_key_is(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    crawl.answer(0.5, 20)
    assert crawl.pace() > 2
    assert crawl.pace(key="bucket:s3/photos") == 1
    assert crawl.pace(key="origin:other.test") == 4, "a first contact"
    planned = crawl.pacing.plan("page", (Charge(ORIGIN, 2, 20),))
    assert planned[0].increment(50_000) == pytest.approx(100_000 * crawl.pace(), abs=1)
    assert planned[0].allowed == 20, "the rate is what was set"


def test_what_is_remembered_of_a_plan_is_remembered_by_its_pace(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    planner = Planner(crawl.politeness.config, 10, crawl.pacing)
    request, keys = Request("http://a.test/"), (SITE, ORIGIN)
    usual = planner.sort_of(request, keys)
    assert usual == planner.sort_of(request, keys)
    crawl.answer(0.5, 20)
    slow = planner.sort_of(request, keys)
    assert slow == usual._replace(pace=crawl.pace())
    assert [charge.pace for charge in planner.plan(request, SITE, keys)[1]] == [1, slow.pace]
    assert planner.charges(SITE, (SITE,), "page")[0].pace == 1


def test_whoever_waits_is_charged_at_the_pace_of_now(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    ticket = crawl.ticket()
    want, charges = ticket.want, ticket.charges
    ticket.plan_again()
    assert ticket.charges is charges
    crawl.answer(0.5, 20)
    ticket.plan_again()
    assert ticket.want[-1].increment > 2 * want[-1].increment
    assert ticket.want[0] == want[0]


def test_switched_off_nothing_is_heard_and_every_pace_is_one(shared: Shared) -> None:
    crawl = Crawl(shared, POLITE_PACE=False)
    crawl.meet()
    crawl.answer(0.1, 20)
    crawl.answer(5.0, 20)
    crawl.pacing.held(ORIGIN, SITE, 60)
    crawl.told()
    assert crawl.pace() == 1
    assert paces(shared, [ORIGIN]) == {}


# -- what is listened to


def test_of_an_edge_only_what_it_proves_to_have_fetched_is_heard(shared: Shared) -> None:
    crawl = Crawl(shared)
    crawl.meet()
    for headers in (HIT, {}):
        crawl.answer(0.01, 20, edge=BUNNY, headers=headers)
    assert crawl.pacing.known(ORIGIN) == {}
    crawl.answer(0.1, 20, edge=BUNNY, headers=MISS)
    assert crawl.pacing.known(ORIGIN)["page"].answers == 8


def test_browsers_proxies_error_pages_and_image_services_are_not_heard(shared: Shared) -> None:
    crawl = Crawl(shared)
    crawl.meet()
    crawl.answer(0.1, 20, direct=False)
    crawl.answer(0.1, 20, status=404)
    crawl.answer(0.1, 20, status=302)
    crawl.answer(0.1, 20, key="bucket:s3/photos")
    ticket = crawl.ticket()
    ticket.charges = (Charge("imageservice:imgix/a", 1, 20), Charge(ORIGIN, 1, 20))
    ticket.answered = shared.time
    crawl.pacing.heard(ticket, 200, {})
    assert crawl.pacing.known(ORIGIN) == {}


def test_an_image_service_has_no_first_contact_but_a_wall_after_a_hold(shared: Shared) -> None:
    """Of which nothing is heard: a minute at half of its rate would tell nothing."""
    crawl = Crawl(shared)
    charges = (Charge("imageservice:imgix/a", 1, 20), Charge("origin:imgix/a", 1, 20))
    assert crawl.pacing.plan("image", charges)[-1].pace == 1
    assert crawl.pacing.plan("image", (Charge(SITE, 1, 1000), Charge("origin:b.test", 1, 20)))[-1].pace == 4
    crawl.pacing.held("origin:imgix/a", "origin:imgix/a", 60)
    assert crawl.pacing.plan("image", charges)[-1].pace == 2


def test_a_kind_is_slowed_by_its_own_answers_alone(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    assert crawl.pace("search", cost=4) == 1, "a new kind goes as the one that was heard last"
    crawl.answer(0.5, 60, kind="search")
    crawl.answer(3.0, 20, kind="search")
    assert crawl.pace("search", cost=4) > 2
    assert crawl.pace() == 1


def test_a_request_without_an_answer_is_late_once_and_not_when_it_has_begun_to_come(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)

    async def late(begun: bool) -> float:
        before = crawl.pacing.known(ORIGIN)["page"].ratio
        ticket = crawl.ticket()
        crawl.pacing.departed(ticket)
        assert ticket.lateness is not None
        shared.time += 0.4
        if begun:
            ticket.meta = {"download_latency": 0.1}
        crawl.pacing._late(ticket)
        ticket.lateness = None
        return crawl.pacing.known(ORIGIN)["page"].ratio - before

    assert asyncio.run(late(begun=True)) == 0
    assert asyncio.run(late(begun=False)) > 0.03

    async def answered() -> None:
        ticket = crawl.ticket()
        crawl.pacing.departed(ticket)
        waits = ticket.lateness
        assert isinstance(waits, asyncio.TimerHandle)
        crawl.pacing.ended(ticket)
        assert waits.cancelled()

    asyncio.run(answered())


def test_a_timeout_counts_with_the_time_that_was_waited(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    before = crawl.pacing.known(ORIGIN)["page"].ratio
    ticket = crawl.ticket()
    shared.time += 30
    ticket.meta = {"download_latency": 0.1}
    crawl.pacing.timed_out(ticket)
    assert crawl.pacing.known(ORIGIN)["page"].ratio == before
    ticket.meta = {}
    crawl.pacing.timed_out(ticket)
    assert crawl.pacing.known(ORIGIN)["page"].ratio > before


# -- a first contact


def test_a_first_contact_is_slow_unless_a_person_has_stated_what_the_origin_can_take(shared: Shared) -> None:
    assert Crawl(shared).pace() == 4
    assert Crawl(shared).pace(cost=20) == 1, "one request a second is low load"
    assert Crawl(shared, POLITE_LIMITS={ORIGIN: {"rate": 20}}).pace() == 1
    assert Crawl(shared, POLITE_LIMITS={"origin:*": {"rate": 20}}).pace() == 4
    assert Crawl(shared, POLITE_LIMITS={ORIGIN: {"concurrency": 2}}).pace() == 4


def test_a_first_contact_ends_although_nothing_can_be_learned(shared: Shared) -> None:
    crawl = Crawl(shared)
    crawl.meet()
    assert crawl.pace() == 4
    crawl.answer(0.1, 3)
    crawl.answer(0.1, 20, status=301)
    assert crawl.pace() == 4
    shared.time += FIRST_MINUTE
    assert crawl.pace() == 1
    crawl.answer(0.1, 20)
    assert crawl.pace() == 1, "it does not begin anew"
    crawl.told()
    other = Crawl(shared)
    other.meet()
    assert other.pace() == 1


def test_what_was_learned_is_there_for_the_next_crawl_and_an_idle_week_changes_nothing(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    crawl.answer(0.5, 40)
    crawl.told()
    slow = crawl.pace()
    assert slow > 2
    shared.time += 7 * 86_400
    later = Crawl(shared)
    later.meet()
    assert later.pace() == slow


# -- processes


def test_processes_share_what_they_have_heard(shared: Shared) -> None:
    one, two = Crawl(shared), Crawl(shared)
    warm(one)
    one.told()
    two.meet()
    assert two.pace() == 1
    for _ in range(20):
        one.answer(0.5)
        two.answer(0.5)
    one.told()
    two.told()
    two.answer(0.5)
    one.answer(0.5)
    two.told()
    one.told()
    (state,) = paces(shared, [ORIGIN])[ORIGIN].values()
    assert one.pacing.known(ORIGIN)["page"] == state
    assert one.pace() > 2
    assert two.pace() == pytest.approx(one.pace(), rel=0.1)


def test_what_the_store_could_not_take_is_told_later(shared: Shared) -> None:
    crawl = Crawl(shared)
    crawl.meet()
    crawl.answer(0.1, 20)
    view = crawl.politeness.booker.store
    view.__dict__["broken"] = True
    crawl.told()
    assert paces(shared, [ORIGIN]) == {}
    crawl.answer(0.1)
    known = crawl.pacing.known(ORIGIN)["page"]
    view.__dict__["broken"] = False
    crawl.told()
    assert paces(shared, [ORIGIN]) == {ORIGIN: {"page": known}}


def test_what_is_untold_is_told_at_the_end(shared: Shared) -> None:
    crawl = Crawl(shared)
    crawl.meet()

    async def answered() -> None:
        crawl.answer(0.1, 20)
        await crawl.pacing.close()

    asyncio.run(answered())
    assert paces(shared, [ORIGIN])[ORIGIN]["page"].answers == 8


def test_a_kind_that_no_store_can_have_keeps_no_other_from_being_told(tmp_path: Path) -> None:
    async def run() -> None:
        booker = Booker(open_store(f"sqlite:{tmp_path}/limits.sqlite"), 50_000)
        pacing = Pacing(booker, Limits(), None, on=True)
        for kind in ("\ud800", "page"):
            pacing.plan(kind, (Charge(ORIGIN, 2, 20),))
        pacing.held(ORIGIN, SITE, 60)
        await pacing.close()
        assert list(paces(booker.store, [ORIGIN])[ORIGIN]) == ["page"]
        booker.close()

    asyncio.run(run())


# -- holds


def test_what_follows_a_hold_goes_at_half_the_rate_once_for_one_block(shared: Shared) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    crawl.answer(0.1, 50, kind="search")
    crawl.pacing.held(ORIGIN, SITE, 120)
    assert (crawl.pace(), crawl.pace("search")) == (2, 2)
    crawl.pacing.held(ORIGIN, SITE, 120)  # Another answer of the same burst.
    shared.time += 30
    crawl.pacing.held(ORIGIN, "site:b.test", 120)
    crawl.pacing.held(ORIGIN, ORIGIN, 120)  # To which it rises.
    assert crawl.pace() == 2
    shared.time += 3 * ONE_HOLD
    crawl.pacing.held(ORIGIN, SITE, 300)
    assert crawl.pace() == 4
    crawl.told()
    assert {state.walls for state in paces(shared, [ORIGIN])[ORIGIN].values()} == {2}
    crawl.pacing.held("bucket:s3/photos", "bucket:s3/photos", 120)
    assert crawl.pace(key="bucket:s3/photos") == 1


@pytest.mark.parametrize(
    ("kind", "pace"),
    [(kind, 2) for kind in ("rate_limited", "challenge", "denied", "error", "timeout", "reset", "connect")]
    + [(kind, 1) for kind in ("dns", "tls", "parked")],
)
def test_a_hold_slows_what_follows_only_if_its_kind_tells_of_the_load(shared: Shared, kind: str, pace: float) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    crawl.pacing.held(ORIGIN, SITE, 7 * 86_400.0, kind)
    assert crawl.pace() == pace
    shared.time += 2 * ONE_HOLD
    crawl.pacing.held(ORIGIN, "site:b.test", 60, "rate_limited")
    assert crawl.pace() == pace * 2, "and a week of parking hides no hold that tells of it"


def test_a_hold_slows_kinds_that_only_another_process_has_asked_for(shared: Shared) -> None:
    one, two = Crawl(shared), Crawl(shared)
    warm(one)
    one.answer(0.1, 50, kind="search")
    one.told()
    two.meet()
    assert two.pace() == 1
    two.pacing.held(ORIGIN, SITE, 120)
    two.told()
    assert {state.walls for state in paces(shared, [ORIGIN])[ORIGIN].values()} == {1}


# -- in the store


def slow_state(holds: int) -> State:
    state = first(10)
    for number in range(20):
        state = observe(state, "ok", 0.1, number, number, 10)
    for _ in range(holds):
        state = held(state, 10)
    return state


def test_a_state_comes_back_as_it_was_and_what_is_no_state_is_passed_over(store: Store, other: Store) -> None:
    state = slow_state(1)
    assert change(store, ORIGIN, "page", lambda before: state if before is None else first(1)) == state
    other.note(ORIGIN, "pace:search", "not json")
    other.note(ORIGIN, "pace:image", "[99]")
    other.note(ORIGIN, "cost:page", "[1]")
    assert paces(other, [ORIGIN, "origin:none"]) == {ORIGIN: {"page": state}}
    assert change(store, ORIGIN, "search", lambda before: state if before is None else first(1)) == state


def test_at_a_merge_the_more_careful_pace_stays(store: Store) -> None:
    one, two = slow_state(0), slow_state(2)
    names = count()
    for first_of, second_of in ((one, two), (two, one)):
        name, into = f"origin:{next(names)}", f"origin:{next(names)}"
        change(store, name, "page", lambda _, state=first_of: state)  # type: ignore[misc]
        change(store, into, "page", lambda _, state=second_of: state)  # type: ignore[misc]
        change(store, name, "search", lambda _: one)
        for _ in range(2):
            merge(store, name, into)
        assert paces(store, [name, into]) == {into: {"page": two, "search": one}}


def test_a_person_who_joins_two_origins_keeps_the_more_careful_pace(store: Store, clock: Clock) -> None:
    two = slow_state(2)
    change(store, "origin:one", "page", lambda _: two)
    enact(store, Ruling("origin:one", "join", "origin:two", "ann", "one company", clock.wall(), None), None)
    assert paces(store, ["origin:two"]) == {"origin:two": {"page": two}}


@pytest.mark.parametrize(("seconds", "least"), [(0.5, 6), (0.1, 4)])
def test_a_part_that_is_split_off_begins_no_faster_than_the_whole_was_and_learns_anew(
    shared: Shared, seconds: float, least: float
) -> None:
    """The whole is slowed, or at its rate: then the part begins as any origin that is new."""
    crawl = Crawl(shared)
    warm(crawl)
    crawl.answer(seconds, 100)
    whole = crawl.pace()
    crawl.told()
    part = "origin:part.test"
    enact(shared, Ruling("part.test", "split", part, "ann", "their own server", 0.0, None), ORIGIN)
    later = Crawl(shared)
    asyncio.run(later.pacing.meet(part))
    assert later.pace(key=part) == pytest.approx(max(least, whole), rel=0.05)
    later.answer(0.02, 8, key=part)
    assert later.pacing.known(part)["page"].base == pytest.approx(math.log(0.02)), "a server of its own"
    shared.time += 61
    later.answer(0.02, 1, key=part)
    assert later.pace(key=part) > 3, "it comes back over minutes, and not at once"
    for _ in range(60):
        shared.time += 60
        later.answer(0.02, 30, key=part)
    assert later.pace(key=part) < 1.5


def test_what_was_not_one_is_not_slowed_by_being_split(store: Store) -> None:
    change(store, "origin:one", "page", lambda _: slow_state(2))
    split(store, "origin:two", "origin:one")
    assert paces(store, ["origin:two"]) == {}
    store.merge("origin:two", "origin:one")
    split(store, "origin:two", "origin:one")
    found = paces(store, ["origin:two"])["origin:two"]["page"]
    assert (found.slow, found.base, found.at) == (pytest.approx(slow_state(2).careful), None, None)
    heard = found._replace(slow=0.1, wall=0.0, at=1.0)
    change(store, "origin:two", "page", lambda _: heard)
    split(store, "origin:two", "origin:one")  # It may be told again.
    assert paces(store, ["origin:two"])["origin:two"] == {"page": heard}


# -- for people


def test_status_and_explain_say_what_is_slowed_and_why(tmp_path: Path) -> None:
    origin = "origin:127.0.0.1"
    kept = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    kept.keep([Kept("127.0.0.1", origin, 0.9, (), "[]")])
    change(kept, origin, "page", lambda _: slow_state(1))
    change(kept, origin, "search", lambda _: slow_state(0)._replace(slow=0.0))
    kept.close()
    where = ("-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite", "-s", "POLITE_ORIGIN_RATE=20")
    why = "answers take about 100 ms, and 100 ms at low load; but it was held, and comes back over minutes"
    shown = objects(polite("status", "--json", *where, cwd=tmp_path))
    (slow,) = (one for one in shown if "slowed" in one)
    assert slow == {"slowed": origin, "kind": "page", "pace": slow["pace"], "because": why}
    assert slow["pace"] > 4
    sentence = f"page at 1/{slow['pace']:g} of the rate, since {why}"
    assert f"Slowed: 1\n  {origin}  {sentence}\n" in polite("status", *where, cwd=tmp_path).stdout
    asked = ("-s", "POLITE_ALLOW_NETWORKS=127.0.0.0/8", "http://127.0.0.1/")
    (found,) = objects(polite("explain", "--json", *where, *asked, cwd=tmp_path))
    assert [(one["kind"], one["pace"]) for one in found["paces"]] == [("page", slow["pace"]), ("search", 1)]
    assert [charge.get("pace") for charge in found["charges"]] == [None, slow["pace"]]
    text = " ".join(polite("explain", *where, *asked, cwd=tmp_path).stdout.split())
    assert f"at 1/{slow['pace']:g} of it for now" in text
    assert f"slowed {sentence}" in text
    off = ("-s", "POLITE_PACE=False")
    (found,) = objects(polite("explain", "--json", *where, *off, *asked, cwd=tmp_path))
    assert (found["paces"], [charge.get("pace") for charge in found["charges"]]) == ([], [None, None])


def test_why_a_pace_is_what_it_is() -> None:
    new = first(10)
    assert because(new, 10) == "0 of the 8 answers are here that tell what its servers can do"
    state = slow_state(0)
    assert because(state, 10) == "answers take about 100 ms, and 100 ms at low load; it is on its way back"
    assert because(state._replace(slow=0.0), 10) == "answers take about 100 ms, and 100 ms at low load"
    assert because(state._replace(ratio=3.0, over=2.0), 10) == "answers take about 2.0 s, and 100 ms at low load"
    assert "for a moment" in because(state._replace(probing=1.0), 10)
    stopped = state._replace(wall=1.0, slow=1.0)
    assert because(stopped, 10, "site:a was held (denied: 403)").endswith(
        "; but site:a was held (denied: 403), and comes back over minutes"
    )
    # Where little is known, what has slowed it is the reason, and not that little is known.
    assert because(held(new, 10), 10, "site:a was held (denied: 403)").startswith(
        "site:a was held (denied: 403), and comes back over "
    )
    assert because(new._replace(base=0.0, answers=1, over=0.5), 10).startswith(
        "a 429, a 503 or a time-out was heard; 1 of the 8"
    )


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "scrapy_polite.pacing"]


def test_the_log_names_the_hold_that_slows_an_origin_of_which_little_is_known(
    shared: Shared, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(shared)
    crawl.answer(0.1)
    for kind in ("image", "robots"):
        crawl.answer(0.1, kind=kind)
    with caplog.at_level(logging.INFO):
        crawl.pacing.held(ORIGIN, SITE, 60, "error", "503, a run of them")
    why = f"since {SITE} was held (error: 503, a run of them), and comes back over minutes; 1 of the 8 answers are here"
    assert [line.partition(" that tell")[0] for line in lines(caplog)] == [
        f"Pace: {ORIGIN}: a page goes at 1/8.0 of its rate, {why}",
        f"Pace: {ORIGIN}: an image goes at 1/8.0 of its rate, {why}",
    ]


def test_each_doubling_of_a_pace_is_said_once(shared: Shared, caplog: pytest.LogCaptureFixture) -> None:
    crawl = Crawl(shared)
    warm(crawl)
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            crawl.pacing.held(ORIGIN, SITE, 10, "error", "503")
            shared.time += 2 * ONE_HOLD
        crawl.answer(0.1, 5)
    assert [line.split(" of its")[0].split("goes ")[1] for line in lines(caplog)] == ["at 1/4.0", "at 1/8.0", "at 1/16.0"]


def test_status_leaves_out_what_slows_every_crawl(tmp_path: Path) -> None:
    kept = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    for number, state in enumerate((slow_state(1), first(20)._replace(answers=1, base=0.0, at=1.0), held(first(20), 20))):
        host = f"127.0.0.{number}"
        kept.keep([Kept(host, f"origin:{host}", 0.9, (), "[]")])
        for kind in ("page", "robots"):
            change(kept, f"origin:{host}", kind, lambda _, state=state: state)  # type: ignore[misc]
    kept.close()
    where = ("-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite", "-s", "POLITE_ORIGIN_RATE=20")
    text = polite("status", *where, cwd=tmp_path).stdout
    assert "Slowed: 2\n" in text
    assert "robots" not in text
    assert "origin:127.0.0.2  page at 1/8 of the rate, since it was held, and comes back over minutes; 0 of the 8" in text
    assert "New, and slow until their first answers are here: 1 origin\n" in text
    shown = objects(polite("status", "--json", *where, cwd=tmp_path))
    assert [(one["slowed"], one["kind"]) for one in shown if "slowed" in one] == [
        ("origin:127.0.0.0", "page"),
        ("origin:127.0.0.2", "page"),
    ]
