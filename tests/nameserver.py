"""A scripted name server on loopback, over real sockets: what it says, and how it misbehaves."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, cast

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

Record = tuple[int, str, str]  # TTL, type, value
SOA = "ns.test. hostmaster.test. 1 3600 600 86400 {}"


FAULTS = ("silent", "lossy", "garbage", "wrong id", "wrong question", "slow", "cut")
"""What a server may do instead of answering: never answer; not the first time; with bytes that are no message; first with
the answer to another question (by its id, by its name), then with the right one; after a while; say that the answer is too
long for UDP, and nothing on TCP."""


class Script:
    """What the server says. `faults` are by (name, type), by name or for all by ``*``; a fault is an RCODE, or one of
    :data:`FAULTS`. `by_type` are names with one record that differs by the type that is asked for, `changing` names whose
    records depend on how often they were asked for. `junk` is put into every answer besides."""

    def __init__(self) -> None:
        self.records: dict[str, list[Record]] = {}
        self.changing: dict[str, Callable[[int], list[Record]]] = {}
        self.by_type: dict[str, dict[str, Record]] = {}
        self.junk: list[tuple[str, Record]] = []
        self.pause = 0.2
        self.silent_on_tcp = False
        self.faults: dict[str | tuple[str, str], str] = {}
        self.negative_ttl = 20
        self.asked: list[tuple[str, str, str]] = []  # name, type, transport
        self.waiting = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    def add(self, name: str, *records: Record) -> None:
        self.records.setdefault(name, []).extend(records)

    async def answer(self, wire: bytes, transport: str) -> bytes | None:
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True)
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind, transport))
        self.waiting.set()
        await self.go_on.wait()
        fault = self.faults.get((name, kind)) or self.faults.get(name) or self.faults.get("*")
        if (
            fault == "silent"
            or (transport == "tcp" and (self.silent_on_tcp or fault == "cut"))
            or (fault == "lossy" and self.asked.count((name, kind, transport)) == 1)
        ):
            return None
        if fault == "garbage":
            return wire[:2] + b"\x80" + b"\xff" * 9
        if fault == "slow":
            await asyncio.sleep(self.pause)
        response = dns.message.make_response(query)
        if fault and fault not in FAULTS:
            response.set_rcode(dns.rcode.from_text(fault))
            return response.to_wire()
        response.flags |= dns.flags.AA | dns.flags.RA
        self.fill(response, name, kind, self.asked.count((name, kind, transport)) - 1)
        wire = response.to_wire(max_size=65535, want_shuffle=False)
        if transport == "udp" and len(wire) > 512:
            short = dns.message.make_response(query)
            short.flags |= dns.flags.TC
            return short.to_wire()
        return wire

    def lies(self, wire: bytes) -> list[bytes]:
        """What somebody else might send before the server does, to whoever asked `wire`."""
        query = dns.message.from_wire(wire)
        name = query.question[0].name.to_text(omit_final_dot=True)
        fault = self.faults.get(name)
        if fault == "wrong question":
            query = dns.message.make_query("other.test", query.question[0].rdtype, id=query.id)
        elif fault == "wrong id":
            query.id ^= 1
        else:
            return []
        lie = dns.message.make_response(query)
        lie.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "A", "127.0.0.1"))
        return [lie.to_wire()] * 3

    def fill(self, response: dns.message.Message, name: str, kind: str, before: int) -> None:
        """The answer about `name`, for which somebody has asked so often `before`."""
        if name in self.by_type:
            self.records[name] = [self.by_type[name][kind]]
        if name in self.changing:
            self.records[name] = self.changing[name](before)
        for owner, (ttl, junk, text) in self.junk:
            section = response.answer if junk != "NS" else response.authority
            section.append(dns.rrset.from_text(f"{owner}.", ttl, "IN", junk, text))
        seen: set[str] = set()
        while name not in seen and (targets := [r for r in self.records.get(name, ()) if r[1] == "CNAME"]):
            seen.add(name)
            ttl, _, target = targets[0]
            response.answer.append(dns.rrset.from_text(name + ".", ttl, "IN", "CNAME", target))
            name = target.rstrip(".").lower()
        found = [record for record in self.records.get(name, ()) if record[1] == kind]
        if found:
            response.answer.append(dns.rrset.from_text(name + ".", found[0][0], "IN", kind, *(r[2] for r in found)))
            return
        if name not in self.records:
            response.set_rcode(dns.rcode.NXDOMAIN)
        soa = SOA.format(self.negative_ttl)
        response.authority.append(dns.rrset.from_text("test.", 3600, "IN", "SOA", soa))


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, script: Script) -> None:
        self.script = script
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        task = asyncio.ensure_future(self.reply(data, addr))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def reply(self, data: bytes, addr: tuple[str, int]) -> None:
        for lie in self.script.lies(data):
            self.transport.sendto(lie, addr)
        wire = await self.script.answer(data, "udp")
        if wire is not None and not self.transport.is_closing():
            self.transport.sendto(wire, addr)


@asynccontextmanager
async def name_server(address: str = "127.0.0.1", script: Script | None = None) -> AsyncIterator[tuple[Script, str]]:
    """A name server on this loop, on UDP and TCP, and how POLITE_DNS_SERVERS names it."""
    script = script or Script()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            length = int.from_bytes(await reader.readexactly(2), "big")
            wire = await script.answer(await reader.readexactly(length), "tcp")
            if wire is not None:
                writer.write(len(wire).to_bytes(2, "big") + wire)
                await writer.drain()
        finally:
            writer.close()

    loop = asyncio.get_running_loop()
    for _ in range(50):  # until one port is free for both
        streams = await asyncio.start_server(serve, address, 0)
        port = streams.sockets[0].getsockname()[1]
        try:
            transport, datagrams = await loop.create_datagram_endpoint(lambda: Datagrams(script), (address, port))
            break
        except OSError:
            streams.close()
            await streams.wait_closed()
    try:
        yield script, f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    finally:
        script.go_on.set()
        transport.close()
        streams.close()
        await asyncio.gather(streams.wait_closed(), *datagrams.tasks)


@contextmanager
def name_server_in_a_thread(address: str, script: Script) -> Iterator[str]:
    """The same for a crawl in a process of its own, while the test waits for it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = name_server(address, script)
    try:
        _, name = asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(30)
        try:
            yield name
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
