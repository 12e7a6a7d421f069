"""A negative answer of the guard."""

from __future__ import annotations

__all__ = ["Refused"]


class Refused:
    """A request that will not be made. A value: two that say the same are equal.

    `reason` is a short code for ``polite/refused/<reason>``. `detail` names the rule and the address: it is for the
    operator's log, and must not be handed to whoever chose the URL, since it would answer questions about the network.
    It is given in parts and put together only when somebody reads it: spelling an IPv6 address takes longer than
    judging it.
    """

    __slots__ = ("_parts", "reason")

    def __init__(self, reason: str, *detail: object) -> None:
        self.reason = reason
        self._parts = detail

    @property
    def detail(self) -> str:
        return "".join(map(str, self._parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refused) and (self.reason, self.detail) == (other.reason, other.detail)

    def __hash__(self) -> int:
        return hash((self.reason, self.detail))

    def __repr__(self) -> str:
        return f"Refused({self.reason!r}, {self.detail!r})"

    def __str__(self) -> str:
        return self.detail
