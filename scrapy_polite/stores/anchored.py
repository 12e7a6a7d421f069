"""An origin by its anchors alone, on top of what every store can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .base import Store

MOST = 1_000


class ByAnchors:
    """Gives a store `origin`. What is kept are hosts that are called like the origins."""

    def origin(self: Store, anchors: Sequence[str], name: str) -> str:
        anchors = list(dict.fromkeys(anchors))
        if not anchors:
            return self.standing([name])[name]
        met = self.pointing_at(anchors, MOST)
        ages = self.ages({*anchors, *(anchor for kept in met.values() for anchor in kept.anchors)})
        standing = self.standing([name, *(kept.origin for kept in met.values())])
        age: dict[str, int] = {}
        for kept in met.values():
            origin = standing[kept.origin]
            age[origin] = min(age.get(origin, ages[kept.anchors[0]]), *(ages[anchor] for anchor in kept.anchors))
        oldest = min(age, key=lambda origin: age[origin], default=standing[name])
        for origin in age:
            self.merge(origin, oldest)
        pointed = {anchor for kept in met.values() for anchor in kept.anchors}
        new = [anchor for anchor in anchors if anchor not in pointed]
        if new:
            own = self.kept([oldest]).get(oldest)
            self.keep([Kept(oldest, oldest, 1.0, (*(own.anchors if own else ()), *new), "[]")])
        return oldest
