"""What stands between a crawl and its Postgres in many places: something that ends TLS, and a network that is slow at times."""

from __future__ import annotations

import select
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from loopback import Listening

if TYPE_CHECKING:
    import ssl

SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")
"""PostgreSQL documentation, "Message Formats": SSLRequest. Answered by one byte, "S" or "N"."""


class Relay(Listening):
    """Leads to the server at ``port`` on loopback. With a ``context`` it does the TLS for it; without, it says that there is
    none. ``delay``: seconds by which it holds up each answer."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        super().__init__("127.0.0.1")
        self._server_port, self._context = port, context
        self.delay = 0.0
        self.encrypted = 0
        self.plain = 0

    def _serve(self, raw: socket.socket, number: int) -> None:
        with suppress(OSError), raw:
            asked = raw.recv(len(SSL_REQUEST), socket.MSG_WAITALL | socket.MSG_PEEK) == SSL_REQUEST
            if asked:
                raw.recv(len(SSL_REQUEST))
                raw.sendall(b"N" if self._context is None else b"S")
            if asked and self._context is not None:
                with self._context.wrap_socket(raw, server_side=True) as client:
                    self._open.add(client)
                    self.encrypted += 1
                    self._relay(client)
            elif raw.recv(1, socket.MSG_PEEK):
                self.plain += 1
                self._relay(raw)

    def _relay(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._server_port)) as server:
            self._open.add(server)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                # What TLS has read and not given out yet, no select sees.
                pending = getattr(client, "pending", int)()
                for source in [client] if pending else select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is server:
                        time.sleep(self.delay)
                    (server if source is client else client).sendall(data)
