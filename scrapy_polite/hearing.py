"""What a site's answers and failures add up to: its place on the ladders, and what is suspected of it."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff.ladders import State, success
from scrapy_polite.backoff.spread import fractions
from scrapy_polite.backoff.suspicion import Suspicion
from scrapy_polite.stores.base import Cause

if TYPE_CHECKING:
    from scrapy_polite.backoff.ladders import Ladders
    from scrapy_polite.backoff.refusals import Refusal

__all__ = ["Hearing", "Hold", "serves"]

NOT_SERVED: Final = (429, 503)
"""What means "later" (RFC 6585 section 4, RFC 9110 section 15.6.4). A redirect or a 404 with a Retry-After is an answer: its
site is held, and it is passed on, as asking again would not change it."""

REMEMBERED: Final = 50_000
"""Sites whose state is kept. The oldest goes first: a site that was not heard of for so long starts at its first rung."""


VERSION: Final = 1
"""Of the notes."""


@dataclass(frozen=True, slots=True)
class Hold:
    """The site is to be held for ``seconds``, because of ``refusal``. ``begins``: it begins with this refusal, or ends later by
    it; else it is one that is under way, and another answer of the same burst."""

    seconds: float
    refusal: Refusal
    begins: bool

    @property
    def cause(self) -> Cause:
        return Cause(self.refusal.kind, self.refusal.reason, self.refusal.stated is not None)


@dataclass(slots=True)
class _Heard:
    state: State | None = None
    suspicion: Suspicion = field(default_factory=Suspicion)
    good: float = -math.inf
    """When the last request that had a good answer was sent."""
    noted: State | None = None
    """What the store has of it, as far as is known."""


class Hearing:
    """``start``: any number, for the places at which the keys of this process come back. ``now`` and ``started`` are on one
    clock, ``wall`` is unix seconds."""

    def __init__(self, ladders: Ladders, start: float) -> None:
        self._ladders = ladders
        self._random = partial(next, fractions(start))
        self._heard: OrderedDict[str, _Heard] = OrderedDict()

    def acts(self, site: str, url: str, refusal: Refusal | None, started: float) -> bool:
        """One answer or failure of ``site``, of a request for ``url``: whether it holds the site: then :meth:`step` is due.

        ``refusal``: what it was recognised as; None: a good answer, which clears the ladders if its request was sent after the
        hold. What is too weak a sign by itself does neither.
        """
        heard = self._of(site)
        heard.suspicion, acts = heard.suspicion.heard(refusal, url)
        if refusal is None:
            heard.state = success(heard.state, started)
            heard.good = max(heard.good, started)
        return acts

    def step(self, site: str, refusal: Refusal, started: float, now: float) -> Hold:
        """A step of the ladder, or another answer of the burst that is held already."""
        heard = self._of(site)
        before = heard.state.held_until if heard.state is not None else 0.0
        heard.state, seconds = self._ladders.step(
            heard.state, refusal.kind, started, now, self._random, refusal.stated, rung=refusal.rung
        )
        return Hold(seconds, refusal, begins=heard.state.held_until > before)

    # -- what outlives the process

    def knows(self, site: str) -> bool:
        """Whether anything was heard of the site, or recalled."""
        return site in self._heard

    def state_of(self, site: str) -> State | None:
        heard = self._heard.get(site)
        return heard.state if heard is not None else None

    def news(self, site: str, now: float, wall: float) -> str | None:
        """What is to be noted of the site; None where that would be nothing new."""
        heard = self._of(site)
        if heard.state == heard.noted:
            return None
        heard.noted = heard.state
        state = heard.state or State()
        row = State(state.counts, state.held_until - now + wall if heard.state is not None else 0.0).as_row()
        return json.dumps({"version": VERSION, "ladders": row, "suspicion": heard.suspicion.as_row()})

    def recall(self, site: str, text: str, held: float, now: float, wall: float) -> None:
        """Take what was noted of the site last, by whomever, in place of what is known of its ladders; ``held``: seconds that
        are left of its hold. Not where a good answer has come here since. What cannot be read is no note."""
        new = not self.knows(site)
        heard = self._of(site)
        ladders, suspicion = _read(text)
        if ladders is None:
            return
        noted = State.from_row(ladders)
        if noted.counts and heard.good >= noted.held_until - wall + now:
            return
        if new and suspicion is not None:
            heard.suspicion = Suspicion.from_row(suspicion)
        until = now + held if held > 0 else 0.0
        if heard.state is not None:
            until = max(until, heard.state.held_until)
        heard.state = heard.noted = State(noted.counts, until) if noted.counts or until else None

    def refusals(self, site: str) -> int:
        """Steps of all ladders since the site's last good answer."""
        heard = self._heard.get(site)
        return heard.state.refusals if heard is not None and heard.state is not None else 0

    def forget(self, site: str) -> None:
        """A person has ended its hold: the next refusal begins at the first rung."""
        self._heard.pop(site, None)

    def _of(self, site: str) -> _Heard:
        heard = self._heard.get(site)
        if heard is None:
            heard = self._heard[site] = _Heard()
        self._heard.move_to_end(site)
        if len(self._heard) > REMEMBERED:
            self._heard.popitem(last=False)
        return heard


def _read(text: str) -> tuple[dict[str, object] | None, dict[str, object] | None]:
    """The rows of a note of this version."""
    try:
        found = json.loads(text)
    except ValueError:
        return None, None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        return None, None
    ladders, suspicion = found.get("ladders"), found.get("suspicion")
    return ladders if isinstance(ladders, dict) else None, suspicion if isinstance(suspicion, dict) else None


def serves(status: int, refusal: Refusal) -> bool:
    """Whether an answer that begins a hold is nevertheless one for whoever asked: a page that is denied by its status is, and
    another page may be had. A wall is not, nor what comes as success or asks for patience."""
    if status in NOT_SERVED or refusal.run or refusal.kind == "challenge":
        return False
    return not (refusal.signature and (200 <= status <= 299 or refusal.kind == "rate_limited"))
