"""What the guard costs: judging one address, one answer of DNS, and building the tables.

    python -m benchmarks.guard [--short] [--json FILE] [--rounds 7]

Every row is measured in turn with the others, round by round, in time of the processor, and the best of its rounds counts: what
else the machine does falls on all of them. An address is judged as the crawl judges it, from the object that the resolver has
made. Beside it, in the same run: ``is_global`` of the standard library as people use it (a new object per address, since what
it answers is kept in the object), and a look at every network of the table in turn. How often the two judge otherwise than the
table is told, too.

import   scrapy_polite.guard in a fresh interpreter, where the parser of hosts is loaded already; the tables are built in it
policy   one Policy, with 4 networks and 4 rules of an operator's
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from benchmarks.reporting import Aim, Report, arguments
from scrapy_polite.guard import Policy
from scrapy_polite.guard.allowing import allowed_from
from scrapy_polite.guard.ranges import IPV4_ROWS, IPV6_ROWS
from scrapy_polite.naming import parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

Address = IPv4Address | IPv6Address

KINDS: dict[str, tuple[str, ...]] = {
    "public IPv4": ("8.8.8.8", "93.184.216.34", "151.101.1.140", "104.16.1.1"),
    "public IPv6": ("2606:4700::6810:1", "2a00:1450:4001::1", "2620:1ec::1", "2001:4860:4860::8888"),
    "refused IPv4": ("10.0.0.1", "127.0.0.1", "100.64.0.1", "169.254.169.254", "224.0.0.1"),
    "refused IPv6": ("fd00::1", "fe80::1", "2001:db8::1", "ff02::1", "4000::1"),
    "IPv4 inside": ("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "::a00:1", "2a00::5efe:a00:1"),
}
OPERATOR = ("10.20.0.0/16", "fd12::/32", "100.64.0.0/24", "198.18.0.0/15")
RULES = ("a.corp=10.1.2.3", "b.corp:8443=10.1.2.0/24", "wiki=10.0.0.1", "[fd00::1]:9000=fd00::1")
NANO = 1e9


def timed(work: Callable[[], Any], number: int) -> float:
    """Nanoseconds of the processor for one, over so many."""
    started = time.process_time()
    for _ in range(number):
        work()
    return (time.process_time() - started) / number * NANO


def best(rows: dict[str, Callable[[], Any]], number: int, rounds: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for _ in range(rounds):
        for name, work in rows.items():
            found[name] = min(found.get(name, float("inf")), timed(work, number))
    return found


def judging(policy: Policy, addresses: Sequence[Address]) -> Callable[[], None]:
    judge = policy.judge_address

    def work() -> None:
        for address in addresses:
            judge(address)

    return work


def asking_is_global(texts: Sequence[str]) -> Callable[[], None]:
    kinds = [(IPv6Address if ":" in text else IPv4Address, int(ip_address(text))) for text in texts]

    def work() -> None:
        for kind, number in kinds:
            kind(number).is_global  # noqa: B018

    return work


def looking_at_every_network(addresses: Sequence[Address]) -> Callable[[], None]:
    networks = [row.network for row in (*IPV4_ROWS, *IPV6_ROWS)]

    def work() -> None:
        for address in addresses:
            any(address in network for network in networks if network.version == address.version)

    return work


def importing(rounds: int) -> float:
    """Milliseconds of the guard's own modules: what else they import is there already."""
    code = (
        "import scrapy_polite.naming, time\nstarted = time.process_time()\nimport scrapy_polite.guard\n"
        "print((time.process_time() - started) * 1e3)"
    )
    command = [sys.executable, "-c", code]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(rounds))


def disagreements(number: int) -> dict[str, int]:
    """How often ``is_global`` lets through what the table refuses, and the other way round, of addresses from its rows."""
    chance, policy = random.Random(4), Policy()
    found = {"let through by is_global alone": 0, "refused by is_global alone": 0}
    rows = [row.network for row in (*IPV4_ROWS, *IPV6_ROWS)]
    for _ in range(number):
        network = chance.choice(rows)
        address = network[chance.randrange(network.num_addresses)]
        refused = policy.judge_address(address) is not None
        found["let through by is_global alone"] += refused and address.is_global
        found["refused by is_global alone"] += not refused and not address.is_global
    return found


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    options: argparse.Namespace = parser.parse_args()
    report = Report("guard", options)
    number, rounds = (200, 2) if options.short else (4_000, options.rounds)
    allowed = allowed_from([*OPERATOR, *RULES])
    policy, own = Policy(), Policy(allow=allowed.networks, rules=allowed.rules)

    rows: dict[str, Callable[[], Any]] = {}
    for kind, texts in KINDS.items():
        addresses = [ip_address(text) for text in texts]
        rows[f"{kind}, plain"] = judging(policy, addresses)
        rows[f"{kind}, own networks"] = judging(own, addresses)
        rows[f"{kind}, is_global"] = asking_is_global(texts)
        rows[f"{kind}, every network"] = looking_at_every_network(addresses)
    each = best(rows, number, rounds)
    for kind, texts in KINDS.items():
        for way in ("plain", "own networks", "is_global", "every network"):
            each[f"{kind}, {way}"] /= len(texts)

    answers = {
        "2 addresses, no chain": (("93.184.216.34", "2606:2800:220:1::1"), ()),
        "4 addresses, a chain of 2": (KINDS["public IPv4"], ("www.cdn.example", "pop7.cdn.example")),
        "300 addresses": (tuple(f"93.184.{n // 250}.{n % 250}" for n in range(300)), ()),
    }
    target = "https://www.example.com/listing/4711?page=2"
    whole: dict[str, Callable[[], Any]] = {
        name: partial(policy.judge_answer, list(map(ip_address, texts)), chain, "www.example.com", 443)
        for name, (texts, chain) in answers.items()
    }
    whole["a URL, parsed and judged"] = lambda: policy.judge_target(parse.__wrapped__(target))
    whole["policy"] = lambda: Policy(
        allow=allowed.networks, rules=allowed.rules, deny=(ip_network("192.0.2.0/24"), ip_network("8.8.8.0/24"))
    )
    rest = best(whole, max(1, number // 40), rounds)
    import_ms = importing(2 if options.short else rounds)

    report.table(
        ["address", "judged ns", "with an operator's", "is_global ns", "every network ns", "is_global / judged"],
        [
            (
                kind,
                *(each[f"{kind}, {way}"] for way in ("plain", "own networks", "is_global", "every network")),
                each[f"{kind}, is_global"] / each[f"{kind}, plain"],
            )
            for kind in KINDS
        ],
    )
    report.table(["whole", "us"], [(name, value / 1e3) for name, value in rest.items()])
    others = disagreements(200 if options.short else 20_000)
    report.table(["of addresses in the table's rows", "number"], others.items())
    crawled = max(each[f"{kind}, {way}"] for kind in ("public IPv4", "public IPv6") for way in ("plain", "own networks"))
    slowest = max(value for name, value in each.items() if name.endswith(("plain", "own networks")))
    report.finish(
        {"addresses_ns": each, "whole_ns": rest, "import_ms": import_ms, "disagreements": others},
        [
            Aim("an address that is dialled is judged", "under 1 us", f"{crawled / 1e3:.2f} us", crawled < 1e3),
            Aim("any address is judged", "under 1 us", f"{slowest / 1e3:.2f} us", slowest < 1e3),
            Aim("tables built at import", "under 50 ms", f"{import_ms:.1f} ms", import_ms < 50),
        ],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
