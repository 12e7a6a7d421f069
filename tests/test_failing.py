"""What Scrapy's and Twisted's exceptions are heard as."""

from __future__ import annotations

import errno

import pytest
from OpenSSL import SSL
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from twisted.internet import error as tx
from twisted.python.failure import Failure as Reason
from twisted.web._newclient import ParseError, ResponseFailed, ResponseNeverReceived

from scrapy_polite.backoff.failures import Failure, failed
from scrapy_polite.errors import NoAddressError, NotNow, RequestRefused
from scrapy_polite.failing import failure_of


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def never(*reasons: Exception) -> Exception:
    wrapped = ResponseNeverReceived([Reason(reason) for reason in reasons])
    return caused(DownloadFailedError("never"), wrapped)


def unresolved(reason: str) -> Exception:
    return caused(CannotResolveHostError(reason), NoAddressError(reason))


@pytest.mark.parametrize(
    ("reason", "failure"),
    [
        ("nxdomain", "no_such_name"),
        ("no_addresses", "no_such_name"),
        ("servfail", "dns"),
        ("timeout", "dns"),
        ("loop", "dns"),
        ("malformed", "dns"),
        ("unreachable", "ours"),
    ],
)
def test_a_look_up_says_why_it_failed(reason: str, failure: Failure) -> None:
    assert failure_of(unresolved(reason)) == failure


@pytest.mark.parametrize(
    ("error", "sent", "failure"),
    [
        (DownloadConnectionRefusedError(), False, "connect_refused"),
        (DownloadTimeoutError(), False, "connect_timeout"),
        (DownloadTimeoutError(), True, "timeout"),
        (tx.TCPTimedOutError(errno.ETIMEDOUT), False, "connect_timeout"),
        (tx.ConnectError(errno.EHOSTUNREACH), False, "unreachable"),
        (tx.NoRouteError(errno.ENETUNREACH), False, "ours"),
        (tx.ConnectError(errno.EMFILE), False, "ours"),
        (tx.ConnectBindError(errno.EADDRNOTAVAIL), False, "ours"),
        (never(SSL.Error("bad")), False, "tls"),
        (never(tx.ConnectionDone()), False, "tls"),
        (never(tx.ConnectionLost()), True, "reset"),
        (never(tx.ConnectionDone()), True, "reset"),
        (never(ConnectionError("closed")), True, "reset"),
        (never(ParseError("junk", b""), tx.ConnectionAborted()), True, "not_http"),
        (never(tx.ConnectionAborted()), True, "ours"),
        (never(ConnectionAbortedError("dropped")), True, "ours"),
        (ResponseDataLossError(), True, "cut_short"),
        (caused(DownloadFailedError(), ResponseFailed([Reason(tx.ConnectionLost())], object())), True, "cut_short"),
        (caused(DownloadFailedError(), ResponseFailed([tx.ConnectionLost()])), True, "reset"),
        (caused(DownloadFailedError(), ResponseFailed([ParseError("junk", b""), "no exception at all"])), True, "not_http"),
        (DownloadCancelledError(), True, "ours"),
        (ValueError("of a middleware"), False, "ours"),
        (CannotResolveHostError("somebody else's"), False, "ours"),
    ],
)
def test_each_exception_is_heard_as_what_it_is(error: Exception, sent: bool, failure: Failure) -> None:
    assert failure_of(error, sent=sent, secure=True) == failure


def test_a_connection_that_is_closed_before_a_word_of_plain_http_was_sent_was_reset() -> None:
    assert failure_of(never(tx.ConnectionDone())) == "reset"


@pytest.mark.parametrize("error", [RequestRefused("private", "10.0.0.1"), NotNow("held"), IgnoreRequest()])
def test_what_we_refuse_ourselves_is_never_heard(error: Exception) -> None:
    assert failed(failure_of(error, sent=True)) is None


@pytest.mark.parametrize("error", [DownloadConnectionRefusedError(), DownloadTimeoutError(), unresolved("servfail")])
def test_on_the_way_to_a_proxy_it_is_the_proxy_that_fails(error: Exception) -> None:
    assert failed(failure_of(error, proxied=True)) is None


def test_behind_a_proxy_a_silent_site_is_the_sites_own() -> None:
    assert failure_of(DownloadTimeoutError(), sent=True, proxied=True) == "timeout"


def test_causes_that_go_round_in_a_circle_come_to_an_end() -> None:
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert failure_of(first) == "ours"
