"""``scrapy polite retry``, ``park``, ``release`` and ``deferred``: by the command, and as running crawls obey."""

from __future__ import annotations

import json
import stat
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from commandline import objects, polite
from loopback import FETCH, Running, Server, limits, ports, start
from made_up_keys import made_up_keys

from scrapy_polite.backoff import pace
from scrapy_polite.backoff.pacestate import State
from scrapy_polite.commands.words import span
from scrapy_polite.deferring import LEASE
from scrapy_polite.stores import paces
from scrapy_polite.stores.acts import Act, acts, add
from scrapy_polite.stores.base import LONGEST_HOLD, Cause, Kept, Store, open_store
from scrapy_polite.stores.deferring import Deferred
from scrapy_polite.telemetry.events import HeldEvent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from postgres import Database

A = "site:a.example"


@pytest.fixture
def held(tmp_path: Path) -> Store:
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    store.hold(A, 600, Cause("error", "503, a run of them"))
    return store


def act(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return polite(*arguments, "-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite", cwd=tmp_path)


def complaint(tmp_path: Path, *arguments: str) -> str:
    """The line that says what is wrong, with nothing before it but the note that the add-on is not on here."""
    done = act(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    note, line = done.stderr.splitlines()
    assert note.startswith("Note: ")
    return line


def told(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    (done,) = objects(act(tmp_path, *arguments, "--json", "--author", "ann"))
    return done


def put_off(key: str, name: str = "1", owner: str = "scrapybot/test") -> Deferred:
    far = time.time() + 500
    text = '{"url":"http://a.example/"}'
    return Deferred(owner, name, key, "http://a.example/", "GET", "parse", "", "error", "503", 0, far, 1.0, text)


def audit(tmp_path: Path) -> list[HeldEvent]:
    return [event for event in Ledger.read(tmp_path / "limits.ledger.sqlite") if isinstance(event, HeldEvent)]


def test_retry_ends_a_hold_and_frees_what_waits_for_it_and_says_who_and_why(tmp_path: Path, held: Store) -> None:
    held.defer([put_off(A), put_off("site:b.example", "2")])
    done = told(tmp_path, "retry", "http://A.example/page", "--reason", "they called")
    assert done["key"] == A
    assert done["was"]["kind"] == "error"
    assert done["taken_up"] == 1
    assert held.held() == []
    assert [row.fingerprint for row in held.take_deferred("scrapybot/test", "run", 9, 60)] == ["1"]
    (line,) = audit(tmp_path)
    assert (line.key, line.kind) == (A, "retried")
    assert line.until <= line.at
    assert line.reason.startswith("by ann: they called (was error: 503, a run of them, for 9 min")
    again = complaint(tmp_path, "retry", A)
    assert again == f"scrapy polite retry: {A} is known and not held; `scrapy polite status` shows what is"


def test_a_time_that_the_server_has_named_is_only_gone_against_by_force(tmp_path: Path, held: Store) -> None:
    held.hold("site:b.example", 600, Cause("rate_limited", "429, Retry-After: 600", stated=True))
    refused = act(tmp_path, "retry", "b.example")
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    # Parking and releasing is no way around it.
    told(tmp_path, "park", "b.example")
    refused = complaint(tmp_path, "release", "b.example")
    assert refused.startswith(
        "scrapy polite release: site:b.example: the server itself had named a time before it was parked ("
    )
    assert "(over rate_limited: 429, Retry-After: 600, until 20" in refused
    assert "--force" in refused
    assert len(held.held()) == 2
    assert told(tmp_path, "release", "b.example", "--force")["hold"] == 0
    assert [hold.key for hold in held.held()] == [A]


def test_a_key_is_parked_for_a_time_or_until_it_is_released(tmp_path: Path, held: Store) -> None:
    done = told(tmp_path, "park", "origin:shared", "--for", "7d", "--reason", "ticket 12", "--unseen")
    assert done["until"] == pytest.approx(time.time() + 604_800, abs=60)
    assert 604_700 < done["hold"] <= 604_800
    (_, parked) = sorted(held.held(), key=lambda hold: hold.seconds)
    assert (parked.key, parked.cause.kind, parked.cause.reason) == ("origin:shared", "parked", "by ann: ticket 12")
    # Shorter than it is parked, by the same person and for the same reason: that nothing has changed is an error.
    again = act(tmp_path, "park", "origin:shared", "--for", "1d", "--author", "ann", "--reason", "ticket 12")
    assert again.returncode == 2
    assert "origin:shared is parked until 20" in again.stderr
    assert " already (by ann: ticket 12); `scrapy polite release origin:shared` first" in again.stderr
    done = told(tmp_path, "park", A)
    assert (done["until"], done["was"]["kind"]) == (None, "error")
    assert f"{A} is parked until somebody releases it already (by ann (over error: 503" in act(tmp_path, "park", A).stderr
    text = act(tmp_path, "status").stdout
    assert f"{A}  until somebody releases it  parked: by ann (over error: 503, a run of them, until 20" in text
    assert next(one for one in objects(act(tmp_path, "status", "--json")) if one.get("key") == A)["until"] is None
    assert "origin:shared  6 d 23 h more, until 20" in text
    not_parked = act(tmp_path, "release", "b.example")
    assert not_parked.returncode == 2
    assert "It was held: parked: by ann (over error: 503, a run" in told(tmp_path, "release", A)["done"]
    assert [hold.key for hold in held.held()] == ["origin:shared"]
    assert [line.kind for line in audit(tmp_path)] == ["parked", "parked", "released"]


def test_a_key_is_parked_as_crawls_spell_it_and_one_that_none_can_have_is_refused(tmp_path: Path, held: Store) -> None:
    assert told(tmp_path, "park", "site:WWW.Bücher.example.", "--unseen")["key"] == "site:www.xn--bcher-kva.example"
    for wrong in ("site:foo bar", "site:", "origin:", "origin:a b", "bucket:s3/\x1b[2J"):
        refused = act(tmp_path, "park", wrong)
        assert refused.returncode == 2, wrong
    assert len(held.held()) == 2


def test_what_others_wrote_is_shown_without_what_moves_a_terminal(tmp_path: Path, held: Store) -> None:
    held.hold(A, 900, Cause("error", "503 \x1b[31m\u202e"))
    done = act(tmp_path, "retry", A).stdout.rstrip("\n")
    assert done.isprintable()
    assert "503 \\x1b[31m\\u202e" in done


PLATFORM = "origin:sites.platform.test"


@pytest.fixture
def shared(held: Store) -> Store:
    """Three sites of one origin; it is held since two of them were, and so is one of them itself."""
    held.keep([Kept(f"www.shop{n}.example", PLATFORM, 0.98, (), "[]") for n in range(3)])
    held.hold(PLATFORM, 107, Cause("error", "503; raised from site:www.shop0.example, site:www.shop1.example"))
    held.hold("site:www.shop0.example", 900, Cause("error", "503"))
    return held


def test_who_ends_the_hold_of_a_site_is_told_of_that_of_its_origin(tmp_path: Path, shared: Store) -> None:
    done = told(tmp_path, "retry", "www.shop0.example")
    assert "It still waits for origin:sites.platform.test, held for 1 min 4" in done["done"]
    assert "raised from site:www.shop0.example, site:www.shop1.example): `scrapy polite retry origin:sites" in done["done"]
    assert [(one["key"], one["kind"]) for one in done["still"]] == [(PLATFORM, "error")]
    told(tmp_path, "park", "www.shop0.example")
    assert "It still waits for origin:sites.platform.test, held" in told(tmp_path, "release", "www.shop0.example")["done"]


@pytest.mark.parametrize("verb", ["retry", "release"])
def test_a_site_that_only_its_origin_keeps_back_is_named_with_that_and_with_what_ends_it(
    verb: str, tmp_path: Path, shared: Store
) -> None:
    refused = act(tmp_path, verb, "www.shop1.example")
    assert refused.returncode == 2
    assert f"{verb}: site:www.shop1.example is not held itself, but its origin {PLATFORM} is, for 1 min 4" in refused.stderr
    assert f"`scrapy polite retry {PLATFORM}`" in refused.stderr
    told(tmp_path, "park", PLATFORM)
    assert (
        "until somebody releases it (parked: by ann (over error: 503; raised" in act(tmp_path, verb, "www.shop1.example").stderr
    )
    assert f"`scrapy polite release {PLATFORM}`" in act(tmp_path, verb, "www.shop1.example").stderr


def test_who_ends_the_hold_of_an_origin_is_told_which_of_its_sites_are_still_held(tmp_path: Path, shared: Store) -> None:
    done = told(tmp_path, "retry", PLATFORM)
    assert "Of its sites one is still held: site:www.shop0.example, held for 14 min 5" in done["done"]
    assert [one["key"] for one in done["still"]] == ["site:www.shop0.example"]


def test_who_ends_a_hold_is_told_that_the_pace_is_not_reset(tmp_path: Path, shared: Store) -> None:
    """As the law of pace leaves it after a hold of an origin that answered before."""
    state = State(0.0, base=0.0, answers=8)
    paces.change(shared, PLATFORM, "page", lambda _: pace.held(pace.held(state, 1.0), 1.0))
    done = told(tmp_path, "retry", "www.shop0.example")
    assert "Its origin goes at 1/4 of its rate, and comes back over about 40 min." in done["done"]
    assert done["pace"] == 4
    assert "of its rate" not in told(tmp_path, "retry", A)["done"]


def test_what_no_crawl_has_met_is_parked_only_if_that_is_meant(tmp_path: Path, shared: Store) -> None:
    for key, near in (
        ("origin:sites.platfrm.test", PLATFORM),
        ("site:www.shop7.example", "www.shop"),
        ("shop7.example", "www.shop"),
    ):
        refused = act(tmp_path, "park", key)
        assert refused.returncode == 2, key
        assert f"did you mean {near}" in refused.stderr
        assert "add --unseen" in refused.stderr
    assert len(shared.held()) == 3
    told(tmp_path, "park", "shop7.example", "--unseen")
    told(tmp_path, "park", "www.shop2.example")
    told(tmp_path, "park", "edge:bunny/www.shop2.example")
    assert len(shared.held()) == 6


def test_what_is_not_held_is_known_or_a_slip(tmp_path: Path, shared: Store) -> None:
    assert "retry: site:www.shop2.example is not held itself" in act(tmp_path, "retry", "www.shop2.example").stderr
    shared.release(PLATFORM)
    for key in ("site:www.shop2.example", PLATFORM):
        assert f"retry: {key} is known and not held; `scrapy" in act(tmp_path, "retry", key).stderr
    slip = complaint(tmp_path, "retry", "www.shpo2.example")
    assert slip.startswith(
        "scrapy polite retry: site:www.shpo2.example is not held: no crawl with this store has met www.shpo2"
    )


def test_what_is_held_and_not_parked_is_not_released_but_retried(tmp_path: Path, held: Store) -> None:
    refused = act(tmp_path, "release", A)
    assert refused.returncode == 2
    assert f"scrapy polite retry {A}" in refused.stderr
    assert len(held.held()) == 1


def test_those_of_one_spider_are_chosen_from_anywhere_with_its_images(place: str, tmp_path: Path) -> None:
    """On SQLite and on Postgres; inside its project, and outside."""
    project = tmp_path / "project"
    (project / "bot" / "spiders").mkdir(parents=True)
    (project / "scrapy.cfg").write_text("[settings]\ndefault = bot.settings\n")
    (project / "bot" / "__init__.py").touch()
    (project / "bot" / "spiders" / "__init__.py").write_text('import scrapy\nclass Mine(scrapy.Spider):\n    name = "mine"\n')
    (project / "bot" / "settings.py").write_text(
        'BOT_NAME = "bot"\nSPIDER_MODULES = ["bot.spiders"]\nADDONS = {"scrapy_polite.Addon": 300}\n'
        f"POLITE_STORE = {place!r}\n"
    )
    store = open_store(place)
    store.defer([put_off(A, "1", "bot/mine"), put_off(A, "2", "bot/mine images"), put_off(A, "3", "bot/other")])
    store.defer([put_off("site:b.example", "4", "bot/mine")])

    def listed(where: Path, *arguments: str) -> list[str]:
        options = ("-s", f"POLITE_STORE={place}") if where is tmp_path else ()
        return [row["fingerprint"] for row in objects(polite("deferred", "--json", *arguments, *options, cwd=where))]

    assert sorted(listed(project)) == sorted(listed(tmp_path)) == ["1", "2", "3", "4"]
    assert listed(project, "--spider", "mine") == listed(tmp_path, "--owner", "bot/mine") == ["1", "4", "2"]
    assert (
        listed(project, "--spider", "mine", "http://A.example/x?") == listed(tmp_path, "--owner", "bot/mine", A) == ["1", "2"]
    )
    assert listed(tmp_path, "--owner", "bot/nobody") == []
    file = tmp_path / "out.jsonl"
    done = polite("deferred", "--spider", "mine", "--export", str(file), "--drop", cwd=project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Dropped: 3 requests\n", "")
    assert [json.loads(line)["fingerprint"] for line in file.read_text().splitlines()] == ["1", "4", "2"]
    assert [row.fingerprint for row in store.deferred()] == ["3"]
    assert objects(polite("deferred", "--drop", "a.example", "--json", cwd=project)) == [{"dropped": 1}]
    store.close()


def test_nothing_is_made_where_there_is_no_store(tmp_path: Path) -> None:
    for verb in (("retry", "a.example"), ("park", "a.example"), ("release", "a.example"), ("deferred",)):
        assert act(tmp_path, *verb).returncode == 1
    assert list(tmp_path.glob("*.sqlite*")) == []


def test_urls_of_what_is_put_off_are_listed_without_their_keys_and_exported_with_them(tmp_path: Path, held: Store) -> None:
    key = made_up_keys()["stripe-secret"]
    held.defer([replace(put_off(A), url=f"http://a.example/?key={key}")])
    assert "GET http://a.example/?key=~redacted-stripe-secret~  " in act(tmp_path, "deferred").stdout
    assert objects(act(tmp_path, "deferred", "--json"))[0]["url"] == f"http://a.example/?key={key}"


def test_what_a_run_has_taken_is_not_called_free_and_it_is_said_when_the_run_was_heard_of(tmp_path: Path, held: Store) -> None:
    held.defer([put_off(A)])
    assert held.take_deferred("scrapybot/test", "vm.1", 1, LEASE - 40, 1000)
    text = act(tmp_path, "deferred").stdout
    assert "  taken by vm.1, last heard 4" in text, text
    assert "free" not in text


def test_what_is_put_off_is_listed_exported_and_dropped(tmp_path: Path, held: Store) -> None:
    held.defer([put_off(A), put_off(A, "2"), put_off("site:b.example", "3", owner="scrapybot/other")])
    text = act(tmp_path, "deferred").stdout
    assert "Put off: 3 requests" in text
    assert f"scrapybot/test  2 of {A}  error: 503" in text
    shown = objects(act(tmp_path, "deferred", "--json", A))
    assert [one["fingerprint"] for one in shown] == ["1", "2"]
    assert shown[0]["request"] == {"url": "http://a.example/"}
    file = tmp_path / "out.jsonl"
    assert act(tmp_path, "deferred", "--export", str(file)).returncode == 0
    assert [json.loads(line)["owner"] for line in file.read_text().splitlines()] == ["scrapybot/other"] + ["scrapybot/test"] * 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "cannot be written" in act(tmp_path, "deferred", "--export", str(file)).stderr
    assert act(tmp_path, "deferred", "--drop").returncode == 2
    assert len(held.deferred()) == 3
    assert objects(act(tmp_path, "deferred", "--drop", A, "--json")) == [{"dropped": 2}]
    assert objects(act(tmp_path, "status", "--json"))[1]["deferred"] == 1
    assert objects(act(tmp_path, "deferred", "--drop", "--all", "--json")) == [{"dropped": 1}]
    assert act(tmp_path, "deferred").stdout == "Put off: nothing\n"
    held.keep([Kept("a.example", "origin:a", 0.9, (), "[]")])
    assert act(tmp_path, "deferred", "a.example").stdout == "Put off: nothing\n"
    slip = complaint(tmp_path, "deferred", "a.exampel")
    assert slip.startswith(
        "scrapy polite deferred: site:a.exampel: nothing waits for it; no crawl with this store has met a.exampel"
    )
    held.hold("site:c.example", LONGEST_HOLD, Cause("parked", "by ann"))
    held.defer([replace(put_off("site:c.example"), not_before=time.time() + LONGEST_HOLD)])
    assert "GET http://a.example/  not before somebody releases its key\n" in act(tmp_path, "deferred").stdout


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0.0 s"), (5, "5.0 s"), (61, "1 min 1 s"), (3600, "1 h"), (3660, "1 h 1 min"), (90_061, "1 d 1 h")],
)
def test_a_time_is_shown_by_its_two_largest_units(seconds: float, shown: str) -> None:
    assert span(seconds) == shown


WAITS = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/1", callback=self.answered, errback=self.failed)
"""


PROCESSES = 4


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a store that has no ledger beside it."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/shared.sqlite"
    database: Database = request.getfixturevalue("database")
    return database.url


@contextmanager
def crawls(spider: str, url: str, server: Server, tmp_path: Path, **settings: object) -> Iterator[list[Running]]:
    """Several processes with one store."""
    with ExitStack() as stack:
        running = []
        for number in range(PROCESSES):
            (tmp_path / str(number)).mkdir()
            chosen = {**ports(server), "POLITE_STORE": url, "POLITE_LEDGER": None, **settings}
            running.append(stack.enter_context(start(spider, tmp_path / str(number), **chosen)))
        for one in running:
            one.until(lambda one=one: "Spider opened" in one.log)
        yield running


def shown_acts(url: str, tmp_path: Path) -> list[dict[str, Any]]:
    """What `status` shows of what was done by hand, the newest first."""
    done = polite("status", "--json", "-s", f"POLITE_STORE={url}", "-s", "POLITE_LEDGER=", cwd=tmp_path)
    return [line for line in objects(done) if "by_hand" in line]


def by_hand(url: str, tmp_path: Path, *arguments: str) -> float:
    """Let ann do it; the moment at which it was done, on the clock of arrivals."""
    done = polite(*arguments, "--author", "ann", "-s", f"POLITE_STORE={url}", "-s", "POLITE_LEDGER=", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    store = open_store(url)
    at: float = acts(store)[0].at
    store.close()
    return at - time.time() + time.monotonic()


def test_four_running_crawls_go_on_within_a_second_when_a_hold_is_ended_and_say_by_whom(url: str, tmp_path: Path) -> None:
    store = open_store(url)
    store.hold("site:127.0.0.1", 250, Cause("denied", "403"))
    with Server() as server, crawls(WAITS.format(url=server.url), url, server, tmp_path, **limits(20.0)) as running:
        time.sleep(2.0)
        assert server.arrivals == []
        ended = by_hand(url, tmp_path, "retry", "site:127.0.0.1", "--reason", "they called")
        assert [len(one.end(20).urls()) for one in running] == [1] * PROCESSES
        assert all(ended - 0.1 < arrival.at < ended + 1.0 for arrival in server.arrivals)
        assert all("By hand: site:127.0.0.1 retried by ann: they called (was denied: 403" in one.log for one in running)
    (act,) = shown_acts(url, tmp_path)
    assert (act["by_hand"], act["key"], act["author"], act["reason"]) == ("retried", "site:127.0.0.1", "ann", "they called")
    store.close()


def test_a_key_that_is_parked_is_left_alone_by_four_running_crawls_until_it_is_released(url: str, tmp_path: Path) -> None:
    spider = FETCH.replace("{count}", "500")
    with Server() as server, crawls(spider.format(url=server.url), url, server, tmp_path, **limits(20.0)) as running:
        running[0].until(lambda: len(server.arrivals) > 20)
        parked = by_hand(url, tmp_path, "park", f"{server.url}/", "--for", "4m", "--reason", "ticket 12")
        time.sleep(1.0)
        before = len(server.arrivals)
        assert [arrival for arrival in server.arrivals if arrival.at > parked + 0.1] == []
        released = by_hand(url, tmp_path, "release", "site:127.0.0.1")
        running[0].until(lambda: len(server.arrivals) >= before + 8)
        assert released - 0.1 < server.arrivals[before].at < released + 1.0
    shown = shown_acts(url, tmp_path)
    assert [(act["by_hand"], act["reason"]) for act in shown] == [("released", ""), ("parked", "ticket 12")]


def test_long_reasons_of_many_acts_fit_into_what_a_store_keeps(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path}/acts.sqlite")
    for number in range(120):
        add(store, Act(float(number), A, "parked", "ann", "\N{SNOWMAN}" * 20_000 if number > 20 else "why", ""))
    found = acts(store)
    assert found[0].at == 119
    assert len(found) > 40
    store.note("by hand", "acts", "{")
    assert acts(store) == []
    store.close()


def test_what_was_put_off_is_taken_up_by_a_running_crawl_as_soon_as_its_hold_is_ended(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    store.hold("site:127.0.0.1", 250, Cause("denied", "403"))
    with Server() as server:
        text = json.dumps({"url": f"{server.url}/2", "callback": "answered", "errback": "failed", "dont_filter": True})
        store.defer([replace(put_off("site:127.0.0.1"), request=text, url=f"{server.url}/2")])
        with start(WAITS.format(url=server.url), tmp_path, **limits(20.0), **ports(server)) as running:
            running.until(lambda: "Spider opened" in running.log)
            time.sleep(2.0)
            assert store.deferred()[0].run == ""
            act(tmp_path, "retry", "site:127.0.0.1")
            done = running.end(20)
    assert sorted(done.urls()) == [f"{server.url}/1", f"{server.url}/2"], done.log
    assert store.deferred() == []
    store.close()
