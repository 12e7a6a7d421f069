"""When bytes arrived, told by the kernel: right to some microseconds, however busy this process or the machine is.

Linux stamps a packet as it takes it in (SO_TIMESTAMPNS, socket(7); for TCP since Linux 4.16) and hands the stamp out
with the bytes. Over loopback that is inside the sender's own call. Bytes without a stamp count as arrived when read.
"""

from __future__ import annotations

import socket
import struct
import time
import weakref
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

SO_TIMESTAMPNS: Final = 35
"""asm-generic/socket.h; the socket module has no name for it."""
TIMESPEC: Final = struct.Struct("@ll")
ROOM: Final = socket.CMSG_SPACE(TIMESPEC.size)
OLDEST: Final = 10 * 10**9
"""Nanoseconds. A stamp that seems older (or in the future) is a wall clock that was set, and is not believed."""


TOGETHER: Final = 20_000
"""Nanoseconds within which two readings count as one moment."""
TRIES: Final = 5


class Connection(socket.socket):
    """An accepted connection. `stamp`: when the bytes that were read last had arrived, in seconds of `time.monotonic`."""

    stamp = 0.0

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        data, ancillary, _, _ = self.recvmsg(bufsize, ROOM, flags)
        self.stamp = monotonic(ancillary)
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        view = memoryview(buffer)
        count, ancillary, _, _ = self.recvmsg_into([view[:nbytes] if nbytes else view], ROOM, flags)
        self.stamp = monotonic(ancillary)
        return count


class Listener(socket.socket):
    """A listening socket whose connections are `Connection`s."""

    def accept(self) -> tuple[socket.socket, Any]:
        plain, peer = super().accept()
        connection = Connection(self.family, self.type, self.proto, fileno=plain.detach())
        ask(connection)
        OPEN[connection.fileno()] = connection
        return connection, peer


OPEN: Final[weakref.WeakValueDictionary[int, Connection]] = weakref.WeakValueDictionary()
"""Connections by descriptor, since asyncio's transports hand out a wrapper of their socket only."""


def ask(sock: socket.socket) -> None:
    """Asks the kernel for stamps of what arrives on `sock`."""
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def connection_of(transport: asyncio.BaseTransport) -> Connection | None:
    """The connection under a transport of asyncio's, plain or TLS."""
    wrapper = transport.get_extra_info("socket")
    return None if wrapper is None else OPEN.get(wrapper.fileno())


def monotonic(ancillary: Iterable[tuple[int, int, bytes]]) -> float:
    """The kernel's stamp (wall clock) on the monotonic clock; now, if there is none."""
    now, wall = both_clocks()
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = TIMESPEC.unpack_from(data)
            age: int = wall - (seconds * 10**9 + nanoseconds)
            if 0 <= age <= OLDEST:
                return (now - age) / 1e9
    return now / 1e9


def both_clocks() -> tuple[int, int]:
    """Monotonic and wall clock at one moment, ns: read again if this process was put aside between the two."""
    for _ in range(TRIES):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if after - before < TOGETHER:
            break
    return before, wall
