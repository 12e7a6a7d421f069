"""When requests left for a server on loopback, told by the kernel's stamps of the packets: whoever is judged has no say in it.

As root a raw socket sees the packets themselves. Without root the server's side tells (SO_TIMESTAMPNS): the stamp is the same
one of the kernel's, made as loopback takes the packet in.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

from town.stamping import SO_TIMESTAMPNS, TIMESPEC, both_clocks

IPV4 = 0x0800
"""if_ether.h: ETH_P_IP."""
SO_ATTACH_FILTER = 26
SO_RCVBUFFORCE = 33
"""asm-generic/socket.h"""
APPLICATION_DATA = 0x17
"""RFC 8446 section 5.1. A client's Finished looks the same, but is short."""
HEADER = 5
"""Bytes of a record before its content: type, version, length (RFC 8446 section 5.1)."""
LONG = 300
"""Bytes. The benchmarks' requests carry a long User-Agent, so that no message of a handshake can be taken for one."""


@dataclass(frozen=True)
class Packet:
    """``at``: seconds on CLOCK_MONOTONIC. ``path``: None where TLS hides it."""

    at: float
    address: str
    path: str | None


def is_root() -> bool:
    return os.geteuid() == 0


class Sniffer:
    """``with Sniffer(port) as sniffer``: the requests to ``port`` on loopback; :meth:`packets` in the order of their stamps."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        program = compiled(port)
        self._buffer = ctypes.create_string_buffer(program, len(program))
        self._socket.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(program) // 8, ctypes.addressof(self._buffer))
        )
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.settimeout(0.1)
        self._found: list[Packet] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Sniffer:
        # With a protocol of its own it sees packets as they come in, which on loopback is inside of the sender's call.
        self._socket.bind(("lo", IPV4))
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()
        self._socket.close()

    def packets(self) -> list[Packet]:
        return sorted(self._found, key=lambda packet: packet.at)

    def _read(self) -> None:
        while True:
            try:
                data, ancillary, _, _ = self._socket.recvmsg(65_535, 256)
            except TimeoutError:
                if self._done.is_set():
                    return
                continue
            payload = data[(data[0] & 15) * 4 :]
            payload = payload[(payload[12] >> 4) * 4 :]
            path = payload.split(b" ", 2)[1].decode() if payload.startswith(b"GET ") else None
            if path is None and not has_request(payload):
                continue
            self._found.append(Packet(monotonic(ancillary), socket.inet_ntoa(data[16:20]), path))


def has_request(payload: bytes) -> bool:
    """Among the TLS records of a packet: the first request of a connection may come with the end of the handshake."""
    while len(payload) >= HEADER:
        length = int.from_bytes(payload[3:HEADER], "big")
        if payload[0] == APPLICATION_DATA and length > LONG:
            return True
        payload = payload[HEADER + length :]
    return False


def monotonic(ancillary: list[tuple[int, int, bytes]]) -> float:
    now, wall = both_clocks()
    stamp = next(data for _, kind, data in ancillary if kind == SO_TIMESTAMPNS)
    seconds, nanoseconds = TIMESPEC.unpack_from(stamp)
    return (now - (wall - (seconds * 10**9 + nanoseconds))) / 1e9


def compiled(port: int) -> bytes:
    """IPv4, TCP, to this port: classic BPF (struct sock_filter of linux/filter.h)."""
    program = (
        (0x30, 0, 0, 9),  # ldb [9]: the protocol
        (0x15, 0, 4, socket.IPPROTO_TCP),
        (0xB1, 0, 0, 0),  # ldxb 4*([0]&0xf): the length of the IP header
        (0x48, 0, 0, 2),  # ldh [x + 2]: the destination port
        (0x15, 0, 1, port),
        (0x06, 0, 0, 65_535),  # ret: the packet
        (0x06, 0, 0, 0),  # ret: nothing
    )
    return b"".join(struct.pack("HBBI", *step) for step in program)
