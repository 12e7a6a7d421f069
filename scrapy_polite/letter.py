"""A letter: a request that was written out before its slot, and needs only to be given to the kernel, by whichever thread.

Its protocol has written it, and believes it to be on its way; the bytes (encrypted already, where there is TLS) were taken out
of the transport's buffer. So nothing else may be written on the connection until the letter is sent, and if it is not sent the
connection is of no more use. It is sent through a descriptor of its own: the reactor may close the connection's at any moment,
and the kernel may give its number to another one.

What of Twisted is private here, and the same from 25.5 to 26.10: ``dataBuffer``, ``offset``, ``_tempDataBuffer`` and
``_tempDataLen`` of ``FileDescriptor``. ``tests/test_letter.py`` fails when one of them goes.
"""

from __future__ import annotations

import select
import socket
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.abstract import FileDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred

__all__ = ["Letter", "is_open"]

_TLS_HEADER: Final = 5
"""Bytes before each TLS record: its content type, a version, its length (RFC 8446 section 5.1)."""

_TLS_ALERT: Final = 21
"""The content type of an alert: the peer is closing."""

_TLS_ALERT_LENGTH: Final = 19
"""Bytes of an encrypted alert of TLS 1.3, which shows another type: two, the type that it hides, and a tag (RFC 8446 sections
5.2 and 6, RFC 5116 section 5.1). What else a server may say unasked is longer: a KeyUpdate 22, and a ticket far more."""

_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0)
"""Linux tells of an end that is behind bytes which nobody has read; elsewhere the bytes must do."""


def is_open(connected: socket.socket, tls: bool) -> bool:
    """Whether the peer has not closed, asked of the kernel: the reactor may not have read the FIN yet."""
    try:
        unread = connected.recv(_TLS_HEADER, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    # Plain: an end, or bytes nobody asked for. TLS: an end or an alert; anything else may be a late session ticket.
    if not tls or not unread or unread[0] == _TLS_ALERT or int.from_bytes(unread[3:], "big") <= _TLS_ALERT_LENGTH:
        return False
    end = select.poll()
    end.register(connected, _HUNG_UP)
    return not end.poll(0)


class Letter:
    """Takes out of ``tcp`` (a connected transport) what was written to it. ``own``: a duplicate of its socket, which the letter
    closes. ``response``: what the protocol promised.

    :meth:`send` and :meth:`withdraw` exclude each other, from any threads: what was withdrawn is not sent, and the other way
    round.
    """

    def __init__(self, tcp: Any, own: socket.socket, response: Deferred[Any], tls: bool) -> None:
        self.response = response
        self._tcp = tcp
        self._tls = tls
        self._bytes = bytes(tcp.dataBuffer[tcp.offset :]) + b"".join(tcp._tempDataBuffer)
        tcp.dataBuffer, tcp.offset, tcp._tempDataBuffer, tcp._tempDataLen = b"", 0, [], 0
        tcp.stopWriting()
        self._lock = Lock()
        self._socket: socket.socket | None = own
        self._sent = False

    @staticmethod
    def can_be_taken(tcp: Any) -> bool:
        """Whether nothing else is on its way out."""
        return not tcp._tempDataBuffer and tcp.offset >= len(tcp.dataBuffer)

    def is_deliverable(self) -> bool:
        """Whether the peer is still there, and nobody has withdrawn it."""
        with self._lock:
            # `disconnecting`: TLS was told farewell, and Twisted closes the connection in a later iteration of the reactor.
            return self._socket is not None and not self._tcp.disconnecting and is_open(self._socket, self._tls)

    def send(self, sent: Callable[[], None]) -> bool:
        """Give the bytes to the kernel, and call ``sent`` before anybody can know of it. False if that cannot be, or if it was
        withdrawn. To be followed by :meth:`finish`."""
        with self._lock:
            if self._socket is None:
                return False
            try:
                self._bytes = self._bytes[self._socket.send(self._bytes) :]
            except BlockingIOError:
                pass  # A kernel without room: all of it is a matter for finish.
            except OSError:
                return False
            finally:
                self._close()
            self._sent = True
            sent()
            return True

    def finish(self) -> None:
        """What the kernel had no room for is sent as soon as it has; in the reactor's thread."""
        if self._bytes:
            # Not its own write(), which would encrypt it again where TLS was started on a tunnel.
            FileDescriptor.write(self._tcp, self._bytes)
            self._bytes = b""

    def withdraw(self) -> bool:
        """It is not to be sent. False: it was sent before."""
        with self._lock:
            self._close()
            return not self._sent

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
