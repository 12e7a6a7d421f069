"""What the forward proxy reads and writes: whatever two parsers could read differently is no request."""

from __future__ import annotations

import pytest

from scrapy_polite.browser.heads import MAX_ANSWER, Answered, AnswerReader, Asked, read_head, written
from scrapy_polite.naming.hosts import Target, parse


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1")


def asked(*lines: str) -> Asked:
    found = read_head(head(*lines))
    assert found is not None
    return found


def target(url: str) -> Target:
    found = parse(url)
    assert isinstance(found, Target)
    return found


def sent(*lines: str) -> list[str]:
    found = asked(*lines)
    return written(found, target(found.url)).decode("latin-1").split("\r\n")


def test_a_tunnel_is_judged_by_its_host_and_port() -> None:
    found = asked("CONNECT a.example:443 HTTP/1.1", "Host: a.example:443", "Proxy-Authorization: Basic eA==")
    assert (found.url, found.tunnel, found.credential) == ("https://a.example:443/", True, b"Basic eA==")
    assert asked("CONNECT [2001:db8::1]:80 HTTP/1.1").url == "https://[2001:db8::1]:80/"


def test_a_request_goes_to_the_server_as_the_browser_would_have_sent_it() -> None:
    found = sent(
        "GET http://a.example:8080/b?c=d HTTP/1.1",
        "Host: a.example:8080",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic eA==",
        "User-Agent: somebody",
        "Cookie: a=b",
    )
    assert found == [
        "GET /b?c=d HTTP/1.1",
        "Host: a.example:8080",
        "User-Agent: somebody",
        "Cookie: a=b",
        "Connection: close",
        "",
        "",
    ]


def test_the_host_that_was_judged_is_the_one_that_is_asked_for() -> None:
    assert sent("GET http://a.example/ HTTP/1.1", "Host: inside.example")[1] == "Host: a.example"
    assert sent("GET http://A.example:80/ HTTP/1.1")[:2] == ["GET / HTTP/1.1", "Host: a.example"]
    assert sent("GET http://[2001:DB8::1]:81/ HTTP/1.1")[1] == "Host: [2001:db8::1]:81"


def test_a_path_is_sent_as_it_was_judged() -> None:
    assert sent("GET http://a.example/b/../c#d HTTP/1.1")[0] == "GET /c HTTP/1.1"
    assert sent("GET http://a.example HTTP/1.1")[0] == "GET / HTTP/1.1"
    assert sent("GET http://a.example?q HTTP/1.1")[0] == "GET /?q HTTP/1.1"


def test_a_body_has_one_length() -> None:
    found = asked("POST http://a.example/ HTTP/1.1", "Content-Length: 5", "Expect: 100-continue")
    assert found.length == 5
    assert written(found, target(found.url)).endswith(b"Host: a.example\r\nContent-Length: 5\r\nConnection: close\r\n\r\n")


def test_headers_that_the_connection_names_stay_behind() -> None:
    found = sent("GET http://a.example/ HTTP/1.1", "Connection: close, X-Mine", "X-Mine: 1", "TE: trailers", "X-Yours: 2")
    assert found[2:] == ["X-Yours: 2", "Connection: close", "", ""]


def test_a_web_socket_may_be_asked_for_in_absolute_form() -> None:
    lines = (
        "GET http://a.example/s HTTP/1.1",
        "Connection: keep-alive, Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: eA==",
    )
    assert asked(*lines).upgrade
    assert sent(*lines)[2:] == ["Sec-WebSocket-Key: eA==", "Connection: Upgrade", "Upgrade: websocket", "", ""]


@pytest.mark.parametrize("upgrade", ["h2c", "websocket, h2c", ""])
def test_no_other_protocol_can_be_asked_for(upgrade: str) -> None:
    found = sent("GET http://a.example/ HTTP/1.1", "Connection: Upgrade", f"Upgrade: {upgrade}", "HTTP2-Settings: x")
    assert not asked("GET http://a.example/ HTTP/1.1", "Connection: Upgrade", f"Upgrade: {upgrade}").upgrade
    assert found[2:] == ["HTTP2-Settings: x", "Connection: close", "", ""]


