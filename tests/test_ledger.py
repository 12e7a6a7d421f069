"""The record of what was booked and sent."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.limits.plan import Charge
from scrapy_polite.stores.memory import monotonic_micros
from scrapy_polite.telemetry.ledger import KEPT, Event, HeldEvent, Ledger, Merged, Missed, Refunded, Sent

if TYPE_CHECKING:
    from pathlib import Path

CHARGES = (
    Charge("site:a.test", 2, 1.0, least=2.5),
    Charge("bucket:s3/x", 2, 50.0, 100.0),
    Charge("origin:o", 2, 1.8, 1.6, refundable=True),
    Charge("origin:p", 2, 1.8, 1.6, refundable=True, pace=2.5),
    Charge("origin:q", 2, 2.0, pace=1.01),
)


def sent(at: int, url: str = "https://a.test/é?q=1") -> Sent:
    return Sent(at, at - 10, 50_000, "site:a.test", "page", url, CHARGES)


EVENTS: list[Event] = [
    sent(1_000),
    Missed(2_000, 1_500, "site:a.test"),
    HeldEvent(3_000, "site:a.test", 5_003_000, "rate_limited", "429, Retry-After: 5"),
    sent(6_000_000),
    Refunded(6_030_000, "origin:o", 5_999_990, 2),
    Merged(7_000_000, "origin:o", "origin:p"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def write(path: Path | None, events: list[Event], run: str = "one") -> Ledger:
    ledger = Ledger(path, run)
    for event in events:
        ledger.record(event)
    ledger.close()
    return ledger


def test_what_is_recorded_is_read_back_in_time_order(path: Path) -> None:
    ledger = write(path, EVENTS[::-1])
    assert list(Ledger.read(path)) == EVENTS
    assert ledger.lost == 0


def test_events_of_one_time_stay_in_the_order_of_their_recording(path: Path) -> None:
    events: list[Event] = [sent(1_000, f"https://a.test/{number}") for number in range(20)]
    write(path, events)
    assert list(Ledger.read(path)) == events


def test_without_a_file_it_is_kept_in_memory() -> None:
    ledger = write(None, EVENTS[::-1])
    assert list(ledger.events()) == EVENTS
    ledger.flush()


def test_flush_has_it_in_the_file_while_the_ledger_stays_open(path: Path) -> None:
    ledger = Ledger(path, "one")
    ledger.flush()
    for event in EVENTS:
        ledger.record(event)
        ledger.flush()
        assert list(Ledger.read(path))[-1] == event
    assert list(ledger.events()) == EVENTS
    ledger.close()
    ledger.close()
    ledger.flush()
    assert list(ledger.events()) == EVENTS


def test_what_comes_after_closing_is_counted_as_lost(path: Path) -> None:
    ledger = write(path, EVENTS)
    ledger.record(EVENTS[0])
    assert ledger.lost == 1
    assert list(Ledger.read(path)) == EVENTS


def test_runs_add_up_and_one_can_be_read_alone(path: Path) -> None:
    write(path, EVENTS[:2], "one")
    write(path, EVENTS[2:], "two")
    assert list(Ledger.read(path)) == EVENTS
    assert list(Ledger.read(path, run="two")) == EVENTS[2:]
    assert list(Ledger.read(path, run="three")) == []


def test_only_what_happened_since_a_wall_time(path: Path) -> None:
    now = monotonic_micros()
    old, new = sent(now - 3_600_000_000), sent(now)
    write(path, [old, new])
    assert list(Ledger.read(path, since_wall=time.time() - 600)) == [new]
    assert list(Ledger.read(path, since_wall=time.time() - 7_200)) == [old, new]
    assert list(Ledger.read(path, since_wall=time.time() + 600)) == []


def test_what_is_read_together_is_of_one_boot(path: Path) -> None:
    write(path, EVENTS[:2], "one")
    change(path, "UPDATE run SET boot = 'an earlier boot', started = started - 10")
    write(path, EVENTS[2:], "two")
    assert list(Ledger.read(path)) == EVENTS[2:]
    assert list(Ledger.read(path, run="one")) == EVENTS[:2]


def test_old_runs_leave_the_file(path: Path) -> None:
    write(path, EVENTS[:2], "one")
    change(path, f"UPDATE run SET started = started - {KEPT + 1}")
    write(path, EVENTS[2:], "two")
    assert list(Ledger.read(path, run="one")) == []
    assert list(Ledger.read(path)) == EVENTS[2:]


def test_several_processes_append_to_one_file(path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-W", "error", "-c", APPEND, str(path), str(number)]) for number in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    events = list(Ledger.read(path))
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert len({event.at for event in events}) == len(events) == 300


APPEND = """
import sys
from pathlib import Path
from scrapy_polite.telemetry.ledger import Ledger, Missed
number = int(sys.argv[2])
ledger = Ledger(Path(sys.argv[1]), f"run {number}")
for at in range(100):
    ledger.record(Missed(at * 3 + number, 0, "site:a"))
    if at % 10 == 0:
        ledger.flush()
