"""The law of pace on model servers, in virtual time, beside no law, stock Scrapy and AutoThrottle.

    python -m benchmarks.pace [--short] [--json FILE] [--seeds 3]
    python -m benchmarks.pace --real [--short] [--json FILE] [--picture FILE.svg]

With --real: real crawls of the town's server with a knee, over HTTP on loopback, one after the other. Else:

Ours is the package's own law, limiter, runs of failures, rungs and spread, on a clock that jumps from event to event. Stock
Scrapy has 8 requests in flight a site and 16 in all; AutoThrottle has its own formula. All have more to ask than they may.

kept      requests that were served, of the best constant rate (under 0.1 % refused, and latency at most doubled by the
          load); on a server that is not busy, of the rate that was set. The mean of all seeds, and the worst of them
swing     half of the way from the 5th to the 95th percentile of the rate in 10 s (or 20 latencies, if that is longer),
          over its mean, after settling
halved    seconds from the start of a trouble until the pace was twice what it had been
back      seconds from its end until the rate was at 90 % of what it had been
refused   answers of 429 and 503, of all seeds in the mean
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks import pacecases as cases
from benchmarks import pacereal as real
from benchmarks.modelcrawlers import Scrapy, Trace
from benchmarks.pacepicture import picture
from benchmarks.reporting import Aim, Report, arguments

if TYPE_CHECKING:
    import argparse

    from benchmarks.pacecases import Case, Course

SITES = 10
"""On the origin, for stock Scrapy and AutoThrottle: with one site they never have more in flight than fits into a queue."""
WAITING = (0, 4, 8, 12, 20, 40)
FACTORS = (1.5, 2, 3, 4, 8)


def number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def percent(value: float) -> str:
    return f"{value:.0%}"


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.short: bool = options.short
        self.seeds = range(1, 1 + (1 if options.short else options.seeds))
        self.report = Report("pace", options)
        self.results: dict[str, Any] = {}
        self.aims: list[Aim] = []
        self.drawn = ""
        """The picture of the real crawls."""

    def table(self, name: str, headers: list[str], rows: list[list[str]]) -> None:
        self.report.table(headers, rows)
        self.results[name] = {"headers": headers, "rows": rows}

    def aim(self, aim: str, wanted: str, measured: str, met: bool) -> None:
        self.aims.append(Aim(aim, wanted, measured, met))

    def few(self, found: list[Case], short: int) -> list[Case]:
        return found[:short] if self.short else found

    # ------------------------------------------------------------------------------------------------------ real crawls

    def real(self) -> None:
        rows = []
        for trial in (real.SHORT,) if self.short else (real.UNKNOWN, real.SPELL):
            found = {crawl: real.measure(crawl, trial) for crawl in real.CRAWLS}
            rows += [_row_of(one) for one in found.values()]
            self.real_aims(found)
            if trial.spell is not None:
                self.drawn = picture(found)
        if not self.short:
            found = {crawl: real.measure(crawl, real.SLOW) for crawl in (real.OURS, real.BARE)}
            rows += [_row_of(one) for one in found.values()]
            kept = found[real.OURS].served() / found[real.BARE].served()
            self.aim(f"served, of what is served without a pace: {real.SLOW.name}", "95 %", percent(kept), kept >= 0.95)
        headers = ["a real server", "crawled by", "served", "503", "worst second", "served/s then", "swing", "halved", "back"]
        self.table("real", headers, rows)
        self.first_contact()

    def real_aims(self, found: dict[str, real.Outcome]) -> None:
        ours = found[real.OURS]
        trial, least = ours.trial, min(len(found[crawl].refused) for crawl in (real.STOCK, real.AUTOTHROTTLE))
        refused = len(ours.refused)
        self.aim(f"503s: {trial.name}", "a tenth of the others' fewest", f"{refused} of {least}", refused <= least / 10)
        self.aim(f"kept after settling: {trial.name}", "95 %", percent(ours.kept), ours.kept >= 0.95)
        self.aim(f"swing after settling: {trial.name}", "20 %", percent(ours.swing), ours.swing <= 0.2)
        if trial.spell is not None:
            first = next((at - trial.spell.since for at in ours.refused if at >= trial.spell.since), None)
            halved, back = ours.halved, ours.back
            in_time = halved is not None and (first is None or halved < first)
            said = f"after {number(halved, 1)} s; first 503 {'never' if first is None else f'after {first:.1f} s'}"
            self.aim(f"at half before the first 503: {trial.name}", "yes", said, in_time)
            self.aim(f"back to 90 %: {trial.name}", "60 s", f"{number(back, 1)} s", back is not None and back <= 60)

    def first_contact(self) -> None:
        rows = []
        for broad in real.BROAD[: 1 if self.short else None]:
            with_it, without = real.first_contact(broad, paced=True), real.first_contact(broad, paced=False)
            rows.append([broad.name, number(without, 1), number(with_it, 1), f"{with_it / without:.2f}"])
        self.table("first_contact", [f"{len(real.ADDRESSES)} unknown servers", "s without", "s", "times"], rows)

    # --------------------------------------------------------------------------------------------------- after settling

    def asked_for_more(self) -> None:
        rows = []
        for case in self.few(cases.ASKED_FOR_MORE, 1):
            best = cases.sustainable(case, 300 if self.short else 900)
            bare = [case.ours(seed, paced=False) for seed in self.seeds]
            ours = [case.ours(seed) for seed in self.seeds]
            shares = [cases.served(trace, case.settled, case.seconds) / best for trace in ours]
            kept = mean(shares)
            swing = mean(cases.swing(trace, case.settled, case.seconds, case.window) for trace in ours)
            none, some = mean(map(cases.refused, bare)), mean(map(cases.refused, ours))
            row = [case.name, number(case.rate), number(best, 1), number(none), number(some)]
            rows.append([*row, percent(kept), percent(min(shares)), percent(swing)])
            if "log-normal" not in case.name and "visitors" not in case.name:
                self.aim(f"kept: {case.name}", "95 %", percent(kept), kept >= 0.95)
                self.aim(f"swing: {case.name}", "20 %", percent(swing), swing <= 0.2)
                self.aim(f"refused: {case.name}", "0", number(some), some == 0)
        headers = ["asked for more than it can", "asked/s", "best/s", "refused without", "refused", "kept", "worst", "swing"]
        self.table("asked_for_more", headers, rows)

    def not_busy(self) -> None:
        rows = []
        for case in self.few([*cases.NOT_BUSY, cases.KINDS], 1):
            ours = [case.ours(seed) for seed in self.seeds]
            kept = mean(cases.served(trace, case.settled, case.seconds) for trace in ours) / case.rate
            rows.append([case.name, number(case.rate, 1), percent(kept)])
            self.aim(f"kept: {case.name}", "93 %", percent(kept), kept >= 0.93)
        self.table("not_busy", ["not loaded by what is asked of it", "asked/s", "kept"], rows)

    # ---------------------------------------------------------------------------------------------------------- trouble

    def courses(self, case: Case) -> list[Course]:
        return [cases.course(case, case.ours(seed)) for seed in self.seeds]

    def troubles(self) -> None:
        rows = []
        quarter = [cases.half_busy(20, 4, errors, until=420) for errors in (0.0, 0.05, 0.15)]
        named = {f"{part:.0%} random 500s: {case.name}": case for part, case in zip((0, 0.05, 0.15), quarter, strict=True)}
        named |= {case.name: case for case in self.few([cases.SMALL, cases.LOST, cases.half_busy(20), cases.STALL], 1)}
        for name, case in named.items():
            found = self.courses(case)
            bare = mean(cases.refused(case.ours(seed, paced=False)) for seed in self.seeds)
            back = [one.back for one in found]
            worst = max(seconds for seconds in back if seconds is not None) if None not in back else None
            halved = [one.halved for one in found if one.halved is not None]
            rows.append(
                [
                    name,
                    number(max(halved), 1) if len(halved) == len(found) else "-",
                    number(mean(one.before_halved for one in found), 1),
                    number(bare),
                    number(mean(one.refused for one in found), 1),
                    number(worst),
                ]
            )
            if "random" in name:
                self.aim(f"back to 90 %, worst: {name}", "120 s", f"{number(worst)} s", worst is not None and worst <= 120)
            elif case is not cases.STALL:
                in_time = sum(one.in_time for one in found)
                self.aim(f"halved before a refusal: {name}", f"{len(found)}", f"{in_time}", in_time == len(found))
        headers = ["80 % busy, then", "halved, worst", "refused before", "refused without", "refused", "back, worst"]
        self.table("troubles", headers, rows)

    def grid(self) -> None:
        """How many waiting places it takes to see it coming."""
        rows = []
        for waiting in WAITING if not self.short else (8, 20):
            row = [str(waiting)]
            for factor in FACTORS if not self.short else (2,):
                case = cases.half_busy(waiting, factor)
                found = self.courses(case)
                in_time = sum(one.in_time for one in found)
                row.append(f"{in_time}/{len(found)}, {number(mean(one.refused for one in found))}")
            rows.append(row)
        factors = [f"{factor:g} times slower" for factor in (FACTORS if not self.short else (2,))]
        self.table("grid", ["4 workers; may wait", *factors], rows)

    # ---------------------------------------------------------------------------------------------------- beside Scrapy

    def beside_scrapy(self) -> None:
        rows = []
        for case in [cases.SMALL] if self.short else cases.BESIDE_SCRAPY:
            others = {
                (sites, throttled): Scrapy(case.make(1), sites, throttled=throttled).crawl(case.seconds)
                for sites in (1, SITES)
                for throttled in (False, True)
            }
            ours = [case.ours(seed) for seed in self.seeds]
            holding = [case.ours(seed, holds=True) for seed in self.seeds]
            of_all = [*([trace] for trace in others.values()), ours, holding]
            rows.append([case.name, *(_refused_and_served(traces, case) for traces in of_all)])
            stock, throttled = (cases.refused(others[SITES, auto]) for auto in (False, True))
            for what, traces in (("", ours), (" with holds", holding)):
                some = mean(map(cases.refused, traces))
                if throttled and (what or case is cases.SMALL):
                    share = max(some / throttled, some / stock)
                    self.aim(f"refused{what}, of the lesser of Scrapy's: {case.name}", "10 %", f"{share:.1%}", share <= 0.1)
        headers = ["refused, served/s", "stock, 1 site", "AutoThrottle, 1", f"stock, {SITES}", f"AutoThrottle, {SITES}"]
        self.table("beside_scrapy", [*headers, "ours", "ours with holds"], rows)

    def refusing(self) -> None:
        rows = []
        for case in self.few(cases.REFUSING, 1):
            row = [case.name]
            for holds, walls in ((False, False), (True, False), (True, True)):
                traces = [case.ours(seed, holds=holds, walls=walls) for seed in self.seeds]
                row.append(_refused_and_served(traces, case, 2))
                some, rate = mean(map(cases.refused, traces)), mean(cases.served(trace, 0, case.seconds) for trace in traces)
                if walls and case.name.startswith("a limiter"):
                    self.aim("limiter of 5/s, 2 h: refused", "8", number(some, 1), some <= 8)
                    self.aim("limiter of 5/s, 2 h: served/s", "2.5", number(rate, 2), rate >= 2.5)
            rows.append(row)
        headers = ["two hours; refused, served/s", "the law alone", "with holds, not told to it", "with holds"]
        self.table("refusing", headers, rows)

    # ------------------------------------------------------------------------------------------------------- the others

    def others(self) -> None:
        case = cases.SEARCH_SLOW
        rows = []
        for name, paced in (("without", False), ("ours", True)):
            traces = [case.ours(seed, paced=paced) for seed in self.seeds]
            rows.append(
                [
                    f"searches 6 times slower, {name}",
                    number(mean(map(cases.refused, traces))),
                    *(number(mean(_of_kind(trace, kind, 660, 1_200) for trace in traces), 1) for kind in ("page", "search")),
                ]
            )
        self.table("kinds", ["two kinds on one origin", "refused", "pages/s", "searches/s"], rows)
        pool = cases.ASKED_FOR_MORE[0]
        late = [pool.ours(seed, late=1.0) for seed in self.seeds]
        some, swing = mean(map(cases.refused, late)), mean(cases.swing(trace, pool.settled, pool.seconds) for trace in late)
        self.aim("refused when observations come up to 1 s late", "5", number(some, 1), some <= 5)
        self.aim("swing when observations come up to 1 s late", "20 %", percent(swing), swing <= 0.2)
        resting = mean(cases.refused(cases.RESTING.ours(seed)) for seed in self.seeds)
        self.aim(f"refused: {cases.RESTING.name}", "0", number(resting, 1), resting == 0)


def _refused_and_served(traces: list[Trace], case: Case, digits: int = 1) -> str:
    some, rate = mean(map(cases.refused, traces)), mean(cases.served(trace, 0, case.seconds) for trace in traces)
    return f"{number(some)}, {number(rate, digits)}"


def _of_kind(trace: Trace, kind: str, since: float, until: float) -> float:
    asked = zip(trace.sent, trace.kinds, strict=True)
    return sum(one == kind and since <= at < until for (at, _), one in asked) / (until - since)


def _row_of(one: real.Outcome) -> list[str]:
    trial, refused = one.trial, len(one.refused)
    row = [trial.name, one.crawl, number(one.served()), number(refused), number(one.worst), number(one.rate, 1)]
    return [*row, percent(one.swing), number(one.halved, 1), number(one.back, 1)]


def run(options: argparse.Namespace) -> Bench:
    bench = Bench(options)
    if options.real:
        bench.real()
        if options.picture is not None:
            options.picture.write_text(bench.drawn, encoding="utf-8")
        return bench
    bench.asked_for_more()
    bench.not_busy()
    bench.troubles()
    bench.grid()
    bench.beside_scrapy()
    bench.refusing()
    if not bench.short:
        bench.others()
    return bench


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how often each is run, with other chances")
    parser.add_argument("--real", action="store_true", help="real crawls of a real server instead: a quarter of an hour")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw what the real crawls did, as SVG")
    options = parser.parse_args()
    if options.picture is not None and not options.real:
        parser.error("--picture is of real crawls: add --real")
    bench = run(options)
    bench.report.finish(bench.results, bench.aims)
    return 0


if __name__ == "__main__":
    sys.exit(main())
