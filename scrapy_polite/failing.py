"""What the exceptions of Scrapy and Twisted say about a download that failed: which of :data:`FAILURES` it is."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final

from OpenSSL import SSL
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from twisted.internet import error as tx
from twisted.internet.defer import CancelledError
from twisted.web._newclient import BadHeaders, ParseError, ResponseFailed

from scrapy_polite.errors import NoAddressError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_polite.backoff.failures import Failure

__all__ = ["failure_of", "look_up_of"]

_LOOK_UPS: Final[dict[str, Failure]] = {
    "nxdomain": "no_such_name",
    "no_addresses": "no_such_name",
    "servfail": "dns",
    "timeout": "dns",
    "loop": "dns",
    "malformed": "dns",
    # No name server could be spoken to: it is this machine's network.
    "unreachable": "ours",
}

_NUMBERS: Final[dict[int, Failure]] = {
    errno.ECONNREFUSED: "connect_refused",
    errno.ETIMEDOUT: "connect_timeout",
    errno.EHOSTUNREACH: "unreachable",
    errno.EHOSTDOWN: "unreachable",
    # ENETUNREACH is what a machine without a network says, and those without file descriptors or ports say others.
}

_MOST: Final = 20
"""Exceptions that are looked at: causes and reasons may be nested, and hardly are."""

_BY_WEIGHT: Final[tuple[Failure, ...]] = (
    "no_such_name",
    "dns",
    "timeout",
    "tls",
    "not_http",
    "cut_short",
    "connect_refused",
    "connect_timeout",
    "unreachable",
    "reset",
)
"""Where several are told of, as by a connection that is closed after what was no HTTP, the first of these counts."""


def failure_of(error: BaseException, *, sent: bool = False, secure: bool = False, proxied: bool = False) -> Failure:
    """What has failed.

    ``sent``: the request was on the wire. ``secure``: by TLS. ``proxied``: by way of a proxy, which is then the one that could
    not be reached, or did not let it through. What nobody knows here is ``ours``: it holds nothing.
    """
    if isinstance(error, IgnoreRequest):
        return "guard"
    if isinstance(error, DownloadCancelledError | CancelledError):
        return "ours"
    if proxied and not sent:
        return "proxy"
    found = {_one(part, sent, secure) for part in _parts(error)}
    return next((failure for failure in _BY_WEIGHT if failure in found), "ours")


def look_up_of(error: BaseException) -> NoAddressError | None:
    """The look-up that has failed; None where something else has."""
    return next((part for part in _parts(error) if isinstance(part, NoAddressError)), None)


def _parts(error: BaseException) -> Iterator[BaseException]:
    """The exception, its causes, and the reasons that Twisted has wrapped."""
    todo, seen = [error], 0
    while todo and seen < _MOST:
        part = todo.pop()
        seen += 1
        yield part
        if part.__cause__ is not None:
            todo.append(part.__cause__)
        # Twisted's reasons are Failures, those of Scrapy's HTTP/2 mostly the exceptions themselves.
        reasons = [getattr(reason, "value", reason) for reason in getattr(part, "reasons", None) or ()]
        todo += [reason for reason in reasons if isinstance(reason, BaseException)]


def _one(error: BaseException, sent: bool, secure: bool) -> Failure:
    """What this one alone says; ``ours``: nothing."""
    if isinstance(error, NoAddressError):
        return _LOOK_UPS.get(error.reason, "ours")
    if isinstance(error, DownloadConnectionRefusedError):
        return "connect_refused"
    if isinstance(error, DownloadTimeoutError | tx.TimeoutError) or _is_browsers_timeout(error):
        return "timeout" if sent else "connect_timeout"
    if isinstance(error, SSL.Error | tx.SSLError | tx.CertificateError | tx.VerifyError):
        return "reset" if sent else "tls"
    if isinstance(error, ParseError | BadHeaders):
        return "not_http"
    if isinstance(error, ResponseDataLossError):
        return "cut_short"
    if isinstance(error, ResponseFailed):
        # With a response: its head had come.
        return "cut_short" if error.response is not None else "ours"
    if isinstance(error, tx.ConnectionAborted | ConnectionAbortedError | CannotResolveHostError):
        return "ours"
    if isinstance(error, tx.ConnectError):
        return _NUMBERS.get(error.osError, "ours")
    if isinstance(error, tx.ConnectionClosed | ConnectionError) or type(error).__name__ == "RemoteTerminatedConnection":
        # Whoever closes before the first word of HTTP has closed during the handshake.
        return "tls" if secure and not sent else "reset"
    return "ours"


def _is_browsers_timeout(error: BaseException) -> bool:
    """Playwright's, which is loaded only where it is used."""
    return type(error).__name__ == "TimeoutError" and type(error).__module__.startswith("playwright.")
