"""What single answers are too weak for, and several together are not: a site's pages that look like refusals.

- **Denials.** One 403 is about a page: a file that is not for everyone, a list without a right to it. Three in a row, of
  three different URLs, are about us.
- **Pages that look like a challenge, with status 200.** A mark may stand on a good page: in an article on the subject, on
  a form that is guarded by a CAPTCHA. The same mark on two different URLs is a wall, unless ten good answers lie between them.

What has become a refusal stays one until a good answer: the first request after a hold, if it is refused again, is the next
step, and not the first of three.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from zlib import crc32

from .ladders import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .refusals import Refusal

IN_A_ROW: Final = 3
"""Denials of different URLs, with no good answer between them."""

FORGOTTEN_AFTER: Final = 10
"""Good answers after which a page that looked like a challenge is forgotten. A wall lets through less."""

_RUN = "run"
_DENIED = "denied"
_SIGNATURE = "signature"
_PAGE = "page"
_WALL = "wall"
_SINCE = "since"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What one site's last answers add up to, apart from its place on the ladders, in a few numbers.

    Args:
        run: which of the last ten answers were failures.
        denied: of the URLs that were denied in a row: a hash each, at most three.
        signature: the name of the signature that a page had; "": none.
        page: a hash of its URL.
        wall: another URL had it, too.
        since: good answers since then.
    """

    run: Run = field(default_factory=Run)
    denied: tuple[int, ...] = ()
    signature: str = ""
    page: int = 0
    wall: bool = False
    since: int = 0

    def heard(self, refusal: Refusal | None, url: str) -> tuple[Suspicion, bool]:
        """The suspicion after one more answer or failure, and whether it begins a hold (or climbs on).

        `refusal`: what was recognised (None: nothing, it was good); `url`: of its request.
        """
        if refusal is None and self == _NONE:
            return self, False  # As after nearly every answer.
        failed = refusal is not None and refusal.needs == "run"
        after = replace(self, run=self.run.heard(failed))
        if refusal is None:
            return after._good(), False
        number = crc32(url.encode("utf-8", "surrogatepass"))
        if refusal.needs == "run":
            return after, after.run.broken
        if refusal.needs == "urls":
            if len(self.denied) < IN_A_ROW and number not in self.denied:
                after = replace(after, denied=(*self.denied, number))
            return after, len(after.denied) >= IN_A_ROW
        if refusal.needs == "pages":
            same = refusal.signature == self.signature
            wall = same and (self.wall or number != self.page)
            return replace(after, signature=refusal.signature, page=number, wall=wall, since=0), wall
        return after, True

    def _good(self) -> Suspicion:
        since = self.since + 1 if self.signature else 0
        if since >= FORGOTTEN_AFTER:
            return Suspicion(self.run)
        return replace(self, denied=(), wall=False, since=since)

    def as_row(self) -> dict[str, object]:
        """The suspicion as plain values, fit for JSON."""
        return {
            _RUN: self.run.bits,
            _DENIED: list(self.denied),
            _SIGNATURE: self.signature,
            _PAGE: self.page,
            _WALL: self.wall,
            _SINCE: self.since,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, object]) -> Suspicion:
        """The suspicion that `as_row` gave; an empty one if the row is damaged."""
        run, denied, signature, page, wall, since = (
            row.get(name) for name in (_RUN, _DENIED, _SIGNATURE, _PAGE, _WALL, _SINCE)
        )
        if not isinstance(denied, list | tuple) or not all(isinstance(number, int) for number in denied):
            return cls()
        if not isinstance(signature, str) or not isinstance(wall, int):
            return cls()
        if not isinstance(run, int) or not isinstance(page, int) or not isinstance(since, int):
            return cls()
        return cls(Run.of(run), tuple(denied[:IN_A_ROW]), signature, page, bool(wall), max(0, since))


_NONE: Final = Suspicion()
