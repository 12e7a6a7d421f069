"""The whole town, put together: sockets, certificates, inhabitants, logs, and the file that says where all is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import aiohttp
import trustme

from town import addresses
from town.addresses import Ports
from town.agencies import MAX_AGE, Agency
from town.arrivals import Log
from town.capacity import Servers
from town.cdn import ReadThrough
from town.dnsserver import Datagrams, NameServer, Stream
from town.imagemaker import Darkroom
from town.knee import knee_of, small_host
from town.manners import manner_of
from town.names import REBINDING, zone
from town.pages import Pages
from town.ports import listen, listen_both
from town.stores import ImageService, ObjectStore
from town.traps import Trap, lay, traps
from town.truth import ground_truth
from town.visits import Answer, Inhabitant, Visit, text
from town.webserver import WebServer, serve
from town.world import BUCKET_HOST, BUCKET_PATH_HOST, IMAGE_SERVICE_HOST, KNEE_NAME, PLATFORM_NAME, build

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DNS_ADDRESS: Final = "127.0.0.1"
TRAP_KINDS: Final = ("all", "loopback", "none")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a town is to be like; the same words as on the command line."""

    directory: Path
    seed: int = 1
    tenants: int = 60
    listings: int = 3
    capacity: float = 30.0
    patience: float = 1.0
    traps: str = "loopback"

    def __post_init__(self) -> None:
        if not self.patience > 0:
            raise ValueError(f"patience is {self.patience!r}: it must be a positive number, 1 for the usual times")
        if self.traps not in TRAP_KINDS:
            raise ValueError(f"traps is {self.traps!r}: it must be one of {', '.join(TRAP_KINDS)}")


async def trapped(visit: Visit) -> Answer:
    """What answers where nobody may go: anything, gladly."""
    return text(200, f"You should not be here: {visit.path}\n")


async def rebound(visit: Visit) -> Answer:
    """The decent address of a rebinding name."""
    if visit.path == "/robots.txt":
        return text(200, "User-agent: *\nAllow: /\n")
    return text(200, "Nothing to see at this name's first address.\n")


