"""The zone over UDP and TCP on one port; every question is logged."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

if TYPE_CHECKING:
    from town.names import Zone

PLAIN_DATAGRAM: Final = 512
"""Bytes that fit a datagram without EDNS (RFC 1035 section 4.2.1)."""
NEGATIVE_TTL: Final = 5

Log = Callable[[dict[str, object]], None]


class NameServer:
    """Answers wire format with wire format; None: say nothing."""

    def __init__(self, zone: Zone, log: Log) -> None:
        self.zone = zone
        self.log = log

    def answer(self, wire: bytes, transport: str) -> bytes | None:
        now = time.monotonic()
        try:
            query = dns.message.from_wire(wire)
            question = query.question[0]
        except (dns.exception.DNSException, IndexError):
            return None
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        reply = self.zone.reply(name, kind)
        said = [value for _, _, value, _ in reply.records]
        self.log({"t": now, "name": name, "type": kind, "transport": transport, "rcode": reply.rcode, "answers": said})
        if reply.silent:
            return None
        response = dns.message.make_response(query)
        response.flags |= dns.flags.AA
        response.set_rcode(dns.rcode.from_text(reply.rcode))
        for owner, rdtype, group in reply.sets():
            values = [f"{value}." if rdtype == "CNAME" else value for value, _ in group]
            response.answer.append(dns.rrset.from_text(dns.name.from_text(owner), group[0][1], "IN", rdtype, *values))
        if reply.rcode != "SERVFAIL" and not any(rdtype == kind for _, rdtype, _, _ in reply.records):
            # Without an SOA record a resolver could not remember that there is nothing (RFC 2308 section 3).
            soa = f"ns.town.example. hostmaster.town.example. 1 60 60 600 {NEGATIVE_TTL}"
            response.authority.append(dns.rrset.from_text(".", NEGATIVE_TTL, "IN", "SOA", soa))
        room = 65535 if transport == "tcp" else max(PLAIN_DATAGRAM, query.payload) if query.edns >= 0 else PLAIN_DATAGRAM
        return response.to_wire(max_size=room, prefer_truncation=True)


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self.server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str | None, int]) -> None:
        answer = self.server.answer(data, "udp")
        if answer is not None:
            self.transport.sendto(answer, addr)


class Stream(asyncio.Protocol):
    """DNS over TCP: each message behind its length in two bytes (RFC 1035 section 4.2.2)."""

    def __init__(self, server: NameServer) -> None:
        self.server = server
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while len(self.buffer) >= 2 and len(self.buffer) >= 2 + (length := struct.unpack_from("!H", self.buffer)[0]):
            message, self.buffer = self.buffer[2 : 2 + length], self.buffer[2 + length :]
            answer = self.server.answer(message, "tcp")
            if answer is not None:
                self.transport.write(struct.pack("!H", len(answer)) + answer)
