"""``python -m town --dir DIR``: runs a town until its time is up, its standard input closes, or it is told to end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import signal
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from town.city import TRAP_KINDS, City, Plan
from town.ports import NoPortError

if TYPE_CHECKING:
    from collections.abc import Sequence


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m town", description="A world on loopback that a crawler is tested against.")
    parser.add_argument("--dir", type=Path, required=True, help="directory for town.json, logs, CA and ground truth")
    parser.add_argument("--seed", type=int, default=1, help="equal seeds make equal towns (default: %(default)s)")
    parser.add_argument("--tenants", type=int, default=60, help="agencies on the platform (default: %(default)s)")
    parser.add_argument("--listings", type=int, default=3, help="listings of each agency (default: %(default)s)")
    parser.add_argument(
        "--capacity", type=float, default=30.0, help="cost units/s the platform can take (default: %(default)s)"
    )
    parser.add_argument("--patience", type=float, default=1.0, help="factor on every 'for a while' (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=600.0, help="ends by itself after so long (default: %(default)s)")
    parser.add_argument(
        "--traps",
        choices=TRAP_KINDS,
        default="loopback",
        help="'all': those off this machine too, which nobody but a guarded crawler may be sent to",
    )
    return parser.parse_args(argv)


def watched_input() -> int | None:
    """Standard input, if its end means that whoever started the town is gone; /dev/null and files say nothing."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor) else None


async def run(plan: Plan, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    descriptor = watched_input()
    if descriptor is not None:

        def readable() -> None:
            if not os.read(descriptor, 4096):
                loop.remove_reader(descriptor)
                ended.set()

        loop.add_reader(descriptor, readable)
    city = City(plan)
    try:
        path = await city.start()
        # What lives as long as the town need not be looked at again: a full collection holds answers up.
        gc.collect()
        gc.freeze()
        print(f"ready {path}", flush=True)
        with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
            await asyncio.wait_for(ended.wait(), seconds)
    finally:
        await city.stop()


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    try:
        plan = Plan(
            options.dir,
            options.seed,
            options.tenants,
            options.listings,
            options.capacity,
            options.patience,
            options.traps,
        )
        asyncio.run(run(plan, options.seconds))
    except (ValueError, NoPortError) as error:
        print(f"town: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"town: cannot use --dir {options.dir}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
