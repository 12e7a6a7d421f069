"""``scrapy polite``, run as an operator runs it: in a process of its own, in a directory without a project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "scrapy", "polite", *arguments]


def environment(cwd: Path, **more: str) -> dict[str, str]:
    """No settings of the machine's, and no proxies."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    kept = {name: value for name, value in kept.items() if not name.lower().endswith("_proxy") and name != "COLUMNS"}
    return kept | {"HOME": str(cwd), "XDG_CONFIG_HOME": str(cwd)} | more


def polite(*arguments: str, cwd: Path, stdin: str | bytes = "", **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(cwd, **more),
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]
