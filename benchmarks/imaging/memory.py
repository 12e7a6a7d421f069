"""The memory of this process, as Linux tells it (proc(5)), in MB of 10^6 bytes."""

from __future__ import annotations

from pathlib import Path


def resident() -> float:
    """Now."""
    return _field("VmRSS")


def peak() -> float:
    """The most that it ever had."""
    return _field("VmHWM")


def _field(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{name}:"))
