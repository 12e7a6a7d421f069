"""Listening sockets: one port number that is free on all of the town's addresses, whatever else runs on the machine."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Final

from town.stamping import Listener, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIES: Final = 200
BACKLOG: Final = 512


class NoPortError(RuntimeError):
    """No port was free on every address."""


def listen(addresses: Sequence[str], avoid: frozenset[int] = frozenset()) -> tuple[int, list[socket.socket]]:
    """A port and a listening socket on it for each address, in order. An IPv6 address that is missing is left out."""
    for _ in range(TRIES):
        opened: list[socket.socket] = []
        port = 0
        try:
            for address in addresses:
                sock = _open(address, port, socket.SOCK_STREAM)
                if sock is None:
                    continue
                opened.append(sock)
                port = int(sock.getsockname()[1])
                if port in avoid:
                    raise OSError(errno.EADDRINUSE, "avoided")
        except OSError as error:
            for sock in opened:
                sock.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        return port, opened
    raise NoPortError(f"no port was free on all of {', '.join(addresses)} in {TRIES} tries: other programs hold too many ports")


def listen_both(address: str) -> tuple[int, socket.socket, socket.socket]:
    """A port that is free for datagrams and for streams at `address`: (port, datagram socket, listening socket)."""
    for _ in range(TRIES):
        port, (stream,) = listen((address,))
        try:
            datagrams = _open(address, port, socket.SOCK_DGRAM)
        except OSError as error:
            stream.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        assert datagrams is not None
        return port, datagrams, stream
    raise NoPortError(f"no port was free on {address} for UDP and TCP in {TRIES} tries: other programs hold too many ports")


def _open(address: str, port: int, kind: socket.SocketKind) -> socket.socket | None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        sock = Listener(family, kind) if kind == socket.SOCK_STREAM else socket.socket(family, kind)
    except OSError:
        if family == socket.AF_INET6:
            return None
        raise
    try:
        sock.setblocking(False)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        if kind == socket.SOCK_STREAM:
            ask(sock)
            sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        if family == socket.AF_INET6 and error.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return sock
