"""The queue's file: order, what a kill leaves, what the duplicate filter may know, and requests as JSON."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import FormRequest, JsonRequest

from scrapy_polite import requestjson
from scrapy_polite.diskqueue import DiskQueue, forget_unqueued

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "job" / "requests.queue"


@pytest.fixture
def queue(directory: Path) -> Iterator[DiskQueue]:
    found = DiskQueue(directory)
    yield found
    found.close()


def push_all(queue: DiskQueue, *rows: tuple[str, int, bool, bytes]) -> None:
    for row in rows:
        queue.push(*row)


def pop_all(queue: DiskQueue, site: str) -> list[bytes]:
    found = []
    while (row := queue.pop(site)) is not None:
        found.append(row.data)
        queue.done(row.number)
    return found


def test_the_lowest_place_first_and_in_it_the_first_or_the_last_that_came(queue: DiskQueue) -> None:
    push_all(
        queue, ("a", 1, True, b"1"), ("a", 0, False, b"2"), ("a", 0, False, b"3"), ("a", 1, True, b"4"), ("b", 9, True, b"5")
    )
    assert len(queue) == 5
    assert pop_all(queue, "a") == [b"3", b"2", b"1", b"4"]
    assert "a" not in queue
    assert list(queue.sites()) == ["b"]
    assert queue.pop("a") is None


def test_what_is_taken_over_in_order_comes_after_what_comes_last_first(queue: DiskQueue) -> None:
    push_all(queue, ("a", 0, True, b"older"), ("a", 0, True, b"oldest"), ("a", 0, False, b"new"), ("a", 0, False, b"newest"))
    assert pop_all(queue, "a") == [b"newest", b"new", b"older", b"oldest"]


def test_what_waits_and_what_was_out_waits_again_and_what_was_done_does_not(directory: Path) -> None:
    first = DiskQueue(directory)
    push_all(first, ("a", 0, True, b"done"), ("a", 0, True, b"out"), ("a", 0, True, b"waits"))
    done = first.pop("a")
    assert done is not None
    first.done(done.number)
    assert first.pop("a") is not None
    first.close()
    second = DiskQueue(directory)
    assert len(second) == 2
    assert pop_all(second, "a") == [b"out", b"waits"]
    second.close()


def test_a_site_that_comes_back_is_the_same_site(directory: Path) -> None:
    queue = DiskQueue(directory)
    for data in (b"1", b"2"):
        queue.push("a", 0, True, data)
        assert pop_all(queue, "a") == [data]
    queue.push("a", 0, True, b"3")
    queue.close()
    again = DiskQueue(directory)
    assert pop_all(again, "a") == [b"3"]
    again.close()


KILLED = """
import os, sys
from pathlib import Path
from scrapy_polite.diskqueue import DiskQueue
queue = DiskQueue(Path(sys.argv[1]))
seen = (Path(sys.argv[1]).parent / "requests.seen").open("ab")
for n in range(10):
    seen.write(b"%07d\\n" % n)
    queue.push(f"site-{n % 3}", 0, True, b"%d" % n)
out = queue.pop("site-0")
seen.flush()
queue.commit()
queue.done(out.number)
for n in range(10, 15):
    seen.write(b"%07d\\n" % n)
    queue.push("site-9", 0, True, b"%d" % n)
