"""Makes a Scrapy crawler safe to run: for the servers it visits, for its owner's network, and for the people on the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_polite.addon import Addon

__version__ = "0.1.0"
__all__ = ["Addon"]


def __getattr__(name: str) -> object:
    # The pure core is importable without Scrapy: the add-on loads when it is asked for.
    if name == "Addon":
        from scrapy_polite.addon import Addon

        return Addon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
