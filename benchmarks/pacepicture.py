"""The picture of real crawls of a server with a knee: how often each asks, how long answers take, and what is refused."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks import pacereal as real
from benchmarks.curves import Curve, Panel, Strip, drawing

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOKS = {real.OURS: "ours", real.AUTOTHROTTLE: "theirs", real.STOCK: "others"}
WINDOW = 3.0
"""Seconds over which a rate is drawn, and a latency."""
MOST = 25.0
"""Requests a second: who asks for more is not drawn there."""


def picture(found: Mapping[str, real.Outcome]) -> str:
    """Of the crawls of one server that has a spell."""
    ours = found[real.OURS]
    trial = ours.trial
    assert trial.spell is not None
    can = trial.workers / trial.work
    since, until, factor = trial.spell
    counts = "; ".join(f"{crawl} {len(one.refused):,}" for crawl, one in found.items())
    drawn = [crawl for crawl in LOOKS if crawl in found]
    asked = {crawl: found[crawl].asked(WINDOW, 0, trial.seconds) for crawl in drawn}
    # What is drawn last is on top.
    on_top = drawn[::-1]
    return drawing(
        title="Requests, latency and refusals of three crawls of a server that becomes slow",
        about=(
            f"A server that can serve {can:g} pages a second, and {can / factor:g} from second {since:g} to second {until:g}. "
            f"scrapy_polite may ask it for {trial.rate:g} a second. When the server becomes slow it asks for half as much "
            f"{ours.halved or 0:.1f} seconds later, and for 90 % again {ours.back or 0:.1f} seconds after the end. "
            f"Refused: {counts}."
        ),
        panels=[
            Panel(
                "pages asked for, a second",
                [Curve(crawl, LOOKS[crawl], _middles(asked[crawl])) for crawl in on_top if _fits(asked[crawl])],
                MOST,
                [(0, can), (since, can / factor), (until, can)],
                "what the server can serve",
                "; ".join(f"{crawl}: {_usual(asked[crawl]):.0f}, beyond the top" for crawl in drawn if not _fits(asked[crawl])),
            ),
            Panel(
                "seconds to an answer (median)",
                [Curve(crawl, LOOKS[crawl], found[crawl].latencies(WINDOW)) for crawl in on_top],
            ),
        ],
        strips=[
            Strip(f"{crawl}: {len(one.refused):,} refused", LOOKS[crawl], sorted({int(at) for at in one.refused}))
            for crawl, one in ((crawl, found[crawl]) for crawl in drawn)
        ],
        strips_title="seconds in which a page was refused (503)",
        seconds=trial.seconds,
        marked=(since, until, f"{factor:g} times slower"),
    )


def _middles(rates: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(end - WINDOW / 2, rate) for end, rate in rates]


def _usual(rates: list[tuple[float, float]]) -> float:
    return median(rate for _, rate in rates)


def _fits(rates: list[tuple[float, float]]) -> bool:
    """Whether most of a curve is within the picture."""
    return _usual(rates) <= MOST
