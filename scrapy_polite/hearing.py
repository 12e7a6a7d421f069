"""What a site's answers and failures add up to: its place on the ladders, and what is suspected of it."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff.ladders import State, success
from scrapy_polite.backoff.suspicion import Suspicion
from scrapy_polite.stores.base import Cause

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.backoff.ladders import Ladders
    from scrapy_polite.backoff.refusals import Refusal

__all__ = ["Hearing", "Hold", "begun_anew", "noted_state", "serves"]

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
    text: str | None = None
    """The note that this is from."""


class Hearing:
    """``random``: numbers in [0, 1). ``now`` and ``started`` are on one clock, ``wall`` is unix seconds."""

    def __init__(self, ladders: Ladders, random: Callable[[], float]) -> None:
        self._ladders = ladders
        self._random = random
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

    def asks(self, site: str, refusal: Refusal, started: float, now: float) -> float | None:
        """Seconds that the refusal asks for, if a hold begins with it or becomes longer by it; None: it does neither."""
        state = self._of(site).state
        return self._ladders.sets(state, refusal.kind, started, now, refusal.stated, rung=refusal.rung)

    def step(self, site: str, refusal: Refusal, started: float, now: float, place: int = 0) -> Hold:
        """A step of the ladder, or another answer of the burst that is held already. ``place``: of the site among those whose
        holds end with its own."""
        heard = self._of(site)
        before = heard.state.held_until if heard.state is not None else 0.0
        heard.state, seconds = self._ladders.step(
            heard.state, refusal.kind, started, now, self._random, refusal.stated, rung=refusal.rung, place=place
        )
        return Hold(seconds, refusal, begins=heard.state.held_until > before)

    # -- what outlives the process

    def knows(self, site: str) -> bool:
        """Whether anything was heard of the site, or recalled."""
        return site in self._heard

    def state_of(self, site: str) -> State | None:
        heard = self._heard.get(site)
        return heard.state if heard is not None else None

    def has_news(self, site: str) -> bool:
        """Whether something is to be noted of the site, that is not noted yet."""
        heard = self._of(site)
        return heard.state != heard.noted

    def noting(self, site: str, now: float, wall: float) -> Callable[[str | None], str]:
        """What makes the note of the site, of the one that is found in the store. If that is not what this process has gone on
        from, somebody else has heard the site meanwhile: no step of his is lost, unless a good answer has come here since."""
        heard = self._of(site)
        known, state = heard.text, _on_wall(heard.state, now, wall)
        good, suspicion = heard.good - now + wall, heard.suspicion.as_row()

        def made(found: str | None) -> str:
            ladders, _ = _read(found) if found is not None and found != known else (None, None)
            noted = State.from_row(ladders or {})
            both = state if _is_old(noted, good) else state.merged(noted)
            return json.dumps({"version": VERSION, "ladders": both.as_row(), "suspicion": suspicion})

        return made

    def noted(self, site: str, text: str, now: float, wall: float) -> None:
        """``text`` is noted of the site now, as :meth:`noting` has made it."""
        heard = self._of(site)
        noted = noted_state(text)
        if heard.state is not None and noted != _on_wall(heard.state, now, wall):
            heard.state = State(noted.counts, max(heard.state.held_until, noted.held_until - wall + now))
        heard.noted, heard.text = heard.state, text

    def recall(self, site: str, text: str, held: float, now: float, wall: float) -> None:
        """Take what was noted of the site last, by whomever, in place of what is known of its ladders; ``held``: seconds that
        are left of its hold. Not where a good answer has come here since. What cannot be read is no note."""
        new = not self.knows(site)
        heard = self._of(site)
        ladders, suspicion = _read(text)
        if ladders is None:
            return
        heard.text = text
        noted = State.from_row(ladders)
        if _is_old(noted, heard.good - now + wall):
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

    def rung(self, site: str, kind: str) -> float:
        """Seconds of the rung that the site's last refusal of the kind has used up, whatever time it stated."""
        state = self.state_of(site) or State()
        return self._ladders.rung(kind, max(0, state.count(kind) - 1))

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


def begun_anew() -> str:
    """The note of a site of which nothing bad is known, as a person leaves it who ends its hold."""
    return json.dumps({"version": VERSION, "ladders": State().as_row()})


def noted_state(text: str | None) -> State:
    """Where a site stands by the note on it: as one of which nothing bad is known where there is none that can be read."""
    return State.from_row((_read(text)[0] if text is not None else None) or {})


def _on_wall(state: State | None, now: float, wall: float) -> State:
    return State(state.counts, state.held_until - now + wall) if state is not None else State()


def _is_old(noted: State, good: float) -> bool:
    """Whether the last good answer is of a request that was sent after what was noted."""
    return bool(noted.counts) and good >= noted.held_until


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
