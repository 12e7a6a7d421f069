"""The town's server with a knee, in a process of its own, for crawls that last longer than a town has pages.

    python -m benchmarks.kneed ADDRESS ... --log FILE --workers 2 --seconds 0.1 --waiting 12
                                           [--spell SINCE UNTIL FACTOR] [--errors 0.05]

It serves one port of some loopback addresses with the same workers, and writes the town's own log of arrivals.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from pathlib import Path
from typing import TYPE_CHECKING

from judging.arrivals import Arrival, arrivals_from
from town.arrivals import Log, read
from town.capacity import Overloaded
from town.knee import Knee, Spell
from town.ports import listen
from town.visits import Answer, Visit
from town.webserver import WebServer
from town.webserver import serve as begin

from benchmarks.serving import Serving, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = b"<html><body><p>A page.</p></body></html>"


class Pages:
    """An inhabitant who has every page. `errors`: the part of the pages that is a 500 when its work is done."""

    def __init__(self, knee: Knee, errors: float) -> None:
        self._knee, self._errors = knee, errors
        self._draw = random.Random(1)

    async def __call__(self, visit: Visit) -> Answer:
        found = self._knee.arrive(visit.at)
        if isinstance(found, Overloaded):
            return Answer(503, b"Service Unavailable", "text/plain", delay=found.latency)
        return Answer(500 if self._draw.random() < self._errors else 200, PAGE, delay=found.latency)


async def serve(options: argparse.Namespace) -> None:
    pages = Pages(
        Knee(options.workers, options.seconds, options.waiting, options.spell and Spell(*options.spell)), options.errors
    )
    log = Log(options.log)
    port, sockets = listen(options.addresses)
    for sock in sockets:
        await begin(WebServer("kneed", pages, log, sock, tls=False), sock, None)
    await answer(port, lambda: None)
    log.close()


class Kneed(Serving):
    """``with Kneed(directory, addresses, ...) as server``: it runs, at ``server.port``."""

    def __init__(
        self,
        directory: Path,
        addresses: Sequence[str],
        workers: int,
        seconds: float,
        waiting: int,
        spell: Spell | None = None,
        errors: float = 0.0,
    ) -> None:
        self._log = directory / "arrivals.jsonl"
        figures = {"workers": workers, "seconds": seconds, "waiting": waiting, "errors": errors, "log": self._log}
        options = [f"--{name}={value}" for name, value in figures.items()]
        super().__init__("benchmarks.kneed", [*addresses, *options, *(["--spell", *map(str, spell)] if spell else [])])

    def arrivals(self) -> list[Arrival]:
        """All that arrived so far, in order. Statuses and latencies are those that were decided at the arrival."""
        return arrivals_from(read(self._log))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("addresses", nargs="+")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--waiting", type=int, required=True)
    parser.add_argument("--spell", type=float, nargs=3)
    parser.add_argument("--errors", type=float, default=0.0)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
