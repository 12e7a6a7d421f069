"""The attack bench: hosts whose names lead astray, the servers that they may lead to, and what came of asking for them.

Each attack is one host in the zone of a scripted name server. Its good addresses are those of a web server of its own, so that
an arrival tells which address was dialled; its bad ones are a trap's, on the same port. `test_attack_bench.py` asks for all of
them by every path there is.
"""

from __future__ import annotations

import itertools
import re
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

from loopback import Answer, Arrival, Listening, Server
from loopback_http2 import HANDLER, Http2Server
from nameserver import Record, Script, name_server_in_a_thread
from PIL import Image
from trapped_world import Outcome, possible

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable, Iterator

    from typing_extensions import Self

HOME = "127.30.0.{}"
"""The addresses that a crawl may reach: each host that is served has one of its own."""

ELSEWHERE = "127.31.0.1"
"""One that another crawl in the same process may reach."""

TRAPS = ("127.0.0.1", "::1")

FLIPPED = 5.5
"""Seconds after its answer when a crawl asks the name server again: one is kept for 5 at least, whatever its TTL."""

SERVED = "served"
LOOPBACK = "refused (loopback)"
BROKEN = "no answer (servfail)"


@dataclass(frozen=True)
class Attack:
    """``records`` of the host itself, ``others`` of names on the way, ``fault`` of the name server about it. ``verdict``: what
    is to come of asking for it. ``home``: where it is served, if it is."""

    host: str
    records: tuple[Record, ...]
    verdict: str
    others: dict[str, Record] = field(default_factory=dict)
    fault: str = ""
    home: str = ""
    port: int = 0
    """The one in its URL, if it is not the bench's."""


def _a(*addresses: str) -> tuple[Record, ...]:
    return tuple((60, "AAAA" if ":" in address else "A", address) for address in addresses)


def _chain(length: int, end: str) -> tuple[tuple[Record, ...], dict[str, Record]]:
    """A CNAME of the host, and those behind it: so many until the end."""
    names = [f"c{number}.of{length}.{end.partition('.')[0]}.example" for number in range(1, length)] + [end]
    return ((60, "CNAME", f"{names[0]}."),), {name: (60, "CNAME", f"{after}.") for name, after in itertools.pairwise(names)}


def _attacks() -> Iterator[Attack]:
    homes = (HOME.format(number) for number in range(1, 20))

    def served(host: str, records: Callable[[str], tuple[Record, ...]], **more: Any) -> Attack:
        home = next(homes)
        return Attack(host, records(home), SERVED, home=home, **more)

    yield served("plain.example", _a)
    yield served("many.example", lambda home: _a(home, *(f"127.30.9.{n % 250}" for n in range(299))))
    yield served("late.example", _a, fault="slow")
    yield Attack("inside.example", _a(TRAPS[0]), LOOPBACK)
    yield Attack("inside6.example", _a(TRAPS[1]), LOOPBACK)
    yield Attack("mixed.example", _a(HOME.format(1), TRAPS[0]), LOOPBACK)
    yield Attack("mixed6.example", _a(HOME.format(1), TRAPS[1]), LOOPBACK)
    yield Attack("mapped.example", _a(HOME.format(1), "::ffff:127.0.0.1"), LOOPBACK)
    yield Attack("crowd.example", _a(*(HOME.format(n % 250) for n in range(299)), TRAPS[0]), LOOPBACK)
    yield Attack("late-inside.example", _a(TRAPS[0]), LOOPBACK, fault="slow")
    yield Attack("cut.example", _a(*(HOME.format(n % 250) for n in range(300))), "no answer (malformed)", fault="cut")
    yield Attack("broken.example", _a(HOME.format(1)), BROKEN, fault="SERVFAIL")
    yield Attack("other.example", _a(ELSEWHERE), LOOPBACK, home=ELSEWHERE)
    yield Attack("meta.example", _a("169.254.169.254"), "refused (metadata)")
    there, back = (60, "CNAME", "back.example."), (60, "CNAME", "loop.example.")
    yield Attack("loop.example", (there,), "no answer (loop)", {"back.example": back})
    yield Attack("port.example", _a(HOME.format(1)), "refused (port)", port=22)
    for length in range(1, 17):
        records, others = _chain(length, "db.internal")
        # So many are followed by dnspython; a chain that is longer is no answer.
        verdict = "refused (special_name)" if length < 16 else "no answer (loop)"
        yield Attack(f"chain{length}.example", records, verdict, others)
    yield Attack("via-meta.example", _chain(1, "metadata.google.internal")[0], "refused (metadata)")
    home = next(homes)
    records, others = _chain(3, "target.example")
    yield Attack("chained.example", records, SERVED, {**others, "target.example": _a(home)[0]}, home=home)


