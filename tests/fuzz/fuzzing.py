"""What the fuzz targets share: inputs made of known ones, and a run with atheris or without.

With atheris (the extra `[fuzz]`) the search is led by the coverage of what a target instruments; without it, known inputs
are mutated at random. The first input that breaks a rule ends the run with its traceback; atheris writes it to a file.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

try:
    import atheris
except ImportError:
    atheris = None

KINDS = 8
"""The first byte of an input says which of a target's rules it is for; so many values of it are tried."""


def mutated(seeds: Sequence[bytes], marks: Sequence[bytes], chance: random.Random) -> Iterator[bytes]:
    """Seeds with bytes changed, inserted, cut out and mixed with those of other seeds, without end."""
    while True:
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 6)):
            at = chance.randint(0, len(data))
            way = chance.randint(0, 4)
            if way == 0:
                data[at:at] = chance.choice(marks)
            elif way == 1:
                data[at : at + chance.randint(1, 4)] = b""
            elif way == 2:
                data[at : at + 1] = bytes([chance.randint(0, 255)])
            elif way == 3:
                other = chance.choice(seeds)
                start = chance.randint(0, len(other))
                data[at:at] = other[start : start + chance.randint(1, 20)]
            else:
                data[0:1] = bytes([chance.randint(0, KINDS - 1)])
        yield bytes(data)


def run_mutations(
    check: Callable[[bytes], None], seeds: Sequence[bytes], marks: Sequence[bytes], seconds: float, seed: int = 0
) -> int:
    """Check seeds and mutations for so long; answers how many."""
    done = 0
    for data in seeds:
        check(data)
        done += 1
    end = time.monotonic() + seconds
    for data in mutated(seeds, marks, random.Random(seed)):
        if time.monotonic() > end:
            break
        check(data)
        done += 1
    return done


def run(check: Callable[[bytes], None], seeds: Sequence[bytes], marks: Sequence[bytes], longest: int) -> None:
    """What a target does when it is started: `python FILE [SECONDS]`."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    if atheris is None:
        print(f"atheris is not here: {seconds} s of random mutations", flush=True)
        print(f"{run_mutations(check, seeds, marks, seconds, seed=time.time_ns())} inputs, no rule broken")
        return
    atheris.instrument_func(check)
    with tempfile.TemporaryDirectory() as directory:
        for number, seed in enumerate(seeds):
            (Path(directory) / f"{number:04}").write_bytes(seed)
        arguments = [
            sys.argv[0],
            f"-max_total_time={seconds}",
            "-timeout=10",
            f"-max_len={longest}",
            "-verbosity=0",
            "-print_final_stats=1",
        ]
        atheris.Setup([*arguments, directory], check)
        atheris.Fuzz()
