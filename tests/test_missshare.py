"""The share of misses, for people."""

from __future__ import annotations

import pytest

from scrapy_polite.origins.missshare import MissShares


def test_the_first_answers_count_as_many_as_there_are() -> None:
    shares = MissShares()
    assert shares.of("edge:bunny/a") is None
    shares.heard("edge:bunny/a", hit=False)
    assert shares.of("edge:bunny/a") == 1
    for _ in range(3):
        shares.heard("edge:bunny/a", hit=True)
    assert shares.of("edge:bunny/a") == pytest.approx(0.25)


def test_later_ones_forget_the_old_slowly() -> None:
    shares = MissShares()
    for _ in range(200):
        shares.heard("edge:bunny/a", hit=True)
    shares.heard("edge:bunny/a", hit=False)
    assert shares.of("edge:bunny/a") == pytest.approx(0.05)
    for _ in range(100):
        shares.heard("edge:bunny/a", hit=False)
    assert shares.of("edge:bunny/a") == pytest.approx(1, abs=0.01)


def test_no_more_keys_are_remembered_than_were_asked_for() -> None:
    shares = MissShares(most=2)
    for name in "abac":
        shares.heard(name, hit=True)
    assert [shares.of(name) for name in "abc"] == [0, None, 0]