ledger.close()
sys.exit(ledger.lost)
"""


def test_threads_may_record_at_once(path: Path) -> None:
    ledger = Ledger(path, "one")
    threads = [threading.Thread(target=lambda: [ledger.record(event) for event in EVENTS * 25]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()
    assert sum(1 for _ in Ledger.read(path)) == 100 * len(EVENTS)


def test_a_disk_that_fails_is_said_once_and_counted_and_the_crawl_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "missing" / "ledger.sqlite"
    ledger = Ledger(path, "one")
    for event in EVENTS:
        ledger.record(event)
        ledger.flush()
    assert ledger.lost == len(EVENTS)
    path.parent.mkdir()
    ledger.record(EVENTS[0])
    ledger.close()
    assert list(Ledger.read(path)) == EVENTS[:1]
    said = [record for record in caplog.records if record.name == "scrapy_polite.telemetry.ledger"]
    assert [record.levelno for record in said] == [logging.ERROR, logging.WARNING]
    assert str(path) in said[0].getMessage()
    assert f"{len(EVENTS)} events" in said[1].getMessage()


@pytest.mark.parametrize("content", [b"dear diary, " * 500, None], ids=["no database", "another program's"])
def test_a_file_that_is_not_a_ledger_is_left_as_it_is(path: Path, content: bytes | None) -> None:
    if content is None:
        change(path, "CREATE TABLE diary (page TEXT)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    assert write(path, EVENTS).lost == len(EVENTS)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match=r"no ledger at .*ledger\.sqlite"):
        Ledger.read(path)


def test_a_file_of_a_newer_version_is_left_as_it_is(path: Path) -> None:
    write(path, EVENTS)
    change(path, "PRAGMA user_version = 3")
    before = path.read_bytes()
    assert write(path, EVENTS).lost == len(EVENTS)
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="version is 3, and this scrapy_polite knows 2"):
        Ledger.read(path)


def test_a_file_that_is_not_there_is_named_and_not_made(path: Path) -> None:
    with pytest.raises(ValueError, match=r"no ledger at .*ledger\.sqlite: crawl first"):
        Ledger.read(path)
    assert not path.exists()


def change(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    try:
        db.execute(statement)
        db.commit()
    finally:
        db.close()


def test_a_ledger_of_the_first_version_is_read_and_written_on(path: Path) -> None:
    old = Sent(1_000, 990, 50_000, "site:a.test", "page", "https://a.test/", (Charge("origin:o", 2, 1.8),))
    write(path, [old])
    change(path, "PRAGMA user_version = 1")
    assert list(Ledger.read(path)) == [old]
    write(path, EVENTS[-2:])
    assert list(Ledger.read(path)) == [old, *EVENTS[-2:]]
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    db.close()
    (body,) = {body for body in bodies(path) if body.startswith('["sent"')}
    assert body.endswith('[["origin:o", 2, 1.8, 0.0, 0.0]]]'), "as the first version wrote it"


def bodies(path: Path) -> list[str]:
    with sqlite3.connect(path) as db:
        found = [body for (body,) in db.execute("SELECT body FROM event")]
    db.close()
    return found