seen.flush()
os.kill(os.getpid(), 9)
"""


def test_a_kill_takes_back_what_came_after_the_last_commit_from_the_file_and_from_the_duplicate_filter(directory: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(directory)], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert killed.returncode == -9
    seen = directory.parent / "requests.seen"
    assert seen.stat().st_size == 15 * 8
    assert forget_unqueued(directory.parent) == 5 * 8
    assert seen.read_bytes().split()[-1] == b"0000009"
    assert forget_unqueued(directory.parent) == 0
    queue = DiskQueue(directory)
    assert len(queue) == 10
    assert sorted(queue.sites()) == ["site-0", "site-1", "site-2"]
    assert pop_all(queue, "site-0")[0] == b"0"
    queue.close()


def test_after_a_clean_stop_the_duplicate_filter_keeps_all_that_it_knows(directory: Path) -> None:
    queue = DiskQueue(directory)
    queue.push("a", 0, True, b"1")
    queue.close()
    seen = directory.parent / "requests.seen"
    seen.write_bytes(b"written by another queue, perhaps")
    assert forget_unqueued(directory.parent) == 0
    assert seen.stat().st_size == 33


def test_what_is_seen_after_the_file_was_closed_over_work_in_progress_is_forgotten(directory: Path) -> None:
    seen = directory.parent / "requests.seen"
    queue = DiskQueue(directory)
    queue.push("a", 0, True, b"1")
    assert queue.pop("a") is not None
    seen.write_bytes(b"1")
    queue.close()
    seen.write_bytes(b"1, and what its callback yielded too late")
    assert forget_unqueued(directory.parent) > 0
    assert seen.read_bytes() == b"1"


def test_where_there_is_no_file_nothing_is_made(tmp_path: Path) -> None:
    assert forget_unqueued(tmp_path / "job") == 0
    assert not list(tmp_path.iterdir())


def test_two_crawls_cannot_have_one_directory(queue: DiskQueue, directory: Path) -> None:
    with pytest.raises(ValueError, match=r"JOBDIR: '.*job' is used by another crawl.*give this one another directory"):
        DiskQueue(directory)
    with pytest.raises(ValueError, match="is used by another crawl"):
        forget_unqueued(directory.parent)


def test_a_file_of_a_newer_version_is_left_as_it_is(directory: Path) -> None:
    DiskQueue(directory).close()
    with sqlite3.connect(directory / "requests.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ValueError, match=r"version 99, written by a newer scrapy_polite"):
        DiskQueue(directory)
    with sqlite3.connect(directory / "requests.sqlite") as database:
        database.execute("PRAGMA user_version = 1")
    database.close()
    DiskQueue(directory).close()


def test_a_disk_that_is_full_hands_nothing_out_and_keeps_all_that_was_pushed(directory: Path) -> None:
    queue = DiskQueue(directory)
    queue.push("a", 0, True, b"out")
    out = queue.pop("a")
    assert out is not None
    queue.push("a", 0, True, b"before")
    pages = queue._db.execute("PRAGMA page_count").fetchone()[0]
    queue._db.execute(f"PRAGMA max_page_count = {pages}")
    queue.push("a", 0, True, b"x" * 1_000_000)
    queue.push("new", 0, True, b"of a new site")
    queue.done(out.number)
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            queue.commit()
        with pytest.raises(sqlite3.OperationalError):
            queue.pop("a")
        with pytest.raises(sqlite3.OperationalError):
            queue.peek("new")
    assert (len(queue), queue.waiting("a"), sorted(queue.sites())) == (3, 2, ["a", "new"])
    queue._db.execute("PRAGMA max_page_count = 1000000")
    queue.push("new", 0, True, b"after")
    queue.commit()
    assert (row := queue.pop("new")) is not None
    assert row.data == b"of a new site"
    queue.close()
    again = DiskQueue(directory)
    assert pop_all(again, "a") == [b"before", b"x" * 1_000_000]
    assert pop_all(again, "new") == [b"of a new site", b"after"]
    again.close()


def test_closing_on_a_full_disk_leaves_what_was_last_written(directory: Path) -> None:
    queue = DiskQueue(directory)
    queue.push("a", 0, True, b"parent")
    queue.commit()
    parent = queue.pop("a")
    assert parent is not None
    queue._db.execute(f"PRAGMA max_page_count = {queue._db.execute('PRAGMA page_count').fetchone()[0]}")
    queue.push("a", 0, True, b"x" * 1_000_000)
    queue.done(parent.number)
    with pytest.raises(sqlite3.OperationalError):
        queue.close()
    again = DiskQueue(directory)
    assert pop_all(again, "a") == [b"parent"]
    again.close()


def test_a_transaction_that_sqlite_has_taken_back_is_made_anew(directory: Path) -> None:
    queue = DiskQueue(directory)
    push_all(queue, ("a", 0, True, b"1"), ("b", 0, True, b"2"))
    queue._db.execute("ROLLBACK")  # As SQLite does by itself where the disk fails.
    row = queue.pop("a")
    assert row is not None
    assert row.data == b"1"
    queue._db.execute("ROLLBACK")
    queue.commit()
    queue.close()
    again = DiskQueue(directory)
    assert sorted(again.sites()) == ["a", "b"]
    again.close()


def test_a_hundred_thousand_sites_need_a_handful_of_files_and_are_there_again_at_once(directory: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    queue = DiskQueue(directory)
    for n in range(100_000):
        queue.push(f"site:{n}.example", 0, False, b'{"url":"https://%d.example/"}' % n)
        if n % 2_000 == 0:
            queue.commit()
    queue.commit()
    assert len(list(Path("/proc/self/fd").iterdir())) - before <= 6
    queue.close()
    again = DiskQueue(directory)
    assert len(again) == 100_000
    row = again.pop("site:99999.example")
    assert row is not None
    again.close()


operations = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.sampled_from("abc"), st.integers(-1, 1), st.booleans()),
        st.tuples(st.sampled_from(["pop", "done"]), st.sampled_from("abc"), st.just(0), st.just(True)),
        st.tuples(st.sampled_from(["commit", "reopen", "die"]), st.just("a"), st.just(0), st.just(True)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(operations=operations)
def test_the_file_is_what_a_plain_model_says(
    operations: list[tuple[str, str, int, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Against lists in memory, through clean and unclean ends."""
    directory = tmp_path_factory.mktemp("job") / "requests.queue"
    queue = DiskQueue(directory)
    rows: dict[int, tuple[str, tuple[int, int]]] = {}
    out: dict[int, int] = {}
    saved = dict(rows)
    for number, (what, site, place, fifo) in enumerate(operations):
        waiting = sorted((order, n) for n, (where, order) in rows.items() if where == site and n not in out)
        if what == "push":
            queue.push(site, place, fifo, str(number).encode())
            rows[number] = (site, (place, number if fifo else -number))
        elif what == "pop":
            row = queue.pop(site)
            assert (row is None) == (not waiting)
            if row is not None:
                assert int(row.data) == waiting[0][1]
                out[waiting[0][1]] = row.number
        elif what == "done" and out:
            first = next(iter(out))
            queue.done(out.pop(first))
            del rows[first]
        elif what == "commit":
            queue.commit()
            saved = dict(rows)
        elif what in ("reopen", "die"):
            if what == "die":
                queue._changes.clear()  # Without a commit.
                queue._db.rollback()
                queue._db.close()
                os.close(queue._lock)
                rows = dict(saved)
            else:
                queue.close()
            queue, out, saved = DiskQueue(directory), {}, dict(rows)
        assert len(queue) == len(rows) - len(out)
    queue.close()


