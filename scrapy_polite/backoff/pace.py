"""Pace: a key slows down as its server does, before that refuses; and speeds up again as the server does.

What is listened to is one number: the latency of good answers (from the redemption of the slot to the first byte, so the
length of a body does not count) over the latency of the same kind of page at low load. It is a fast average of
logarithms, about a second long. A queue in front of a server shows in it before the queue is full.

- **While it is below 1.75** (and the key's own scatter on top) there is nothing to do, and the pace comes back to 1.
- **Above**, the pace is that ratio over the threshold, at once; and a slow part grows with the time that it stays above,
  until the server is just busy. It falls as slowly, and near the knee, the pace at which it last rose, most slowly of
  all, so that the rate settles and does not swing.
- **The baseline** follows while load is low only, since a queue must not become what is normal. So it could be wrong for
  ever, were there no **probe**: every five minutes of slowness a quarter less for a moment; what is measured then is what
  the server can do.
- **A hold** leaves a wall: what follows it goes at half of the rate before, and comes back over minutes. A server that
  refuses without getting slower first shows nothing else to learn from.

What holds for any sequence of observations: the pace is from 1 to `exp(ceiling(rate))`, so never faster than the rate
that was set; one answer moves the slow part by at most a quarter and the ratio by at most a quarter of its distance; time
without requests proves nothing; error pages are not observed, and however many there are changes nothing.

Pure: `now` is the store's clock in seconds, `rate` how many requests a second the key allows this kind at pace 1 (units
per second over the cost of one). The constants were found in simulation; benchmarks/pace.py measures what they do.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Literal, NamedTuple

from .pacestate import FASTEST, FIRST_ANSWERS, LN2, PACE_MAX, SCATTER_MAX, SEEN_MAX, SEEN_MIN, SLOWEST, State

__all__ = ["Outcome", "State", "back_in", "ceiling", "first", "held", "late_after", "observe", "outcome_of", "pace"]

Outcome = Literal["ok", "late", "timeout", "refused"]
"""late: no first byte yet after `late_after`, told once a request, with its age. timeout: likewise, and it was given up."""

KNEE_RATIO = 1.75
"""The latency, as a multiple of the baseline, at which the pace settles (1.5 to 2). Less: an idle server whose latency
scatters is slowed. More: more refusals. 1.75 is where a pool of workers is just busy."""

MARGIN = 1.0
"""Standard deviations of the fast average that the threshold lies higher (0 to 2). 0: 80 instead of 97 % of the rate is
kept on an idle server whose latency is log-normal with sigma 1.5."""

GAIN = 1.0
"""Power of the part that acts at once (0.7 to 1.5). 0: refusals when capacity halves. 1.5: the rate swings."""

SPEED = 0.025
"""Of the slow part: of ln pace a second, at half or at twice the threshold. From 2 to 1 in half a minute."""

SPEED_NEAR, NEAR = 0.010, log(1.25)
"""Within a quarter of the knee the same is no more than SPEED_NEAR a second, divided by the baseline: a server that takes
seconds for an answer tells late what a change of rate did."""

FALL_MOST, RISE_MOST = 1.0, 3.0
"""How many times SPEED the slow part falls and rises at most, however far the ratio is from the threshold."""

STEP_MOST = 0.25
"""By how much one observation moves ln pace in its slow part, at most."""

INTERVAL_MAX = 60.0
"""Seconds. The pace never stretches the time between two requests beyond this: one in a minute is no load."""

FIRST_PACE, FIRST_RATE = 4.0, 1.0
"""Of a key that nothing is known of, so that at low load its first answers show the baseline; the rate is there after a minute.
It need not be slower for that than so many requests a second."""

GAP_LEAST, GAP_INTERVALS, GAP_MOST = 1.0, 4.0, 30.0
"""For how much time one observation moves the slow part: no more than so many of its intervals or the least (seconds), and
never more than the most. A longer gap is idleness, and proves nothing."""

WEIGHT_LEAST, WEIGHT_MOST = 1 / 30, 1 / 4
"""Of one answer in the fast average of about a second: it is made of 4 answers at least and of 30 at most."""

SCATTER_WEIGHT = 1 / 16
"""Of one answer in the scatter and in the baseline, at most."""

DEVIATION = 1.25
"""Standard deviation over mean absolute deviation, of a normal distribution (sqrt(pi / 2))."""

FOLLOW, SINK = 300.0, 60.0
"""Seconds in which the baseline follows at low load; and when it is clearly too high, as after a cold cache."""

LOW_LOAD = log(1.5)
"""The ratio up to which the load is low. Above it the baseline does not follow: a probe decides."""

CLEARLY_LESS = -0.3
"""The ratio below which (less its own deviation) the baseline sinks sooner."""

PROBE_EVERY, PROBE_SOON = 300.0, 30.0
"""Seconds between probes; and if slowing down threefold has not helped, since then the latency is not ours."""

PROBE_PACE = 1.33
"""How much slower a key goes while it is probed."""

PROBE_ANSWERS, PROBE_LEAST, PROBE_TIME = 6, 3, 60.0
"""Answers that end a probe; how many are enough when its time (seconds) is over, and are waited for however long."""

PROBE_DRAIN = 4.0
"""Answers count for the probe that were asked for so many latencies after its start: what was queued has drained."""

SLOWED, SLOW_RATIO = 0.05, log(1.3)
"""Nothing is probed where the slow part and the ratio are below these: the baseline follows by itself."""

WALL_HALF, WALL_GAP, WALLS_MOST = 600.0, 60.0, 8
"""Seconds in which the wall comes down by a factor of 2, twice as many for each further hold while it stands (up to so
many holds); and the seconds for which one observation counts there."""

REFUSED_TIMES = 8
REFUSED_AS = log(REFUSED_TIMES)
"""A refused request counts as an answer that took 8 baselines."""

LATE = 4.0
"""Baselines after which a request without a first byte is told as late. A server that stands still is not heard before."""

CLOCK_BACK = 60.0
"""Seconds. Observations of several processes come late by less; a time further back means that the clock was set."""

_NO_LOAD = log(1 / 2)


def ceiling(rate: float) -> float:
    """ln of the greatest pace: 16, less where 16 would make an interval longer than a minute, and never below 1."""
    return log(max(1.0, min(PACE_MAX, INTERVAL_MAX * rate)))


def first(rate: float) -> State:
    """The state of a kind that nothing is known of: it begins at a quarter of its rate, or at one request a second."""
    return State(min(ceiling(rate), log(max(1.0, min(FIRST_PACE, rate / FIRST_RATE)))))


def pace(state: State, rate: float) -> float:
    """By what the interval of a request of this kind is multiplied: at least 1."""
    slowness = state.slow + GAIN * max(0.0, state.over)
    if state.probing is not None:
        slowness += log(PROBE_PACE)
    return exp(min(ceiling(rate), slowness))


def late_after(state: State) -> float | None:
    """Seconds after which a request of this kind that has no first byte yet is observed as "late"; None: not known yet."""
    return None if state.base is None else LATE * exp(state.base)


def outcome_of(status: int) -> Outcome | None:
    """As what an answer is observed; None: not at all.

    429 and 503 are refusals (RFC 6585, 4; RFC 9110, 15.6.4). Pages, and answers that there is no newer one, took the
    work of a page. A redirect or an error page comes from another place, sooner or later than a page would.
    """
    if status in (429, 503):
        return "refused"
    return "ok" if 200 <= status < 300 or status == 304 else None


def held(state: State, rate: float) -> State:
    """A hold begins on this key: what follows it goes at half the rate of before, and comes back over minutes."""
    wall = min(ceiling(rate), max(state.slow, state.wall) + LN2)
    return state._replace(wall=wall, walls=state.walls + 1, slow=max(state.slow, wall))


def back_in(state: State) -> float:
    """About how many seconds the pace takes to come back to 1, as long as requests are made and are answered as at low load."""
    wall = state.wall / LN2 * WALL_HALF * 2.0 ** (min(WALLS_MOST, max(1, state.walls)) - 1)
    return max(wall, state.slow / (SPEED * FALL_MOST))


def observe(state: State, outcome: Outcome, ttfb: float, started: float, now: float, rate: float) -> State:
    """The state after one more answer was heard, or was missed.

    Args:
        state: of the kind of page that was asked for.
        outcome: error pages are not observed at all: see `outcome_of`.
        ttfb: seconds from the redemption of the slot to the first byte; with "late" and "timeout" the request's age.
        started: when the slot was redeemed.
        now: when it was heard. Observations of several processes may come in another order than they were made.
        rate: requests a second at pace 1.
    """
    state, gap = _on_time(state, now)
    latency = log(min(SLOWEST, max(FASTEST, ttfb)))
    base = state.base
    if outcome == "ok" and state.answers < FIRST_ANSWERS:
        mean = latency if base is None else base + (latency - base) / (state.answers + 1)
        return state._replace(base=mean, answers=state.answers + 1)
    if base is None:
        return state

    weight = min(WEIGHT_MOST, max(WEIGHT_LEAST, 1 - exp(-gap)))
    seen = max(SEEN_MIN, min(SEEN_MAX, REFUSED_AS if outcome == "refused" else latency - base))
    ratio = state.ratio + weight * (seen - state.ratio)
    deviation = DEVIATION * state.scatter * sqrt(weight / (2 - weight))  # of the fast average
    scatter = state.scatter
    shift = 0.0
    if outcome == "ok":
        scatter += min(SCATTER_WEIGHT, weight) * (min(SCATTER_MAX, abs(seen - ratio)) - scatter)
        if ratio < LOW_LOAD:
            seconds = SINK if ratio < CLEARLY_LESS - deviation else FOLLOW
            shift = min(SCATTER_WEIGHT, gap / seconds) * max(-1.0, min(1.0, seen))

    probe = _Probe(state.probed, state.probing, state.probe_sum, state.probe_answers)
    if probe.began is not None:
        counts = outcome == "ok" and started >= probe.began
        probe, found = _probed(probe, seen if counts else None, state.scatter, now)
        shift, ratio = shift + found, ratio - found
    elif now - probe.ended > PROBE_SOON and _to_be_probed(state, ratio, now - probe.ended):
        probe = probe._replace(began=now + PROBE_DRAIN * exp(base + max(0.0, ratio)))

    over = ratio - log(KNEE_RATIO) - MARGIN * deviation
    knee = state.slow if state.over <= 0 < over else state.knee
    slow = state.slow + _step(state.slow, knee, over, base, gap, rate)
    wall = _lower(state.wall, state.walls, gap) if state.wall else 0.0
    slow = min(ceiling(rate), max(0.0, wall, slow))
    walls = state.walls if wall else 0
    return State(slow, base + shift, scatter, state.answers, ratio, over, state.at, knee, wall, walls, *probe)


def _on_time(state: State, now: float) -> tuple[State, float]:
    """The state with its clock at `now`, and the seconds since the newest observation."""
    at = state.at
    if at is None:
        return state._replace(at=now, probed=now), 0.0
    if now < at - CLOCK_BACK:
        # A probe that began on the old clock would not end on this one.
        return state._replace(at=now, probed=now, probing=None, probe_sum=0.0, probe_answers=0), 0.0
    return (state._replace(at=now), now - at) if now > at else (state, 0.0)


def _step(slow: float, knee: float | None, over: float, base: float, gap: float, rate: float) -> float:
    """By how much the slow part moves."""
    speed = SPEED
    if knee is not None and abs(slow - knee) < NEAR:
        speed = min(speed, SPEED_NEAR / exp(base))
    seconds = min(gap, GAP_MOST, max(GAP_LEAST, GAP_INTERVALS * exp(slow) / rate))
    return max(-STEP_MOST, min(STEP_MOST, speed * seconds * max(-FALL_MOST, min(RISE_MOST, over / LN2))))


def _lower(wall: float, walls: int, gap: float) -> float:
    """The wall after `gap` seconds more."""
    return max(0.0, wall - min(gap, WALL_GAP) * LN2 / (WALL_HALF * 2.0 ** (min(WALLS_MOST, walls) - 1)))


class _Probe(NamedTuple):
    ended: float
    began: float | None
    total: float
    answers: int


def _to_be_probed(state: State, ratio: float, since: float) -> bool:
    if state.slow <= SLOWED and ratio <= SLOW_RATIO:
        return False
    helpless = state.over > 0 and state.slow - (state.knee or 0.0) > log(3)
    return helpless or since > PROBE_EVERY


def _probed(probe: _Probe, seen: float | None, scatter: float, now: float) -> tuple[_Probe, float]:
    """The probe after one more answer that counts (None: one that does not), and by what it moves the baseline."""
    ended, began, total, answers = probe
    if seen is not None:
        total, answers = total + seen, answers + 1
    # A key that is asked twice a minute would never end one, and stay slow for ever, were it not waited for enough of them.
    if answers < PROBE_LEAST or (answers < PROBE_ANSWERS and (began is None or now <= began + PROBE_TIME)):
        return _Probe(ended, began, total, answers), 0.0
    shift = 0.0
    mean, doubt = total / answers, DEVIATION * scatter / sqrt(answers)
    # Only what exceeds the probe's own scatter counts. Upwards half of it: it may have measured a queue.
    if mean < -doubt:
        shift = mean + doubt
    elif mean > doubt:
        shift = min((mean - doubt) / 2, LN2)
    return _Probe(now, None, 0.0, 0), shift
