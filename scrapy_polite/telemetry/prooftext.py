"""The proof as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .proof import KeyProof, Proof

ORDER = ("origin", "edge", "bucket", "imageservice", "site")
HEAD: tuple[str, ...] = (
    *("key", "allowed/s", "burst", "requests", "refunded", "units", "kept"),
    *("worst 1 s", "worst 10 s", "gap", "floor", "slots", "missed", "holds", "inside"),
)
NONE = "-"


def table(proof: Proof, sites: int) -> str:
    """Shared keys first, then sites, the busiest on top; below it the verdict, and what was broken."""
    broken = {sentence.partition(": ")[0] for sentence in proof.violations}
    keys = sorted(proof.keys, key=lambda key: (_family(key), -key.units, key.key))
    seen, rows, left = 0, [HEAD], 0
    for key in keys:
        seen += _family(key) == ORDER.index("site")
        if seen <= sites or key.key in broken or key.inside or key.holds:
            rows.append(_row(key))
        else:
            left += 1
    lines = [_line(row, [max(map(len, column)) for column in zip(*rows, strict=True)]) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    if left:
        lines.append(f"and {left} more sites, all within their limits")
    lines.append("")
    lines.append(f"{proof.requests} requests in {proof.seconds:.1f} s, {len(proof.keys)} keys")
    lines += [f"BROKEN  {sentence}" for sentence in proof.violations]
    lines.append("PASS: every limit and every hold was kept" if proof.passed else "FAIL")
    return "\n".join(lines)


def _family(key: KeyProof) -> int:
    family = key.key.partition(":")[0]
    return ORDER.index(family) if family in ORDER else len(ORDER)


def _row(key: KeyProof) -> tuple[str, ...]:
    return (
        key.key,
        f"{key.rate:g}" if key.requests else NONE,
        f"{key.burst:g}" if key.burst else NONE,
        str(key.requests),
        str(key.refunded) if key.refunded else NONE,
        f"{key.units:g}",
        NONE if key.kept is None else f"{key.kept:.1%}",
        *(f"{window.units:g} of {window.allowed:.1f}" if key.requests else NONE for window in key.windows),
        NONE if key.gap is None else f"{key.gap:.3f} s",
        NONE if key.floor is None else f"{key.floor:.3f} s",
        str(key.booked),
        str(key.missed),
        f"{key.honoured} of {key.holds}" if key.holds else NONE,
        str(key.inside),
    )


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = row
    return "  ".join([first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))])
