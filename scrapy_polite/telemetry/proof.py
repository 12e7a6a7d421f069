"""What can be proved from the ledger: per key the allowed and the kept rate, the worst windows, the gaps, the holds.

Pure functions over events, which know nothing of how the requests were timed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy_polite.limits.plan import MICRO

from .events import Event, HeldEvent, Missed, Sent
from .prooftext import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.limits.plan import Charge

SLACK = 5_000
"""Microseconds between a write and the stamp after it: a gap or a window is not called broken for less."""

PAUSE = 2 * MICRO
"""Microseconds without a request after which a key is taken to have had no work (or 3 of its own increments)."""

WINDOWS = (1, 10)
"""Seconds; half-open, [t, t + 1)."""

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
        kept: what its requests were entitled to of the time in which it had work and no hold; 1 is the full rate.
        busy: that time.
        gap, floor: the two requests that came closest to their floor: how far apart they were, and the floor itself
            (cost of the first / rate, or the least interval that was asked for); None for a key with burst, or with
            fewer than two requests.
        booked, missed: slots. A slot is missed when the request was not on the wire within it.
        holds, honoured: holds that began, and those in which nothing was sent.
        inside: requests sent inside a hold that was in force when they were booked.
    """

    key: str
    rate: float
    burst: float
    requests: int
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
    sent: defaultdict[str, list[tuple[Sent, Charge]]] = defaultdict(list)
    missed: defaultdict[str, set[int]] = defaultdict(set)
    held: defaultdict[str, list[HeldEvent]] = defaultdict(list)
    times: list[int] = []
    requests = 0
    for event in sorted(events, key=lambda event: event.at):
        times.append(event.at)
        if isinstance(event, Sent):
            requests += 1
            for charge in event.charges:
                sent[charge.key].append((event, charge))
        elif isinstance(event, Missed):
            missed[event.key].add(event.slot)
        else:
            held[event.key].append(event)
    start = times[0] if times else 0
    proofs, violations = [], []
    for key in sorted({*sent, *missed, *held}):
        proof, broken = _prove_key(key, sent[key], missed[key], _merged(held[key]), start)
        proofs.append(proof)
        violations += broken
    return Proof(requests, (times[-1] - start) / MICRO if times else 0.0, tuple(proofs), tuple(violations))


def _prove_key(
    key: str, sent: Sequence[tuple[Sent, Charge]], missed: set[int], holds: Sequence[tuple[int, int]], start: int
) -> tuple[KeyProof, list[str]]:
    rate = max((charge.rate for _, charge in sent), default=0.0)
    burst = max((charge.burst for _, charge in sent), default=0.0)
    units = sum(charge.cost for _, charge in sent)
    busy, earned = _busy(sent, holds)
    windows = tuple(_window(sent, seconds, rate) for seconds in WINDOWS)
    tightest, close = _gaps(sent, start) if not burst else (None, [])
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
        units=units,
        busy=busy / MICRO,
        kept=earned / busy if busy else None,
        windows=windows,
        gap=tightest[0] / MICRO if tightest else None,
        floor=tightest[1] / MICRO if tightest else None,
        booked=len(sent) + len(missed - {event.slot for event, _ in sent}),
        missed=len(lost),
        holds=len(holds),
        honoured=silent,
        inside=len(inside),
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
    # The bound of GCRA for slots, and one width and the stamp's lag for where in its slot a request went out. The burst
    # is in the tolerance.
    allowed = rate * (length + tolerance + width + SLACK) / MICRO + largest
    return Window(seconds, worst, allowed, worst / allowed if allowed else 0.0, worst / (rate * seconds) if rate else 0.0)


def _gaps(sent: Sequence[tuple[Sent, Charge]], start: int) -> tuple[tuple[int, int] | None, list[str]]:
    """(gap, floor) of the two requests that came closest to their floor, and a sentence for every two too close."""
    tightest, margin, broken = None, 0.0, []
    for (event, charge), (following, _) in pairwise(sent):
        gap, least = following.at - event.at, charge.least * MICRO
        earned = charge.cost * MICRO / charge.rate
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
