"""Randomness that depends on nothing but the town's seed and a name: same seed, same town."""

from __future__ import annotations

import random


def seeded(seed: int, *parts: object) -> random.Random:
    """A generator of its own for the thing that `parts` name; equal on every machine and Python version."""
    return random.Random("/".join(map(str, (seed, *parts))))
