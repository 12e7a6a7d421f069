"""What a client says to a forward proxy, and what a server answers: read strictly, and written anew.

Pure. One request is read per connection, and one is sent per connection to a server, so that nobody can hide a second one:
there is nothing that two parsers could count differently. Requests have a body by ``Content-Length`` alone; answers end where
the server closes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import Target

__all__ = ["MAX_HEAD", "AnswerReader", "Answered", "Asked", "read_head", "written"]

MAX_HEAD: Final = 1 << 16
"""Octets of a request's head. Chromium's largest have a few thousand, cookies and all."""

MAX_ANSWER: Final = 1 << 18
"""Octets of an answer's head: as many as Chromium reads (net/http/http_stream_parser.cc, kMaxHeaderBufSize)."""

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110 section 5.6.2
_REQUEST_LINE = re.compile(rb"(%s) ([!-~]+) HTTP/1\.[01]" % _TOKEN)
_HEADER = re.compile(rb"(%s):[ \t]*([\t -~\x80-\xff]*)" % _TOKEN)
_AUTHORITY = re.compile(r"[^/?#@\\]+:[0-9]{1,5}")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\r\n]*)?")
_ANSWER_END = re.compile(rb"\r?\n\r?\n")

_HOP_BY_HOP: Final = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"})
"""Of a request: for the proxy, and not for the server (RFC 9110 section 7.6.1). So is all that begins with ``proxy-``."""

_HOP_BY_HOP_ANSWERED: Final = frozenset({b"connection", b"keep-alive", b"upgrade"})
"""Of an answer. Its transfer coding is that of its body, which passes as it is."""

_NOT_PASSED_ON: Final = (0, 101, 407)
"""No HTTP; a change of protocol that nobody asked for; a question for credentials, which the browser would answer with ours."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``url`` is what is to be judged; of a tunnel, host and port. ``headers`` are those for the server, but for ``Host`` and
    the length. ``credential`` is the value of ``Proxy-Authorization``."""

    method: str
    url: str
    tunnel: bool
    upgrade: bool
    headers: tuple[tuple[bytes, bytes], ...]
    length: int | None
    credential: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """``head`` is what the client is told, with its empty line; ``rest`` is what has come behind it."""

    status: int
    head: bytes
    rest: bytes


def read_head(head: bytes) -> Asked | None:
    """A request from its head, without the empty line at its end; None for whatever is not plain, and could be read differently
    by somebody else."""
    first, *lines = head.split(b"\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    fields = [_HEADER.fullmatch(one) for one in lines]
    if line is None or not all(fields):
        return None
    headers = [(found[1], found[2].rstrip(b" \t")) for found in fields if found is not None]
    named: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        named.setdefault(name.lower(), []).append(value)
    if b"transfer-encoding" in named or any(len(named.get(name, ())) > 1 for name in _ONCE):
        return None
    length = named.get(b"content-length", [b""])[0]
    if b"content-length" in named and not _LENGTH.fullmatch(length):
        return None
    method, target = line[1].decode("ascii"), line[2].decode("ascii")
    tunnel = method == "CONNECT"
    if tunnel:
        if not _AUTHORITY.fullmatch(target) or int(length or 0):
            return None
        target = f"https://{target}/"
    elif target[:7].lower() != "http://":
        return None
    options = {option.strip().lower() for value in named.get(b"connection", ()) for option in value.split(b",")}
    upgrade = method == "GET" and not int(length or 0) and b"upgrade" in options and _upgrades(named)
    dropped = _HOP_BY_HOP | options | {b"host", b"content-length"}
    return Asked(
        method=method,
        url=target,
        tunnel=tunnel,
        upgrade=upgrade,
        headers=tuple((name, value) for name, value in headers if not _is_dropped(name.lower(), dropped)),
        length=int(length) if length else None,
        credential=named.get(b"proxy-authorization", [b""])[0],
    )


_ONCE: Final = (b"host", b"content-length", b"proxy-authorization", b"upgrade")


def _upgrades(named: dict[bytes, list[bytes]]) -> bool:
    return named.get(b"upgrade", [b""])[0].lower() == b"websocket"  # RFC 6455 section 4.1


def _is_dropped(name: bytes, dropped: frozenset[bytes]) -> bool:
    return name in dropped or name.startswith(b"proxy-")


def written(asked: Asked, target: Target) -> bytes:
    """The head that the server gets: of the URL that was judged, in origin form."""
    default = target.port == 80
    lines = [
        f"{asked.method} {target.path.partition('#')[0]} HTTP/1.1".encode("ascii"),
        f"Host: {target.written if default else f'{target.written}:{target.port}'}".encode("ascii"),
        *(b"%s: %s" % header for header in asked.headers),
    ]
    if asked.length is not None:
        lines.append(b"Content-Length: %d" % asked.length)
    lines += [b"Connection: Upgrade", b"Upgrade: websocket"] if asked.upgrade else [b"Connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


class AnswerReader:
    """Takes what a server says until the head of its answer is complete. ``upgrade``: whether it was asked for one."""

    def __init__(self, upgrade: bool) -> None:
        self._upgrade = upgrade
        self._data = bytearray()
        self._searched = 0
        self._total = 0

    def feed(self, data: bytes) -> Answered | Literal["incomplete", "bad"]:
        """The answer's head for the client, as soon as it is complete; "bad": it is not one to pass on.

        Interim answers (1xx) are passed over. The client is told that the connection ends with this answer.
        """
        self._data += data
        self._total += len(data)
        while (end := _ANSWER_END.search(self._data, max(0, self._searched - 3))) is not None:
            head = bytes(self._data[: end.start()])
            del self._data[: end.end()]
            self._searched = 0
            first, *lines = head.split(b"\n")
            line = _STATUS_LINE.fullmatch(first.rstrip(b"\r"))
            status = int(line[1]) if line is not None else 0
            if status == 101 and self._upgrade:
                return Answered(status, head + b"\r\n\r\n", bytes(self._data))
            if status in _NOT_PASSED_ON:
                return "bad"
            if status >= 200:
                kept = [first.rstrip(b"\r"), *_end_to_end(lines), b"Connection: close"]
                return Answered(status, b"\r\n".join(kept) + b"\r\n\r\n", bytes(self._data))
        self._searched = len(self._data)
        return "incomplete" if self._total <= MAX_ANSWER else "bad"


def _end_to_end(lines: list[bytes]) -> list[bytes]:
    kept, dropping = [], False
    for line in lines:
        line = line.rstrip(b"\r")
        if not line.startswith((b" ", b"\t")):  # Otherwise it goes on with the header before (obs-fold).
            name = line.partition(b":")[0].strip().lower()
            dropping = _is_dropped(name, _HOP_BY_HOP_ANSWERED)
        if not dropping:
            kept.append(line)
    return kept