def tls_context(certificate: trustme.LeafCert, server: WebServer) -> ssl.SSLContext:
    """TLS for one server. On a trap, a client's hello is a hit, even if it stops at the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    certificate.configure_cert(context)

    def hello(_connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        server.hello(time.monotonic())

    if server.name == "trap":
        context.sni_callback = hello
    return context


class City:
    """A running town. `start` answers when every server listens and every file is written."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.world = build(plan.seed, plan.tenants, plan.listings)
        self.queue = Servers(plan.capacity)
        plan.directory.mkdir(parents=True, exist_ok=True)
        self.arrivals = Log(plan.directory / "arrivals.jsonl")
        self.questions = Log(plan.directory / "dns.jsonl")
        self.servers: list[WebServer] = []
        self.listeners: list[asyncio.AbstractServer] = []
        self.closing = contextlib.AsyncExitStack()

    async def start(self) -> Path:
        """Starts everything; answers the path of town.json, which is written last and in one step."""
        everywhere = [address for several in addresses.SERVERS.values() for address in several]
        http_port, plain = listen(everywhere)
        https_port, secure = listen(everywhere, frozenset({http_port}))
        ports = Ports(http_port, https_port)
        laid_traps = () if self.plan.traps == "none" else traps(ports, foreign=self.plan.traps == "all")
        inhabitants = self._inhabitants(ports, laid_traps)
        certificates = self._certificates()
        owners = {address: name for name, several in addresses.SERVERS.items() for address in several}
        for socks, tls in ((plain, False), (secure, True)):
            for sock in socks:
                name = owners[sock.getsockname()[0]]
                server = WebServer(name, inhabitants[name], self.arrivals, sock, tls)
                self.servers.append(server)
                self.listeners.append(await serve(server, sock, tls_context(certificates[name], server) if tls else None))
        dns_port = await self._dns()
        self._write("ground_truth.json", ground_truth(self.world, ports))
        return self._write("town.json", self._info(ports, dns_port, laid_traps))

    async def stop(self) -> None:
        for listener in self.listeners:
            listener.close()
        await asyncio.gather(*(server.shutdown(0.2) for server in self.servers))
        await self.closing.aclose()
        self.arrivals.close()
        self.questions.close()

    def _inhabitants(self, ports: Ports, laid_traps: Sequence[Trap]) -> dict[str, Inhabitant]:
        world = self.world
        pages = Pages(world.seed, ports, laid_traps, lay(world, len(laid_traps)))
        darkroom = Darkroom(world.seed)
        threads = self.closing.enter_context(ThreadPoolExecutor(1, "resize"))
        session = aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(total=10))
        self.closing.push_async_callback(session.close)
        edge = ReadThrough(f"http://{addresses.CDN_ORIGIN}:{ports.http}", session)
        everybody: dict[str, Inhabitant] = {
            "cdn": edge,
            "bucket": ObjectStore(world.sites, darkroom),
            "imageservice": ImageService(world.sites, darkroom, threads),
            "rebind": rebound,
            "trap": trapped,
        }
        for name in addresses.SERVERS:
            sites = [site for site in world.sites if site.server == name]
            if name == "platform":
                everybody[name] = Agency(sites, pages, darkroom, queue=self.queue)
            elif name == "cdn":
                origin = everybody["cdn-origin"] = Agency(sites, pages, darkroom)
                self._warm(edge, origin)
            elif name not in everybody:
                manner, queue = manner_of(name, self.plan.patience), knee_of(name, self.plan.patience)
                everybody[name] = Agency(sites, pages, darkroom, manner, queue)
        return everybody

    @staticmethod
    def _warm(edge: ReadThrough, origin: Agency) -> None:
        """Puts every other photograph into the cache, as earlier visitors would have."""
        for number, (host, file) in enumerate(origin.photos):
            if number % 2 == 0:
                answer = origin.page(Visit(0.0, host, f"/img/{file}"), "image")
                answer.headers["Cache-Control"] = f"public, max-age={MAX_AGE['image']}"
                edge.keep((host, f"/img/{file}"), answer)

    def _certificates(self) -> dict[str, trustme.LeafCert]:
        """One certificate per server, for the names that live on it, all by a CA made now and written to ca.pem."""
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.plan.directory / "ca.pem"))
        names = {name: [site.host for site in self.world.sites if site.server == name] for name in addresses.SERVERS}
        names["platform"].append(PLATFORM_NAME)
        names["knee"].append(KNEE_NAME)
        names["bucket"] += [BUCKET_HOST, BUCKET_PATH_HOST]
        names["imageservice"].append(IMAGE_SERVICE_HOST)
        names["cdn-origin"] += names["cdn"]
        names["rebind"] += REBINDING
        names["trap"] += ["localhost", *addresses.TRAPS]
        return {name: authority.issue_cert(*hosts) for name, hosts in names.items()}

    async def _dns(self) -> int:
        loop = asyncio.get_running_loop()
        port, datagrams, stream = listen_both(DNS_ADDRESS)
        server = NameServer(zone(self.world), self.questions.write)
        transport, _ = await loop.create_datagram_endpoint(lambda: Datagrams(server), sock=datagrams)
        self.closing.callback(transport.close)
        self.listeners.append(await loop.create_server(lambda: Stream(server), sock=stream))
        return port

    def _info(self, ports: Ports, dns_port: int, laid_traps: Sequence[Trap]) -> dict[str, object]:
        directory = self.plan.directory.absolute()
        knee = small_host(self.plan.patience)
        return {
            "dns": f"{DNS_ADDRESS}:{dns_port}",
            "http_port": ports.http,
            "https_port": ports.https,
            "ca": str(directory / "ca.pem"),
            "network": addresses.NETWORK,
            "log": str(directory / "arrivals.jsonl"),
            "dns_log": str(directory / "dns.jsonl"),
            "ground_truth": str(directory / "ground_truth.json"),
            "seed": self.plan.seed,
            "patience": self.plan.patience,
            "platform": {"cname": PLATFORM_NAME, "addresses": list(addresses.PLATFORM), "capacity": self.plan.capacity},
            "knee": {"cname": KNEE_NAME, "addresses": [addresses.KNEE], "capacity": knee.capacity, "spell": knee.spell},
            "sites": [
                {
                    "host": site.host,
                    "inhabitant": site.inhabitant,
                    "start_url": f"{ports.base(site.host, site.tls)}/search?page=1",
                    "pages": site.search_pages + len(site.listings),
                    "listings": len(site.listings),
                    "images": sum(1 for _ in site.photos),
                    "images_on": site.images_on,
                }
                for site in self.world.sites
            ],
            "traps": [{"url": trap.url, "what": trap.what, "at_once": trap.at_once} for trap in laid_traps],
        }

    def _write(self, name: str, value: object) -> Path:
        path = self.plan.directory.absolute() / name
        part = path.with_suffix(".part")
        part.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")
        part.replace(path)
        return path
