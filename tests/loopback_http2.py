"""An HTTP/2 server on loopback, made with the h2 library: it stamps the arrival of HEADERS, and ends connections as told."""

from __future__ import annotations

import heapq
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, SettingsAcknowledged, StreamEnded, StreamReset
from h2.settings import SettingCodes, Settings
from loopback import Answer, Arrival, Server

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable

HANDLER = "scrapy.core.downloader.handlers.http2.H2DownloadHandler"

ROOM_SOON = 0.005
"""Seconds until it is looked again whether the client takes more of a body."""


@dataclass
class _Conversation:
    """One connection: its h2 state, and what is to be answered when."""

    socket: socket.socket
    number: int
    h2: H2Connection
    asked: dict[int, Arrival] = field(default_factory=dict)
    bodies: dict[int, int] = field(default_factory=dict)
    due: list[tuple[float, int, Answer | bytes]] = field(default_factory=list)
    """At which time, on which stream: an answer, or the body of one."""
    over: bool = False

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())


class Http2Server(Server):
    """``hello``: seconds before it takes part in the TLS handshake; ``settings``: seconds from there to its SETTINGS frame.
    ``streams``: how many it allows at a time. ``pause``: seconds between HEADERS and body of an answer. ``idle``: seconds
    without a frame after which it closes, with a GOAWAY if it is ``courteous``; an :class:`Answer` with ``close`` ends the
    connection likewise. A server that ``lingers`` says GOAWAY and does not close."""

    def __init__(
        self,
        answer: Callable[[Arrival], Answer] = lambda arrival: Answer(),
        *,
        tls: ssl.SSLContext,
        idle: float | None = None,
        address: str = "127.0.0.1",
        port: int = 0,
        hello: float = 0.0,
        settings: float = 0.0,
        streams: int = 100,
        pause: float = 0.0,
        courteous: bool = True,
        lingers: bool = False,
    ) -> None:
        super().__init__(answer, tls=tls, idle=idle, address=address, port=port)
        self._pause, self._lingers = pause, lingers
        self._hello, self._settings, self._streams, self._courteous = hello, settings, streams, courteous
        self.ready: list[float] = []
        """When its SETTINGS were acknowledged, by connection."""
        self.bodies: list[int] = []
        """The bytes of each body, in the order in which they were complete."""
        self.resets: list[str] = []
        """The paths of the streams that the client has reset."""
        self.most = 0
        """The most streams that were open at a time."""
        self._ended = threading.Event()

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        super().__exit__(*error)

    def _serve(self, raw: socket.socket, number: int) -> None:
        self._ended.wait(self._hello)
        super()._serve(raw, number)

    def _converse(self, connection: socket.socket, number: int) -> None:
        self._ended.wait(self._settings)
        talk = _Conversation(connection, number, H2Connection(H2Configuration(client_side=False, header_encoding="utf-8")))
        talk.h2.local_settings = Settings(client=False, initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: self._streams})
        talk.h2.initiate_connection()
        talk.flush()
        heard = time.monotonic()
        with suppress(OSError):
            while not talk.over:
                now = time.monotonic()
                ends = [at for at, _, _ in talk.due[:1]] + ([heard + self._idle] if self._idle else [])
                connection.settimeout(max(0.001, min(ends) - now) if ends else None)
                try:
                    data = connection.recv(65536)
                except TimeoutError:
                    data = None
                if data == b"":
                    return
                now = time.monotonic()
                if data is not None:
                    heard = now
                    self._hear(talk, data, now)
                elif self._idle and now >= heard + self._idle:
                    self._end(talk)
                while talk.due and talk.due[0][0] <= time.monotonic() and not talk.over:
                    _, stream, what = heapq.heappop(talk.due)
                    self._say(talk, stream, what)
                talk.flush()

    def _hear(self, talk: _Conversation, data: bytes, now: float) -> None:
        for event in talk.h2.receive_data(data):
            if isinstance(event, RequestReceived):
                headers = dict(event.headers)
                arrival = Arrival(now, headers[":path"], headers, talk.number, int(headers.get("content-length", 0)))
                self.arrivals.append(arrival)
                talk.asked[event.stream_id], talk.bodies[event.stream_id] = arrival, 0
                self.most = max(self.most, len(talk.asked))
            elif isinstance(event, DataReceived):
                talk.bodies[event.stream_id] += len(event.data)
                talk.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                self.bodies.append(talk.bodies[event.stream_id])
                answer = self._answer(talk.asked[event.stream_id])
                heapq.heappush(talk.due, (time.monotonic() + answer.wait, event.stream_id, answer))
            elif isinstance(event, StreamReset):
                self.resets.append(talk.asked.pop(event.stream_id).path)
            elif isinstance(event, SettingsAcknowledged):
                self.ready.append(now)
            elif isinstance(event, ConnectionTerminated):
                talk.over = True

    def _say(self, talk: _Conversation, stream: int, what: Answer | bytes) -> None:
        if stream not in talk.asked:
            return
        if isinstance(what, bytes):
            self._send(talk, stream, what)
            return
        talk.h2.send_headers(stream, [(":status", str(what.status)), ("content-type", "text/html"), *what.headers.items()])
        if self._pause:
            heapq.heappush(talk.due, (time.monotonic() + self._pause, stream, what.body))
        else:
            self._say(talk, stream, what.body)
        if what.close:
            self._end(talk)

    def _send(self, talk: _Conversation, stream: int, body: bytes) -> None:
        """As much of it as the client has room for now; the rest soon."""
        while True:
            size = min(len(body), talk.h2.local_flow_control_window(stream), talk.h2.max_outbound_frame_size)
            if body and not size:
                heapq.heappush(talk.due, (time.monotonic() + ROOM_SOON, stream, body))
                return
            now, body = body[:size], body[size:]
            talk.h2.send_data(stream, now, end_stream=not body)
            if not body:
                del talk.asked[stream]
                return

    def _end(self, talk: _Conversation) -> None:
        if self._courteous:
            talk.h2.close_connection()
            talk.flush()
        if self._lingers:
            self._ended.wait()
        talk.over = True