# -- requests as JSON


class ASpider(scrapy.Spider):
    name = "a"

    def on_error(self, failure: Any) -> None:
        pass


class AnItem(scrapy.Item):
    name = scrapy.Field()


@dataclass
class ADataclass:
    price: Decimal
    parts: tuple[int, ...] = ()


def there_and_back(request: scrapy.Request, spider: scrapy.Spider | None = None) -> scrapy.Request:
    return requestjson.read(requestjson.write(request, spider), spider)


def same(one: scrapy.Request, other: scrapy.Request) -> None:
    assert type(one) is type(other)
    assert one.to_dict() == other.to_dict()


@pytest.mark.parametrize(
    "request_",
    [
        scrapy.Request("https://a.example/"),
        scrapy.Request("https://a.example/", method="POST", body=b"\x00\xff", headers={"X": [b"\xe9", "y"]}, priority=-3),
        scrapy.Request("https://a.example/?q=%C3%A9#f", cookies=[{"name": "a", "value": "b"}], flags=["f"], dont_filter=True),
        FormRequest("https://a.example/", formdata={"a": ["1", "2"]}),
        JsonRequest("https://a.example/", data={"a": 1}, dumps_kwargs={"indent": 1}),
    ],
)
def test_a_request_comes_back_as_it_was(request_: scrapy.Request) -> None:
    same(there_and_back(request_), request_)


