"""What is found, what is found wrongly, and how fast: redaction beside the scanners of repositories and Presidio, in one run.

    python -m benchmarks.redaction [--short] [--json FILE] [--fetched DIR] [--peers PYTHON] [--each 3] [--mb 6] [--show]

recall       of values put into pieces of pages, the share that is gone, the halves of each too; every kind in every placement.
             anchored: told by the value itself; contextual: only by a name near it; personal: people's. All kinds are
             replaced here, also those that the presets keep. The values are made up at run time from the shapes of the
             rules. Peers get 3,000 of the anchored and contextual ones, drawn at random; found counts whatever it was called
clean        hits in pages, scripts and styles of installed wheels and of what was fetched. Each is false, unless it was looked
             at and is one (benchmarks/data/reviewed_hits.json, by the hash)
people       labelled sentences (benchmarks/data): spans found to the character, spans touched, spans that touch no label
speed        MB (10^6 bytes) of text per second of processor time, and milliseconds per 250 KB of the slowest document; the best
             of the rounds, ours before and after the peers. The programs' start is part of their time
"""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.redacting import people
from benchmarks.redacting.corpora import Clean, clean
from benchmarks.redacting.recall import Case, Tally, cases, everything, tallied
from benchmarks.redacting.speed import Speed, asked, corpora, measured, rate
from benchmarks.redacting.values import groups
from benchmarks.reporting import Aim, Report, arguments
from scrapy_polite.redaction import Redactor, policy_from
from scrapy_polite.redaction.policy import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROVIDERS, PRESIDIO = "detect-secrets, provider plugins", "Presidio, default"
AIMED = {"anchored": 0.99, "contextual": 0.9}
REVIEWED = Path(__file__).parent / "data" / "reviewed_hits.json"
# Peers take minutes for more.
PIECES = 3_000
# Where the numbers of the sentences are from that are written without a country's code.
REGIONS = ["GB", "US", "DE", "FR", "CH", "BE", "SE", "FI", "AU", "NZ", "BR", "ZA"]


def redactor(policy: object) -> Redactor:
    wanted = policy_from(policy)
    assert wanted is not None
    return Redactor(wanted)


def shares(tally: Tally, group: str) -> dict[str, float]:
    return {place: found / of for (in_group, place), (found, of) in tally.placements.items() if in_group == group}


def recall(report: Report, tally: Tally, peers: Mapping[str, Tally]) -> dict[str, Any]:
    """One row for each placement, and one for each kind that is not always found."""
    groups = [group for group in ("anchored", "contextual", "personal") if shares(tally, group)]
    own = {group: shares(tally, group) for group in groups}
    theirs = {name: shares(found, "anchored") for name, found in peers.items()}
    report.table(
        ["placement", *groups, *peers],
        [
            [
                place,
                *(f"{own[g][place]:.3f}" for g in groups),
                *(f"{found[place]:.2f}" if place in found else "-" for found in theirs.values()),
            ]
            for place in own["anchored"]
        ],
    )
    kinds = {kind: (group, found, of) for (group, kind), (found, of) in tally.kinds.items()}
    report.table(
        ["kinds not always found", "group", "found", "of"],
        [[kind, *counts] for kind, counts in kinds.items() if counts[1] < counts[2]] or [["none", "", "", ""]],
    )
    return {
        "placements": own,
        "peers": theirs,
        "kinds": {kind: found / of for kind, (_, found, of) in kinds.items()},
        "missed": [[kind, place, count] for (kind, place), count in tally.missed.items()],
        "other_name": dict(tally.other_name),
    }


def tally_of(peer: Mapping[str, Any], asked_for: Sequence[Case]) -> Tally:
    tally = Tally()
    for case, found in zip(asked_for, peer["recall"], strict=True):
        tally.add(case, found)
    return tally


