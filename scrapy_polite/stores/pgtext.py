"""Values as the text that Postgres reads, and what comes back of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable


def array(numbers: Iterable[float]) -> str:
    """Postgres' text form of an array: psycopg's own is slower than a booking."""
    return "{" + ",".join(map(repr, numbers)) + "}"


def texts(words: Iterable[str]) -> str:
    """The same for texts."""
    return "{" + ",".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words) + "}"


def whole(value: object) -> int:
    """A number that the server has answered."""
    return cast("int", value)
