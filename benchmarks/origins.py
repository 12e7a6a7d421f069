"""How well hosts are told apart and put together: the judge of origins and simple keys, on made-up webs with a known truth.

    python -m benchmarks.origins [--short] [--json FILE] [--seeds 301 302 303] [--scale 1] [--sites 10000 100000] [--rows N]

The worlds (benchmarks/worlds) are seeded. Rules and constants of the judge were fixed while only seeds 1 to 4 were looked at;
what is reported are others. All figures are over all pairs of hosts of a world.

P, R, F1     of the pairs that were put together, the share that share servers; of those that share servers, the share put
             together; their harmonic mean
B3 P, R      the same for a host and its group, as a mean over hosts (B-cubed): large groups count no more than small ones
kinds P, R   as a mean over kinds of sites; of a kind are the pairs of its sites with any other site
biggest      hosts of the largest group
known        the one CDN that no table knows was confirmed by the operator (its addresses are rows of the table)
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections import defaultdict
from dataclasses import asdict
from ipaddress import ip_network
from statistics import fmean, median
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.evidencerows import stored
from benchmarks.judging import Bench, evidence_of, judged, pointings
from benchmarks.partitions import KindScore, Score, baselines, same, score
from benchmarks.reporting import Aim, Report, arguments
from benchmarks.worlds import World, make
from scrapy_polite.origins.anchors import Pointing, pointing
from scrapy_polite.origins.edges import KNOWN, EdgeTable, Entry, OwnEdges, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

TUNED_ON = (1, 2, 3, 4)
REPORTED = (301, 302, 303)
BATCH = 100

PRECISION, RECALL, PLACING_US = 0.99, 0.95, 50.0


def confirmed(world: World) -> EdgeTable:
    """The table with a row of the operator's for the CDN that it does not know."""
    row = Row("regiocdn", "RegioCDN", "cdn", "shared", "the operator", "2027-01")
    return KNOWN.with_rows(OwnEdges(tuple(Entry(row, None, ip_network(address)) for address in world.unknown_edge)))


def compared(world: World) -> dict[str, Score]:
    """The score of each key on one world: simple keys, the judge as it comes, and the judge with all edges known."""
    table = confirmed(world)
    scores = {name: score(world.sites, keys(world.sites)) for name, keys in baselines(table).items()}
    hosts = [site.host for site in world.sites]
    scores["judge, one edge unknown"] = score(world.sites, judged(hosts, pointings(world)))
    scores["judge, edges known"] = known_to(world)
    return scores


def known_to(world: World) -> Score:
    """The score of the judge with all edges known."""
    return score(world.sites, judged([site.host for site in world.sites], pointings(world, confirmed(world))))


def same_in_any_order(world: World) -> bool:
    """Whether three orders of arrival give one partition."""
    seen, hosts = pointings(world), [site.host for site in world.sites]
    first = judged(hosts, seen)
    for seed in (1, 2):
        random.Random(seed).shuffle(hosts)
        if not same(first, judged(hosts, seen)):
            return False
    return True


