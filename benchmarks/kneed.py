"""A real server with a knee, in a process of its own: workers, places to wait, 503 beyond; it may lose half of its speed.

    python -m benchmarks.kneed ADDRESS ... --workers 2 --seconds 0.1 --waiting 12 [--slow FROM UNTIL FACTOR]

It serves one port of some loopback addresses with the same workers. Prints its port, then answers each line of its standard
input with what it has answered so far, as JSON: [seconds since its first request, status]. Ends when its standard input does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

from benchmarks.server import END, PAGE, listening

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

ROOT = Path(__file__).resolve().parents[1]


class Queue:
    """What all connections share."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._workers = asyncio.Semaphore(options.workers)
        self._inside = 0
        self._began: float | None = None
        self.answered: list[tuple[float, int]] = []

    async def serve(self) -> int:
        now = time.monotonic()
        self._began = began = self._began or now
        if self._inside >= self._options.workers + self._options.waiting:
            return self._done(503)
        self._inside += 1
        try:
            async with self._workers:
                since, until, factor = self._options.slow
                slow = since <= time.monotonic() - began < until
                await asyncio.sleep(self._options.seconds * (factor if slow else 1.0))
        finally:
            self._inside -= 1
        return self._done(200)

    def _done(self, status: int) -> int:
        assert self._began is not None
        self.answered.append((time.monotonic() - self._began, status))
        return status


async def visit(queue: Queue, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Requests without bodies, one after the other."""
    try:
        while True:
            await reader.readuntil(END)
            status = await queue.serve()
            head = f"HTTP/1.1 {status} -\r\nContent-Type: text/html\r\nContent-Length: {len(PAGE)}\r\n\r\n"
            writer.write(head.encode() + PAGE)
    except (asyncio.IncompleteReadError, OSError):
        pass
    finally:
        writer.close()


async def serve(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    queue = Queue(options)
    for listener in listening(options.addresses, socket):
        await asyncio.start_server(lambda reader, writer: visit(queue, reader, writer), sock=listener)
        port = listener.getsockname()[1]
    print(port, flush=True)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(json.dumps(queue.answered), flush=True)


class Kneed:
    """``with Kneed(addresses, ...) as server``: it runs, at ``server.port``."""

    def __init__(
        self,
        addresses: Sequence[str],
        workers: int,
        seconds: float,
        waiting: int,
        slow: tuple[float, float, float] | None = None,
    ) -> None:
        given = [*addresses, "--workers", str(workers), "--seconds", str(seconds), "--waiting", str(waiting)]
        self._options = [*given, "--slow", *map(str, slow)] if slow is not None else given

    def __enter__(self) -> Kneed:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.kneed", *self._options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self._line())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def answered(self) -> list[tuple[float, int]]:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return [(at, status) for at, status in json.loads(self._line())]

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The server of the benchmark has ended")
        return line


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("addresses", nargs="+")
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--waiting", type=int, required=True)
    parser.add_argument("--slow", type=float, nargs=3, default=(0.0, 0.0, 1.0))
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
