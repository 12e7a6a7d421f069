"""Tables for people and for Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a table with a rule below its head; the first `left` columns to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:left], widths[:left], strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(row[left:], widths[left:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """The same as a Markdown table."""
    head, *rest = [f"| {' | '.join(row)} |" for row in rows]
    return [head, "|" + "---|" + "--:|" * (len(rows[0]) - 1), *rest]