def kinds_of(scores: Sequence[Score]) -> list[KindScore]:
    """The kinds of several worlds as one."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for one in scores:
        for kind in one.kinds:
            counts[kind.kind] = [
                a + b for a, b in zip(counts[kind.kind], (kind.sites, kind.joined, kind.wrong, kind.true), strict=True)
            ]
    return [KindScore(kind, *counts[kind]) for kind in sorted(counts)]


def cost(sites: int) -> dict[str, float]:
    """Microseconds of processor time and bytes a site, with so many in memory; times are medians over batches of 100 sites."""
    world = make(TUNED_ON[0], sites / 13_000)
    chosen = list(world.sites)
    random.Random(0).shuffle(chosen)
    known = {site.host: evidence_of(site) for site in chosen}
    gc.collect()
    gc.disable()  # its pauses grow with what else is in memory, which is the world here
    try:
        bench = Bench()
        seen: dict[str, Pointing] = {}
        took: dict[str, list[float]] = {"pointing": [], "learn": [], "place": []}

        def timed(what: str, call: Callable[[str], object], items: Sequence[str]) -> None:
            begun = process_time()
            for item in items:
                call(item)
            took[what].append((process_time() - begun) / len(items) * 1e6)

        def learn(host: str) -> None:
            bench.judge.learn(host, seen[host], ages[host])

        def point(host: str) -> None:
            seen[host] = pointing(known[host], world.now)

        hosts = list(known)
        for at in range(0, len(hosts), BATCH):
            batch = hosts[at : at + BATCH]
            timed("pointing", point, batch)
            ages = {host: bench.aged(seen[host]) for host in batch}
            timed("learn", learn, batch)
        for at in range(0, len(hosts), BATCH):
            timed("place", bench.place, hosts[at : at + BATCH])
        found = {what: round(median(times), 1) for what, times in took.items()}
        seen.clear()
        tracemalloc.start()
        bench = Bench()
        for host in hosts:
            bench.learn(host, pointing(known[host], world.now))
        found["bytes"] = round(tracemalloc.get_traced_memory()[0] / len(hosts))
        tracemalloc.stop()
    finally:
        gc.enable()
    return {"sites": len(hosts), **found}


def mean_row(name: str, scores: Sequence[Score]) -> list[object]:
    def shown(*columns: str) -> str:
        return " / ".join(f"{fmean(getattr(one, column) for one in scores):.3f}" for column in columns)

    return [
        name,
        f"{fmean(one.precision for one in scores):.4f}",
        f"{fmean(one.recall for one in scores):.4f}",
        shown("f1"),
        shown("b3_precision", "b3_recall"),
        shown("macro_precision", "macro_recall"),
        max(one.biggest for one in scores),
    ]


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def kind_rows(kinds: Iterable[KindScore]) -> list[list[object]]:
    return [[kind.kind, kind.sites, share(kind.precision), share(kind.recall), kind.true, kind.wrong] for kind in kinds]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(REPORTED), metavar="SEED")
    parser.add_argument("--scale", type=float, default=1.0, help="1: about 13,000 sites a world")
    parser.add_argument("--sites", nargs="+", type=int, default=[10_000, 100_000], help="of which the cost is measured")
    parser.add_argument("--rows", type=int, default=1_000_000, help="sites of evidence in the SQLite store")
    options = parser.parse_args()
    if options.short:
        options.seeds, options.scale, options.sites, options.rows = [TUNED_ON[0]], 0.15, [1_000], 2_000
    report = Report("origins", options)

    worlds = [make(seed, options.scale) for seed in options.seeds]
    by_seed = [compared(world) for world in worlds]
    names = list(by_seed[0])
    heads = ["key", "P", "R", "F1", "B3 P / R", "kinds P / R", "biggest"]
    report.table(heads, [mean_row(name, [scores[name] for scores in by_seed]) for name in names])
    known = [scores["judge, edges known"] for scores in by_seed]
    skewed = [make(seed, options.scale, skewed=True) for seed in options.seeds]
    skew = [known_to(world) for world in skewed]
    rows = [
        mean_row(f"seed {seed}, {len(world.sites)} sites", [one])
        for seed, world, one in zip(options.seeds, worlds, known, strict=True)
    ]
    rows += [
        mean_row(f"seed {seed}, skewed, {len(world.sites)} sites", [one])
        for seed, world, one in zip(options.seeds, skewed, skew, strict=True)
    ]
    report.table(["judge, edges known", *heads[1:]], rows)
    kinds = kinds_of(known)
    unknown = [
        kind for kind in kinds_of([scores["judge, one edge unknown"] for scores in by_seed]) if kind.kind == "unknown_cdn"
    ]
    report.table(
        ["kind", "sites", "P", "R", "true pairs", "wrong pairs"],
        kind_rows(kinds) + [[f"{row[0]}, not confirmed", *row[1:]] for row in kind_rows(unknown)],
    )
    orders = all(map(same_in_any_order, worlds))
    costs = [cost(sites) for sites in options.sites]
    report.table(
        ["sites in memory", "pointing us", "learn us", "place us", "bytes a site"],
        [[row["sites"], row["pointing"], row["learn"], row["place"], int(row["bytes"])] for row in costs],
    )
    store = stored(options.rows)
    report.table(
        ["rows", "MB on disk", "write us", "load us", "load of neighbours us"],
        [[store.rows, store.megabytes, store.write_us, store.load_us, store.near_us]],
    )
    worst_p, worst_r = min(one.precision for one in known), min(one.recall for one in known)
    placing = max(row["learn"] + row["place"] for row in costs)
    whole = max(row["pointing"] + row["learn"] + row["place"] for row in costs)
    report.finish(
        {
            "scores": {
                str(seed): {name: asdict(one) for name, one in scores.items()}
                for seed, scores in zip(options.seeds, by_seed, strict=True)
            },
            "skewed": [asdict(one) for one in skew],
            "costs": costs,
            "store": asdict(store),
        },
        [
            Aim("pairwise precision, edges known, worst seed", f"{PRECISION}", f"{worst_p:.4f}", worst_p >= PRECISION),
            Aim("pairwise recall, worst seed", f"{RECALL}", f"{worst_r:.4f}", worst_r >= RECALL),
            Aim("three orders of arrival", "one partition", "one" if orders else "several", orders),
            Aim("a site learned and placed", f"under {PLACING_US:.0f} us", f"{placing:.1f} us", placing < PLACING_US),
            Aim(
                "... its anchors made from its evidence, too",
                f"under {PLACING_US:.0f} us",
                f"{whole:.1f} us",
                whole < PLACING_US,
            ),
            Aim(
                f"{store.rows:,} sites in SQLite, loaded one by one",
                "they fit",
                f"{store.megabytes:.0f} MB, {store.load_us:.0f} us",
                store.found,
            ),
        ],
    )


if __name__ == "__main__":
    main()
