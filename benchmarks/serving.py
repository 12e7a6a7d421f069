"""A server of the benchmarks in a process of its own: both ends of how it is started, asked and ended.

It prints its port, then answers each line of its standard input with a line of JSON, and ends when that input does: so it does
not outlive who has started it, however that ends.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 10.0
"""Seconds that it has to end."""


class Serving:
    """``with Serving(module, arguments) as server``: ``python -m module arguments`` runs, at ``server.port``."""

    port: int

    def __init__(self, module: str, arguments: Sequence[str]) -> None:
        self._command = [sys.executable, "-m", module, *arguments]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self._line())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def told(self) -> Any:
        """What it answers now."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The server of the benchmark has ended")
        return line


async def answer(port: int, told: Callable[[], object]) -> None:
    """The other end: listens at ``port``, answers with what is ``told``, and comes back when nobody is there any more."""
    print(port, flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        print(json.dumps(told()), flush=True)