ATTACKS = tuple(_attacks())
COMMON = {"db.internal": _a(HOME.format(1))[0], "metadata.google.internal": _a(HOME.format(1))[0]}

FLIP = Attack("flip.example", (), f"{SERVED}, {LOOPBACK}", home=HOME.format(20))
"""With a TTL of 0, and another answer the second time."""

LITERALS = {
    TRAPS[0]: LOOPBACK,
    f"[{TRAPS[1]}]": LOOPBACK,
    "2130706433": LOOPBACK,
    "[::ffff:127.0.0.1]": LOOPBACK,
    "169.254.169.254": "refused (metadata)",
    "localhost": LOOPBACK,
    "db.internal": "refused (special_name)",
    "metadata.google.internal": "refused (metadata)",
    "user@plain.example": "refused (userinfo)",
}
"""What is refused before anybody asks the name server, though that would name a home for some."""

EXPECTED = {**{attack.host: attack.verdict for attack in (*ATTACKS, FLIP)}, **LITERALS}
"""The column of every path."""

PORTS = {attack.host: attack.port for attack in ATTACKS if attack.port}

HOMES = {attack.host: attack.home for attack in (*ATTACKS, FLIP) if attack.home}

PICTURE = BytesIO()
Image.new("RGB", (64, 48), "white").save(PICTURE, "PNG")


class Trap(Listening):
    """Whoever connects is a hit, whether it says anything or not."""

    def __init__(self, address: str, port: int) -> None:
        super().__init__(address, port)
        self.hits: list[str] = []

    def _serve(self, raw: socket.socket, number: int) -> None:
        self.hits.append(str(raw.getsockname()))
        raw.close()


