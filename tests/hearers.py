"""Processes that hear answers of many sites at the same moments, with one store and without a crawl.

    python tests/hearers.py JOB

JOB is JSON: ``store`` (a URL), ``settings``, and ``rounds``: lists of [site, status, headers], all of which are heard at once.
Prints "ready", then reads the moment of each round, on CLOCK_MONOTONIC, from its standard input, and answers when it is done.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_polite.backoff.refusals import recognise
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[1]

Heard = tuple[str, int, dict[str, str]]
"""Site, status, headers."""

SOON = 0.3
"""Seconds from telling all to their moment."""


class Hearers:
    """``with Hearers(store, shares, ...) as hearers``: a process for each of ``shares``, the rounds that it hears. Then all
    are ready."""

    def __init__(self, store: str, shares: Sequence[Sequence[Sequence[Heard]]], settings: Mapping[str, object]) -> None:
        self._jobs = [{"store": store, "settings": dict(settings), "rounds": rounds} for rounds in shares]
        self._processes: list[subprocess.Popen[str]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        for job in self._jobs:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", __file__, json.dumps(job)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            self._stack.enter_context(process)
            self._processes.append(process)
        for process in self._processes:
            assert _line(process) == "ready"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in self._processes:
            process.kill()
        self._stack.close()

    def round(self) -> tuple[float, float]:
        """Let all hear their next round: when, and when all were done (CLOCK_MONOTONIC)."""
        at = time.monotonic() + SOON
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{at}\n")
            process.stdin.flush()
        return at, max(float(_line(process)) for process in self._processes)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line, "a hearer has ended"
    return line


def rounds(told: Sequence[Heard], times: int) -> list[list[Heard]]:
    return [list(told) for _ in range(times)]


async def hear(politeness: Politeness, told: Sequence[Heard], started: float) -> None:
    wall = time.time()
    await asyncio.gather(
        *(
            politeness._holding.heard(
                site, f"http://{site}/{number}", recognise(status, headers, wall), started, time.monotonic()
            )
            for number, (site, status, headers) in enumerate(told)
        )
    )


def tell(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


async def listen(job: dict[str, Any], moments: Iterator[str]) -> None:
    resolver = Resolver(["127.0.0.1:9"])
    politeness = Politeness(Config.from_settings(job["settings"]), open_store(job["store"]), resolver, None, None)
    # The store's clock is known from a booking's answer: a crawl has made one before it hears anything.
    politeness.booker.book((), lambda answer: None)
    tell("ready")
    for told in job["rounds"]:
        at = float(next(moments))
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        await hear(politeness, told, time.monotonic())
        tell(time.monotonic())
    await politeness.close()


def main() -> None:
    asyncio.run(listen(json.loads(sys.argv[1]), iter(sys.stdin)))


if __name__ == "__main__":
    main()