@pytest.mark.parametrize(
    "lines",
    [
        ["GET / HTTP/1.1"],
        ["GET /http://a.example/ HTTP/1.1"],
        ["GET https://a.example/ HTTP/1.1"],
        ["GET ftp://a.example/ HTTP/1.1"],
        ["GET ws://a.example/ HTTP/1.1"],
        ["GET a.example HTTP/1.1"],
        ["GET http://a.example/"],
        ["GET http://a.example/ HTTP/2.0"],
        ["GET http://a.example/ HTTP/1.1 "],
        ["GET  http://a.example/ HTTP/1.1"],
        ["GET http://a.example/ x HTTP/1.1"],
        ["G(T http://a.example/ HTTP/1.1"],
        [" GET http://a.example/ HTTP/1.1"],
        ["GET http://a.example/\t HTTP/1.1"],
        ["GET http://a.exämple/ HTTP/1.1"],
        ["GET http://a.example/\nX: y HTTP/1.1"],
        ["CONNECT a.example HTTP/1.1"],
        ["CONNECT http://a.example:443/ HTTP/1.1"],
        ["CONNECT a.example:443/path HTTP/1.1"],
        ["CONNECT user@a.example:443 HTTP/1.1"],
        ["CONNECT a.example:443 HTTP/1.1", "Content-Length: 5"],
        ["CONNECT a.example:123456 HTTP/1.1"],
        [""],
        ["", "GET http://a.example/ HTTP/1.1"],
    ],
)
def test_a_request_line_that_is_not_plain_is_none(lines: list[str]) -> None:
    assert read_head(head(*lines)) is None


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 5", "Content-Length: 5"],
        ["Content-Length: 5", "content-length: 6"],
        ["Content-Length: 5, 5"],
        ["Content-Length: +5"],
        ["Content-Length: 0x5"],
        ["Content-Length: -1"],
        ["Content-Length:"],
        ["Content-Length: 9999999999999999"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked"],
        ["Transfer-Encoding: identity"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding : chunked"],
        ["Transfer-Encoding\t: chunked"],
        ["X: y\nTransfer-Encoding: chunked"],
        ["X: y\rTransfer-Encoding: chunked"],
        ["X: y", " Transfer-Encoding: chunked"],
        ["X: \x00"],
        ["X"],
        [": y"],
        ["Host: a.example", "Host: b.example"],
        ["Proxy-Authorization: a", "Proxy-Authorization: b"],
    ],
)
def test_headers_that_could_be_read_differently_are_none(lines: list[str]) -> None:
    assert read_head(head("POST http://a.example/ HTTP/1.1", *lines)) is None


def read(data: bytes, upgrade: bool = False) -> Answered | str:
    return AnswerReader(upgrade).feed(data)


def test_an_answer_says_that_it_is_the_last_on_its_connection() -> None:
    found = read(
        b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"
    )
    assert found == Answered(
        200, b"HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", b"5\r\n"
    )


def test_an_answer_is_read_in_whatever_pieces_it_comes() -> None:
    whole = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\nX: y\r\n folded\n\r\nbody"
    expected = read(whole)
    assert expected == Answered(200, b"HTTP/1.1 200 OK\r\nX: y\r\n folded\r\nConnection: close\r\n\r\n", b"body")
    reader = AnswerReader(upgrade=False)
    found = [reader.feed(bytes([octet])) for octet in whole[:-4]]
    assert set(found[:-1]) == {"incomplete"}
    assert isinstance(found[-1], Answered)
    assert found[-1].head == expected.head


def test_a_site_cannot_ask_for_the_credential_of_the_proxy() -> None:
    assert read(b'HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n') == "bad"
    found = read(b'HTTP/1.1 200 OK\r\nProxy-Authenticate: Basic realm="x"\r\nProxy-Connection: x\r\n\r\n')
    assert found == Answered(200, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b"")


@pytest.mark.parametrize("data", [b"SSH-2.0-x\r\n\r\n", b"\r\n\r\n", b"HTTP/0.9 200 OK\r\n\r\n", b"HTTP/1.1 099 x\r\n\r\n"])
def test_what_is_no_http_is_not_passed_on(data: bytes) -> None:
    assert read(data) == "bad"


def test_a_head_without_end_is_given_up() -> None:
    reader = AnswerReader(upgrade=False)
    assert reader.feed(b"HTTP/1.1 200 OK\r\nX: ") == "incomplete"
    assert reader.feed(b"y" * MAX_ANSWER) == "bad"
    hints = AnswerReader(upgrade=False)
    assert hints.feed(b"HTTP/1.1 103 x\r\n\r\n" * (MAX_ANSWER // 10)) == "bad"


def test_a_protocol_changes_only_for_who_has_asked() -> None:
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00"
    assert read(switching) == "bad"
    assert read(switching, upgrade=True) == Answered(101, switching[:-2], b"\x81\x00")
