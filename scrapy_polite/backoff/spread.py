"""When keys that were refused together come back: not together.

A server that refuses a hundred sites in one second would get all of them back in one second, and refuse them again. So
every wait is lengthened by its own part of a *span*. Nobody comes back before the time that was stated, or the rung.

The parts are not drawn at random. Independent draws leave 10 to 27 of 100 keys in one second on the rungs up to two
minutes, if the span is 15 % of the wait. Two things mend that: a span of at least a minute, and positions that keep apart by
themselves. They are the multiples of the golden ratio, modulo 1, of which the next always falls into one of the widest gaps
that the earlier ones have left (Knuth, The Art of Computer Programming, 6.4, on Fibonacci hashing).

Of 100 keys that are refused in one second, at most 3 then come back in one second, if one counter gives the positions; with
a counter in each of four processes 4 or 5, and 7 at the very most (tests/test_spread.py).
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

JITTER = 0.15
"""Default of POLITE_LADDER_JITTER: the part of a wait by which it may be lengthened, where that is more than the least."""

LEAST_AFTER_RUNG = 60.0
"""Seconds over which keys come back at least, after a rung."""

MOST_OF_A_SHORT_RUNG = 2.0
"""Times the rung: no more is added to one that is shorter than 30 s, as only lists of somebody's own have. Whoever writes 2 s
does not mean a minute."""

LEAST_AFTER_STATED = 5.0
"""The same after a time that the server stated. It knows when it can serve again, and a minute more would be most
of such a wait. Where the whole span is 5 s, 22 of 100 keys come back in one second; from 200 s stated on at most 5.
"""

GOLDEN = 0.6180339887498949
"""The golden ratio less 1."""


def fractions(start: float) -> Iterator[float]:
    """Numbers in [0, 1) without end, each far from the ones before it: one for every hold.

    `start`: any number; drawn at random, so that processes which count for themselves do not count alike.
    """
    first = start % 1.0  # of a tiny negative number: 1.0
    return ((first + number * GOLDEN) % 1.0 for number in count())


def wait_for(rung: float, stated: float | None, fraction: float, jitter: float = JITTER) -> float:
    """The seconds for which a key is held: never less than `stated`, or than `rung` where nothing was stated.

    Args:
        rung: the ladder's wait (seconds).
        stated: what the server named (seconds), waited instead of the rung; None if it named nothing.
        fraction: a number in [0, 1), the next of `fractions`.
        jitter: the part of the wait by which it is lengthened at most, where the least span is not more. 0: no spread.
    """
    if stated is None:
        wait, least = rung, min(LEAST_AFTER_RUNG, MOST_OF_A_SHORT_RUNG * rung)
    else:
        wait, least = stated, LEAST_AFTER_STATED
    return wait + max(jitter * wait, least) * fraction if jitter else wait
