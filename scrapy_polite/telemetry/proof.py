"""What can be proved from the ledger: per key the allowed and the kept rate, the worst windows, the gaps, the holds.

Pure functions over events, which know nothing of how the requests were timed.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy_polite.limits.plan import MICRO

from .accounts import accounts
from .prooftext import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.limits.plan import Charge

    from .accounts import Account
    from .events import Event, HeldEvent, Sent

SLACK = 5_000
"""Microseconds between a write and the stamp after it: a gap or a window is not called broken for less."""

PAUSE = 2 * MICRO
"""Microseconds without a request after which a key is taken to have had no work (or 3 of its own increments)."""

WINDOWS = (1, 10)
"""Seconds; half-open, [t, t + 1)."""

MISSES = 1.05
"""Of a key's rate: what an edge may let through to it in a window, at any hit rate. What was given back is left again while the
time that it was out has paid for it already, so the bound of GCRA alone is not enough; measured by ``benchmarks/misses.py``."""

SENTENCES = 20
"""Violations of one kind and key that are told one by one."""


@dataclass(frozen=True, slots=True)
class Window:
    """The fullest span of `seconds`: its units, how many GCRA allows in such a span, and both as shares."""

    seconds: int
    units: float
    allowed: float
    of_allowed: float
    of_rate: float


@dataclass(frozen=True, slots=True)
class KeyProof:
    """What one key was charged, against what it may be charged. Seconds, units, units per second.

    Args:
        rate, burst: what it allows; of a key behind an edge, to misses.
        requests: all that were sent for it.
        refunded: of these, the ones that an edge has answered by itself, so that they never came to what the key stands
            for. They are in no figure but `requests`, the slots and the holds.
        kept: what its requests were entitled to of the time in which it had work and no hold, at the pace that each was
            charged at; 1 is the full rate. None where some were refunded: it is not known then when it had work.
        busy: that time.
        gap, floor: the two requests that came closest to their floor: how far apart they were, and the floor itself
            (cost of the first / rate times its pace, or the least interval that was asked for); None where no two without
            a burst followed on each other.
        pace: the greatest at which it was charged: by so much it was slowed, because its servers were slow.
        booked, missed: slots. A slot is missed when the request was not on the wire within it.
        holds, honoured: holds that began, and those in which nothing was sent.
        inside: requests sent inside a hold that was in force when they were booked.
    """

    key: str
    rate: float
    burst: float
    requests: int
    refunded: int
    units: float
    busy: float
    kept: float | None
    windows: tuple[Window, ...]
    gap: float | None
    floor: float | None
    booked: int
    missed: int
    holds: int
    honoured: int
    inside: int
    pace: float = 1.0


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of one or more crawls: keys in alphabetical order, and every broken promise as a sentence."""

    requests: int
    seconds: float
    keys: tuple[KeyProof, ...]
    violations: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether no promise was broken."""
        return not self.violations

    def as_json(self) -> dict[str, object]:
        """All of it as what `json.dumps` takes."""
        return {
            "passed": self.passed,
            "requests": self.requests,
            "seconds": self.seconds,
            "keys": [asdict(key) for key in self.keys],
            "violations": list(self.violations),
        }

    def as_text(self, sites: int = 20) -> str:
        """A table for people; of the sites only the busiest `sites`, and every one that something is wrong with."""
        return table(self, sites)


def prove(events: Iterable[Event]) -> Proof:
    """What the events of one boot, in any order, prove."""
    all_of_them = accounts(events)
    proofs, violations = [], []
    for key, account in sorted(all_of_them.of.items()):
        proof, broken = _prove_key(key, account, all_of_them.start)
        proofs.append(proof)
        violations += broken
    seconds = (all_of_them.end - all_of_them.start) / MICRO
    return Proof(all_of_them.requests, seconds, tuple(proofs), tuple(violations))


def _prove_key(key: str, account: Account, start: int) -> tuple[KeyProof, list[str]]:
    sent, kept, missed, holds = account.sent, account.kept, account.missed, _merged(account.held)
    rate = max((charge.allowed for _, charge in sent), default=0.0)
    burst = max((charge.burst for _, charge in sent), default=0.0)
    units = sum(charge.cost for _, charge in kept)
    busy, earned = _busy(kept, holds)
    windows = tuple(_window(kept, seconds, rate) for seconds in WINDOWS)
    tightest, close = _gaps(sent, start)
    silent, inside = _inside(sent, holds, start)
    broken = [
        f"{window.units:g} units within {window.seconds} s, where {window.allowed:.2f} are allowed"
        for window in windows
        if window.units > window.allowed
    ]
    lost = missed | {event.slot for event, _ in sent if event.at >= event.slot + event.width}
    proof = KeyProof(
        key=key,
        rate=rate,
        burst=burst,
        requests=len(sent),
        refunded=len(account.refunded),
        units=units,
        busy=busy / MICRO,
        kept=earned / busy if busy and not account.refunded else None,
        windows=windows,
        gap=tightest[0] / MICRO if tightest else None,
        floor=tightest[1] / MICRO if tightest else None,
        booked=len(sent) + len(missed - {event.slot for event, _ in sent}),
        missed=len(lost),
        holds=len(holds),
        honoured=silent,
        inside=len(inside),
        pace=max((charge.pace for _, charge in sent), default=1.0),
    )
    return proof, [f"{key}: {sentence}" for sentence in (*broken, *_short(close), *_short(inside))]


def _short(sentences: list[str]) -> list[str]:
    told, rest = sentences[:SENTENCES], sentences[SENTENCES:]
    return [*told, f"and {len(rest)} more like this"] if rest else told


def _busy(sent: Sequence[tuple[Sent, Charge]], holds: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Microseconds in which the key had work and no hold, and how many of them its requests paid for."""
    busy = earned = 0
    starts = [hold[0] for hold in holds]
    for place, (event, charge) in enumerate(sent):
        increment = charge.increment(event.width)
        earned += increment
        following = sent[place + 1][0].at if place + 1 < len(sent) else None
        ended = following is None or following - event.at > max(PAUSE, 3 * increment)
        # A hold that began between the two, or one that was still in force at the first.
        if following is not None and not ended:
            last = bisect_right(starts, following) - 1
            ended = last >= 0 and holds[last][1] > event.at
        busy += increment if ended or following is None else following - event.at
    return busy, earned


