"""What a site's answers add up to: its place on the ladders, and its run of failures."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff.ladders import Run, success
from scrapy_polite.backoff.refusals import recognise
from scrapy_polite.stores.base import Cause

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy_polite.backoff.ladders import Ladders, State

__all__ = ["Hearing", "Hold"]

NOT_SERVED: Final = (429, 503)
"""What means "later" (RFC 6585 section 4, RFC 9110 section 15.6.4). A redirect or a 404 with a Retry-After is an answer: its
site is held, and it is passed on, as asking again would not change it."""

REMEMBERED: Final = 50_000
"""Sites whose state is kept. The oldest goes first: a site that was not heard of for so long starts at its first rung."""


@dataclass(frozen=True, slots=True)
class Hold:
    """The site is to be held for ``seconds``. ``served``: the answer is nevertheless one for whoever asked."""

    seconds: float
    cause: Cause
    served: bool


@dataclass(slots=True)
class _Heard:
    state: State | None = None
    run: Run = field(default_factory=Run)


class Hearing:
    """``random``: a number in [0, 1) for the jitter of a ladder."""

    def __init__(self, ladders: Ladders, random: Callable[[], float]) -> None:
        self._ladders = ladders
        self._random = random
        self._heard: OrderedDict[str, _Heard] = OrderedDict()

    def listen(
        self, site: str, status: int, headers: Mapping[str, Sequence[str]], started: float, now: float, wall: float
    ) -> Hold | None:
        """One answer of ``site``, to a request that went onto the wire at ``started``. A hold where it is a refusal; None
        where it is an answer for whoever asked, a single error among them.

        ``now`` is on the clock of ``started``, ``wall`` is the time of day, for a date in the headers.
        """
        refusal = recognise(status, headers, wall, bucket=site.startswith("bucket:"))
        heard = self._of(site)
        heard.run = heard.run.heard(refusal is not None and refusal.run)
        if refusal is None:
            heard.state = success(heard.state, started)
            return None
        if refusal.run and not heard.run.broken:
            return None
        heard.state, seconds = self._ladders.step(heard.state, refusal.kind, started, now, self._random, refusal.stated)
        cause = Cause(refusal.kind, refusal.reason, refusal.stated is not None)
        return Hold(seconds, cause, served=not (status in NOT_SERVED or refusal.run or refusal.kind == "challenge"))

    def _of(self, site: str) -> _Heard:
        heard = self._heard.setdefault(site, _Heard())
        self._heard.move_to_end(site)
        if len(self._heard) > REMEMBERED:
            self._heard.popitem(last=False)
        return heard
