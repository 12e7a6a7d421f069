"""A quota of which something is left is used up evenly, until its window ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopback import FETCH, Answer, Server, crawl, limits, ports

if TYPE_CHECKING:
    from pathlib import Path


def gaps(tmp_path: Path, count: int, told: dict[int, str], rate: float = 2.0, **settings: object) -> list[float]:
    """Seconds between requests, where the answers by number tell of a quota."""
    with Server(lambda _: Answer(headers={"RateLimit": told.get(len(server.arrivals), "")})) as server:
        done = crawl(FETCH.format(count=count, url=server.url), tmp_path, **limits(rate), **ports(server), **settings)
        assert len(done.urls()) == count, done.log
        return server.gaps()


def test_requests_keep_the_distance_at_which_what_is_left_lasts_until_the_window_ends(tmp_path: Path) -> None:
    found = gaps(tmp_path, 9, {1: '"a";r=3;t=6', 2: '"a";r=2;t=4', 3: '"a";r=1;t=2'})
    # Those that were planned when it was told, or when it ended, may be on their way.
    assert 2 <= sum(gap >= 1.9 for gap in found) <= 5
    assert max(found[-2:]) < 1.9


def test_a_quota_that_allows_more_than_the_rate_makes_nothing_faster_or_slower(tmp_path: Path) -> None:
    found = gaps(tmp_path, 5, dict.fromkeys(range(1, 6), '"a";r=500;t=30'), rate=4.0)
    assert min(found) >= 0.25 - 0.1
    assert sum(found) < 4 * 0.25 + 2


def test_a_distance_is_bound_as_every_delay_that_a_server_asks_for(tmp_path: Path) -> None:
    found = gaps(tmp_path, 6, {1: '"a";r=1;t=3600'}, POLITE_MAX_CRAWL_DELAY=1)
    assert max(found) < 3
    assert min(found[-2:]) > 0.9