def _window(sent: Sequence[tuple[Sent, Charge]], seconds: int, rate: float) -> Window:
    """The fullest half-open window, found by a window that starts at each request in turn."""
    length, first, inside, worst = seconds * MICRO, 0, 0.0, 0.0
    for event, charge in sent:
        inside += charge.cost
        while event.at - sent[first][0].at >= length:
            inside -= sent[first][1].cost
            first += 1
        worst = max(worst, inside)
    width = max((event.width for event, _ in sent), default=0)
    tolerance = max((charge.tolerance(event.width) for event, charge in sent), default=0)
    largest = max((charge.cost for _, charge in sent), default=0.0)
    paced = max((charge.rate for _, charge in sent), default=0.0)
    # The bound of GCRA for slots, and one width and the stamp's lag for where in its slot a request went out. The burst
    # is in the tolerance.
    allowed = paced * (length + tolerance + width + SLACK) / MICRO + largest
    if any(charge.refundable for _, charge in sent):
        allowed = max(allowed, MISSES * rate * seconds)
    return Window(seconds, worst, allowed, worst / allowed if allowed else 0.0, worst / (rate * seconds) if rate else 0.0)


def _gaps(sent: Sequence[tuple[Sent, Charge]], start: int) -> tuple[tuple[int, int] | None, list[str]]:
    """(gap, floor) of the two requests that came closest to their floor, and a sentence for every two too close; of those that
    had no burst."""
    tightest, margin, broken = None, 0.0, []
    for (event, charge), (following, next_charge) in pairwise(sent):
        if charge.bursts or next_charge.bursts:
            continue
        gap, least = following.at - event.at, charge.least * MICRO
        earned = charge.cost * charge.pace * MICRO / charge.rate
        bound = max(earned - event.width, least)
        if tightest is None or gap - bound < margin:
            tightest, margin = (gap, round(max(earned, least))), gap - bound
        if gap < bound - SLACK:
            broken.append(
                f"two requests {gap / MICRO:.3f} s apart, {(event.at - start) / MICRO:.1f} s after the start, "
                f"where {bound / MICRO:.3f} s is the least"
            )
    return tightest, broken


def _merged(events: Sequence[HeldEvent]) -> list[tuple[int, int]]:
    """(from, until) of holds that do not overlap: they merge by maximum, as the store merges them."""
    holds: list[tuple[int, int]] = []
    for event in events:
        if holds and event.at <= holds[-1][1]:
            since, until = holds[-1]
            holds[-1] = (since, max(until, event.until) if event.until > event.at else event.at)
        elif event.until > event.at:
            holds.append((event.at, event.until))
    return holds


def _inside(sent: Sequence[tuple[Sent, Charge]], holds: Sequence[tuple[int, int]], start: int) -> tuple[int, list[str]]:
    """Holds in which nothing was sent, and a sentence for every request that was sent inside one.

    A slot that was booked before the hold began is still good: its request had been let go.
    """
    sentences: list[str] = []
    times = [event.at for event, _ in sent]
    silent = 0
    for since, until in holds:
        before = len(sentences)
        for event, _ in sent[bisect_right(times, since) :]:
            if event.at >= until - SLACK:
                break
            if event.slot > since or event.at >= event.slot + event.width + SLACK:
                sentences.append(
                    f"a request {(event.at - since) / MICRO:.3f} s into a hold of {(until - since) / MICRO:.1f} s that "
                    f"began {(since - start) / MICRO:.1f} s after the start: {event.url}"
                )
        silent += len(sentences) == before
    return silent, sentences
