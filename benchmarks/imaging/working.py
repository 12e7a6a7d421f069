"""How many images a second some threads make, and how late the event loop is beside them, in a process of its own.

    python -m benchmarks.imaging.working THREADS COUNT FILE ...

The answer, as JSON: "rate" (images/s), "gap" and "p99" (ms), "base" and "peak" (MB).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.imaging import memory
from benchmarks.imaging.bombs import jpeg
from benchmarks.imaging.making import ours
from benchmarks.imaging.ticking import Ticker

if TYPE_CHECKING:
    from collections.abc import Sequence


async def measure(threads: int, count: int, paths: Sequence[str]) -> dict[str, float]:
    datas = [Path(path).read_bytes() for path in paths]  # noqa: ASYNC240 - before anything is measured
    make, loop = ours("jpeg"), asyncio.get_running_loop()
    with ThreadPoolExecutor(threads) as pool:
        await asyncio.gather(*(loop.run_in_executor(pool, make, jpeg(64)) for _ in range(threads)))
        base, ticker, at = memory.resident(), Ticker(), time.perf_counter()
        work = itertools.islice(itertools.cycle(datas), count)
        await asyncio.gather(*(loop.run_in_executor(pool, make, data) for data in work))
        rate = count / (time.perf_counter() - at)
        return {**ticker.told(), "rate": rate, "base": base, "peak": memory.peak()}


async def main() -> None:
    print(json.dumps(await measure(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))


if __name__ == "__main__":
    asyncio.run(main())
