"""Lines of standard input, as they come and with bounded memory; and answers to standard output, which may go away."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from scrapy_polite.naming.hosts import MAX_URL, Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["INTERRUPTED", "NOBODY_READS", "decoded", "delivered", "lines"]

LONGEST: Final = 4 * MAX_URL
"""Octets of a line that are kept: as many as the longest URL that is read can have in UTF-8."""

CHUNK: Final = 1 << 16
"""Octets that are read at once: what a pipe holds on Linux."""

BOM: Final = b"\xef\xbb\xbf"

#: Exit codes, as a shell reports them: 128 and the number of the signal (SIGINT, SIGPIPE).
INTERRUPTED: Final = 130
NOBODY_READS: Final = 141


def lines(read: Callable[[int], bytes], before_waiting: Callable[[], None]) -> Iterator[bytes]:
    """The lines of a stream without white space around them, blank ones left out; the last one may have no end.

    `read` answers what is there, at most so many octets, waits where there is nothing, and answers none at the end.
    `before_waiting` is called before every read: whoever writes then has the answers to what he has written. Of a line that is
    longer than :data:`LONGEST` one octet more than that is kept, and the rest is dropped.
    """
    held = bytearray()
    first = True
    while True:
        before_waiting()
        chunk = read(CHUNK)
        if not chunk:
            break
        *ended, begun = chunk.split(b"\n")
        for piece in ended:
            line = bytes(held + piece) if held else piece
            held.clear()
            if first:
                line, first = line.removeprefix(BOM), False
            if line := line.strip():
                yield line[: LONGEST + 1]
        held += begun
        del held[LONGEST + len(BOM) + 1 :]
    line = bytes(held.removeprefix(BOM) if first else held).strip()
    if line:
        yield line[: LONGEST + 1]


def decoded(line: bytes) -> tuple[str, Invalid | None]:
    """A line as text, and what is wrong with it if it can be no URL. Octets that are not UTF-8 are shown as ``\\xff``."""
    if len(line) > LONGEST:
        return f"{line[:100].decode(errors='backslashreplace')}...", Invalid(
            "bad_url", f"The line has more than {LONGEST} octets; at most {MAX_URL} characters are read."
        )
    try:
        return line.decode(), None
    except UnicodeDecodeError:
        return line.decode(errors="backslashreplace"), Invalid("bad_url", "The line is not UTF-8.")


def delivered(answers: Iterable[bytes]) -> int:
    """Write answers to standard output as they are made; 0, or :data:`INTERRUPTED` after SIGINT, or :data:`NOBODY_READS` where
    the reader has gone away. Both end quietly, with what was answered so far."""
    out = sys.stdout.buffer
    try:
        try:
            for answer in answers:
                out.write(answer)
        finally:
            out.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python would flush once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return NOBODY_READS
    return 0