class Bench:
    """``with Bench("http") as bench``: servers that speak ``http``, ``https`` or ``h2``, the trap, and the name server. With
    ``once`` a server closes after each answer; with ``turning`` each host is good at first, and an attack from some time on."""

    def __init__(self, speaks: str = "http", tls: ssl.SSLContext | None = None, *, once: bool = False, turning: bool = False):
        self.speaks, self._tls, self._once, self._turning = speaks, tls, once, turning
        self.scheme = "http" if speaks == "http" else "https"
        self.servers: dict[str, Server] = {}
        self.traps: list[Trap] = []
        self.names: list[str | None] = []
        """The server names of all TLS handshakes."""
        self.script = Script()
        self.dns = ""
        self.port = 0
        self._again: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for _ in range(100):
                with suppress(OSError), ExitStack() as tried:
                    self._listen(tried)
                    opened.push(tried.pop_all())
                    break
            else:
                raise RuntimeError("no port was free on all of the bench's addresses")
            if self._tls is not None:
                self._tls.sni_callback = lambda connection, name, context: self.names.append(name)
                opened.callback(setattr, self._tls, "sni_callback", None)
            self._write()
            self.dns = opened.enter_context(name_server_in_a_thread("127.0.0.2", self.script))
            self._stack = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _listen(self, opened: ExitStack) -> None:
        self.servers, self.traps, self.port = {}, [], 0
        for address in dict.fromkeys([*HOMES.values(), ELSEWHERE]):
            if self.speaks == "h2":
                assert self._tls is not None
                server: Server = Http2Server(self.answer, tls=self._tls, address=address, port=self.port)
            else:
                server = Server(self.answer, tls=self._tls, address=address, port=self.port)
            self.servers[address] = opened.enter_context(server)
            self.port = server.port
        self.traps = [opened.enter_context(Trap(address, self.port)) for address in TRAPS if possible(address)]

    def _write(self) -> None:
        for name, record in COMMON.items():
            self.script.add(name, record)
        for attack in ATTACKS:
            if self._turning:
                self.script.changing[attack.host] = _turning(attack)
            else:
                self.script.add(attack.host, *attack.records)
            for name, record in attack.others.items():
                self.script.add(name, record)
            if attack.fault and not (self._turning and attack.verdict == BROKEN):  # Nobody turns into that.
                self.script.faults[attack.host] = attack.fault
        first = _a(FLIP.home)[0]
        self.script.changing[FLIP.host] = lambda before: [(0, "A", TRAPS[0])] if before else [(0, *first[1:])]

    def url(self, host: str, path: str = "/x") -> str:
        return f"{self.scheme}://{host}:{PORTS.get(host, self.port)}{path}"

    def by(self, how: str, host: str, path: str = "/x") -> str:
        """A URL of a good host that leads there."""
        return self.url("plain.example", f"/{how}?to={quote(self.url(host, path), safe='')}")

    def answer(self, arrival: Arrival) -> Answer:
        parts = urlsplit(arrival.path)
        to = parse_qs(parts.query).get("to", [""])[0]
        found = Answer(close=self._once)
        if parts.path == "/go":
            found.status, found.headers = 302, {"location": to}
        elif parts.path == "/refresh":
            found.body = f'<html><head><meta http-equiv="refresh" content="0; url={to}"></head></html>'.encode()
        elif parts.path == "/refresh-header":
            found.headers = {"refresh": f"0; url={to}"}
        elif parts.path == "/robots.txt":
            led = HOST_OF_ROBOTS.match(host_of(arrival))
            if led is not None:
                found.status, found.headers = 302, {"location": self.url(f"{led[1]}.example", f"/robots.txt?from={led[0]}")}
            else:
                found.body = b""
        elif parts.path.endswith(".png"):
            found.body, found.headers = PICTURE.getvalue(), {"content-type": "image/png"}
        elif parts.path == "/again" and (host := host_of(arrival)) not in self._again:
            self._again.add(host)
            found.status, found.wait = 418, FLIPPED
        return found

    def settings(self, **more: Any) -> dict[str, Any]:
        """A project with the add-on on, which may reach the homes and nothing else."""
        return {
            "ADDONS": {"scrapy_polite.Addon": 300},
            "LOG_LEVEL": "INFO",
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "RETRY_ENABLED": False,
            "DOWNLOAD_TIMEOUT": 20,
            "POLITE_STORE": "memory:",
            "POLITE_DNS_SERVERS": [self.dns],
            "POLITE_ALLOW_NETWORKS": ["127.30.0.0/16"],
            "POLITE_ALLOW_PORTS": [self.port],
            "POLITE_SITE_RATE": 1000,
            "POLITE_ORIGIN_RATE": 1000,
            "POLITE_ORIGIN_CONCURRENCY": 100,
            **({"DOWNLOAD_HANDLERS": {"https": HANDLER}} if self.speaks == "h2" else {}),
            **more,
        }

    # -- what came of it

    def hits(self) -> list[str]:
        return [hit for trap in self.traps for hit in trap.hits]

    def arrived(self) -> dict[str, set[str]]:
        """By host as it was asked for: the addresses at which it was."""
        found: dict[str, set[str]] = {}
        for address, server in self.servers.items():
            for arrival in server.arrivals:
                found.setdefault(host_of(arrival), set()).add(address)
        return found

    def verdicts(self, outcome: Outcome, hosts: list[str] | None = None) -> dict[str, str]:
        """What came of each host: from the servers, and from the log, which the operator reads."""
        refused = [
            (reason, urlsplit(url).netloc.rpartition(":")[0])
            for reason, url in re.findall(r"Guard: refused \((\w+)\): <([^>]*)>", outcome.said)
        ]
        silent = re.findall(r"No DNS answer, so no request to (\S+) \((\w+)\)", outcome.said)
        arrived = self.arrived()
        found = {}
        for host in hosts or list(EXPECTED):
            verdict = [SERVED] if host in arrived else []
            verdict += sorted({f"refused ({reason})" for reason, where in refused if where == host})
            verdict += sorted({f"no answer ({reason})" for where, reason in silent if where == host})
            found[host] = ", ".join(verdict)
        return found

    def connected(self, outcome: Outcome) -> set[tuple[str, int]]:
        """Where sockets of the crawl's process were connected to, but for the name server."""
        result = next(iter(outcome.results.values()))
        dns, _, dns_port = self.dns.rpartition(":")
        return {(host, port) for host, port in result["connects"] if (host, port) != (dns, int(dns_port))}


HOST_OF_ROBOTS = re.compile(r"of-(.+?)(?:-2)?\.example\Z")


def host_of(arrival: Arrival) -> str:
    """The host that was asked for, without its port."""
    named = arrival.headers.get("host") or arrival.headers.get(":authority") or ""
    return named.rpartition(":")[0]


def _turning(attack: Attack) -> Callable[[int], list[Record]]:
    began: list[float] = []

    def say(before: int) -> list[Record]:
        began.append(time.monotonic())
        turned = began[-1] - began[0] > FLIPPED / 2
        return list(attack.records) if turned else [(0, "A", HOME.format(1))]

    return say