def precision(report: Report, texts: Sequence[Clean], found_by: Redactor, show: bool) -> dict[str, Any]:
    """Every hit in the clean texts that was not looked at and found right."""
    reviewed: dict[str, bool] = json.loads(REVIEWED.read_text(encoding="utf-8"))
    hits: Counter[tuple[str, str, str]] = Counter()
    dropped: Counter[str] = Counter()
    around: dict[str, str] = {}
    for text in texts:
        result = found_by.text(text.text)
        if result.dropped:
            dropped[result.dropped] += 1
        for hit in result.findings:
            value = text.text[hit.start : hit.end]
            mark = sha256(f"{hit.kind} {value}".encode()).hexdigest()[:12]
            hits[hit.kind, text.package, mark] += 1
            around[mark] = text.text[max(0, hit.start - 60) : hit.end + 30]
    false = [key for key in hits if not reviewed.get(key[2])]
    rows = [[*key, hits[key], *([repr(around[key[2]])] if show else [])] for key in sorted(false)]
    if rows:
        report.table(["false hit", "in", "hash", "times", *(["where"] if show else [])], rows)
    size = sum(len(text.text.encode()) for text in texts) / 1e6
    keys = sum(hits[key] for key in false if KINDS.get(key[0]) != "personal")
    personal = sum(hits[key] for key in false) - keys
    report.table(
        ["clean MB", "files", "hits", "found right by eye", "false, keys", "false, personal", "dropped"],
        [[size, len(texts), sum(hits.values()), sum(hits.values()) - keys - personal, keys, personal, sum(dropped.values())]],
    )
    by_kind: Counter[str] = Counter()
    for kind, _, mark in false:
        by_kind[kind] += hits[kind, _, mark]
    return {
        "mb": size,
        "keys": keys,
        "personal": personal,
        "hits": sum(hits.values()),
        "dropped": dict(dropped),
        "by_kind": by_kind,
    }


def labelled(report: Report, peer: Mapping[str, Any]) -> dict[str, Any]:
    """Ours with one region and with those of the sentences, and Presidio's if it is there."""
    texts = people.sentences()
    found = {
        "gdpr-strict": people.ours(redactor("gdpr-strict"), texts),
        "gdpr-strict, 12 regions": people.ours(redactor({"preset": "gdpr-strict", "regions": REGIONS}), texts),
    }
    if "people" in peer:
        found[PRESIDIO] = [[(label, start, end) for label, start, end in spans] for spans in peer["people"]]
    scores = {name: [score.row() for score in people.scored(texts, spans)] for name, spans in found.items()}
    for name, rows in scores.items():
        report.table([name, "labelled", "exact", "touched", "found", "false"], [list(row.values()) for row in rows])
    return scores


def compared(own: Mapping[str, Mapping[str, Speed]], peers: Mapping[str, Mapping[str, Any]]) -> list[list[object]]:
    names = list(next(iter(own.values())))
    rows: list[list[object]] = [
        [f"this one, {preset}", *(round(speeds[name].rate, 1) for name in names), round(max(speeds[n].worst for n in names), 2)]
        for preset, speeds in own.items()
    ]
    for peer, answer in peers.items():
        worst = [run["worst_ms"] for run in answer.get("speed", {}).values() if "worst_ms" in run]
        rates = [rate(answer, name) for name in names]
        rows.append([peer, *("-" if r is None else f"{r:,.3f}" for r in rates), max(worst) if worst else None])
    return rows


