"""When keys that were refused together come back: not together. And one that was refused alone: at once.

A server that refuses a hundred sites in one second would get all of them back in one second, and refuse them again. So
keys whose waits end together have *places*, in the order in which they are held, counted in one memory for all processes. The
first comes back when its wait ends. Each later one is put off by its own part of a *span*, and never comes back before the time
that was stated, or the rung.

The parts are not drawn at random. Independent draws leave 10 to 27 of 100 keys in one second on the rungs up to two
minutes, if the span is 15 % of the wait. Two things mend that: a span of at least a minute, and parts that keep apart by
themselves. They are the multiples of the golden ratio, modulo 1, of which the next always falls into one of the widest gaps
that the earlier ones have left (Knuth, The Art of Computer Programming, 6.4, on Fibonacci hashing). Of 100 keys that are
refused in one second at most 5 then come back in one second, mostly 4 (tests/test_spread.py).

"Together" is said of when waits *end*: a platform that tells its sites "until noon" may tell them so all morning.
"""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from typing import Final, NamedTuple

JITTER: Final = 0.15
"""Default of POLITE_LADDER_JITTER: the part of a wait by which it may be lengthened, where that is more than the least."""

LEAST: Final = 60.0
"""Seconds over which keys come back at least that were refused together. 45 s are not enough: of 100 keys 6 came in one second
when the crawls were late."""

MOST_OF_A_SHORT_RUNG: Final = 2.0
"""Times the rung: no more is added to one that is shorter than 30 s, as only lists of somebody's own have. Whoever writes 2 s
does not mean a minute."""

GOLDEN: Final = 0.3819660112501051
"""2 less the golden ratio. Its multiples keep apart as those of the ratio do, and the second key waits for less of the span."""

TOGETHER: Final = 5.0
"""Seconds between the ends of two waits that end together: of a burst that several busy processes hear, or of dates."""

MOST: Final = 500
"""Keys that are remembered by name, the newest. It is for a burst of answers of one key, which is over in seconds."""

VERSION: Final = 1
"""Of the text."""


class Place(NamedTuple):
    """One key that waits. `name`: short for the key; `end`: of the first wait that it ends together with, on a clock that all
    processes share (seconds); `place`: how many were there before it."""

    name: str
    end: float
    place: int


Places = tuple[Place, ...]
"""What is remembered, oldest first. The places of a key's own are counted on from the last one, however many were forgotten."""


def take(places: Places, key: str, end: float, now: float) -> tuple[Places, int]:
    """The place of `key` among those whose waits end when its does, and what is to be remembered.

    A key that is there has the place that it had: a second answer of the same burst is no second key.

    Args:
        places: what the last call gave; () at first. It has a bound, whatever is taken.
        key: that is held.
        end: when its wait ends, before anything is added (seconds).
        now: the same clock.
    """
    live = tuple(one for one in places if one.end > now - TOGETHER)
    name = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    near = [one for one in live if abs(one.end - end) <= TOGETHER]
    had = next((one for one in near if one.name == name), None)
    if had is not None:
        return live, had.place
    # Of two groups that are near, the one that is nearer.
    first = min((one.end for one in near), key=lambda other: abs(other - end), default=end)
    place = max((one.place + 1 for one in near if one.end == first), default=0)
    return (*live, Place(name, first, place))[-MOST:], place


def as_text(places: Places) -> str:
    """What is remembered as JSON, for a store."""
    return json.dumps({"version": VERSION, "places": [[one.name, round(one.end, 3), one.place] for one in places]})


def from_text(text: str) -> Places:
    """What :func:`as_text` gave; nothing where it is damaged, or of another version."""
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    rows = found.get("places") if isinstance(found, dict) and found.get("version") == VERSION else None
    return tuple(Place(row[0], float(row[1]), row[2]) for row in rows if _is_place(row)) if isinstance(rows, list) else ()


def wait_for(rung: float, stated: float | None, place: int, drawn: float, jitter: float = JITTER) -> float:
    """The seconds for which a key is held: never less than `stated`, or than `rung` where nothing was stated.

    Args:
        rung: the ladder's wait (seconds).
        stated: what the server named (seconds), waited instead of the rung; None if it named nothing.
        place: what `take` gave: 0 for the first, and for whoever is alone. He waits as long as the server named, and after a
            rung at most by `jitter` of it longer.
        drawn: a number in [0, 1), at random.
        jitter: the part of the wait by which it is lengthened at most, where the least span is not more. 0: no spread.
    """
    wait = rung if stated is None else stated
    if not jitter:
        return wait
    if place == 0:
        return wait if stated is not None else wait + jitter * wait * drawn
    least = LEAST if stated is not None else min(LEAST, MOST_OF_A_SHORT_RUNG * rung)
    return wait + max(jitter * wait, least) * (place * GOLDEN % 1.0)


def _is_place(row: object) -> bool:
    if not isinstance(row, list) or len(row) != len(Place._fields):
        return False
    name, end, place = row
    whole = isinstance(place, int) and not isinstance(place, bool) and 0 <= place < 1 << 31
    return isinstance(name, str) and isinstance(end, int | float) and math.isfinite(end) and whole
