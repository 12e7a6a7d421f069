"""The page on refusals says what the ladders and the signatures are: its tables are made by running the code."""

from __future__ import annotations

from pathlib import Path

from scrapy_polite.backoff.ladders import DEFAULT_RUNGS, Ladders, State
from scrapy_polite.backoff.signatures import SIGNATURES, Signature
from scrapy_polite.settings import BY_NAME

PAGE = Path(__file__).resolve().parents[1] / "docs" / "refusals.md"
STEPS = 30
PARK_AFTER: int = BY_NAME["POLITE_PARK_AFTER"].value({})
SHOWN = 5
"""Refusals whose waits are shown: no ladder has more rungs."""


def climb(kind: str) -> list[tuple[float, float]]:
    """The waits of 30 refusals and when each ends, if every come-back is refused at once: seconds."""
    ladders, state, ends = Ladders(), State(), []
    for _ in range(STEPS):
        now = state.held_until
        state, wait = ladders.step(state, kind, now, now, lambda: 0.0)
        ends.append((wait, state.held_until))
    return ends


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def ladder_table() -> str:
    heads = ["kind", *(str(number) for number in range(1, SHOWN + 1)), f"{PARK_AFTER} in a row after"]
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (SHOWN + 1) + "|"]
    for kind in DEFAULT_RUNGS:
        climbed = climb(kind)
        waits = [f"{wait:g}" for wait, _ in climbed[:SHOWN]]
        lines.append(f"| `{kind}` | {' | '.join([*waits, clock(climbed[PARK_AFTER - 2][1])])} |")
    return "\n".join(lines)


def looks_like(row: Signature) -> str:
    parts = [", ".join(str(status) for status in sorted(row.statuses)) or "any status"]
    if row.header is not None:
        parts.append(f"`{row.header[0]}`" + (f" with `{row.header[1]}`" if row.header[1] else ""))
    if row.marks:
        parts.append("page with " + " or ".join(f"`{mark}`".replace("|", "\\|") for mark in row.marks))
    if row.also:
        parts.append("and " + " and ".join(f"`{mark}`" for mark in row.also))
    if row.within:
        parts.append(f"of at most {row.within // 1024} KiB")
    if row.wall:
        parts.append("that reads as a wall")
    return "; ".join(parts)


def wall_table() -> str:
    lines = ["| answer | looks like | kind | known from |", "|---|---|---|---|"]
    lines += [f"| {row.name} | {looks_like(row)} | `{row.kind}` | {row.checked} |" for row in SIGNATURES]
    return "\n".join(lines)


def test_the_ladders_are_documented_as_they_run_for_30_steps() -> None:
    for kind, rungs in DEFAULT_RUNGS.items():
        waits = [wait for wait, _ in climb(kind)]
        assert waits == [*rungs, *[rungs[-1]] * (STEPS - len(rungs))]
        assert len(rungs) <= SHOWN
        assert [end for _, end in climb(kind)] == [sum(waits[: number + 1]) for number in range(STEPS)]
    assert ladder_table() in PAGE.read_text(encoding="utf-8")


def test_the_walls_that_are_recognised_are_documented() -> None:
    assert wall_table() in PAGE.read_text(encoding="utf-8")
