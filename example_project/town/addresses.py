"""Where everybody in the town lives: one loopback address (or two) per server, all of them in 127.0.0.0/8.

Linux answers on the whole of 127.0.0.0/8 without any set-up, so that every server can have an address of its own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

NETWORK: Final = "127.20.0.0/16"
"""All well-behaved inhabitants, and the one network that a crawler of the town has to allow."""

PLATFORM: Final = ("127.20.0.1", "127.20.0.2")
LONE: Final = "127.20.1.1"
CRAWL_DELAY: Final = "127.20.1.2"
BUSY_SECONDS: Final = "127.20.1.3"
BUSY_DATE: Final = "127.20.1.4"
DOWN: Final = "127.20.1.5"
CHALLENGE: Final = "127.20.1.6"
KNEE: Final = "127.20.1.7"
SLOW: Final = "127.20.1.8"
CDN: Final = "127.20.3.1"
CDN_ORIGIN: Final = "127.20.3.9"
BUCKET: Final = "127.20.4.1"
IMAGE_SERVICE: Final = "127.20.5.1"
REBIND: Final = "127.20.6.1"

TRAPS: Final = ("127.0.0.1", "127.99.0.1", "127.99.13.37", "::1")
"""What nobody may reach: the machine itself, and two stand-ins for neighbours. ``::1`` may be missing on a machine."""

SERVERS: Final[dict[str, tuple[str, ...]]] = {
    "platform": PLATFORM,
    "lone": (LONE,),
    "crawl-delay": (CRAWL_DELAY,),
    "busy-seconds": (BUSY_SECONDS,),
    "busy-date": (BUSY_DATE,),
    "down": (DOWN,),
    "challenge": (CHALLENGE,),
    "knee": (KNEE,),
    "slow": (SLOW,),
    "cdn": (CDN,),
    "cdn-origin": (CDN_ORIGIN,),
    "bucket": (BUCKET,),
    "imageservice": (IMAGE_SERVICE,),
    "rebind": (REBIND,),
    "trap": TRAPS,
}
"""Server's name, as it stands in the log of arrivals, and its addresses."""


class Ports(NamedTuple):
    """The two port numbers that every server of a town listens on."""

    http: int
    https: int

    def base(self, host: str, tls: bool) -> str:
        """``http://host:port`` or ``https://host:port``, without a slash at the end."""
        return f"https://{host}:{self.https}" if tls else f"http://{host}:{self.http}"
