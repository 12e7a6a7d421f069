"""What was measured of images, and what is aimed at. Pure: made-up figures show that each aim can fail."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.reporting import Aim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CPU_TIMES = 4.0
PEAK_TIMES = 2.0
GAP_MS = 50.0
FLAT = 1.15
REFUSED_MS = 50.0
REFUSED_MB = 60.0
REFUSALS = frozenset({"too_many_pixels", "too_many_frames"})


@dataclass(frozen=True)
class Making:
    """One way in one round: ms of an image in the middle, MB."""

    cpu: float
    wall: float
    base: float
    peak: float
    bytes: int


@dataclass(frozen=True)
class Crawled:
    """One crawl. gap, p99: of its event loop; own: the most of one gap that the loop's thread was on a processor itself;
    machine: the largest gap of a process beside it that does nothing; ms.

    base, peak: MB. exact: originals in the store that are what was served, byte for byte, of all.
    """

    pipeline: str
    gap: float
    own: float
    p99: float
    machine: float
    seconds: float
    base: float
    peak: float
    exact: int
    of: int


@dataclass(frozen=True)
class Refused:
    """One bomb, one way; ms and MB."""

    said: str
    ms: float
    mb: float


def ratios(rounds: Sequence[Mapping[str, Making]], way: str, what: str, to: str = "ours") -> list[float]:
    """Of each round: how many times more than ``to`` a way takes."""
    return [getattr(one[way], what) / getattr(one[to], what) for one in rounds]


def times(found: Sequence[float]) -> str:
    return f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})"


def making(rounds: Sequence[Mapping[str, Making]]) -> Iterator[Aim]:
    cpu, peak = ratios(rounds, "scrapy", "cpu"), ratios(rounds, "scrapy", "peak")
    yield Aim("Scrapy's CPU, of ours", f"{CPU_TIMES:g} times", times(cpu), median(cpu) >= CPU_TIMES)
    yield Aim("Scrapy's peak of memory, of ours", f"{PEAK_TIMES:g} times", times(peak), median(peak) >= PEAK_TIMES)


def crawling(ours: Sequence[Crawled]) -> Iterator[Aim]:
    gaps = [one.gap for one in ours]
    own, machine = max(one.own for one in ours), max(one.machine for one in ours)
    said = f"{median(gaps):.0f} ms (worst {max(gaps):.0f}; its own work {own:.0f}; of an idle process {machine:.0f})"
    yield Aim("largest gap of the event loop", f"under {GAP_MS:g} ms", said, median(gaps) < GAP_MS)
    exact, of = sum(one.exact for one in ours), sum(one.of for one in ours)
    yield Aim("originals kept to the byte", "all", f"{exact} of {of}", 0 < exact == of)


def flat(marks: Mapping[int, float]) -> Iterator[Aim]:
    (early, before), (late, after) = sorted(marks.items())
    grown = after / before
    yield Aim(f"memory after {late:,} images, of that after {early:,}", f"at most {FLAT}", f"{grown:.2f}", grown <= FLAT)


def refusing(bombs: Mapping[str, Sequence[Refused]]) -> Iterator[Aim]:
    every = [(one, name) for name, tries in bombs.items() for one in tries]
    refused = [one for one, _ in every if one.said in REFUSALS]
    yield Aim("bombs refused", "all", f"{len(refused)} of {len(every)}", 0 < len(refused) == len(every))
    # How long it takes is the middle of the tries: one may have waited for the machine. What memory it takes is the most.
    slowest, name = max((median(one.ms for one in tries), name) for name, tries in bombs.items())
    yield Aim("slowest refusal", f"under {REFUSED_MS:g} ms", f"{slowest:.1f} ms ({name})", slowest < REFUSED_MS)
    most, name = max((one.mb, name) for one, name in every)
    yield Aim("most memory for a refusal", f"under {REFUSED_MB:g} MB", f"{most:.1f} MB ({name})", most < REFUSED_MB)
