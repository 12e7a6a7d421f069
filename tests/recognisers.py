"""A recogniser of names that is made by a rule, and can be asked to go wrong: for tests of the processes that run one."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Span = tuple[str, int, int]


def simple(language: str) -> Callable[[str], list[Span]]:
    def ask(text: str) -> list[Span]:
        if "slow" in text:
            time.sleep(60)
        if "die" in text:
            os._exit(3)
        if "wrong" in text:
            raise RuntimeError(text)
        return [("name", found.start(), found.end()) for found in re.finditer(r"\bJ\w+ Bloggs\b", text)]

    return ask


def broken(language: str) -> Callable[[str], list[Span]]:
    raise OSError(f"no model for {language}")
