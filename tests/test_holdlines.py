"""What the log says of holds, each once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.holdlines import HoldLines
from scrapy_polite.stores.base import Cause

if TYPE_CHECKING:
    from collections.abc import Callable

SITE = "site:a.example"
DENIED = Cause("denied", "403")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, str]]]:
    caplog.set_level(logging.INFO)
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records]


def test_a_hold_says_for_how_long_why_and_where_it_stands(said: Callable[[], list[tuple[str, str]]]) -> None:
    HoldLines().began(SITE, 133, Cause("error", "503"), "2nd in a row; parked at the 10th")
    assert said() == [("INFO", f"Hold: {SITE} for 2 min 13 s (error: 503; 2nd in a row; parked at the 10th)")]


def test_a_site_that_is_parked_is_a_warning_with_the_command_that_ends_it(said: Callable[[], list[tuple[str, str]]]) -> None:
    HoldLines().parked(SITE, 604_800, Cause("parked", "10 refusals with no good answer between, the last: 503"))
    HoldLines().parked(SITE, 604_800, Cause("parked", "10 refusals", stated=True))
    assert [level for level, _ in said()] == ["WARNING"] * 2
    assert said()[0][1] == (
        f"Parked: {SITE} for 7 d: 10 refusals with no good answer between, the last: 503. "
        f"`scrapy polite release {SITE}` lets it go on sooner"
    )
    assert f"release {SITE} --force`" in said()[1][1]


def test_a_hold_of_others_is_said_once_until_it_is_longer_another_or_over(said: Callable[[], list[tuple[str, str]]]) -> None:
    clock = Clock()
    lines = HoldLines(clock)
    parked = Cause("parked", "by ann: ticket 12")
    for left in (240.0, 239.0, 100.0, 0.5):
        clock.now = 340 - left
        lines.met(SITE, left, parked)
    assert said() == [("INFO", f"Already held: {SITE} for 4 min more (parked: by ann: ticket 12)")]
    clock.now = 340
    lines.met(SITE, 60, parked)
    lines.met(SITE, 60, DENIED)
    lines.ended(SITE)
    lines.met(SITE, 60, DENIED)
    assert len(said()) == 4


def test_what_this_process_has_begun_is_not_said_again(said: Callable[[], list[tuple[str, str]]]) -> None:
    clock = Clock()
    lines = HoldLines(clock)
    lines.began(SITE, 60, DENIED)
    lines.know("origin:a", 60, DENIED)
    clock.now += 10
    lines.met(SITE, 50.9, DENIED)
    lines.met("origin:a", 50.9, DENIED)
    assert len(said()) == 1
