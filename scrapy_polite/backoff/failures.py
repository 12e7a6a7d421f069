"""What a download that failed says about the site: the ladder it belongs to, if it says anything.

The face knows the names that Twisted and Scrapy have for what went wrong, and tells it as one of the `Failure`s here.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from .refusals import Refusal

Failure = Literal[
    "no_such_name",
    "dns",
    "connect_refused",
    "connect_timeout",
    "unreachable",
    "tls",
    "timeout",
    "reset",
    "cut_short",
    "not_http",
    "guard",
    "proxy",
    "ours",
]

_LADDERS: Final[dict[Failure, tuple[str, str]]] = {
    # The name servers failed or stayed silent (SERVFAIL, a timeout).
    "dns": ("dns", "its name could not be looked up"),
    "connect_refused": ("connect", "nobody accepts connections"),
    "connect_timeout": ("connect", "no connection in time"),
    # The host, or its network behind the last router. That our own machine has no network is `ours`.
    "unreachable": ("connect", "its address cannot be reached"),
    "tls": ("tls", "the TLS handshake failed"),
    # There was a connection, and no whole answer within DOWNLOAD_TIMEOUT.
    "timeout": ("timeout", "no answer in time"),
    # Closed or reset with no answer, or before it had ended.
    "reset": ("reset", "the connection was closed without an answer"),
    "cut_short": ("reset", "the connection was closed in the middle of an answer"),
    "not_http": ("error", "the answer is no HTTP"),
}

_NO_LADDER: Final[dict[Failure, str]] = {
    # An answer, and a final one: to wait does not make the name exist, and no server of the site was troubled.
    "no_such_name": "the name does not exist",
    # Not the site's doing.
    "guard": "the guard refused it",
    "proxy": "the proxy failed",
    "ours": "it ended on our side: cancelled, too large, no network, no file descriptors",
}

FAILURES: Final[tuple[Failure, ...]] = get_args(Failure)


def failed(failure: Failure) -> Refusal | None:
    """The refusal that a failed download counts as; None where it says nothing about the site.

    One is chance, as one 5xx is: it counts towards a run (`needs`), and begins a hold only with others.
    """
    ladder = _LADDERS.get(failure)
    if ladder is None:
        return None
    kind, reason = ladder
    return Refusal(kind, None, reason, "run")