def test_callbacks_are_methods_of_the_spider() -> None:
    spider = ASpider()
    found = there_and_back(scrapy.Request("https://a.example/", callback=spider.parse, errback=spider.on_error), spider)
    assert found.callback == spider.parse
    assert found.errback == spider.on_error


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.just(timezone.utc) | st.none())
    | st.timedeltas()
    | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(["!", "!bytes", "!dict"]), inner)
        | st.dictionaries(st.integers() | st.tuples(st.text(), st.integers()) | st.binary(), inner)
        | st.sets(st.integers() | st.text())
        | st.frozensets(st.binary())
    ),
    max_leaves=12,
)


def typed(value: object) -> object:
    """Equality in Python takes 1 for True and for 1.0."""
    if isinstance(value, dict):
        return {(type(key), key): typed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [typed(each) for each in value]
    return type(value), value


@settings(deadline=None, max_examples=300)
@given(meta=st.dictionaries(st.text(), values, max_size=4), cb_kwargs=st.dictionaries(st.text(), values, max_size=2))
def test_whatever_meta_holds_comes_back_as_it_was(meta: dict[str, object], cb_kwargs: dict[str, object]) -> None:
    found = there_and_back(scrapy.Request("https://a.example/", meta=meta, cb_kwargs=cb_kwargs))
    assert typed(found.meta) == typed(meta)
    assert typed(found.cb_kwargs) == typed(cb_kwargs)


@pytest.mark.parametrize("value", [AnItem(name="n"), ADataclass(Decimal("1.50"), (1, 2)), [AnItem()]])
def test_items_come_back(value: object) -> None:
    assert there_and_back(scrapy.Request("https://a.example/", meta={"item": value})).meta["item"] == value


def endless() -> list[object]:
    found: list[object] = []
    found.append(found)
    return found


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "make",
    [
        object,
        lambda: print,
        lambda: Text("a"),
        endless,
        lambda: {1: object()},
        lambda: type("Local", (AnItem,), {})(),
        lambda: 1j,
    ],
)
def test_what_would_not_come_back_as_it_was_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        requestjson.write(scrapy.Request("https://a.example/", meta={"odd": make()}), None)


def test_nothing_but_a_class_of_items_is_called_by_what_is_read() -> None:
    for path in ("os.getcwd", "subprocess.Popen", "logging.root"):
        written = json.dumps({"url": "https://a.example/", "meta": {"item": {"!item": [path, {}]}}})
        with pytest.raises(ValueError, match=r"is no class of items"):
            requestjson.read(written.encode(), None)


class Moody(scrapy.Request):
    def to_dict(self, *, spider: scrapy.Spider | None = None) -> dict[str, object]:
        raise AttributeError("a class of the project's")


def test_a_class_that_breaks_is_refused() -> None:
    with pytest.raises(ValueError, match="a class of the project's"):
        requestjson.write(Moody("https://a.example/"), None)


def test_a_callback_that_is_no_method_of_the_spider_is_refused() -> None:
    with pytest.raises(ValueError, match="not an instance method"):
        requestjson.write(scrapy.Request("https://a.example/", callback=lambda response: None), ASpider())


def test_an_ordinary_request_is_short() -> None:
    written = requestjson.write(scrapy.Request("https://a.example/", meta={"depth": 1}), None)
    assert written == b'{"url":"https://a.example/","meta":{"depth":1}}'


def test_dates_keep_their_kind() -> None:
    meta = {
        "date": date(2026, 1, 2),
        "time": datetime(2026, 1, 2, tzinfo=timezone.utc),
        "span": timedelta(days=-1, microseconds=3),
    }
    assert there_and_back(scrapy.Request("https://a.example/", meta=meta)).meta == meta