def aims(
    tally: Tally, found: Mapping[str, Any], own: Mapping[str, Mapping[str, Speed]], peers: Mapping[str, Mapping[str, Any]]
) -> list[Aim]:
    result = []
    for group, wanted in AIMED.items():
        worst = tally.worst(group)
        said = f"{worst[1]:.3f} ({worst[0]})" if worst else "no such kinds"
        result.append(Aim(f"recall, {group}, worst placement", f"{wanted}", said, worst[1] >= wanted if worst else None))
    per_5 = found["keys"] / found["mb"] * 5
    result.append(Aim("false hits of keys in 5 MB of clean texts", "at most 1", f"{per_5:.2f}", per_5 <= 1))
    per_5 = found["personal"] / found["mb"] * 5
    result.append(Aim("false hits of people's data in 5 MB", "at most 1", f"{per_5:.2f}", per_5 <= 1))
    speed = own["secrets"]["listing"].rate
    result.append(Aim("listing pages, secrets", "200 MB/cpu-s", f"{speed:.0f} MB/cpu-s", speed >= 200))
    for preset, speeds in own.items():
        slowest = max(speeds.values(), key=lambda s: s.worst).worst
        result.append(Aim(f"slowest document, {preset}", "5 ms per 250 KB", f"{slowest:.2f} ms", slowest <= 5))
    for peer, preset, wanted in ((PROVIDERS, "secrets", 50), (PRESIDIO, "gdpr-strict", 1000)):
        ratios = [speed.rate / r for name, speed in own[preset].items() if (r := rate(peers.get(peer, {}), name))]
        said = f"{min(ratios):,.0f} to {max(ratios):,.0f}, median {median(ratios):,.0f}" if ratios else "no peer"
        result.append(Aim(f"{preset} beside {peer}", f"{wanted:,} times", said, min(ratios) >= wanted if ratios else None))
    return result


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--fetched", type=Path, metavar="DIR", help="a folder with debian/PACKAGE/ and npm/*.tgz in it")
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="the Python of an environment that has the peers")
    parser.add_argument("--each", type=int, default=3, help="values of each kind for each placement")
    parser.add_argument("--mb", type=float, default=6, help="of each corpus, for the speed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="false hits with what stands around them, to look at")
    options = parser.parse_args()
    if options.short:
        options.each, options.mb, options.rounds = 1, 0.2, 1
    report = Report("redaction", options)
    random = Random(options.seed)
    secrets, strict = redactor("secrets"), redactor("gdpr-strict")
    texts = clean(options.fetched, 100_000 if options.short else None)
    kinds = [kind for of in groups().values() for kind in of]
    pieces = cases(random, options.each, kinds[::9] if options.short else kinds)
    tally = tallied(Redactor(everything()), pieces)
    for_peers = [case for case in pieces if case.group != "personal"]
    for_peers = random.sample(for_peers, min(len(for_peers), PIECES))
    speeding = corpora(random, texts, options.mb)

    def speeds() -> dict[str, dict[str, Speed]]:
        return {
            preset: {name: measured(by, corpus, options.rounds) for name, corpus in speeding.items()}
            for preset, by in (("secrets", secrets), ("gdpr-strict", strict))
        }

    before = speeds()
    peers = asked(
        options.peers,
        {
            "corpora": speeding,
            "pieces": [(case.text, case.value.secret) for case in for_peers],
            "people": [sentence.text for sentence in people.sentences()],
            "seconds": 10 * options.mb / 6,
        },
    )
    after = speeds()
    own = {
        preset: {name: max(speed, after[preset][name], key=lambda s: s.rate) for name, speed in found.items()}
        for preset, found in before.items()
    }
    recalled = recall(report, tally, {name: tally_of(peer, for_peers) for name, peer in peers.items() if "recall" in peer})
    found = precision(report, texts, strict, options.show)
    judged = labelled(report, peers[PRESIDIO])
    report.table(["MB/cpu-s", *speeding, "worst ms"], compared(own, peers))
    report.finish(
        {
            "recall": recalled,
            "clean": found,
            "people": judged,
            "speed": {preset: {n: [s.rate, s.worst] for n, s in by.items()} for preset, by in own.items()},
            "peers": {
                name: {key: value for key, value in peer.items() if key not in ("recall", "people")}
                for name, peer in peers.items()
            },
        },
        aims(tally, found, own, peers),
    )


if __name__ == "__main__":
    main()
