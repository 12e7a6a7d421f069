"""How late an event loop is that does nothing else: what the machine does to every process, beside a crawl that is judged.

    python -m benchmarks.imaging.ticking

Answers each line of its standard input with the gaps since the last one (see `Ticker.told`), and ends when that input does.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.serving import answer

STEP = 0.001
"""Seconds of sleep."""


class Ticker:
    """Sleeps for 1 ms again and again, in the loop that it is started in, and keeps how long each sleep was, and how much of it
    the loop's thread was on a processor: what it waited for the machine is not in that, nor what it waited for a lock."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._own = 0.0
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            before, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(STEP)
            self._gaps.append((time.perf_counter() - before) * 1e3)
            self._own = max(self._own, (time.thread_time() - worked) * 1e3)

    def told(self) -> dict[str, float]:
        """ms: the largest gap, the one that 99 of 100 are under, and the most on a processor in one. Begins anew."""
        gaps, self._gaps, own, self._own = sorted(self._gaps) or [0.0], [], self._own, 0.0
        return {"gap": gaps[-1], "p99": gaps[len(gaps) * 99 // 100], "own": own}

    def stop(self) -> None:
        self._running.cancel()


async def main() -> None:
    await answer(0, Ticker().told)


if __name__ == "__main__":
    asyncio.run(main())
